"""Configurations that return unequal amounts of text at the same cutoff, and as much within a budget."""

from dataclasses import replace

import numpy as np
import pytest
from outcomes import FACTS, SETTINGS, claims, decided, facts_of, of_scores
from simulated import at_most

from ragsweep.core.errors import ConfigError
from ragsweep.report import rows_of
from ragsweep.report.claims import veto_of
from ragsweep.report.report_charts import report_charts
from ragsweep.sweeps import DecisionSettings, check_at, check_decision
from ragsweep.tasks.metric import Metric

TOKENS = "context/tokens"


def run(size, k, scores, *, tokens=None, counted_by="words", returned=True):
    """A run of passages of so many characters, a quarter of them tokens."""
    swept = {"chunker.size": size, "k": k}
    outcome = of_scores(f"size={size} k={k}", scores, swept, k=str(k), **{"chunker.size": str(size)})
    cost = size / 4 * k if tokens is None else tokens
    table = outcome.per_query.assign(**{TOKENS: np.full(len(scores), cost)})
    measures = {name: {**about, "value": 20.0} for name, about in FACTS["measures"].items()}
    measures[TOKENS]["value"] = float(np.mean(cost))
    facts = {**FACTS, "measures": measures} | ({"returned": [size, counted_by]} if returned else {})
    return replace(outcome, per_query=table, facts=facts_of(facts))


def chunks(sizes=(200, 800), means=(0.3, 0.7), settings=SETTINGS, **facts):
    """The decision between runs whose chunks differ in size. All metrics of the same name's end measure the same."""
    rng, runs = np.random.default_rng(5), []
    for size, mean in zip(sizes, means, strict=True):
        scores = mean + rng.normal(0, 0.05, 40)
        one = run(size, 5, scores)
        metrics, about = one.facts.metrics, one.facts.metrics["f1"]
        of_text = {name: replace(about, of_text=name == "token/iou") for name in ("token/iou", "token/recall")}
        table = one.per_query.assign(**dict.fromkeys(of_text, scores))
        runs.append(replace(one, facts=replace(one.facts, metrics={**metrics, **of_text}, **facts), per_query=table))
    return decided(*runs, settings=settings)


VETOES = [
    ({"settings": replace(SETTINGS, metric="token/recall")}, "unequal text"),  # of all tokens that are judged
    ({"sizes": (200, 219)}, None),
    ({"sizes": (200, 221)}, "unequal text"),
    ({"means": (0.7, 0.3)}, None),
    ({"sizes": (200, 400, 800), "means": (0.7, 0.7, 0.3)}, None),  # the two that are told apart from the largest
    ({"sizes": (200, 400, 800), "means": (0.3, 0.7, 0.2)}, "unequal text"),
    ({"settings": replace(SETTINGS, metric="token/iou")}, None),
    ({"settings": replace(SETTINGS, prefer=TOKENS, margin=0.5)}, None),
    ({"settings": replace(SETTINGS, prefer="latency/mean_ms")}, "unequal text"),
    ({"returned": None}, None),  # as of one's own retriever
    ({"means": (0.5, 0.5)}, "tied"),
]


@pytest.mark.usefixtures("long_work")
def test_what_wins_by_returning_more_text_is_not_shipped():
    """How much more is said: tokens, where both were counted in the same way; else the characters of a passage."""
    assert [(more, veto) for more, veto in VETOES if veto_of(chunks(**more)) != veto] == []
    claim = claims(chunks())["unequal_text"]
    assert [claim[name] for name in ("label", "other", "texts", "unit")] == [
        *("size 800", "size 200", [1000, 250], "tokens"),
    ]
    small, large = run(200, 2, [0.1] * 40), run(800, 2, [0.9] * 40)
    uncounted = replace(small, facts=replace(small.facts, measures={}), per_query=small.per_query.drop(columns=TOKENS))
    for made in ((small, run(800, 2, [0.9] * 40, counted_by="a model")), (uncounted, large)):
        claim = claims(decided(*made))["unequal_text"]
        assert (claim["texts"], claim["unit"]) == ([800, 200], "characters a passage")


def within(size, budget, scores, *, tokens, ranked=3):
    """A run that was measured within a budget, of which so many passages were ranked."""
    one = run(size, budget, scores, tokens=tokens)
    settings = {name: value for name, value in one.settings.items() if name != "k"} | {"budget": str(budget)}
    curves = {TOKENS: tuple(np.linspace(1, np.mean(tokens), ranked)), "recall": ()}
    facts = replace(one.facts, cutoff="budget", cutoff_unit="tokens", at_k=curves, at_k_ci={})
    return replace(one, swept={"chunker.size": size, "budget": budget}, settings=settings, facts=facts)


