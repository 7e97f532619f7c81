"""Runs of several sweeps side by side: only where that makes sense, and with what is different about them."""

import re
from functools import partial

import pytest
import yaml
from application import succeeded
from small import arguments, write_queries

from ragsweep.replay.comparing import compare_runs


@pytest.fixture(scope="module")
def run(shared_application):
    """Run something with BM25, in a folder of its own, and return its id."""

    def run(*given):
        before = {run.info.run_id for run in shared_application.parents()}
        folder = shared_application.home / f"outputs{len(before)}"
        places = [f"hydra.sweep.dir={folder}", f"hydra.run.dir={folder}"]
        succeeded(shared_application.script_here("run", *given, "retriever=sparse", *places))
        [new] = {run.info.run_id for run in shared_application.parents()} - before
        return new

    return run


@pytest.fixture(scope="module")
def sweeps(run, dataset, tmp_path_factory):
    """Two sweeps over the same small dataset, a run over another cut of it, and one over other questions."""
    folder = tmp_path_factory.mktemp("other")
    other_dataset = arguments(folder)
    write_queries(folder / "questions.json", [("Who is tired?", ["anaemia.pdf#1"], "factual")])
    return [
        run("-m", *dataset, "k=1,2"),
        run("-m", *dataset, "retriever.stop_words=english,null", "k=3"),
        run(*dataset, "chunker=recursive", "chunker.size=30", "chunker.overlap=0", "k=3"),
        run(*other_dataset, "k=1"),
    ]


@pytest.fixture
def compare(shared_application):
    return partial(shared_application.script_here, "compare")


@pytest.fixture(scope="module")
def of(sweeps, shared_application):
    """The runs of a sweep, by its number or id."""

    def of(sweep):
        parent = sweeps[sweep] if isinstance(sweep, int) else sweep
        return [run for run in shared_application.children() if run.data.tags["mlflow.parentRunId"] == parent]

    return of


def rows(text, metric="f1"):
    """The table's F1 by configuration: names begin where their heading does, numbers end where theirs does."""
    head, *lines = text.split("\n\n")[0].splitlines()
    begin, end = head.index("configuration"), re.search(rf"(?i)(?<!\S){metric}(?!\S)", head).end()
    return {re.split(r"\s{2,}", line[begin:])[0]: float(line[:end].split()[-1]) for line in lines}


def test_the_runs_of_a_sweep_are_found_by_its_id_with_their_numbers(compare, sweeps, of):
    shown = compare(sweeps[0]).stdout
    _, *lines = shown.split("\n\n")[0].splitlines()
    first, second = of(0)
    assert {line.split()[1]: line.split()[-1] for line in lines} == {
        f"k={run.data.params['k']}": run.info.run_id for run in (first, second)
    }
    assert rows(shown) == {run.info.run_name: round(run.data.metrics["f1"], 3) for run in (first, second)}
    assert len(rows(compare(first.info.run_id, second.info.run_id, sweeps[0]).stdout)) == 2


def test_runs_of_two_sweeps_are_named_by_what_differs(compare, sweeps, of):
    done = succeeded(compare(*sweeps[:2]))
    expected = {f"stop_words={name}" for name in ("null k=1", "null k=2", "null k=3", "english k=3")}
    assert set(rows(done.stdout)) == expected
    other = next(run for run in of(1) if "null" in run.info.run_name)
    done = succeeded(compare(sweeps[2], other.info.run_id))
    assert len(rows(done.stdout)) == 2
    assert "size" in done.stdout.partition("\n\n")[0]


def test_another_metric_decides(compare, sweeps, shared_application):
    by_recall = compare(*sweeps[:2], "--metric", "recall").stdout
    recall = rows(by_recall, "recall")
    for k in "12":
        at_k = [value for name, value in recall.items() if name.endswith(f"k={k}")]
        assert at_k == sorted(at_k, reverse=True)
    decision = compare_runs(sweeps[:2], [f"tracking.uri={shared_application.uri}", "decision.metric=recall"])
    assert decision.headline.cutoff == 3  # where two were measured
    measured = max(value for name, value in recall.items() if name.endswith("k=3"))
    assert decision.headline.best.value("recall") == pytest.approx(measured, abs=5e-5)


def test_what_a_larger_k_buys_and_costs_is_what_the_runs_recorded(sweeps, of, shared_application):
    place = f"tracking.uri={shared_application.uri}"

    def settings(*overrides):
        settings = compare_runs([sweeps[0]], [place, *overrides]).sweep.settings
        return settings.gains, settings.costs

    config = shared_application.artifacts(of(0)[0]) / "config/config.yaml"
    whole = config.read_text()
    recorded = yaml.safe_load(whole)
    more = {"gains": ["map", "token/recall"], "costs": ["latency/p95_ms"], "require": {"recall": 0.001}}
    recorded["decision"] |= {**more, "prefer": "context/tokens", "margin": 0.01, "at": 7}
    try:
        config.write_text(yaml.safe_dump(recorded))  # k 7 and token/recall are not measured
        assert settings() == (["map"], ["latency/p95_ms"])
        decided = compare_runs([sweeps[0]], [place, "decision.margin=0.02"]).sweep.settings
        kept = (decided.require, decided.prefer, decided.margin, decided.at)
        assert kept == ({"recall": 0.001}, "context/tokens", 0.02, None)
        assert settings("decision.gains=[f1]") == (["f1"], ["latency/p95_ms"])
        config.write_text("{")
        assert settings() == (["recall", "hit_rate"], ["context/tokens", "latency/mean_ms"])
    finally:
        config.write_text(whole)


