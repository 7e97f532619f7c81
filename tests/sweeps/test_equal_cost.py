"""Configurations at equal cost, against a slow and obvious computation, and a simulation of its error."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from outcomes import FACTS, SETTINGS, facts_of, of_scores
from simulated import at_most

from ragsweep.core.errors import ConfigError
from ragsweep.report.evidence_section import evidence
from ragsweep.report.record import as_record
from ragsweep.report.report_charts import report_charts
from ragsweep.report.report_sentences import headline
from ragsweep.report.report_tables import cells
from ragsweep.sweeps import (
    AcrossDatasets,
    DecisionSettings,
    Sweep,
    check_at,
    check_decision,
    decide,
    decide_each,
    not_shipped,
)
from ragsweep.sweeps.equal_cost import at_equal_cost, usual_budgets
from ragsweep.tasks.metric import Metric

TOKENS = "context/tokens"


def run(size, k, scores, *, tokens=None, counted_by="words", returned=True):
    """A run of passages of so many characters, a quarter of them tokens."""
    swept = {"chunker.size": size, "k": k}
    found = of_scores(f"size={size} k={k}", scores, swept, k=str(k), **{"chunker.size": str(size)})
    cost = size / 4 * k if tokens is None else tokens
    table = found.per_query.assign(**{TOKENS: np.full(len(scores), cost)})
    measures = {name: {**about, "value": 20.0} for name, about in FACTS["measures"].items()}
    measures[TOKENS]["value"] = float(np.mean(cost))
    known = {**FACTS, "measures": measures}
    if returned:
        known["returned"] = [size, counted_by]
    return type(found)(found.name, found.run_id, swept, found.settings, table, facts_of(known))


def chunks(sizes=(200, 800), cutoffs=(5,), *, means=(0.3, 0.7), settings=SETTINGS, **facts):
    """Runs whose chunks differ in size, and whose metric counts chunks, whatever their size."""
    rng = np.random.default_rng(5)
    made = []
    for size, mean in zip(sizes, means, strict=True):
        scores = mean + rng.normal(0, 0.05, 40)
        made += [run(size, k, scores) for k in cutoffs]
    known = {"if_unequal": {"chunker": "Judge text."}, **facts}
    return decide(Sweep([replace(each, facts=replace(each.facts, **known)) for each in made], {}, settings))


@pytest.mark.parametrize("cutoffs", [(5,), (3, 5)])
@pytest.mark.parametrize("means", [(0.3, 0.7), (0.7, 0.3), (0.5, 0.5)], ids=["large", "small", "tied"])
def test_no_size_of_chunks_is_shipped_at_the_same_k(cutoffs, means):
    decision = chunks(cutoffs=cutoffs, means=means)
    assert not_shipped(decision) == as_record(decision, "")["not_shipped"] == "unequal text"
    assert not decision.is_interpolated
    words = " ".join(headline(decision))
    assert "budget=500,1000" in words
    assert "200 to 800 characters" in words
    assert "Judge text." in words
    assert not re.search("Ship|take|Choose by cost", words)


def test_what_nothing_tells_apart_is_no_size_to_take_either():
    scores = np.linspace(0.2, 0.8, 20)
    facts = {"if_unequal": {"chunker": ""}}
    same = [replace(each, facts=replace(each.facts, **facts)) for each in (run(200, 5, scores), run(800, 5, scores))]
    decision = decide(Sweep(same, {}, SETTINGS))
    assert not_shipped(decision) == "unequal text"
    assert "the cheapest" not in " ".join(headline(decision))


OF_TEXT = {name: replace(each, of_text=name == "f1") for name, each in facts_of(FACTS).metrics.items()}


@pytest.mark.parametrize(
    ("decision", "why"),
    [
        (chunks(sizes=(200, 210)), "one size"),
        (chunks(metrics=OF_TEXT), "a metric of text"),
        (chunks(cutoff_unit="tokens"), "within budgets"),
        (chunks(if_unequal={"returns": ""}), "another group"),
        (chunks(if_unequal={}), "recorded before"),
    ],
)
def test_what_can_choose_a_size_ships_one(decision, why):
    assert not_shipped(decision) is None, why


def grid(sizes=(200, 800), cutoffs=(2, 4, 8), queries=40, settings=SETTINGS, **more):
    rng = np.random.default_rng(3)
    runs = [
        run(size, k, np.sort(rng.random(queries)) ** (4 / (k * size) ** 0.3), **more) for size in sizes for k in cutoffs
    ]
    return Sweep(runs, {}, settings)


def by_hand(runs, budget):
    """The metric of each query at a budget: walk along the measured cutoffs."""
    points = sorted((each.value(TOKENS), list(each.per_query["f1"])) for each in runs)
    if budget < points[0][0]:
        return None
    if budget >= points[-1][0]:
        return points[-1][1]
    for (below, first), (above, second) in pairwise(points):
        if below <= budget < above:
            return [a + (b - a) * (budget - below) / (above - below) for a, b in zip(first, second, strict=True)]
    raise AssertionError


@pytest.mark.usefixtures("long_work")
@given(st.integers(1, 3000))
def test_values_at_a_budget_are_those_of_a_walk_along_the_cutoffs(budget):
    sweep = grid(settings=DecisionSettings("f1", budgets=[budget], costs=[TOKENS]))
    compared = at_equal_cost(sweep)
    found = {each.swept["chunker.size"]: each for each in compared.outcomes}
    for size in (200, 800):
        expected = by_hand([each for each in sweep.outcomes if each.swept["chunker.size"] == size], budget)
        if expected is None:
            assert size not in found or compared.cutoff == "k"  # nothing is that small
        else:
            assert found[size].per_query["f1"].to_numpy() == pytest.approx(expected)
            assert found[size].value("f1") == pytest.approx(np.mean(expected))


def test_what_is_chosen_at_a_budget_costs_no_more():
    sweep = at_equal_cost(grid(settings=DecisionSettings("f1", budgets=[500, 900], costs=[TOKENS])))
    assert sweep.cutoffs == (500, 900)
    assert all(each.value(TOKENS) <= each.cutoff + 1e-9 for each in sweep.outcomes)
    assert {each.name: each.between for each in sweep.outcomes} == {
        "size=200 budget=500": (8,),
        "size=800 budget=500": (2, 4),
        "size=200 budget=900": (8,),
        "size=800 budget=900": (4, 8),
    }
    assert [each.run_id for each in sweep.outcomes] == [
        *("id-size=200 k=8", "id-size=800 k=2", "id-size=200 k=8", "id-size=800 k=4")
    ]


def test_a_small_arm_at_a_large_k_beats_a_large_arm_at_a_small_one():
    """The fault of comparing at equal k: .850 for 1,795 tokens was named, with .897 for 1,677 in the same table."""
    runs = [
        run(400, 5, np.full(30, 0.767), tokens=420),
        run(400, 20, np.full(30, 0.897), tokens=1677),
        run(1600, 5, np.full(30, 0.85), tokens=1795),
        run(1600, 20, np.full(30, 0.95), tokens=7180),
    ]
    by_k = decide(Sweep(runs, {}, DecisionSettings("f1", budget="k", costs=[TOKENS])))
    assert {each.named.swept["chunker.size"] for each in by_k.choices.values()} == {1600}
    by_tokens = decide(Sweep(runs, {}, DecisionSettings("f1", budgets=[1800], costs=[TOKENS])))
    assert by_tokens.named.swept["chunker.size"] == 400
    assert by_tokens.named.value("f1") == pytest.approx(0.9, abs=0.01)


def test_a_configuration_that_returns_more_than_all_others_is_compared_too():
    """What runs in production returned 352 tokens at k 3, and was in no row of the table and in no sentence."""
    rng = np.random.default_rng(8)
    costs = {(1400, 3): 352.3, (1400, 5): 596.7, (200, 3): 139.1, (200, 5): 233.9, (210, 3): 136.6, (210, 5): 226.2}
    runs = [run(size, k, rng.random(40) * 0.5, tokens=cost) for (size, k), cost in costs.items()]
    assert usual_budgets(runs, TOKENS) == [160, 230, 320, 360]  # the first three are quartiles
    assert usual_budgets([each for each in runs if each.swept["chunker.size"] < 1400], TOKENS) == [140, 180, 230]
    sweep = at_equal_cost(Sweep(runs, {}, DecisionSettings("f1", costs=[TOKENS])))
    assert {each.swept["chunker.size"] for each in sweep.at(360).outcomes} == {200, 210, 1400}


def test_who_is_compared_at_no_budget_is_said_beside_the_choice():
    given = DecisionSettings("f1", budgets=[100, 150], costs=[TOKENS])
    words = " ".join(headline(decide(grid(sizes=(100, 200, 800), settings=given))))
    assert "size 800 is not compared at 100 and 150 tokens: its smallest k returns more" in words
    assert "not compared" not in " ".join(headline(decide(grid(sizes=(200, 800)))))


@pytest.mark.parametrize(
    ("sweep", "why"),
    [
        (grid(sizes=(200, 210)), "units are alike"),
        (grid(returned=False), "recorded before sizes were"),
        (grid(settings=DecisionSettings("f1", at=4, costs=[TOKENS])), "asked about a k"),
        (grid(settings=DecisionSettings("f1", prefer=TOKENS, costs=[TOKENS])), "asked for fewer tokens"),
        (grid(settings=DecisionSettings("f1", budget="k", costs=[TOKENS])), "asked for the same k"),
        (grid(settings=DecisionSettings("f1")), "no cost"),
        (Sweep([run(200, 2, [0.1]), run(800, 2, [0.2], counted_by="a model")], {}, SETTINGS), "other tokens"),
    ],
)
def test_configurations_stay_at_the_same_k_where(sweep, why):
    assert at_equal_cost(sweep) is sweep, why


@pytest.mark.parametrize("settings", [{"budget": TOKENS}, {"budgets": [300]}])
def test_alike_units_are_compared_at_equal_tokens_where_that_is_asked(settings):
    sweep = at_equal_cost(grid(sizes=(200, 210), settings=DecisionSettings("f1", costs=[TOKENS], **settings)))
    assert sweep.budgeted == TOKENS


def test_the_usual_budgets_are_the_quartiles_of_what_was_swept():
    assert at_equal_cost(grid()).cutoffs == (250, 400, 700)  # of 100, 200, 400, 400, 800, 1600 tokens


def test_budgets_that_are_alike_count_once():
    runs = [run(200, 4, [0.5] * 4, tokens=cost) for cost in (100, 300, 310, 315, 490)]
    assert usual_budgets(runs, TOKENS) == [300]


@pytest.mark.usefixtures("drawing")
def test_a_reader_learns_how_they_were_compared():
    decision = decide(grid(settings=DecisionSettings("f1", budgets=[300, 1500], costs=[TOKENS], gains=["recall"])))
    assert "1,500 tokens" in " ".join(headline(decision))
    assert cells(decision)[0][:3] == ["tokens", "choice", "k"]
    said = " ".join(evidence(decision))
    assert "Not compared at 300 tokens, as their smallest k returns more: size 800." in said
    assert "At 1,500 tokens these would have more to spend" in said
    assert "over_cost.svg" in dict(report_charts(decision))


def test_at_a_single_k_it_is_said_that_some_return_more():
    said = " ".join(headline(decide(grid(cutoffs=(4,)))))
    assert "At the same k, configurations return 200 to 800 tokens, and more text finds more: sweep k" in said
    assert "more text" not in " ".join(headline(decide(grid(cutoffs=(4,), sizes=(200, 210)))))


def test_a_metric_that_a_shorter_list_can_win_is_doubted():
    budgets = {"budgets": [300], "costs": [TOKENS], "gains": ["recall"]}
    assert "decision.metric=recall compares what is found" in " ".join(
        headline(decide(grid(settings=DecisionSettings("f1", **budgets))))
    )
    by_gain = headline(decide(grid(settings=DecisionSettings("recall", **budgets))))
    assert "compares what is found" not in " ".join(by_gain)


def test_a_budget_that_was_not_spent_is_no_budget_that_buys_nothing():
    scores = {200: [0.8, 0.9] * 20, 800: [0.1, 0.2] * 20}
    runs = [run(size, k, its) for size, its in scores.items() for k in (2, 4, 8)]
    settings = DecisionSettings("f1", budgets=[200, 400, 1500], costs=[TOKENS], gains=["f1"])
    said = " ".join(headline(decide(Sweep(runs, {}, settings))))
    assert said.startswith("By F1, at 400 tokens: size 200. Better than the other one (p <= 0.05).")
    assert "size 200 returned at most 400 tokens: sweep a larger k before you choose at 1,500 tokens." in said
    assert "0.85 at 200 tokens, 0.85 at 400." in said


def test_the_headline_is_about_the_budget_that_was_asked_for_though_not_all_spend_it():
    scores = {100: [0.1, 0.2] * 20, 200: [0.5, 0.6] * 20, 800: [0.8, 0.9] * 20}
    runs = [run(size, k, its) for size, its in scores.items() for k in (2, 4, 8)]
    settings = DecisionSettings("f1", budgets=[200, 400], costs=[TOKENS], at=400)
    assert headline(decide(Sweep(runs, {}, settings)))[0].startswith("By F1, at 400 tokens: size 800. Better than")


@pytest.mark.parametrize(
    ("ranked", "ends"), [(100, True), (3, False)], ids=["no more is ranked", "the next is too long"]
)
def test_within_a_budget_what_does_not_fit_is_no_ranking_that_ends(ranked, ends):
    made = []
    for budget in (300, 3000):
        for size in (200, 800):
            cost = min(budget, 600) if size == 200 else budget
            one = run(size, budget, [size / 1000] * 20, tokens=cost)
            settings = {name: value for name, value in one.settings.items() if name != "k"} | {"budget": str(budget)}
            curves = {TOKENS: tuple(np.linspace(1, cost, ranked))}
            facts = replace(one.facts, cutoff="budget", cutoff_unit="tokens", curves=curves, intervals={})
            swept = {"chunker.size": size, "budget": budget}
            made.append(replace(one, swept=swept, settings=settings, facts=facts))
    said = " ".join(headline(decide(Sweep(made, {}, DecisionSettings("f1", costs=[TOKENS], gains=["f1"])))))
    assert ("size 200 returned at most 600 tokens: set k=200 before you choose at 3,000 tokens." in said) == ends
    assert said.startswith(f"By F1, at {'300 tokens' if ends else 'every budget'}: size 800.")


def test_budgets_that_nothing_fits_are_named():
    decision = decide(grid(settings=DecisionSettings("f1", budgets=[1], costs=[TOKENS])))
    assert decision.sweep.cutoff == "k"
    assert "No configuration returns so little" in " ".join(evidence(decision))


def test_what_was_measured_stays_beside_it():
    decision = decide(sweep := grid())
    assert decision.measured is sweep
    assert decide(grid(sizes=(200, 210))).sweep is not decision.measured
    assert "k" not in decision.sweep.axes
    assert decision.sweep.cutoff == "budget"


def test_several_datasets_are_decided_at_the_same_budgets():
    ours = grid().outcomes
    theirs = [
        replace(each, name=f"dataset=b {each.name}", facts=replace(each.facts, dataset="b", digest="d2"))
        for each in grid(cutoffs=(2, 6)).outcomes
    ]
    decisions = decide_each(Sweep([*ours, *theirs], {}, SETTINGS))
    assert len(decisions) == 2
    assert {each.sweep.cutoffs for each in decisions} == {decisions[0].sweep.cutoffs}
    assert not AcrossDatasets(decisions).problem


def test_a_budget_that_is_no_cost_is_refused():
    metrics = [Metric("f1", "F1"), Metric(TOKENS, "Tokens", higher_is_better=False)]
    with pytest.raises(ConfigError, match=r"decision\.budget: found 'f1'"):
        check_decision(DecisionSettings("f1", budget="f1"), metrics, (), "k")
    check_decision(DecisionSettings("f1", budget="k"), metrics, (), "k")
    with pytest.raises(ConfigError, match="budget: found 300, and this task has no budget in tokens; expected k"):
        check_decision(DecisionSettings("f1"), metrics, (), "k", 300)
    check_at(DecisionSettings("f1", at=500, budgets=[500]), [3, 5])
    with pytest.raises(ConfigError, match=r"decision\.at: found 5, expected a measured cutoff: 500"):
        check_at(DecisionSettings("f1", at=5, budgets=[500]), [3, 5])


def strategies(rng, queries=150):
    """Two strategies that find as much in as many tokens; one returns units that are four times as large.

    A passage of 100 tokens finds the answer with the chance of its query, each independently of the others.
    """
    chance = rng.beta(1, 6, queries)
    for size, cutoffs in ((100, (4, 8, 16)), (400, (1, 2, 4))):
        first = rng.geometric(np.clip(chance, 1e-6, 1))  # the first passage of 100 tokens that finds it
        for k in cutoffs:
            yield run(size, k, (first <= k * size / 100).astype(float), tokens=k * size)


@pytest.mark.usefixtures("long_work")
def test_strategies_that_are_equal_at_equal_tokens_are_rarely_told_apart(times):
    most, apart, apart_at_k = times(400), 0, []
    for seed in range(most):
        runs = list(strategies(np.random.default_rng((12, seed))))
        settings = {"costs": [TOKENS], "at": 1000}
        equal = Sweep(runs, {}, DecisionSettings("f1", budgets=[1000], **settings))
        apart += len(decide(equal).headline.tied) < 2
        if seed % 5 == 0:  # all of them would only take longer
            at_4 = Sweep(runs, {}, DecisionSettings("f1", budget="k", costs=[TOKENS], at=4))
            apart_at_k.append(len(decide(at_4).headline.tied) < 2)
    assert apart / most <= at_most(0.05, most)
    assert all(apart_at_k)