@pytest.mark.usefixtures("drawing")
def test_a_gain_is_drawn_over_the_budgets_that_were_measured():
    runs = [within(size, budget, [size / 1000] * 9, tokens=budget) for size in (200, 800) for budget in (300, 900)]
    [axes] = dict(report_charts(decided(*runs)))["by_cutoff.svg"].axes
    curves = {tuple(line.get_xdata()): list(line.get_ydata()) for line in axes.lines if line.get_label()[0] != "_"}
    assert [*curves] == [(300, 900)]
    assert "by_cutoff.svg" not in dict(report_charts(decided(*(run for run in runs if run.cutoff == 300))))


def by(metric, *runs, **settings):
    """The decision by a metric of nothing but tokens."""
    return decided(*runs, settings=DecisionSettings(metric, costs=[TOKENS], **settings))


def test_the_headline_is_about_the_budget_that_was_asked_for_and_doubts_what_a_shorter_list_can_win():
    sizes = [(size, budget) for size in (300, 800) for budget in (300, 800)]
    runs = [within(s, b, [s / 1000] * 9, tokens=min(b, s), ranked=100) for s, b in sizes]
    for at, cutoff in ((None, 300), (800, 800)):
        decision = by("f1", *runs, at=at)
        assert (decision.headline.cutoff, claims(decision)["choice"]["label"]) == (cutoff, "size 800")
    runs = [within(size, 300, [size / 1000] * 9, tokens=290) for size in (200, 800)]
    assert claims(by("f1", *runs, gains=["recall"]))["other_lengths"]["gain"] == "recall"
    assert "other_lengths" not in claims(by("recall", *runs, gains=["recall"]))


def test_within_a_budget_what_does_not_fit_is_no_ranking_that_ends():
    """It ends where no more is ranked, not where the next passage is too long."""
    tokens = {(200, 300): 300, (200, 3000): 600, (800, 300): 300, (800, 3000): 3000}
    of_ranked = []
    for ranked in (3, 100):
        runs = [within(s, b, [s / 1000] * 20, tokens=spent, ranked=ranked) for (s, b), spent in tokens.items()]
        of_ranked.append(claims(by("f1", *runs, gains=["f1"])))
        assert of_ranked[-1]["choice"]["where"] == " at every budget"
    assert "unspent" not in of_ranked[0]
    assert [of_ranked[1]["unspent"][name] for name in ("labels", "most", "k")] == [["size 200"], [600, 600], 200]


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


def reached(firsts, tokens):
    return (firsts <= tokens / 100).astype(float)


@pytest.mark.usefixtures("long_work")
def test_strategies_that_are_equal_within_a_budget_are_rarely_told_apart(times):
    most, apart, apart_at_k = times(400), 0, []
    for seed in range(most):
        firsts = strategies(np.random.default_rng((12, seed)))
        equal = [within(size, 1200, reached(first, 1200), tokens=1200) for size, first in firsts.items()]
        apart += len(by("f1", *equal).headline.tied) < 2
        if seed % 5 == 0:  # all of them would only take longer
            at_4 = [run(size, 4, reached(first, 4 * size), tokens=4 * size) for size, first in firsts.items()]
            apart_at_k.append(len(by("f1", *at_4).headline.tied) < 2)
    assert apart / most <= at_most(0.05, most)
    assert all(apart_at_k)


def by_size_and_k(best_at, tokens=None, cutoffs=(5, 10)):
    """The decision between sizes 200 and 800 at these k; at each, another one is far ahead."""
    noise = np.random.default_rng(5).normal(0, 0.05, 40)
    runs = [
        run(size, k, (0.7 if best_at[k] == size else 0.3) + noise, tokens=(tokens or {}).get(size))
        for size in (200, 800)
        for k in cutoffs
    ]
    return decided(*runs)


def test_a_veto_holds_at_its_cutoff_alone_and_for_more_text_alone():
    """At k 5 the small passages win, at k 10 the large ones, with four times as much text."""
    decision, other = by_size_and_k({5: 200, 10: 800}), by_size_and_k({5: 800, 10: 200})
    assert [veto_of(decision), veto_of(other)] == [None, "unequal text"]
    assert not {"elsewhere"} & {*claims(decision), *claims(other)}
    verdicts = {row.run.name: row.verdict for row in rows_of(decision)}
    assert verdicts["size=200 k=5"] == "chosen"
    assert verdicts["size=800 k=10"] == "not shipped: unequal text"
    # A pipeline with a dynamic k may return fewer of them.
    decision = by_size_and_k({5: 800}, cutoffs=(5,))
    assert veto_of(decision) == "unequal text"
    assert veto_of(by_size_and_k({5: 800}, {200: 250.0, 800: 240.0}, cutoffs=(5,))) is None
    unknown = run(400, 5, decision.sweep.outcomes[0].per_query["f1"].to_numpy(), returned=False)
    assert veto_of(decided(*decision.sweep.outcomes, unknown)) == "unequal text"
