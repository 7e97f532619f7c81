"""Runs of several sweeps side by side: only where that makes sense, and with what is different about them."""

import re

import pytest
import yaml
from application import succeeded
from small import arguments

from ragsweep.replay.comparing import compare_runs

IMPOSSIBLE = "decision.require={context/tokens: 1}"


@pytest.fixture(scope="module")
def sweeps(shared_application, dataset, tmp_path_factory):
    """Two sweeps over the same small dataset, a run over another cut of it, and one over other questions."""
    other_dataset = arguments(tmp_path_factory.mktemp("other"))
    (tmp_path_factory.getbasetemp() / "other0/questions.json").write_text(
        '[{"query": "Who is tired?", "relevant_docs": ["anaemia.pdf#1"], "query_type": "factual"}]'
    )
    for number, sweep in enumerate(
        (
            ["-m", *dataset, "retriever=sparse", "k=1,2"],
            ["-m", *dataset, "retriever=sparse", "retriever.stop_words=english,null", "k=3"],
            [*dataset, "retriever=sparse", "chunker=recursive", "chunker.size=30", "chunker.overlap=0", "k=3"],
            [*other_dataset, "retriever=sparse", "k=1"],
        )
    ):
        folder = shared_application.home / f"outputs{number}"
        succeeded(shared_application.run(*sweep, f"hydra.sweep.dir={folder}", f"hydra.run.dir={folder}"))
    return [run.info.run_id for run in shared_application.parents()]


@pytest.fixture
def compare(shared_application):
    def run(*arguments):
        return shared_application.script_here("compare", *arguments)

    return run


def children(application, sweep):
    return [run for run in application.children() if run.data.tags["mlflow.parentRunId"] == sweep]


def rows(text, metric="f1"):
    """The table's F1 by configuration: names begin where their heading does, numbers end where theirs does."""
    head, *lines = text.split("\n\n")[0].splitlines()
    begin, end = head.index("configuration"), re.search(rf"(?i)(?<!\S){metric}(?!\S)", head).end()
    return {re.split(r"\s{2,}", line[begin:])[0]: float(line[:end].split()[-1]) for line in lines}


def test_the_runs_of_a_sweep_are_found_by_its_id_with_their_numbers(compare, sweeps, shared_application):
    _, *lines = compare(sweeps[0]).stdout.split("\n\n")[0].splitlines()
    assert {line.split()[1]: line.split()[-1] for line in lines} == {
        f"k={run.data.params['k']}": run.info.run_id for run in children(shared_application, sweeps[0])
    }
    shown = rows(compare(sweeps[0]).stdout)
    logged = {run.info.run_name: round(run.data.metrics["f1"], 3) for run in children(shared_application, sweeps[0])}
    assert shown == logged
    first, second = children(shared_application, sweeps[0])
    done = compare(first.info.run_id, second.info.run_id, sweeps[0])
    assert len(rows(done.stdout)) == 2


def test_runs_of_two_sweeps_are_named_by_what_differs(compare, sweeps, shared_application):
    done = succeeded(compare(*sweeps[:2]))
    expected = {f"stop_words={name}" for name in ("null k=1", "null k=2", "null k=3", "english k=3")}
    assert set(rows(done.stdout)) == expected
    other = next(run for run in children(shared_application, sweeps[1]) if "null" in run.info.run_name)
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


def test_what_a_larger_k_buys_and_costs_is_what_the_runs_recorded(sweeps, shared_application):
    place = f"tracking.uri={shared_application.uri}"

    def settings(*overrides):
        settings = compare_runs([sweeps[0]], [place, *overrides]).sweep.settings
        return settings.gains, settings.costs

    config = shared_application.artifacts(children(shared_application, sweeps[0])[0]) / "config/config.yaml"
    whole = config.read_text()
    recorded = yaml.safe_load(whole)
    recorded["decision"] |= {
        "gains": ["map", "token/recall"],
        "costs": ["latency/p95_ms"],
        "require": {"recall": 0.001},
    }
    recorded["decision"] |= {"prefer": "context/tokens", "margin": 0.01, "at": 7}  # k 7 and token/recall: not measured
    try:
        config.write_text(yaml.safe_dump(recorded))
        assert settings() == (["map"], ["latency/p95_ms"])
        decided = compare_runs([sweeps[0]], [place, "decision.margin=0.02"]).sweep.settings
        kept = (decided.require, decided.prefer, decided.margin, decided.at)
        assert kept == ({"recall": 0.001}, "context/tokens", 0.02, None)
        assert settings("decision.gains=[f1]") == (["f1"], ["latency/p95_ms"])
        config.write_text("{")
        assert settings() == (["recall", "hit_rate"], ["context/tokens", "latency/mean_ms"])
    finally:
        config.write_text(whole)


