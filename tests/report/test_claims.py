"""What is claimed of a decision, by the names and numbers of its claims."""

from dataclasses import replace
from itertools import product, starmap

import numpy as np
import pytest
from outcomes import (
    FACTS,
    SETTINGS,
    alpha_k,
    claims,
    decided,
    grid,
    noisy,
    of_scores,
    outcome,
    over_alpha,
    with_measure,
)
from scipy.stats import binom
from simulated import alike, f1_like

from ragsweep.core.parsing import MalformedError
from ragsweep.report import rows_of, veto_of
from ragsweep.report.claims import claims_of, evidence
from ragsweep.report.decision_record import as_record
from ragsweep.report.report_tables import cells
from ragsweep.report.value_words import p_value, ranges, rough, tied_in_words
from ragsweep.statistics.power import detectable_difference, fewest_queries
from ragsweep.sweeps import decide
from ragsweep.tasks.evaluation_record import JudgedFact

TOKENS, MS = "context/tokens", "latency/mean_ms"
ALPHAS = np.linspace(0, 1, 15).round(2)
DEFAULT = {"evaluation.resamples": "10000"}


def over(scores, alphas=(0, 0.5, 1), settings=SETTINGS, **more):
    """The decision of a sweep over alpha at one cutoff."""
    return decide(replace(over_alpha(scores, alphas, **more), settings=settings))


def at_k(alpha, k, scores, latency=20):
    """A run with these F1 values at one k."""
    swept = {"retriever.alpha": alpha, "k": k}
    more = {"latency": latency, "recall": np.minimum(1, scores + k / 30)}
    return of_scores(f"alpha={alpha} k={k}", scores, swept, **more, **{name: str(swept[name]) for name in swept})


def over_k(*means):
    """The decision of a sweep over alpha (0.3, 0.5, ...) and k (3, 5, 10): the mean F1 of each alpha at each k."""
    rows = [zip((3, 5, 10), noisy(row, noise=0.02), strict=True) for row in means]
    alphas = zip((0.3, 0.5, 0.7), rows, strict=False)
    return decided(*[at_k(alpha, k, scores) for alpha, row in alphas for k, scores in row])


def priced(means, costs, cost=MS, settings=SETTINGS, **drawn):
    """The decision of a sweep over alpha (0.3, 0.5, 0.7) whose runs have these latencies, or tokens."""
    scores = noisy(means, **({"queries": 300, "noise": 0.02} | drawn))
    runs = over_alpha(scores, (0.3, 0.5, 0.7)[: len(means)]).outcomes
    made = [with_measure(run, cost, value=float(value)) for run, value in zip(runs, costs, strict=True)]
    return decided(*made, settings=settings)


def alike_in(tokens, means=(0.5, 0.5, 0.5), **settings):
    """The decision between runs that cannot be told apart, with these tokens."""
    return priced(means, tokens, TOKENS, replace(SETTINGS, **settings), queries=40, noise=0.05)


def quick(latencies, means=(0.5, 0.5, 0.5), **settings):
    """The decision between runs with these latencies, the lowest of which is preferred."""
    return priced(means, latencies, settings=replace(SETTINGS, prefer=MS, **settings))


def with_curves(curve, *runs, **settings):
    """The decision between runs with this curve of hits over the cutoff."""
    curves = {run.name: {**run.facts.at_k, "hit": curve(run)} for run in runs}
    runs = [replace(run, facts=replace(run.facts, at_k=curves[run.name])) for run in runs]
    return decided(*runs, settings=replace(SETTINGS, **settings))


def of_rows(*runs):
    """The decision between runs of alpha and k, each with its row of scores."""
    return decided(*starmap(at_k, runs))


SCORES, FAR = noisy([0.5, 0.5]), np.random.default_rng(4).normal(0.5, 0.05, (2, 40))


