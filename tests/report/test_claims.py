"""What is claimed of a decision, by the names and numbers of its claims."""

from dataclasses import replace

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
from ragsweep.report.record import as_record
from ragsweep.report.report_tables import cells
from ragsweep.report.value_words import p_value, ranges, rough, tied_in_words
from ragsweep.statistics.power import detectable_difference, fewest_queries
from ragsweep.sweeps import decide
from ragsweep.tasks.facts import JudgedFact

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
    return of_scores(f"alpha={alpha} k={k}", scores, swept, **more, **{name: str(each) for name, each in swept.items()})


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


# What is shipped


def test_a_clear_winner_is_named_with_its_interval():
    decision = over(noisy([0.3, 0.7, 0.3]))
    numbers, run = claims(decision)["choice"], decision.sweep.outcomes[1]
    low, high = run.interval("f1")
    assert (numbers["label"], numbers["better"], numbers["others"]) == ("alpha 0.5", True, 2)
    assert numbers["value"] == pytest.approx(run.per_query["f1"].mean())
    assert numbers["interval"] == f"[{low:.3f}, {high:.3f}]"


def test_a_difference_that_few_lost_queries_could_reverse_is_none():
    """.05 better on each of 12 queries: one query with a loss of 1 outweighs them, and may be missing."""
    few = np.array([np.concatenate([np.full(11, 0.5), [1.0]]), np.concatenate([np.linspace(0.53, 0.57, 11), [0.0]])])
    assert veto_of(over(few[:, :11] + [[0] * 10 + [0.5]], [0.3, 0.5])) == "tied"


@pytest.mark.parametrize(("same", "number"), [([0, 0], 2), ([0, 0, 1], 3)])
def test_a_tie_counts_the_configurations_where_some_measure_the_same(same, number):
    """At k 3 all measure the same; at k 5 some do, and the others are tied with them."""
    scores = noisy([0.5, 0.5])
    runs = [
        of_scores(f"{alpha} {k}", scores[row], {"retriever.alpha": alpha, "k": k}, k=str(k))
        for k, rows in ((3, [0] * len(same)), (5, [*same[1:], 1]))
        for alpha, row in zip((0.3, 0.5, 0.7), rows, strict=False)
    ]
    assert claims(decided(*runs))["tied"]["number"] == number


def test_a_cutoff_at_which_one_run_alone_is_left_is_not_the_headline_s():
    """The job of alpha 0.3 at k 3 was killed. Its rival there has won nothing."""
    scores = np.random.default_rng(4).normal(0.5, 0.05, (2, 40))
    left = [(0.3, 5, scores[0]), (0.5, 3, scores[1]), (0.5, 5, scores[1])]
    runs = [of_scores(f"{alpha} {k}", row, {"retriever.alpha": alpha, "k": k}, k=str(k)) for alpha, k, row in left]
    decision = decided(*runs)
    assert (decision.headline.cutoff, claims(decision)["tied"]["at"]) == (5, " at k 5")


def test_of_what_cannot_be_told_apart_the_cheapest_is_named():
    decision = priced([0.5, 0.5, 0.5], [500, 400, 170], TOKENS, queries=40, noise=0.05)
    tie = claims(decision)["tied"]
    assert (tie["cheapest"], tie["price"]) == ("alpha 0.7", [170, "tokens"])
    assert decision.headline.best.name == "alpha=0.5"
    assert as_record(decision, "")["choice"]["name"] == "alpha=0.7"
    assert as_record(decision, "")["settings"]["prefer"] is None


def test_a_few_tokens_less_choose_nothing_unless_they_are_asked_for():
    means, more = [0.51, 0.5], {"queries": 40, "noise": 0.05}
    decision = priced(means, [317, 300], TOKENS, **more)
    assert (decision.named.name, decision.headline.by_cost) == ("alpha=0.3", None)
    assert claims(decision)["tied"]["alike"]
    asked = replace(SETTINGS, prefer=TOKENS)
    assert priced(means, [317, 300], TOKENS, asked, **more).named.name == "alpha=0.5"
    cheapest = priced([0.51, 0.5, 0.512], [317, 300, 500], TOKENS, **more)
    assert (cheapest.named.name, cheapest.headline.by_cost) == ("alpha=0.3", TOKENS)


def test_neither_what_is_worse_nor_a_margin_is_overruled_by_cost():
    assert priced([0.7, 0.3], [500, 170], TOKENS).named.name == "alpha=0.3"
    margin = replace(SETTINGS, margin=0.01)
    assert priced([0.52, 0.5], [500, 170], TOKENS, margin, queries=40, noise=0.05).named.name == "alpha=0.3"


