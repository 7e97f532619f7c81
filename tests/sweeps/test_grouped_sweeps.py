"""A sweep whose queries come in groups is decided by its groups, at every place that counts queries."""

import numpy as np
import pytest
from outcomes import FACTS, SETTINGS, claims, of_scores
from simulated import alike, f1_like

from ragsweep.replay.gating import Gate, Verdict
from ragsweep.report.record import as_record
from ragsweep.statistics import against_baseline
from ragsweep.sweeps import DecisionSettings, Sweep, decide

COPIES = 4


def sweep(scores, groups=None, facts=(), **changed):
    """A sweep over alpha with these scores, shape [configurations, queries]."""
    runs = [
        of_scores(
            f"alpha={row}", values, {"alpha": row}, facts=facts, groups=groups, alpha=str(row), latency=20.0 + row
        )
        for row, values in enumerate(scores)
    ]
    return Sweep(runs, {}, DecisionSettings(**{**vars(SETTINGS), **changed}))


def numbers(decision):
    """What is decided, without what names queries."""
    record, choice = as_record(decision, ""), decision.headline
    level = choice.allowed.standings
    return {
        "not_shipped": record["not_shipped"],
        "fronts": [[member["name"] for member in front["members"]] for front in record["fronts"]],
        "choice": [choice.named.name, [outcome.name for outcome in choice.tied], choice.worse],
        "margin": choice.not_worse and [outcome.name for outcome in choice.not_worse],
        "p": level.with_best.p.tolist(),
        "expected": choice.expected,
        "power": round(level.power.detectable, 9),
        "showable": choice.showable and choice.showable[0],
    }


@pytest.fixture(scope="module")
def scores():
    return f1_like(np.random.default_rng(5), alike(4), 60, shift=np.array([0.6, 0.55, 0.2, -0.5]))


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("margin", [None, 0.15])
def test_copies_in_groups_decide_as_the_queries_that_they_copy(scores, margin):
    copied, groups = np.repeat(scores, COPIES, axis=1), np.repeat(np.arange(60), COPIES).astype(str)
    single, grouped, naive = (
        numbers(decide(sweep(*given, margin=margin))) for given in ((scores,), (copied, groups), (copied,))
    )
    for name, value in single.items():
        assert grouped[name] == (pytest.approx(value) if isinstance(value, float) or name == "p" else value), name
    assert naive["power"] < single["power"], "which copies would do without groups"
    assert naive["choice"] != single["choice"]


def test_queries_that_are_alone_in_their_groups_give_the_same_record(scores):
    """To the last bit; only the names of the groups are new."""
    alone = sweep(scores, [f"q{row}" for row in range(60)], margin=0.1)
    assert as_record(decide(alone), "") == as_record(decide(sweep(scores, margin=0.1)), "")


def test_what_is_said_counts_the_groups(scores):
    groups = [f"page {row // 2}" for row in range(60)]
    decision = decide(sweep(scores, groups))
    by_name = claims(decision)
    assert (by_name["few"]["groups"], by_name["few"]["few"], by_name["power"]["grouped"]) == (30, False, True)
    assert as_record(decision, "")["dataset"]["groups"] == 30
    few = claims(decide(sweep(scores, [f"{row // 10}" for row in range(60)])))["few"]
    assert (few["groups"], few["few"]) == (6, True)


def test_a_gate_counts_groups(scores):
    groups = [f"page {row // 4}" for row in range(60)]
    runs = sweep(scores[:2], groups)
    one, other = runs.scores("f1")

    def gate(**given):
        return Gate("f1", 0.1, runs, against_baseline(one - other, 0.1, 1, **given))

    grouped = gate(groups=runs.groups)
    assert any("60 queries in 15 groups" in line for line in grouped.sentences())
    assert grouped.tests.least == 29 * 4, "29 groups of 4, where 29 queries would be enough"
    assert grouped.verdict is Verdict.UNCERTAIN
    assert grouped.tests.p_not_worse > gate().tests.p_not_worse


def shares(groups, **more):
    """A sweep of one configuration that has a hit for 14 of 20 pages, with ten questions about each."""
    metrics = {**FACTS["metrics"], "f1": {**FACTS["metrics"]["f1"], "binary": True, "wilson": True}}
    hits = np.repeat([1.0] * 14 + [0.0] * 6, 10)
    return sweep([hits], groups, {"metrics": metrics, "at_k": {"f1": [0.3, 0.5, 0.6, 0.7, 0.7]}, "at_k_ci": {}}, **more)


PAGES = np.repeat(np.arange(20), 10).astype(str)


def test_a_promise_and_wilsons_interval_are_those_of_what_the_groups_tell():
    """The questions of a page all agree: 20 draws, not 200."""
    for groups, certified in ((None, 4), (PAGES, None)):
        [promise] = decide(shares(groups, target={"f1": 0.6})).promises
        assert promise.cutoff == certified
        assert promise.queries == 200
    assert promise.queries_needed > 1000, "in questions, not in draws"
    alone, grouped = (shares(groups).outcomes[0].interval("f1") for groups in (None, PAGES))
    assert alone == pytest.approx((0.633, 0.759), abs=0.001)
    assert grouped == pytest.approx((0.46, 0.86), abs=0.03)
