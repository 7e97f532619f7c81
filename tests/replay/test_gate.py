"""`ragsweep gate`: its exit status says whether a candidate may replace a baseline."""

from dataclasses import replace

import numpy as np
import pytest
from application import succeeded
from outcomes import of_scores

from ragsweep.replay.gating import Gate, Verdict
from ragsweep.statistics import against_baseline
from ragsweep.sweeps import Sweep
from ragsweep.tasks.evaluation_record import JudgedFact, ReturnedFact, UnreadText


@pytest.fixture(scope="module")
def runs(shared_application):
    """Two runs of the bundled manual that rank nearly alike, one that is far worse, and one at another k."""
    for settings in (["retriever.k1=1.5"], ["retriever.k1=1.2"], ["retriever.k1=1000", "retriever.b=0"], ["k=3"]):
        succeeded(shared_application.script_here("run", "retriever=sparse", *settings))
    by_start = sorted(shared_application.runs(), key=lambda run: run.info.start_time)
    return [run.info.run_id for run in by_start]


GATES = [  # candidate and baseline, metric, margin, exit status, and what is said
    ((1, 0), "recall", "0.05", 0, "PASS: "),
    ((2, 0), "recall", "0.02", 1, "FAIL: "),
    ((1, 0), "ndcg", "0.000001", 3, "UNCERTAIN: "),
    ((0, 0), "ndcg", "0.000001", 0, "nothing was compared"),
    ((0, 2), "recall", "0.9", 2, "--margin: found 0.9, expected less than 0."),
    ((3, 0), "recall", "0.02", 2, "measured at k 3 and at k 5: runs are compared at the same k"),
    ((1, 0), "recal", "0.02", 2, "--metric: found 'recal', expected one that both runs have: precision, recall"),
    ((1, 0), "recall", "0", 2, "--margin: found 0, expected more than 0"),
    ((1, 0), "recall", "nan", 2, "--margin: found nan, expected more than 0"),
    ((1, 0), "recall", "1", 2, "--margin: found 1, expected less than 1, the whole range of recall"),
    ((1, 0), "recall", "inf", 2, "--margin: found inf, expected less than 1"),
]


def test_the_exit_status_says_what_the_queries_show(shared_application, runs):
    for (candidate, baseline), metric, margin, status, text in GATES:
        given = [runs[candidate], "--baseline", runs[baseline], "--metric", metric, "--margin", margin]
        process = shared_application.script_here("gate", *given)
        assert process.returncode == status, process.stdout + process.stderr
        assert text in (process.stderr if status == 2 else process.stdout)


def of(candidate, baseline, margin=0.02):
    """The gate of two runs with these scores."""
    sweep = Sweep([of_scores("new", candidate, {}), of_scores("old", baseline, {})], {})
    one, other = sweep.scores("f1")
    return Gate("f1", margin, sweep, against_baseline(one - other, margin, 1.0, resamples=1000))


def with_facts(gate, *facts):
    """The gate with other facts about the candidate and the baseline."""
    pairs = zip(gate.sweep.outcomes, facts, strict=True)
    runs = [replace(run, run_id=str(about), facts=replace(run.facts, **about)) for run, about in pairs]
    return replace(gate, sweep=replace(gate.sweep, outcomes=runs))


def test_what_the_queries_cannot_show_is_uncertain_and_a_small_loss_within_the_margin_passes():
    gate = of([0.5, 0.6, 0.4, 0.7] * 8, [0.4, 0.7, 0.5, 0.6] * 8)
    assert gate.verdict is Verdict.UNCERTAIN
    assert gate.tests.least == 149
    [*_, needed] = gate.claims()
    assert (needed.name, needed.numbers) == ("gate_needed", {"least": 149, "needed": gate.tests.needed})
    assert "149 queries" in needed.sentence
    assert f"{gate.tests.needed:,} queries" in needed.sentence
    gate = of([0.499] * 300, [0.5] * 300)
    assert gate.tests.p_worse < 0.05
    assert gate.verdict is Verdict.NOT_WORSE


BETTER = [0.8, 0.7] * 50, [0.5, 0.4] * 50


def test_a_candidate_that_is_better_for_returning_more_text_at_the_same_k_is_uncertain():
    for sizes, verdict in (
        ((800, 400), Verdict.UNCERTAIN),  # more text
        ((400, 800), Verdict.NOT_WORSE),  # less
        ((420, 400), Verdict.NOT_WORSE),  # as much
    ):
        gate = of(*BETTER)
        tokens = gate.sweep.outcomes[0].facts.measures["context/tokens"]
        measures = [{"context/tokens": replace(tokens, value=size / 4 * 5)} for size in sizes]  # 4 characters each, k 5
        facts = [
            {"returned": ReturnedFact(size, "words"), "measures": of_run}
            for size, of_run in zip(sizes, measures, strict=True)
        ]
        gated = with_facts(gate, *facts)
        runs = [replace(run, per_query=run.per_query.drop(columns="context/tokens")) for run in gated.sweep.outcomes]
        gated = replace(gated, sweep=replace(gated.sweep, outcomes=runs))
        assert gated.verdict is verdict, sizes
        claims = [claim.sentence for claim in gated.claims() if claim.name == "unequal_text"]
        assert ["budget=" in sentence for sentence in claims] == [True] * (verdict is Verdict.UNCERTAIN)


def test_no_gate_passes_where_a_model_does_not_read_the_text():
    for cut, verdict in ((5, Verdict.UNCERTAIN), (4, Verdict.NOT_WORSE)):
        unread = {"unread_texts": [UnreadText("MiniLM", "passages", cut, 100, 254, "tokens")]}
        assert with_facts(of(*BETTER), unread, {}).verdict is verdict, cut


def test_a_candidate_that_is_as_good_with_more_text_does_not_pass():
    """It need not be better: what is as good with four times the text may be worse with as much."""
    gate = of(np.tile([0.5, 0.6], 200), np.tile([0.6, 0.5], 200), 0.1)
    assert gate.verdict is Verdict.NOT_WORSE
    for sizes, verdict in (((800, 200), Verdict.UNCERTAIN), ((200, 800), Verdict.NOT_WORSE)):
        unequal = with_facts(gate, *({"returned": ReturnedFact(size, str(size))} for size in sizes))
        assert unequal.verdict is verdict, sizes
        says = "800 characters a passage" in " ".join(unequal.sentences())
        assert says is (verdict is Verdict.UNCERTAIN)


def test_a_gate_says_of_which_run_less_was_judged():
    for judged, less in ((((1.0, 1.0), (0.2, 0.1)), "old"), (((0.2, 0.1), (1.0, 1.0)), "new")):
        gate = with_facts(of([0.2, 0.4] * 20, [0.5, 0.6] * 20), *({"judged": JudgedFact(*pair)} for pair in judged))
        claims = [claim.numbers["others"] for claim in gate.claims() if claim.name == "less_judged"]
        assert {name for names in claims for name in names} == {less}