def test_few_queries_say_how_many_would_show_a_difference_that_matters():
    """As many as the formula of the power of a paired test says."""
    scores = noisy([0.5, 0.5], queries=12, noise=0.2)
    deviation = np.std(scores[1] - scores[0], ddof=1)
    needed = fewest_queries(lambda queries: detectable_difference(deviation, queries) <= 0.05, 10**6)
    said = claims(over(scores, [0.3, 0.5]))
    assert said["tied"]["more"] == needed - 12
    assert (said["few"]["queries"], said["few"]["few"]) == ("12 queries", True)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    ("count", "most", "more"), [(20, 3, {}), pytest.param(200, 10, DEFAULT, marks=pytest.mark.soak)]
)
def test_equal_configurations_have_a_winner_in_at_most_five_percent_of_sweeps(count, most, more):
    """Of 15 equal configurations. If the true rate is 5 %, more than 3 winners in 20 have a probability of 1.6 %."""
    sweeps = [over(f1_like(np.random.default_rng(seed), alike(15)), ALPHAS, **more) for seed in range(count)]
    assert sum(veto_of(sweep) != "tied" for sweep in sweeps) <= most
    assert not any(len(sweep.headline.tied) == 1 for sweep in sweeps)


# Several cutoffs


def test_one_configuration_for_every_cutoff_is_said_once():
    decision = over_k([0.3, 0.4, 0.5], [0.6, 0.7, 0.8])
    said = claims(decision)
    assert said["choice"]["where"] == " at every k"
    assert "elsewhere" not in said
    named = [choice.named for choice in decision.choices.values()]
    expected = [[f"k {run.cutoff}", run.value("recall"), 100.0 * run.cutoff] for run in named]
    assert said["bought"]["points"] == expected
    assert said["bought"]["rises"] == pytest.approx(expected[2][1] - expected[1][1])
    assert claims(decide(grid()))["choice"]["where"] == " at every k"


def test_what_is_shipped_at_every_cutoff_is_chosen_at_each():
    """At k 3 and 10 nothing can be told apart, where 0.5 measured better by chance."""
    rows = [
        zip((3, 5, 10), (noisy([mean])[0] for mean in means), strict=True)
        for means in ((0.5, 0.6, 0.5), (0.505, 0.4, 0.505))
    ]
    decision = decided(
        *[at_k(alpha, k, scores) for alpha, row in zip((0.3, 0.5), rows, strict=True) for k, scores in row]
    )
    assert claims(decision)["choice"]["where"] == " at every k"
    verdicts = {row.verdict for row in rows_of(decision) if row.run.swept["retriever.alpha"] == 0.3}
    assert verdicts == {"chosen", "chosen at k 3", "chosen at k 10"}


def test_what_a_larger_cutoff_buys_is_said_of_one_configuration():
    """At k 10 another one is chosen, with less recall than at k 5; chosen apart, k would seem to cost recall."""
    decision = over_k([0.3, 0.4, 0.8], [0.6, 0.7, 0.5])
    own = [run.value("recall") for run in decision.sweep.outcomes if run.swept["retriever.alpha"] == 0.5]
    assert [point[1] for point in claims(decision)["bought"]["points"]] == own
    assert claims(decision)["bought"]["label"] == "alpha 0.5"
    assert "bought" not in claims(decided(alpha_k(0.3, 3, 0.3), alpha_k(0.5, 5, 0.4)))


def test_a_sweep_over_k_alone_compares_nothing():
    said = claims(decided(*[alpha_k(0.5, k, f1) for k, f1 in ((1, 0.6), (3, 0.5), (5, 0.4))]))
    assert [*said] == ["one_configuration", "bought"]
    assert (said["one_configuration"]["cutoffs"], said["bought"]["more"]) == (3, False)


def test_a_cutoff_beyond_the_end_of_a_list_buys_nothing_that_is_known():
    runs = over_k([0.4, 0.4, 0.4], [0.6, 0.6, 0.6]).sweep.outcomes
    short = [replace(run, facts=replace(run.facts, ends_at=5)) if run.cutoff == 10 else run for run in runs]
    said = claims(decided(*short))
    assert len(claims(decided(*runs))["bought"]["points"]) == 3
    assert [point[0] for point in said["bought"]["points"]] == ["k 3", "k 5"]
    assert (said["ended"]["ends"], said["ended"]["at"]) == ([5, 5], "k 10")


