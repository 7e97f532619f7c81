"""Configurations that return unequal amounts of text at the same cutoff, and as much within a budget."""

import re
from dataclasses import replace

import numpy as np
import pytest
from outcomes import FACTS, SETTINGS, facts_of, of_scores
from simulated import at_most

from ragsweep.core.errors import ConfigError
from ragsweep.report.record import as_record
from ragsweep.report.report_charts import report_charts
from ragsweep.report.report_sentences import headline
from ragsweep.sweeps import DecisionSettings, Sweep, check_at, check_decision, decide, not_shipped
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


def within(size, budget, scores, *, tokens, ranked=3):
    """A run that was measured within a budget, of which so many passages were ranked."""
    one = run(size, budget, scores, tokens=tokens)
    settings = {name: value for name, value in one.settings.items() if name != "k"} | {"budget": str(budget)}
    curves = {TOKENS: tuple(np.linspace(1, np.mean(tokens), ranked)), "recall": ()}
    facts = replace(one.facts, cutoff="budget", cutoff_unit="tokens", curves=curves, intervals={})
    return replace(one, swept={"chunker.size": size, "budget": budget}, settings=settings, facts=facts)


@pytest.mark.parametrize("cutoffs", [(4,), (2, 4, 8)])
def test_it_is_said_that_some_return_more_at_the_same_k(cutoffs):
    said = " ".join(headline(decide(grid(cutoffs=cutoffs))))
    assert "At the same k, configurations return 200 to 800 tokens, and more text finds more: budget=500,1000" in said


@pytest.mark.parametrize(
    ("sweep", "why"),
    [
        (grid(sizes=(200, 210)), "units are alike"),
        (grid(returned=False), "recorded before sizes were"),
        (grid(settings=DecisionSettings("f1", at=4, costs=[TOKENS])), "asked about a k"),
        (grid(settings=DecisionSettings("f1", prefer=TOKENS, costs=[TOKENS])), "asked for fewer tokens"),
        (grid(settings=DecisionSettings("f1")), "no cost"),
        (Sweep([run(200, 2, [0.1]), run(800, 2, [0.2], counted_by="a model")], {}, SETTINGS), "other tokens"),
        (Sweep([within(s, 500, [s / 1000] * 9, tokens=490) for s in (200, 800)], {}, SETTINGS), "within a budget"),
    ],
)
def test_nothing_is_said_of_unequal_text_where(sweep, why):
    assert "more text finds more" not in " ".join(headline(decide(sweep))), why


@pytest.mark.usefixtures("drawing")
def test_a_gain_is_drawn_over_the_budgets_that_were_measured():
    runs = [within(size, budget, [size / 1000] * 9, tokens=budget) for size in (200, 800) for budget in (300, 900)]
    [axes] = dict(report_charts(decide(Sweep(runs, {}, SETTINGS))))["by_cutoff.svg"].axes
    curves = {tuple(line.get_xdata()): list(line.get_ydata()) for line in axes.lines if line.get_label()[0] != "_"}
    assert [*curves] == [(300, 900)]
    one = [each for each in runs if each.cutoff == 300]
    assert "by_cutoff.svg" not in dict(report_charts(decide(Sweep(one, {}, SETTINGS))))


def test_a_metric_that_a_shorter_list_can_win_is_doubted():
    runs = [within(size, 300, [size / 1000] * 9, tokens=290) for size in (200, 800)]
    settings = {"costs": [TOKENS], "gains": ["recall"]}
    doubt = "decision.metric=recall compares what is found"
    assert doubt in " ".join(headline(decide(Sweep(runs, {}, DecisionSettings("f1", **settings)))))
    assert doubt not in " ".join(headline(decide(Sweep(runs, {}, DecisionSettings("recall", **settings)))))


def test_the_headline_is_about_the_budget_that_was_asked_for_though_not_all_spend_it():
    runs = [
        within(size, budget, [size / 1000] * 9, tokens=min(budget, size), ranked=100)
        for size in (300, 800)
        for budget in (300, 800)
    ]
    settings = DecisionSettings("f1", costs=[TOKENS])
    assert headline(decide(Sweep(runs, {}, settings)))[0].startswith("By F1, at 300 tokens: size 800.")
    asked = headline(decide(Sweep(runs, {}, replace(settings, at=800))))[0]
    assert asked.startswith("By F1, at 800 tokens: size 800.")


@pytest.mark.parametrize(
    ("ranked", "ends"), [(100, True), (3, False)], ids=["no more is ranked", "the next is too long"]
)
def test_within_a_budget_what_does_not_fit_is_no_ranking_that_ends(ranked, ends):
    made = [
        within(size, budget, [size / 1000] * 20, tokens=min(budget, 600) if size == 200 else budget, ranked=ranked)
        for budget in (300, 3000)
        for size in (200, 800)
    ]
    said = " ".join(headline(decide(Sweep(made, {}, DecisionSettings("f1", costs=[TOKENS], gains=["f1"])))))
    assert ("size 200 returned at most 600 tokens: set k=200 before you choose at 3,000 tokens." in said) == ends
    assert said.startswith(f"By F1, at {'300 tokens' if ends else 'every budget'}: size 800.")


def test_a_budget_of_a_task_that_has_none_is_refused():
    metrics = [Metric("f1", "F1"), Metric(TOKENS, "Tokens", higher_is_better=False)]
    with pytest.raises(ConfigError, match="budget: found 300, and this task has no budget in tokens; expected k"):
        check_decision(DecisionSettings("f1"), metrics, (), "k", 300)
    check_at(DecisionSettings("f1", at=5), [3, 5])
    with pytest.raises(ConfigError, match=r"decision\.at: found 500, expected a measured cutoff: 3, 5"):
        check_at(DecisionSettings("f1", at=500), [3, 5])


def strategies(rng, queries=150):
    """Two strategies that find as much in as many tokens; one returns units that are four times as large.

    A passage of 100 tokens finds the answer with the chance of its query, each independently of the others.
    """
    chance = np.clip(rng.beta(1, 6, queries), 1e-6, 1)
    return {size: rng.geometric(chance) for size in (100, 400)}  # the first passage of 100 tokens that finds it


def found(firsts, tokens):
    return (firsts <= tokens / 100).astype(float)


@pytest.mark.usefixtures("long_work")
def test_strategies_that_are_equal_within_a_budget_are_rarely_told_apart(times):
    most, apart, apart_at_k = times(400), 0, []
    for seed in range(most):
        firsts = strategies(np.random.default_rng((12, seed)))
        settings = DecisionSettings("f1", costs=[TOKENS])
        equal = [within(size, 1200, found(first, 1200), tokens=1200) for size, first in firsts.items()]
        apart += len(decide(Sweep(equal, {}, settings)).headline.tied) < 2
        if seed % 5 == 0:  # all of them would only take longer
            at_4 = [run(size, 4, found(first, 4 * size), tokens=4 * size) for size, first in firsts.items()]
            apart_at_k.append(len(decide(Sweep(at_4, {}, settings)).headline.tied) < 2)
    assert apart / most <= at_most(0.05, most)
    assert all(apart_at_k)