def cases():
    """The name of a claim, some of its numbers, and a decision that makes it."""
    yield "choice", {"label": "alpha 0.5", "better": True, "others": 2}, over(noisy([0.3, 0.7, 0.3]))
    same_at_3 = ((alpha, 3, SCORES[0]) for alpha in (0.3, 0.5))  # at k 5, others are tied with them
    yield "tied", {"number": 2}, of_rows(*same_at_3, (0.3, 5, SCORES[0]), (0.5, 5, SCORES[1]))
    yield "tied", {"number": 3}, of_rows(*((alpha, 5, SCORES[int(alpha > 0.3)]) for alpha in (0.3, 0.5, 0.7)))
    killed = of_rows((0.3, 5, FAR[0]), (0.5, 3, FAR[1]), (0.5, 5, FAR[1]))  # its rival at k 3 has won nothing
    yield "tied", {"at": " at k 5"}, killed
    yield "tied", {"cheapest": "alpha 0.7", "price": [170, "tokens"]}, alike_in([500, 400, 170])
    yield "tied", {"alike": True}, alike_in([317, 300], (0.51, 0.5))
    yield "tied", {"price": [10, "ms"]}, quick((30, 10, 20))
    yield "rule", {"as_good": 3}, quick((30, 10, 20))
    yield "tied", {"cheapest": None, "alike": True}, quick((20, 20.1, 20.2))
    within = quick((900, 200, 1), (0.6, 0.58, 0.3), margin=0.05)  # the cheapest is far worse, the best one is dearer
    yield "choice", {"label": "alpha 0.5", "best": "alpha 0.3", "margin": 0.05}, within
    yield "rule", {"not_worse": []}, quick((30, 20, 1), margin=0.0001)
    margin = replace(SETTINGS, margin=0.05)
    yield "rule", {"not_worse": ["alpha 0", "alpha 0.5"]}, over(noisy([0.6, 0.58, 0.3], 300, 0.02), settings=margin)
    over_k_alone = decided(*[alpha_k(0.5, k, f1) for k, f1 in ((1, 0.6), (3, 0.5), (5, 0.4))])
    yield "bought", {"more": False}, over_k_alone
    side_by_side = [(0.9, 5), (0.9, 10), *((alpha, k) for alpha in (0.1, 0.5) for k in (3, 5, 10))]  # two sweeps
    lacking = of_rows(*((alpha, k, SCORES[0] - alpha / 10) for alpha, k in side_by_side))
    yield "unmeasured", {"at": "k 3", "labels": ["alpha 0.9"]}, lacking
    yield "other_cutoff", {"asked": 10, "used": "k 3"}, decide(grid(replace(SETTINGS, at=10)))
    yield "edge", {"value": 0.7, "end": "largest", "vary": ""}, over(noisy([0.2, 0.4, 0.6]), [0, 0.5, 0.7])
    halves = np.repeat([0.0, 1.0], 40)
    by_type = noisy([0.5, 0.5], 80) + 0.2 * np.array([halves, 1 - halves])
    yield "query_types", {"pays": True}, over(by_type, [0.3, 0.7], types=["one"] * 40 + ["other"] * 40)
    # about k 3; the run at k 5 has measured two cutoffs more; .025 ** (1 / 20) = .83 for two configurations
    runs = [alpha_k(alpha, k, alpha) for alpha, k in ((0.5, 3), (0.5, 5), (0.3, 3), (0.3, 10))]
    deeper = with_curves(lambda run: (0.5, 0.6, 0.7, 0.9, 1.0)[: run.cutoff], *runs, target={"hit": 0.8}, at=3)
    yield "promise", {"largest": 5, "cutoff": 5}, deeper
    # 20 of 20 hits show .05 ** (1 / 20) = .861 for one configuration; a third of the level would show .815
    runs = [alpha_k(0.5, k, 0.5) for k in (1, 2, 3)]
    yield "promise", {"cutoff": 1}, with_curves(lambda run: (1.0,) * run.cutoff, *runs, target={"hit": 0.85})