def test_a_configuration_that_lacks_a_cutoff_is_named():
    """Two sweeps side by side: k1 0.9 at k 5 and 10, the others at k 3 too, where one of them is chosen."""
    runs = [
        outcome(f"{k1} {k}", 0.6 - k1 / 10, {"k1": k1, "k": k}, k=str(k))
        for k1, cutoffs in ((0.9, (5, 10)), (1.5, (3, 5, 10)), (2, (3, 5, 10)))
        for k in cutoffs
    ]
    lacking = claims(decided(*runs))["unmeasured"]
    assert (lacking["at"], lacking["labels"]) == ("k 3", ["k1 0.9"])
    assert "unmeasured" not in claims(decided(*runs[2:])).keys() | claims(decided(*runs[:2])).keys()


def test_the_table_has_a_row_per_cutoff():
    head, *rows = cells(over_k([0.3, 0.4, 0.5], [0.6, 0.7, 0.8]))
    assert head == ["k", "choice", "cannot be told apart", "F1", "Recall", "Tokens", "Latency"]
    assert [row[:3] + row[5:] for row in rows] == [
        ["3", "alpha 0.5", "none", "300", "20 ms"],
        ["5", "alpha 0.5", "none", "500", "20 ms"],
        ["10", "alpha 0.5", "none", "1,000", "20 ms"],
    ]


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


# Costs, margins, promises


def test_the_cheapest_of_the_tied_is_chosen_if_a_cost_is_preferred():
    decision = priced([0.5] * 3, (30, 10, 20), settings=replace(SETTINGS, prefer=MS))
    assert (decision.named.name, claims(decision)["tied"]["price"]) == ("alpha=0.5", [10, "ms"])
    assert claims(decision)["rule"]["as_good"] == 3
    same = priced([0.5] * 3, (20, 20.1, 20.2), settings=replace(SETTINGS, prefer=MS))
    assert (claims(same)["tied"]["cheapest"], claims(same)["tied"]["alike"]) == (None, True)
    near = priced([0.5] * 3, (10.1, 10, 10.1), settings=replace(SETTINGS, prefer=MS, margin=0.3))
    assert near.named is max(near.sweep.outcomes, key=lambda run: run.value("f1"))


def test_the_cheapest_that_is_not_worse_by_the_margin_is_chosen():
    settings = replace(SETTINGS, prefer=MS, margin=0.05)
    decision = priced((0.6, 0.58, 0.3), (900, 200, 1), settings=settings)
    choice = claims(decision)["choice"]  # the cheapest one is far worse, the best one is dearer
    assert (choice["label"], choice["best"], choice["margin"]) == ("alpha 0.5", "alpha 0.3", 0.05)
    assert cells(decision)[1][1:3] == ["alpha 0.5", "worse than alpha 0.3"]
    tiny = priced([0.5] * 3, (30, 20, 1), settings=replace(SETTINGS, prefer=MS, margin=0.0001))
    assert tiny.named is tiny.headline.best
    assert claims(tiny)["rule"]["not_worse"] == []


def test_a_margin_alone_says_what_is_equivalent():
    decision = priced((0.6, 0.58, 0.3), (500, 300, 900), TOKENS, replace(SETTINGS, margin=0.05))
    assert claims(decision)["rule"]["not_worse"] == ["alpha 0.3", "alpha 0.5"]
    assert decision.named.name == "alpha=0.3"


def with_curves(curve, *runs, settings):
    facts = [replace(run.facts, at_k={**run.facts.at_k, "hit": curve(run)}) for run in runs]
    return decided(*(replace(run, facts=some) for run, some in zip(runs, facts, strict=True)), settings=settings)


def test_a_promise_is_kept_or_the_queries_that_could_show_it_are_named():
    for share, cutoff, needed in ((0.85, 3, None), (0.9, None, 29)):  # .05 ** (1 / 20) = .861; .9 ** 29 < .05
        target = replace(SETTINGS, target={"hit": share})
        promise = claims(with_curves(lambda run: (0.5, 0.9, 1.0), alpha_k(0.5, 5, 0.5), settings=target))["promise"]
        assert (promise["cutoff"], promise["queries_needed"]) == (cutoff, needed)
        assert promise["shown"] == pytest.approx(0.05 ** (1 / 20), abs=1e-6)