def test_every_run_is_held_against_the_baseline_and_all_pairs_are_written_under_names_of_ones_own(
    compare, sweeps, of, tmp_path
):
    baseline = next(run for run in of(1) if "null" in run.info.run_name)
    done = compare(*sweeps[:2], "--baseline", baseline.info.run_id)
    head, line = done.stdout.split("\n\n")[1].splitlines()  # one more at the same k
    assert head.startswith("against stop_words=null k=3 ")
    shown = rows(done.stdout)
    name, difference, _, p, *_ = re.split(r"\s{2,}", line)
    assert float(difference) == pytest.approx(shown[name] - shown["stop_words=null k=3"], abs=1.1e-4)
    assert 0.05 < float(p) <= 1  # five queries show nothing
    named = [f"{name}={run.info.run_id}" for name, run in zip(("Ours & new", "old"), of(1), strict=True)]
    files = ["--latex", str(tmp_path / "t.tex"), "--csv", str(tmp_path / "p.csv")]
    done = succeeded(compare(*named, *files, "--test", "t"))
    assert "| a | Ours &amp; new | " in done.stdout
    assert r"$a$ & Ours \& new & " in (tmp_path / "t.tex").read_text()
    assert '"f1","Ours & new","old",' in (tmp_path / "p.csv").read_text()


def test_runs_on_other_data_are_refused_with_the_reason(compare, sweeps):
    done = compare(sweeps[0], sweeps[3])
    assert done.returncode == 2
    assert done.stdout == ""
    assert re.fullmatch(
        r"compare: \w{32} on small \(digest \w{12}\), \w{32} on small \(digest \w{12}\): "
        r"measured on different documents, queries or judgments, so their numbers cannot be compared\n",
        done.stderr,
    )


HEAD = "query_id,query,query_type,f1,retrieved,relevant"
DAMAGE = {
    "an object too few": ("results/evaluation.json", '{"dataset": 3}'),
    "deep": ("results/evaluation.json", "[" * 100_000),
    "no bounds": ("results/evaluation.json", '{"dataset": {"name": "", "digest": "", "unit": ""}, "at_k": [1]}'),
    "other columns": ("results/per_query.csv", "a,b\n1,2\n"),
    "no number": ("results/per_query.csv", f"{HEAD}\n1,q,,x,a,b\n"),
    "a swept list": ("sweep.values", '{"k": [1]}'),
    "no swept values": ("sweep.values", "\x1b[31mk"),
    "no number of a job": ("sweep.job", "x"),
}


def test_a_damaged_run_is_named_and_the_others_are_compared(compare, sweeps, of, shared_application):
    run = of(0)[0]
    for case, (place, content) in DAMAGE.items():
        file = shared_application.artifacts(run) / place
        is_file = file.exists()
        put = file.write_text if is_file else partial(shared_application.client().set_tag, run.info.run_id, place)
        whole = file.read_text() if is_file else run.data.tags[place]
        put(content)
        try:
            done = compare(*sweeps[:2])
        finally:
            put(whole)
        assert (done.returncode, done.stderr, len(rows(done.stdout))) == (0, "", 3), case
        told = done.stdout.splitlines()[-1]
        assert told.startswith(f"did not finish: {run.info.run_name} (FINISHED, but its results cannot be read: "), case
        assert told.isprintable(), case


REFUSED = [
    (["0123"], "0123: expected the id of a run or of a sweep"),
    (["0123" * 8], f"{'0123' * 8}: cannot be read from sqlite:"),
    (["SWEEP", "--metric", "accuracy"], "decision.metric: found 'accuracy', expected one that all have: precision,"),
    (["RUN"], ": found only one finished run, expected at least two: name another run or sweep"),
    (["SWEEP", "--baseline", "SWEEP"], ", expected the id of one run whose results can be read, not of a sweep"),
    (["SWEEP", "--html", "/no/such/folder/page.html"], "No such file or directory"),
    (["SWEEP", "decision.at=1", "--csv", "/no/such/folder/p.csv"], "no pairs"),
    (["SWEEP", f"mine={'0123' * 8}"], f"{'0123' * 8}: cannot be read from sqlite:"),
    (["SWEEP", "tracking.url=x"], "Could not override 'tracking.url'"),
    (["SWEEP", "decison.metric=f1"], "decison.metric: expected a setting of decision or store or tracking"),
    (["SWEEP", "decision.metrik=f1"], "decision.metrik: no such setting (did you mean decision.metric?)"),
    (["SWEEP", "decision.gains=[nope]"], "decision.gains: found 'nope', expected something that is measured"),
    (["SWEEP", "decision.at=7"], "decision.at: found 7, expected a measured cutoff: "),
]


def test_bad_input_is_one_line(compare, sweeps, of):
    places = {"SWEEP": sweeps[0], "RUN": of(0)[0].info.run_id}
    for given, fact in REFUSED:
        done = compare(*(places.get(argument, argument) for argument in given))
        assert (done.returncode, fact in done.stderr, len(done.stderr.splitlines())) == (2, True, 1), done.stderr


def test_what_two_sweeps_measured_alike_is_compared_once(compare, sweeps, of, run, dataset):
    third = run("-m", *dataset, "k=1,2,3")
    done = compare(sweeps[0], third)
    assert len(rows(done.stdout)) == 3
    assert "compared once: 2 runs" in done.stderr
    named = [run.info.run_id for sweep in (0, third) for run in of(sweep)]
    assert len(rows(compare(*named).stdout)) == 5  # what is named by itself is compared