def test_a_claim_has_the_numbers_of_its_sentence():
    for name, numbers, decision in cases():
        assert numbers.items() <= claims(decision)[name].items(), (name, numbers)
    alone = [*claims(decided(*[alpha_k(0.5, k, 0.5) for k in (1, 3, 5)]))]
    assert alone == ["one_configuration", "bought"]  # a sweep over k alone compares nothing
    by_grid = claims(decide(grid()))
    assert ("unmeasured" in by_grid, by_grid["choice"]["where"]) == (False, " at every k")
    assert "stemmer" in claims(over(noisy([0.6, 0.4, 0.2])))["edge"]["vary"]  # alpha 0 has nothing below it


def test_cost_and_margin_choose_among_what_cannot_be_told_apart():
    for decision, named, by_cost in (
        (alike_in([500, 400, 170]), "alpha=0.7", TOKENS),
        (alike_in([317, 300], (0.51, 0.5)), "alpha=0.3", None),  # a few tokens less choose nothing
        (alike_in([317, 300], (0.51, 0.5), prefer=TOKENS), "alpha=0.5", None),  # unless they are asked for
        (alike_in([317, 300, 500], (0.51, 0.5, 0.512)), "alpha=0.3", TOKENS),
        (priced([0.7, 0.3], [500, 170], TOKENS), "alpha=0.3", None),  # the other one is worse
        (alike_in([500, 170], (0.52, 0.5), margin=0.01), "alpha=0.3", None),
        (quick((30, 10, 20)), "alpha=0.5", None),
    ):
        assert (decision.named.name, decision.headline.by_cost) == (named, by_cost)
    for decision in (quick((10.1, 10, 10.1), margin=0.3), quick((30, 20, 1), margin=0.0001)):
        assert decision.named is max(decision.sweep.outcomes, key=lambda run: run.value("f1"))
    record = as_record(alike_in([500, 400, 170]), "")
    assert (record["choice"]["name"], record["settings"]["prefer"]) == ("alpha=0.7", None)
    assert cells(quick((900, 200, 1), (0.6, 0.58, 0.3), margin=0.05))[1][1:3] == ["alpha 0.5", "worse than alpha 0.3"]


def test_a_difference_that_few_lost_queries_could_reverse_is_none():
    """.05 better on each of 11 queries: one query with a loss of 1 outweighs them, and may be missing."""
    few = np.array([np.full(11, 0.5), np.linspace(0.53, 0.57, 11)]) + np.append(np.zeros(10), 0.5)
    assert veto_of(over(few, [0.3, 0.5])) == "tied"


def test_a_winner_has_its_value_and_interval_and_is_compared_with_the_baseline_in_counts_and_a_test():
    scores = noisy([0.3, 0.7])
    decision = over(scores, [0, 1])
    numbers, run = claims(decision)["choice"], decision.sweep.outcomes[1]
    low, high = run.interval("f1")
    assert numbers["value"] == pytest.approx(run.per_query["f1"].mean())
    assert numbers["interval"] == f"[{low:.3f}, {high:.3f}]"
    against = claims(decision)["against_baseline"]
    assert against["difference"] == pytest.approx((scores[1] - scores[0]).mean())
    assert (against["name"], against["counts"], against["p"] < 0.001) == ("alpha=0", [40, 0, 0], True)