def test_every_run_is_held_against_the_baseline(compare, sweeps, shared_application):
    baseline = next(run for run in children(shared_application, sweeps[1]) if "null" in run.info.run_name)
    done = compare(*sweeps[:2], "--baseline", baseline.info.run_id)
    _, table, *_ = done.stdout.split("\n\n")
    head, *lines = table.splitlines()
    assert head.startswith("against stop_words=null k=3 ")
    assert len(lines) == 1  # at the same k
    shown = rows(done.stdout)
    for line in lines:
        name, difference, _, p, *_ = re.split(r"\s{2,}", line)
        assert float(difference) == pytest.approx(shown[name] - shown["stop_words=null k=3"], abs=1.1e-4)
        assert 0.05 < float(p) <= 1  # five queries show nothing


def test_all_pairs_are_written_under_names_of_ones_own(compare, sweeps, shared_application, tmp_path):
    runs = [*children(shared_application, sweeps[0]), *children(shared_application, sweeps[1])]
    at_three = [run for run in runs if run.data.params["k"] == "3"][:2]
    named = [f"{name}={run.info.run_id}" for name, run in zip(("Ours & new", "old"), at_three, strict=True)]
    done = compare(*named, "--latex", str(tmp_path / "t.tex"), "--csv", str(tmp_path / "p.csv"), "--test", "t")
    assert done.returncode == 0, done.stderr
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


@pytest.mark.parametrize(("place", "content"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_run_is_named_and_the_others_are_compared(compare, sweeps, shared_application, place, content):
    run = children(shared_application, sweeps[0])[0]
    client, file = shared_application.client(), shared_application.artifacts(run) / place
    whole = file.read_text() if file.exists() else run.data.tags[place]

    def put(text):
        file.write_text(text) if file.exists() else client.set_tag(run.info.run_id, place, text)

    put(content)
    try:
        done = compare(*sweeps[:2])
    finally:
        put(whole)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(rows(done.stdout)) == 3
    told = done.stdout.splitlines()[-1]
    assert told.startswith(f"did not finish: {run.info.run_name} (FINISHED, but its results cannot be read: ")
    assert told.isprintable()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["0123"], "0123: expected the id of a run or of a sweep"),
        (["0123" * 8], f"{'0123' * 8}: cannot be read from sqlite:"),
        (
            ["SWEEP", "--metric", "accuracy"],
            "decision.metric: found 'accuracy', expected one that all have: precision,",
        ),
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
    ],
)
def test_bad_input_is_one_line(compare, sweeps, shared_application, arguments, error):
    places = {"SWEEP": sweeps[0], "RUN": children(shared_application, sweeps[0])[0].info.run_id}
    done = compare(*(places.get(argument, argument) for argument in arguments))
    assert done.returncode == 2
    assert error in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_what_two_sweeps_measured_alike_is_compared_once(compare, sweeps, shared_application, dataset):
    folder = shared_application.home / "outputs_again"
    succeeded(shared_application.run("-m", *dataset, "retriever=sparse", "k=1,2,3", f"hydra.sweep.dir={folder}"))
    [third] = {run.info.run_id for run in shared_application.parents()} - {*sweeps}
    done = compare(sweeps[0], third)
    assert len(rows(done.stdout)) == 3
    assert "compared once: 2 runs" in done.stderr
    named = [run.info.run_id for sweep in (sweeps[0], third) for run in children(shared_application, sweep)]
    assert len(rows(compare(*named).stdout)) == 5  # what is named by itself is compared