@pytest.mark.parametrize(("share", "shown"), [(0.75, True), (0.8, False)])
def test_a_promise_about_a_metric_without_a_cutoff_is_tested_once(share, shown):
    run = alpha_k(0.5, 5, 0.5)
    run = replace(run, per_query=run.per_query.assign(right=np.array([1.0] * 19 + [0.0])))
    promise = claims(decided(run, settings=replace(SETTINGS, target={"right": share})))["promise"]
    assert (promise["cutoff"] == 1) is shown is bool(binom.sf(18, 20, share) <= 0.05)  # the exact bound of 19 in 20


def test_a_promise_is_tested_up_to_the_largest_swept_cutoff():
    """The headline is about k 3; the run at k 5 has measured two cutoffs more."""
    curves = {3: (0.5, 0.6, 0.7), 5: (0.5, 0.6, 0.7, 0.9, 1.0), 10: (0.5, 0.6, 0.7, 0.9, 1.0)}
    runs = [alpha_k(0.5, k, 0.5) for k in (3, 5)] + [alpha_k(0.3, k, 0.4) for k in (3, 10)]
    settings = replace(SETTINGS, target={"hit": 0.8}, at=3)
    promise = claims(with_curves(lambda run: curves[run.cutoff], *runs, settings=settings))["promise"]
    assert (promise["largest"], promise["cutoff"]) == (5, 5)  # 0.05 / 2 configurations is .025 ** (1 / 20) = .83


def test_runs_that_differ_in_k_alone_are_one_configuration_of_a_promise():
    """20 of 20 hits show .05 ** (1 / 20) = .861, if nothing was chosen; a third of the level would show .815."""
    runs = [alpha_k(0.5, k, 0.5) for k in (1, 2, 3)]
    promised = with_curves(lambda run: (1.0,) * run.cutoff, *runs, settings=replace(SETTINGS, target={"hit": 0.85}))
    assert claims(promised)["promise"]["cutoff"] == 1


# Evidence


def test_the_best_at_the_edge_is_pointed_out_with_what_to_vary():
    edge = claims(over(noisy([0.2, 0.4, 0.6]), [0, 0.5, 0.7]))["edge"]
    assert (edge["name"], edge["value"], edge["end"], edge["vary"]) == ("alpha", 0.7, "largest", "")
    assert "stemmer" in claims(over(noisy([0.6, 0.4, 0.2])))["edge"]["vary"]  # alpha 0 has nothing below it


def test_the_baseline_is_compared_in_counts_and_with_a_test():
    against = claims(over(noisy([0.3, 0.7]), [0, 1]))["against_baseline"]
    scores = noisy([0.3, 0.7])
    assert against["difference"] == pytest.approx((scores[1] - scores[0]).mean())
    assert (against["name"], against["counts"], against["p"] < 0.001) == ("alpha=0", [40, 0, 0], True)


def test_a_configuration_per_type_is_reported_to_pay_off_if_types_differ():
    halves = np.repeat([0.0, 1.0], 40)
    scores = noisy([0.5, 0.5], queries=80) + 0.2 * np.array([halves, 1 - halves])
    assert claims(over(scores, [0.3, 0.7], types=["one"] * 40 + ["other"] * 40))["query_types"]["pays"]


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(("deviation", "queries"), [(0.0834, 133), (0.2, 783), (0.1, 195)])
def test_what_is_said_of_power_holds_and_agrees_with_how_many_queries_it_takes(deviation, queries):
    """As printed, 133 queries once detected 0.020, and 0.02 needed 136."""
    half = queries // 2
    row = np.concatenate([np.full(half, 0.5 + deviation), np.full(queries - half, 0.5 - deviation)])
    decision = over([np.full(queries, 0.5), row], (0, 1))
    power = claims(decision)["power"]
    [said] = [line for line in evidence(decision) if "can detect" in line]
    printed = float(said.partition("difference of ")[2].split()[0])
    assert (printed <= 0.02) == (power["needed"] <= queries)


@pytest.mark.parametrize(
    ("judged", "said"),
    [
        ([(1.0, 1.0), (0.2, 0.1)], True),  # found by a system that took no part when the judgments were made
        ([(1.0, 1.0), (0.95, 0.94)], False),
        ([(0.6, 0.02), (0.4, 0.01)], False),  # nearly only what is relevant was judged: it finds less of that
        ([(0.6, 0.5), (0.6, 0.2)], False),
        ([(0.2, 0.1), (1.0, 1.0)], False),  # the choice may only be better than it measures
        ([None, None], False),
    ],
)
def test_a_choice_says_where_less_was_judged_of_what_it_beats(judged, said):
    runs = [
        replace(run, facts=replace(run.facts, judged=share and JudgedFact(*share)))
        for run, share in zip(over_alpha(noisy([0.6, 0.3]), (0, 1)).outcomes, judged, strict=True)
    ]
    assert ("less_judged" in claims(decided(*runs))) == said