@pytest.mark.usefixtures("long_work")
def test_few_queries_say_how_many_would_show_a_difference_that_matters_as_the_power_does():
    """As many as the formula of the power of a paired test says."""
    scores = noisy([0.5, 0.5], queries=12, noise=0.2)
    deviation = np.std(scores[1] - scores[0], ddof=1)
    needed = fewest_queries(lambda queries: detectable_difference(deviation, queries) <= 0.05, 10**6)
    numbers = claims(over(scores, [0.3, 0.5]))
    assert numbers["tied"]["more"] == needed - 12
    assert (numbers["few"]["queries"], numbers["few"]["few"]) == ("12 queries", True)
    # As printed, 133 queries once detected 0.020, and 0.02 needed 136.
    for deviation, queries in ((0.0834, 133), (0.2, 783), (0.1, 195)):
        half = queries // 2
        row = np.concatenate([np.full(half, 0.5 + deviation), np.full(queries - half, 0.5 - deviation)])
        decision = over([np.full(queries, 0.5), row], (0, 1))
        [sentence] = [sentence for sentence in evidence(decision) if "can detect" in sentence]
        printed = float(sentence.partition("difference of ")[2].split()[0])
        assert (printed <= 0.02) == (claims(decision)["power"]["needed"] <= queries)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    ("count", "most", "more"), [(20, 3, {}), pytest.param(200, 10, DEFAULT, marks=pytest.mark.soak)]
)
def test_equal_configurations_have_a_winner_in_at_most_five_percent_of_sweeps(count, most, more):
    """Of 15 equal configurations. If the true rate is 5 %, more than 3 winners in 20 have a probability of 1.6 %."""
    sweeps = [over(f1_like(np.random.default_rng(seed), alike(15)), ALPHAS, **more) for seed in range(count)]
    assert sum(veto_of(sweep) != "tied" for sweep in sweeps) <= most
    assert not any(len(sweep.headline.tied) == 1 for sweep in sweeps)


def test_one_configuration_for_every_cutoff_is_said_once_and_has_a_row_for_each():
    decision = over_k([0.3, 0.4, 0.5], [0.6, 0.7, 0.8])
    numbers = claims(decision)
    assert numbers["choice"]["where"] == " at every k"
    assert "elsewhere" not in numbers
    named = [choice.named for choice in decision.choices.values()]
    expected = [[f"k {run.cutoff}", run.value("recall"), 100.0 * run.cutoff] for run in named]
    assert numbers["bought"]["points"] == expected
    assert numbers["bought"]["rises"] == pytest.approx(expected[2][1] - expected[1][1])
    head, *rows = cells(decision)
    assert head == ["k", "choice", "cannot be told apart", "F1", "Recall", "Tokens", "Latency"]
    assert [row[:3] + row[5:] for row in rows] == [
        ["3", "alpha 0.5", "none", "300", "20 ms"],
        ["5", "alpha 0.5", "none", "500", "20 ms"],
        ["10", "alpha 0.5", "none", "1,000", "20 ms"],
    ]


def test_what_is_shipped_at_every_cutoff_is_chosen_at_each():
    """At k 3 and 10 nothing can be told apart, where 0.5 measured better by chance."""
    means = zip((3, 5, 10), ((0.5, 0.505), (0.6, 0.4), (0.5, 0.505)), strict=True)
    runs = [
        at_k(alpha, k, noisy([mean])[0])
        for k, of_alpha in means
        for alpha, mean in zip((0.3, 0.5), of_alpha, strict=True)
    ]
    decision = decided(*runs)
    assert [choice.best.swept["retriever.alpha"] for choice in decision.choices.values()] == [0.5, 0.3, 0.5]
    assert [choice.named.swept["retriever.alpha"] for choice in decision.choices.values()] == [0.3] * 3
    assert claims(decision)["choice"]["where"] == " at every k"
    verdicts = {row.verdict for row in rows_of(decision) if row.run.swept["retriever.alpha"] == 0.3}
    assert verdicts == {"chosen", "chosen at k 3", "chosen at k 10"}


