"""`ragsweep gate`: its exit status says whether a candidate may replace a baseline."""

from dataclasses import replace

import numpy as np
import pytest
from application import succeeded
from outcomes import of_scores

from ragsweep.replay.gating import Gate, Verdict
from ragsweep.statistics import against_baseline
from ragsweep.sweeps import Sweep
from ragsweep.tasks.facts import JudgedFact, ReturnedFact, UnreadText


@pytest.fixture(scope="module")
def runs(shared_application):
    """Two runs of the bundled manual that rank nearly alike, one that is far worse, and one at another k."""
    for settings in (
        ["retriever.k1=1.5"],
        ["retriever.k1=1.2"],
        ["retriever.k1=1000", "retriever.b=0"],
        ["k=3"],
    ):
        succeeded(shared_application.run("retriever=sparse", *settings))
    by_start = sorted(shared_application.runs(), key=lambda run: run.info.start_time)
    return [run.info.run_id for run in by_start]


@pytest.fixture
def gate(shared_application, runs):
    def run(candidate, baseline, metric="recall", margin="0.02"):
        given = [runs[candidate], "--baseline", runs[baseline], "--metric", metric, "--margin", margin]
        return shared_application.script_here("gate", *given)

    return run


@pytest.mark.parametrize(
    ("which", "asked", "status", "text"),
    [
        ((1, 0), {"margin": "0.05"}, 0, "PASS: "),
        ((2, 0), {}, 1, "FAIL: "),
        ((1, 0), {"margin": "0.000001", "metric": "ndcg"}, 3, "UNCERTAIN: "),
        ((0, 0), {"margin": "0.000001", "metric": "ndcg"}, 0, "nothing was compared"),
        ((0, 2), {"margin": "0.9"}, 2, "--margin: found 0.9, expected less than 0."),
        ((3, 0), {}, 2, "measured at k 3 and at k 5: runs are compared at the same k"),
        (
            (1, 0),
            {"metric": "recal"},
            2,
            "--metric: found 'recal', expected one that both runs have: precision, recall",
        ),
        ((1, 0), {"margin": "0"}, 2, "--margin: found 0, expected more than 0"),
        ((1, 0), {"margin": "nan"}, 2, "--margin: found nan, expected more than 0"),
        ((1, 0), {"margin": "1"}, 2, "--margin: found 1, expected less than 1, the whole range of recall"),
        ((1, 0), {"margin": "inf"}, 2, "--margin: found inf, expected less than 1"),
    ],
)
def test_the_exit_status_says_what_the_queries_show(gate, which, asked, status, text):
    process = gate(*which, **asked)
    assert process.returncode == status, process.stdout + process.stderr
    assert text in (process.stderr if status == 2 else process.stdout)


def of(candidate, baseline, margin=0.02):
    """The gate of two runs with these scores."""
    sweep = Sweep([of_scores("new", candidate, {}), of_scores("old", baseline, {})], {})
    one, other = sweep.scores("f1")
    return Gate("f1", margin, sweep, against_baseline(one - other, margin, 1.0, resamples=1000))


def test_what_the_queries_cannot_show_is_uncertain_and_says_how_many_could():
    gate = of([0.5, 0.6, 0.4, 0.7] * 8, [0.4, 0.7, 0.5, 0.6] * 8)
    assert gate.verdict is Verdict.UNCERTAIN
    assert gate.tests.least == 149
    [*_, needed] = gate.claims()
    assert (needed.name, needed.numbers) == ("gate_needed", {"least": 149, "needed": gate.tests.needed})
    assert "149 queries" in needed.sentence
    assert f"{gate.tests.needed:,} queries" in needed.sentence


def test_a_small_loss_that_is_shown_to_be_within_the_margin_passes():
    gate = of([0.499] * 300, [0.5] * 300)
    assert gate.tests.p_worse < 0.05
    assert gate.verdict is Verdict.NOT_WORSE


def returning(run, size):
    """A run of passages of so many characters, a quarter of them tokens, at k 5."""
    tokens = replace(run.facts.measures["context/tokens"], value=size / 4 * 5)
    facts = replace(run.facts, returned=ReturnedFact(size, "words"), measures={"context/tokens": tokens})
    return replace(run, facts=facts, per_query=run.per_query.drop(columns="context/tokens"))


@pytest.mark.parametrize(
    ("sizes", "verdict"),
    [((800, 400), Verdict.UNCERTAIN), ((400, 800), Verdict.NOT_WORSE), ((420, 400), Verdict.NOT_WORSE)],
    ids=["more text", "less text", "as much text"],
)
def test_a_candidate_that_is_better_for_returning_more_text_at_the_same_k_is_uncertain(sizes, verdict):
    gate = of([0.8, 0.7] * 50, [0.5, 0.4] * 50)
    pairs = zip(gate.sweep.outcomes, sizes, strict=True)
    runs = [returning(run, size) for run, size in pairs]
    gated = replace(gate, sweep=replace(gate.sweep, outcomes=runs))
    assert gated.verdict is verdict
    claims = {claim.name: claim for claim in gated.claims()}
    assert ("unequal_text" in claims) == (verdict is Verdict.UNCERTAIN)
    assert all("budget=" in claim.sentence for name, claim in claims.items() if name == "unequal_text")


@pytest.mark.parametrize(("cut", "verdict"), [(5, Verdict.UNCERTAIN), (4, Verdict.NOT_WORSE)])
def test_no_gate_passes_where_a_model_does_not_read_the_text(cut, verdict):
    gate = of([0.8, 0.7] * 50, [0.5, 0.4] * 50)
    candidate, baseline = gate.sweep.outcomes
    facts = replace(candidate.facts, unread_texts=[UnreadText("MiniLM", "passages", cut, 100, 254, "tokens")])
    gated = replace(gate, sweep=replace(gate.sweep, outcomes=[replace(candidate, facts=facts), baseline]))
    assert gated.verdict is verdict


@pytest.mark.parametrize(("sizes", "verdict"), [((800, 200), "UNCERTAIN"), ((200, 800), "NOT_WORSE")])
def test_a_candidate_that_is_as_good_with_more_text_does_not_pass(sizes, verdict):
    """It need not be better: what is as good with four times the text may be worse with as much."""
    gate = of(np.tile([0.5, 0.6], 200), np.tile([0.6, 0.5], 200), 0.1)
    assert gate.verdict is Verdict.NOT_WORSE
    runs = [
        replace(run, run_id=str(size), facts=replace(run.facts, returned=ReturnedFact(size, str(size))))
        for run, size in zip(gate.sweep.outcomes, sizes, strict=True)
    ]
    unequal = replace(gate, sweep=replace(gate.sweep, outcomes=runs))
    assert unequal.verdict.name == verdict
    assert ("800 characters a passage" in " ".join(unequal.sentences())) == (verdict == "UNCERTAIN")


@pytest.mark.parametrize("judged", [((1.0, 1.0), (0.2, 0.1)), ((0.2, 0.1), (1.0, 1.0))])
def test_a_gate_says_of_which_run_less_was_judged(judged):
    gate = of([0.2, 0.4] * 20, [0.5, 0.6] * 20)
    pairs = zip(gate.sweep.outcomes, judged, strict=True)
    runs = [replace(run, facts=replace(run.facts, judged=JudgedFact(*pair))) for run, pair in pairs]
    claims = replace(gate, sweep=replace(gate.sweep, outcomes=runs)).claims()
    less = {name for claim in claims if claim.name == "less_judged" for name in claim.numbers["others"]}
    assert less == {"old" if judged[0] > judged[1] else "new"}