def test_a_headline_at_a_cutoff_without_a_run_is_named():
    runs = [alpha_k(alpha, k, alpha) for alpha in (0.3, 0.5) for k in (3, 5)]
    said = claims(decided(*runs, settings=replace(SETTINGS, at=10)))["other_cutoff"]
    assert (said["asked"], said["used"]) == (10, "k 3")


HERE, ELSEWHERE, UNKNOWN = ["AMD EPYC, 2 cores"], ["Intel Xeon, 8 cores"], []


def measured_on(*machines, settings=SETTINGS):
    """The decision between two configurations whose latency was measured with these; None where nothing was noted."""
    runs = []
    for alpha, names in zip((0.3, 0.7), machines, strict=True):
        measure = {**FACTS["measures"][MS], "value": 20, **({} if names is None else {"machines": names})}
        facts = {"measures": {**FACTS["measures"], MS: measure}}
        runs.append(of_scores(f"alpha={alpha}", [0.2, 0.9, alpha] * 10, {"retriever.alpha": alpha}, facts=facts))
    return decided(*runs, settings=settings)


@pytest.mark.parametrize("other", [ELSEWHERE, UNKNOWN, None, [*HERE, "the endpoint example.org"], HERE])
def test_latency_is_said_with_its_machines(other):
    used = ", ".join(other or ["an unknown machine"])
    expected = {HERE[0]: ["alpha 0.3"], used: ["alpha 0.7"]} if other != HERE else {used: ["alpha 0.3", "alpha 0.7"]}
    assert claims(measured_on(HERE, other))["machines"]["machines"] == expected
    assert "machines" not in claims(measured_on(None, None))


@pytest.mark.parametrize(("prefer", "place"), [(MS, "headline"), (TOKENS, "evidence")])
def test_a_preference_by_latency_of_several_machines_is_doubted_in_the_headline(prefer, place):
    found = claims_of(measured_on(HERE, ELSEWHERE, settings=replace(SETTINGS, prefer=prefer)))
    assert [claim.place for claim in found if claim.name == "machines"] == [place]


@pytest.mark.parametrize("wrong", ["this", [1], {"this": 1}])
def test_machines_of_a_record_that_cannot_be_are_refused(wrong):
    with pytest.raises(MalformedError):
        measured_on(wrong, HERE)


# Words


@pytest.mark.parametrize(
    ("chosen", "words"),
    [([0.3, 0.5, 0.7], "0.3 to 0.7"), ([0.3, 0.5], "0.3 or 0.5"), ([0, 0.5, 0.7, 1], "0 or 0.5 to 1"), ([1], "1")],
)
def test_neighbours_are_a_range(chosen, words):
    assert ranges([0, 0.3, 0.5, 0.7, 1], chosen) == words


def tied_of(*runs):
    decision = decided(*runs)
    return tied_in_words(decision.sweep, decision.headline)


def test_ties_of_two_settings_are_listed():
    rng = np.random.default_rng(0)
    runs = []
    for alpha, size in [(alpha, size) for alpha in (0, 0.3, 0.5) for size in (300, 500)]:
        scores = (0.6 if alpha == 0.3 else 0.1) + rng.normal(0, 0.01, 30)
        runs.append(of_scores(f"{alpha} {size}", scores, {"retriever.alpha": alpha, "chunker.size": size}))
    assert tied_of(*runs) == "alpha 0.3, size 300 or alpha 0.3, size 500"
    equal = [outcome(name, 0.4, {"retriever": name}) for name in ("dense", "sparse", "hybrid")]
    assert tied_of(*equal) == "retriever dense, retriever sparse, retriever hybrid"


def test_ties_of_the_same_settings_are_told_apart_by_their_names():
    runs = [outcome(name, f1, {"b": 5}) for name, f1 in (("new", 0.4), ("newer", 0.4), ("old", 0.1))]
    assert tied_of(*runs, outcome("other", 0.1, {"b": 9})) == "new, newer"


def test_numbers_are_rounded_to_what_they_tell():
    assert [p_value(p) for p in (0.0504, 0.0497, 0.2, 0.0004)] == ["0.0504", "0.0497", "0.20", "< 0.001"]
    assert [rough(number) for number in (303.2, 1007, 0.0512, 0, 12_345)] == ["300", "1,000", "0.051", "0", "12,000"]