def test_what_a_larger_cutoff_buys_is_said_of_one_configuration_up_to_the_end_of_its_list():
    """At k 10 another one is chosen, with less recall than at k 5; chosen apart, k would seem to cost recall."""
    decision = over_k([0.3, 0.4, 0.8], [0.6, 0.7, 0.5])
    own = [run.value("recall") for run in decision.sweep.outcomes if run.swept["retriever.alpha"] == 0.5]
    assert [point[1] for point in claims(decision)["bought"]["points"]] == own
    assert claims(decision)["bought"]["label"] == "alpha 0.5"
    assert "bought" not in claims(decided(alpha_k(0.3, 3, 0.3), alpha_k(0.5, 5, 0.4)))
    runs = over_k([0.4, 0.4, 0.4], [0.6, 0.6, 0.6]).sweep.outcomes
    short = [replace(run, facts=replace(run.facts, ends_at=5)) if run.cutoff == 10 else run for run in runs]
    numbers = claims(decided(*short))
    assert len(claims(decided(*runs))["bought"]["points"]) == 3
    assert [point[0] for point in numbers["bought"]["points"]] == ["k 3", "k 5"]
    assert (numbers["ended"]["ends"], numbers["ended"]["at"]) == ([5, 5], "k 10")


def test_a_preferred_cost_decides_at_each_cutoff():
    """Alpha 0.7 cannot be told apart from 0.5; it is faster at k 3 and 5."""
    runs = [
        at_k(alpha, k, row, ms)
        for k, mean in ((3, 0.6), (5, 0.7), (10, 0.8))
        for alpha, row, ms in zip(
            (0.3, 0.5, 0.7), noisy((0.3, mean, mean - 0.005)), (30, 20, 10 if k < 10 else 40), strict=True
        )
    ]
    best, cheapest = (decided(*runs, settings=replace(SETTINGS, prefer=prefer)) for prefer in (None, MS))
    assert [choice.named.swept["retriever.alpha"] for choice in best.choices.values()] == [0.5, 0.5, 0.5]
    assert [choice.named.swept["retriever.alpha"] for choice in cheapest.choices.values()] == [0.7, 0.7, 0.5]
    assert claims(cheapest)["elsewhere"]["places"] == [{"at": "k 10", "label": "alpha 0.5"}]
    fast = decided(*runs, settings=replace(SETTINGS, require={MS: 15}))
    assert claims(fast)["elsewhere"]["places"] == [{"at": "k 10", "label": None}]
    assert not fast.at_edge


def test_a_promise_is_kept_or_the_queries_that_could_show_it_are_named():
    for share, cutoff, needed in ((0.85, 3, None), (0.9, None, 29)):  # .05 ** (1 / 20) = .861; .9 ** 29 < .05
        decision = with_curves(lambda run: (0.5, 0.9, 1.0), alpha_k(0.5, 5, 0.5), target={"hit": share})
        promise = claims(decision)["promise"]
        assert (promise["cutoff"], promise["queries_needed"]) == (cutoff, needed)
        assert promise["shown"] == pytest.approx(0.05 ** (1 / 20), abs=1e-6)
    run = alpha_k(0.5, 5, 0.5)
    run = replace(run, per_query=run.per_query.assign(right=np.array([1.0] * 19 + [0.0])))
    for share, shown in ((0.75, True), (0.8, False)):  # of a metric without a cutoff, it is tested once
        promise = claims(decided(run, settings=replace(SETTINGS, target={"right": share})))["promise"]
        assert (promise["cutoff"] == 1) is shown is bool(binom.sf(18, 20, share) <= 0.05)  # the exact bound of 19 in 20


def test_a_choice_says_where_less_was_judged_of_what_it_beats():
    for own, beaten, is_less in (
        ((1.0, 1.0), (0.2, 0.1), True),  # found by a system that took no part when the judgments were made
        ((1.0, 1.0), (0.95, 0.94), False),
        ((0.6, 0.02), (0.4, 0.01), False),  # nearly only what is relevant was judged: it finds less of that
        ((0.6, 0.5), (0.6, 0.2), False),
        ((0.2, 0.1), (1.0, 1.0), False),  # the choice may only be better than it measures
        (None, None, False),
    ):
        runs = [
            replace(run, facts=replace(run.facts, judged=share and JudgedFact(*share)))
            for run, share in zip(over_alpha(noisy([0.6, 0.3]), (0, 1)).outcomes, (own, beaten), strict=True)
        ]
        assert ("less_judged" in claims(decided(*runs))) == is_less, (own, beaten)


