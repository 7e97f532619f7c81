"""Files are shown by their own names, with the folders that tell them apart."""

from hydra.core.override_parser.overrides_parser import OverridesParser
from outcomes import of_scores

from ragsweep.app.job import name_and_settings
from ragsweep.report.record import as_record
from ragsweep.report.rows import summary_of
from ragsweep.sweeps import DecisionSettings, Sweep, decide, side_by_side, with_own_columns
from ragsweep.sweeps.configuration_names import told_apart

SHOWN = [  # values, and what is shown of them
    (["/data/runs/bm25.trec", "/data/runs/splade.trec"], ["bm25.trec", "splade.trec"]),
    (["out/gpt/answers.jsonl", "out/llama/answers.jsonl"], ["gpt/answers.jsonl", "llama/answers.jsonl"]),
    (["/a/gpt/v1/x.csv", "/a/llama/v1/x.csv", "/a/y.csv"], ["gpt/v1/x.csv", "llama/v1/x.csv", "y.csv"]),
    (["a.jsonl", "old/a.jsonl"], ["a.jsonl", "old/a.jsonl"]),
    (["/trec8/input.acsys", "/trec8/CL99SD"], ["input.acsys", "CL99SD"]),  # many runs of TREC have no ending
    (["BAAI/bge-small-en", "intfloat/e5-small"], ["BAAI/bge-small-en", "intfloat/e5-small"]),
    (["BAAI/bge-small-en-v1.5", "intfloat/e5-small"], ["BAAI/bge-small-en-v1.5", "intfloat/e5-small"]),
    (["/models/e5/", "/models/bge/"], ["e5", "bge"]),
    (["/a/e5/", "/b/e5/", "//", "/"], ["a/e5", "b/e5", "//", "/"]),
    (
        ["http://host/v1/m.gguf", "{a: b/c.txt}", 0.5, None],
        ["http://host/v1/m.gguf", "{a: b/c.txt}", "0.5", "null"],
    ),
]


def test_folders_stand_only_where_they_tell_files_apart():
    names = [[*told_apart([*values, *values]).values()] for values, _ in SHOWN]
    assert names == [shown for _, shown in SHOWN]


TYPED = {  # an override, and what a name shows of it
    "retriever.call=my_app:search": "call=my_app:search",
    "retriever.call='a:b, c'": "call='a:b, c'",
    "retriever.settings.where=a b": "where=a b",
    "retriever.url=http://127.0.0.1:8000/search": "url=http://127.0.0.1:8000/search",
}


def test_the_name_of_a_job_has_the_file_or_what_was_typed_and_its_record_the_value():
    parse = OverridesParser.create().parse_overrides
    parsed = parse(["retriever=run_file", "retriever.path=/d/long/way/two/bm25.trec", "k=5"])
    path = {"retriever.path": "/d/long/way/two/bm25.trec", "k": 5}
    assert name_and_settings(parsed, ["retriever.path", "k"]) == ("path=bm25.trec k=5", path)
    for typed, shown in TYPED.items():
        settings = {typed.partition("=")[0]: shown.partition("=")[2]}
        assert name_and_settings(parse([typed]), []) == (shown, settings)


def test_two_systems_with_files_of_one_name_are_two_methods_and_keep_their_paths():
    paths = ["/home/me/a/very/long/way/to/gpt/answers.jsonl", "/home/me/a/very/long/way/to/llama/answers.jsonl"]
    method = {"name": "answers.jsonl", "is_baseline": False, "vary": "", "stands_for": {}, "chosen_by": ["retriever"]}
    runs = []
    for mean, path in zip((0.3, 0.6), paths, strict=True):
        swept, settings = {"retriever.path": path}, {"retriever": "RunFileRetriever", "retriever.path": path}
        runs.append(of_scores("run", [mean, mean + 0.1] * 10, swept, facts={"method": method}, **settings))
    decision = decide(side_by_side(runs, settings=DecisionSettings("f1"), baseline=None, damaged={}))
    assert [outcome.name for outcome in decision.sweep.outcomes] == [
        "path=gpt/answers.jsonl",
        "path=llama/answers.jsonl",
    ]
    assert decision.sweep.label(decision.named) == "path llama/answers.jsonl"
    assert {*decision.sweep.table["method"]} == {"gpt/answers.jsonl", "llama/answers.jsonl"}
    assert as_record(decision, "")["choice"]["settings"] == {"retriever.path": paths[1]}


def test_tables_and_records_keep_whole_values_whatever_the_settings_are_called():
    """The override's name is not that of a used setting: a group takes the value to its own place."""
    values = ["/runs/one/a.trec", "/runs/two/a.trec", "BAAI/bge-small-en-v1.5"]
    runs = [of_scores(f"run {at}", [0.1 * at] * 20, {"mine": value}) for at, value in enumerate(values)]
    twice = with_own_columns(with_own_columns(runs))  # runs of one sweep, then side by side
    decision = decide(Sweep(twice, {}, DecisionSettings("f1")))
    shown = ["mine one/a.trec", "mine two/a.trec", f"mine {values[2]}"]
    assert [decision.sweep.label(run) for run in twice] == shown
    assert {*summary_of(decision)["mine"]} == {*decision.sweep.per_query["mine"]} == {*values}
    choices = [as_record(decide(Sweep([run], {}, DecisionSettings("f1"))), "")["choice"] for run in twice]
    assert [choice["settings"]["mine"] for choice in choices] == values