HERE, ELSEWHERE, UNKNOWN = ["AMD EPYC, 2 cores"], ["Intel Xeon, 8 cores"], []


def measured_on(*machines, settings=SETTINGS):
    """The decision between two configurations whose latency was measured with these; None where nothing was noted."""
    runs = []
    for alpha, names in zip((0.3, 0.7), machines, strict=True):
        measure = {**FACTS["measures"][MS], "value": 20, **({} if names is None else {"machines": names})}
        facts = {"measures": {**FACTS["measures"], MS: measure}}
        runs.append(of_scores(f"alpha={alpha}", [0.2, 0.9, alpha] * 10, {"retriever.alpha": alpha}, facts=facts))
    return decided(*runs, settings=settings)


def test_latency_is_said_with_its_machines_and_a_preference_by_it_is_doubted_in_the_headline():
    for machines in (ELSEWHERE, UNKNOWN, None, [*HERE, "the endpoint example.org"]):
        expected = {HERE[0]: ["alpha 0.3"], ", ".join(machines or ["an unknown machine"]): ["alpha 0.7"]}
        assert claims(measured_on(HERE, machines))["machines"]["machines"] == expected
    assert claims(measured_on(HERE, HERE))["machines"]["machines"] == {HERE[0]: ["alpha 0.3", "alpha 0.7"]}
    assert "machines" not in claims(measured_on(None, None))
    for prefer, place in ((MS, "headline"), (TOKENS, "evidence")):
        decision = measured_on(HERE, ELSEWHERE, settings=replace(SETTINGS, prefer=prefer))
        assert [claim.place for claim in claims_of(decision) if claim.name == "machines"] == [place]
    for wrong in ("this", [1], {"this": 1}):
        with pytest.raises(MalformedError):
            measured_on(wrong, HERE)


def tied_of(*runs):
    decision = decided(*runs)
    return tied_in_words(decision.sweep, decision.headline)


def test_ties_are_listed_by_their_settings_names_or_ranges_and_numbers_rounded_to_what_they_tell():
    rng = np.random.default_rng(0)
    runs = []
    for alpha, size in product((0, 0.3, 0.5), (300, 500)):
        scores = (0.6 if alpha == 0.3 else 0.1) + rng.normal(0, 0.01, 30)
        runs.append(of_scores(f"{alpha} {size}", scores, {"retriever.alpha": alpha, "chunker.size": size}))
    assert tied_of(*runs) == "alpha 0.3, size 300 or alpha 0.3, size 500"
    equal = [outcome(name, 0.4, {"retriever": name}) for name in ("dense", "sparse", "hybrid")]
    assert tied_of(*equal) == "retriever dense, retriever sparse, retriever hybrid"
    runs = [outcome(name, f1, {"b": 5}) for name, f1 in (("new", 0.4), ("newer", 0.4), ("old", 0.1))]
    assert tied_of(*runs, outcome("other", 0.1, {"b": 9})) == "new, newer"
    chosen = ([0.3, 0.5, 0.7], [0.3, 0.5], [0, 0.5, 0.7, 1], [1])
    shown = [ranges([0, 0.3, 0.5, 0.7, 1], values) for values in chosen]
    assert shown == ["0.3 to 0.7", "0.3 or 0.5", "0 or 0.5 to 1", "1"]
    assert [p_value(p) for p in (0.0504, 0.0497, 0.2, 0.0004)] == ["0.0504", "0.0497", "0.20", "< 0.001"]
    assert [rough(number) for number in (303.2, 1007, 0.0512, 0, 12_345)] == ["300", "1,000", "0.051", "0", "12,000"]
