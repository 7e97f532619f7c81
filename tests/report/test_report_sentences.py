"""The decision in sentences: it names a winner only if there is one, and never compares different cutoffs."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from outcomes import FACTS, SETTINGS, Sweep, alpha_k, as_guesses, decided, grid, of_scores, outcome, over_alpha
from scipy.stats import binom, binomtest
from simulated import alike, f1_like

from ragsweep.report import headline
from ragsweep.report.captions import captions_of
from ragsweep.report.evidence_section import evidence
from ragsweep.report.record import as_record
from ragsweep.report.report_charts import AGAINST, FRONT, ONE_SETTING
from ragsweep.report.report_tables import against_guessing as against_guessing_in_words
from ragsweep.report.report_tables import cells
from ragsweep.report.report_text import table_of_configurations
from ragsweep.report.settings_words import ranges, tied_in_words
from ragsweep.report.value_words import p_value, rough
from ragsweep.statistics import LEVEL, holm, queries_needed
from ragsweep.sweeps import decide, not_shipped, undecided
from ragsweep.tasks.facts import JudgedFact

TOKENS = "context/tokens"
ALPHAS = np.linspace(0, 1, 15).round(2)
DEFAULT = {"evaluation.resamples": "10000"}


def noisy(means, queries=40, noise=0.05):
    """Scores around these means, one row per mean, with independent noise."""
    rng = np.random.default_rng(1)
    common = rng.normal(0, 0.1, queries)
    return np.clip(np.array(means)[:, None] + common + rng.normal(0, noise, (len(means), queries)), 0, 1)


def over(scores, alphas=(0, 0.5, 1), settings=SETTINGS, **more):
    """The decision of a sweep over alpha at one cutoff."""
    return decide(replace(over_alpha(scores, alphas, **more), settings=settings))


def over_k(*means, cutoffs=(3, 5, 10), noise=0.02):
    """The decision of a sweep over alpha (0.3, 0.5, ...) and k: the mean F1 of each alpha at each k."""
    runs = []
    for alpha, row in zip((0.3, 0.5, 0.7), means, strict=False):
        for k, scores in zip(cutoffs, noisy(row, noise=noise), strict=True):
            settings = {"retriever.alpha": str(alpha), "k": str(k)}
            recall = np.minimum(1, scores + k / 30)
            runs.append(
                of_scores(f"alpha={alpha} k={k}", scores, {"retriever.alpha": alpha, "k": k}, recall=recall, **settings)
            )
    return decided(*runs)


def against_guessing(*p, means=(0.3, 0.7, 0.3), chance=0.25):
    """The decision of a sweep over alpha whose runs have these p-values against guessing."""
    return as_guesses(over(noisy(means)), chance, p)


# Guessing


def test_that_nothing_is_better_than_guessing_comes_first():
    """Each p-value is below 0.05, but not after a correction for three tests."""
    first, second, *_ = headline(against_guessing(0.02, 0.03, 0.04))
    assert first.startswith("No configuration is shown to be better than guessing (F1 0.250; ")
    assert second.startswith("Nothing to ship")
    assert as_record(against_guessing(0.02, 0.03, 0.04), "")["not_shipped"] == "guessing"


@pytest.mark.parametrize("p", [0.5, 0.001])
def test_a_tie_of_guesses_is_not_shipped(p):
    tied = as_guesses(over(noisy([0.5, 0.5]), [0.3, 0.5]), 0.25, (p, p))
    assert undecided(tied) == "tied"
    assert not_shipped(tied) == ("guessing" if p > 0.05 else "tied")
    assert ("Ship" in headline(tied)[0]) is (p < 0.05)


@pytest.mark.parametrize(
    ("p", "end"),
    [
        (
            (0.5, 0.001, 0.5),
            "1 of the 3 configurations (p <= 0.05, corrected for 3 tests); alpha 0.5 is one of them.",
        ),
        ((0.001, 0.5, 0.5), "1 of the 3 configurations (p <= 0.05, corrected for 3 tests); alpha 0.5 is not."),
        ((0.001, 0.001, 0.001), "all 3 configurations (p <= 0.05, corrected for 3 tests)."),
    ],
)
def test_what_is_better_than_guessing_comes_after_the_choice(p, end):
    first, second, *_ = headline(against_guessing(*p))
    assert first.startswith("Nothing to ship" if p[1] == 0.5 else "Ship alpha 0.5")
    assert second == f"Better than guessing (F1 0.250): {end}"


def test_what_is_significantly_worse_than_guessing_is_not_better():
    decision = against_guessing(0.001, 0.001, 0.001, chance=0.5)
    assert [each.better for each in decision.against_guessing.values()] == [False, True, False]
    verdicts = ["worse, p 0.003", "better, p 0.003", "worse, p 0.003"]
    assert [against_guessing_in_words(decision, run) for run in decision.sweep.outcomes] == verdicts


def test_the_record_has_the_comparison_with_guessing():
    choice = json.loads(json.dumps(as_record(against_guessing(0.5, 0.001, 0.5), "")))["choice"]
    p = pytest.approx(0.003)
    assert choice["against_guessing"] == {"value": 0.25, "p": p, "p_worse": p, "better": True, "worse": False}


def test_each_configuration_is_compared_with_guessing_in_the_table():
    lines = table_of_configurations(against_guessing(0.5, 0.001, 0.5)).splitlines()
    assert "against guessing" in lines[0]
    assert [("better, p 0.003" in line, "no better, p 1.00" in line) for line in lines[1:]] == [
        (True, False),
        (False, True),
        (False, True),
    ]


def test_guessers_are_called_better_in_at_most_one_sweep_of_twenty():
    """15 systems guess at 64 questions with four options; without a correction they would be in one sweep of four."""
    right = np.random.default_rng(0).binomial(64, 0.25, (2000, 15))
    p = np.array([binomtest(count, 64, 0.25).pvalue for count in range(65)])[right]
    better = np.apply_along_axis(holm, 1, p) <= LEVEL
    assert (better & (right > 16)).any(axis=1).mean() <= LEVEL
    assert ((p <= LEVEL) & (right > 16)).any(axis=1).mean() > 0.2


# One cutoff


def test_a_clear_winner_is_named_with_its_interval():
    first = headline(over(noisy([0.3, 0.7, 0.3])))[0]
    assert first.startswith("Ship alpha 0.5 at k 5: F1 0.7")
    assert re.search(r"Better than each of the other 2 by at least 0\.\d{3} F1 \(p <= 0.05\)\.$", first)


def test_a_difference_that_few_lost_queries_could_reverse_says_so():
    """.05 better on each of 12 queries: one query with a loss of 1 outweighs them, and may be missing."""
    decision = over(np.array([np.full(12, 0.5), np.linspace(0.53, 0.57, 12)]), [0.3, 0.5])
    assert "12 queries may lack the few that would reverse it" in headline(decision)[0]
    assert as_record(decision, "")["choices"][0]["worse_for_any_spread"] == []
    many = over(noisy([0.3, 0.7]), [0.3, 0.5])
    assert "would reverse it" not in headline(many)[0]
    assert as_record(many, "")["choices"][0]["worse_for_any_spread"] == ["alpha 0.3"]


def test_a_tie_is_called_a_tie():
    first = headline(over(noisy([0.2, 0.6, 0.61, 0.6, 0.2]), [0, 0.3, 0.5, 0.7, 1]))[0]
    assert "These cannot be told apart: alpha 0.3 to 0.7. The other 2 are worse (p <= 0.05)." in first


def test_equal_configurations_have_no_winner():
    first = headline(over(noisy([0.5, 0.5, 0.5]), [0.3, 0.5, 0.7]))[0]
    assert first.startswith("Your 40 queries cannot tell the 3 configurations apart. Ship alpha 0.5, measured best, ")


@pytest.mark.parametrize("number", [2, 3])
def test_that_all_measure_the_same_is_said_first_and_nothing_else_is_claimed(number):
    decision = over(np.repeat(noisy([0.5]), number, axis=0), [0.3, 0.5, 0.7][:number])
    first = headline(decision)[0]
    assert first.startswith(f"No winner: {'both' if number == 2 else 'all 3'} configurations measure the same, F1 0.")
    assert as_record(decision, "")["not_shipped"] == "same values"
    assert not any("ied ones" in line or "detect" in line for line in evidence(decision))
    assert cells(decision)[1][2] == "all measure the same"


def test_what_measures_best_among_equals_does_not_sound_like_a_winner():
    decision = over(noisy([0.5, 0.5, 0.5]), [0.3, 0.5, 0.7])
    assert as_record(decision, "")["not_shipped"] == "tied"
    first = headline(decision)[0]
    assert first.startswith("Your 40 queries cannot tell")
    assert "measured best, perhaps by chance" in first


def test_that_nothing_can_be_told_apart_at_any_cutoff_comes_first():
    rng = np.random.default_rng(4)
    runs = [
        of_scores(f"{alpha} {k}", rng.normal(0.5, 0.05, 40), {"retriever.alpha": alpha, "k": k}, k=str(k))
        for alpha in (0.3, 0.5)
        for k in (3, 5)
    ]
    first = headline(decided(*runs))[0]
    assert first.startswith("Your 40 queries cannot tell the 2 configurations apart at any k. Ship ")


def test_a_cutoff_at_which_one_run_alone_is_left_is_neither_the_headline_s_nor_said_to_be_a_tie():
    """The job of alpha 0.3 at k 3 was killed. Its rival there has won nothing."""
    rng = np.random.default_rng(4)
    scores = rng.normal(0.5, 0.05, (2, 40))
    left = [(0.3, 5, scores[0]), (0.5, 3, scores[1]), (0.5, 5, scores[1])]
    decision = decided(
        *(of_scores(f"{alpha} {k}", values, {"retriever.alpha": alpha, "k": k}, k=str(k)) for alpha, k, values in left)
    )
    assert decision.headline.cutoff == 5
    assert headline(decision)[0].startswith("Your 40 queries cannot tell the 2 configurations apart at k 5. Ship ")


def test_a_configuration_that_lacks_a_cutoff_is_named_with_its_value_there():
    """Two sweeps side by side: k1 0.9 at k 5 and 10, the others at k 3 too, where one of them is chosen."""
    curve = {"at_k": {**FACTS["at_k"], "f1": [0.3, 0.35, 0.412, *[0.6] * 17]}}
    runs = [
        outcome(f"{k1} {k}", 0.6 - k1 / 10, {"k1": k1, "k": k}, k=str(k), facts=curve)
        for k1, cutoffs in ((0.9, (5, 10)), (1.5, (3, 5, 10)), (2, (3, 5, 10)))
        for k in cutoffs
    ]
    [line] = [line for line in headline(decided(*runs)) if "Not measured" in line]
    assert "at k 3: k1 0.9 (its ranking cut there: F1 0.412)" in line
    assert "no test" in line
    assert not any("Not measured" in line for line in headline(decided(*runs[2:])))
    assert not any("Not measured" in line for line in headline(decided(*runs[:2])))


def with_tokens(tokens, scores, settings=SETTINGS):
    """The decision of a sweep over alpha with these tokens for each configuration."""
    runs = over_alpha(scores, [0.3, 0.5, 0.7][: len(scores)]).outcomes
    measured = [
        replace(run, facts=replace(run.facts, measures={**run.facts.measures, TOKENS: replace(at, value=float(each))}))
        for run, each, at in zip(runs, tokens, (run.facts.measures[TOKENS] for run in runs), strict=True)
    ]
    return decided(*measured, settings=settings)


def test_of_what_cannot_be_told_apart_the_cheapest_is_shipped():
    decision = with_tokens([500, 400, 170], noisy([0.5, 0.5, 0.5]))
    assert "Ship the cheapest: alpha 0.7 (170 tokens at k 5), F1 0." in headline(decision)[0]
    assert (decision.named.name, decision.headline.best.name) == ("alpha=0.7", "alpha=0.5")
    assert any(line.startswith("Chosen: the lowest tokens among 3 ") for line in evidence(decision))
    assert as_record(decision, "")["choice"]["name"] == "alpha=0.7"
    assert as_record(decision, "")["settings"]["prefer"] is None


def test_a_few_tokens_less_choose_nothing_unless_they_are_asked_for():
    scores = noisy([0.51, 0.5])
    decision = with_tokens([317, 300], scores)
    assert (decision.named.name, decision.headline.by_cost) == ("alpha=0.3", None)
    assert "about the same tokens for each (320 tokens at k 5)" in headline(decision)[0]
    assert with_tokens([317, 300], scores, replace(SETTINGS, prefer="context/tokens")).named.name == "alpha=0.5"
    cheapest = with_tokens([317, 300, 500], noisy([0.51, 0.5, 0.512]))
    assert (cheapest.named.name, cheapest.headline.by_cost) == ("alpha=0.3", "context/tokens")


def test_the_cheapest_is_not_shipped_where_one_is_shown_to_be_better():
    assert with_tokens([500, 170], noisy([0.7, 0.3])).named.name == "alpha=0.3"


def test_a_margin_is_not_overruled_by_cost():
    assert with_tokens([500, 170], noisy([0.52, 0.5]), replace(SETTINGS, margin=0.01)).named.name == "alpha=0.3"


@pytest.mark.parametrize(("swept", "said"), [("chunker.size", True), ("chunker", True), ("retriever.alpha", False)])
def test_what_the_judgments_cannot_show_is_said_if_it_is_swept(swept, said):
    facts = {"if_swept": {"chunker": "Judge spans."}}
    scores = zip((300, 500), noisy([0.3, 0.7]), strict=True)
    runs = [of_scores(f"{value}", row, {swept: value}, facts=facts) for value, row in scores]
    first, *others = headline(decided(*runs))
    assert first.startswith("Do not choose by this yet. Measured best is " if said else "Ship ")
    assert ("Judge spans." in others) == said


def test_what_cannot_be_told_apart_by_its_judgments_is_the_choice_of_the_table_too():
    runs = with_tokens([500, 170], noisy([0.5, 0.5])).sweep.outcomes
    blind = [replace(run, facts=replace(run.facts, if_swept={"retriever": "Judge spans."})) for run in runs]
    decision = decided(*blind)
    assert "For now, take the cheapest: alpha 0.5 (170 tokens at k 5)" in headline(decision)[0]
    assert decision.named.name == "alpha=0.5"


def test_runs_that_did_not_finish_are_in_the_headline():
    runs = over(noisy([0.3, 0.7]), [0.3, 0.5]).sweep.outcomes
    first = headline(decided(*runs, unfinished={"a": "FAILED"}))[0]
    assert first.startswith("1 of 3 runs did not finish and is missing: a. Ship ")
    many = headline(decided(*runs, unfinished=dict.fromkeys("abcde", "FAILED")))[0]
    assert "5 of 7 runs did not finish and are missing: a, b, c and 2 more." in many
    assert not any("did not finish" in line for line in headline(decided(*runs)))
    nothing = over(np.zeros((2, 20)), [0.3, 0.5]).sweep.outcomes
    assert any("1 of 3 runs" in line for line in headline(decided(*nothing, unfinished={"a": "FAILED"})))


def test_few_queries_say_how_many_would_show_a_difference_that_matters():
    """As many as the formula of the power of a paired test says, in two digits."""
    scores = noisy([0.5, 0.5], queries=12, noise=0.2)
    deviation = np.std(scores[1] - scores[0], ddof=1)
    needed = float(f"{queries_needed(deviation, 0.05):.2g}")
    first, *others = headline(over(scores, [0.3, 0.5]))
    assert first.endswith(f"A difference of 0.05 F1 would need about {needed:,.0f} queries.")
    assert "Only 12 queries: intervals and tests with so few queries are not reliable." in others


def test_two_near_copies_are_named_instead_of_what_their_queries_could_detect():
    same = noisy([0.5], queries=300)[0]
    other = same + np.where(np.arange(300) < 2, 0.01, 0)
    decision = over(np.array([same, other]), [0.3, 0.5])
    assert headline(decision)[0].endswith("Of 300 queries, alpha 0.5 and alpha 0.3 differ on 2: too few to test.")
    assert not any("detect" in line for line in evidence(decision))


def test_the_others_are_as_many_as_the_table_has_also_if_some_measure_the_same():
    scores = noisy([0.2, 0.6, 0.605])
    assert "Better than each of the other 2 by" in headline(over(scores[[0, 0, 1]], [0, 0.1, 0.5]))[0]
    first = headline(over(scores[[0, 0, 1, 2]], [0, 0.1, 0.5, 0.7]))[0]
    assert first.endswith("The other 2 are worse (p <= 0.05).")


def test_one_configuration_leaves_nothing_to_choose():
    [first] = headline(decided(alpha_k(0.7, 5, 0.3)))
    assert first.startswith("alpha=0.7 k=5: F1 0.300 [")
    assert evidence(decided(alpha_k(0.7, 5, 0.3))) == []


# A tie besides controls and configurations that do not meet the requirements


def as_control(run):
    return replace(run, facts=replace(run.facts, control="nobody has the judged pages"))


def with_control(*means):
    """The last one is a control."""
    *runs, last = over(noisy(means), [0.3, 0.5, 0.7][: len(means)]).sweep.outcomes
    return decided(*runs, as_control(last))


def said_of(decision):
    return as_record(decision, "")["not_shipped"], headline(decision)[0]


def test_a_control_makes_no_winner_of_a_tie():
    why, first = said_of(with_control(0.5, 0.5, 0.9))
    assert why == "tied"
    assert first.startswith("Your 40 queries cannot tell the 2 configurations apart. ")
    assert said_of(with_control(0.3, 0.5, 0.9))[0] is None
    scores = noisy([0.5, 0.9])[[0, 0, 1]]
    *same, last = over(scores).sweep.outcomes
    why, first = said_of(decided(*same, as_control(last)))
    assert why == "same values"
    assert first.startswith("No winner: both configurations measure the same")


def test_one_configuration_and_a_control_leave_nothing_to_choose():
    why, first = said_of(with_control(0.5, 0.9))
    assert why == "one configuration"
    assert first.startswith("alpha=0.3: F1 0.4")


def test_an_unmet_requirement_makes_no_winner_of_a_tie():
    required = replace(SETTINGS, require={"latency/mean_ms": 25})
    tied = with_latency(10, 20, 30, settings=required)
    why, first = said_of(tied)
    assert why == "tied"
    assert first.startswith("Your 300 queries cannot tell the 2 configurations that meet the requirements apart. ")
    same = decided(
        *(replace(run, per_query=tied.sweep.outcomes[0].per_query) for run in tied.sweep.outcomes), settings=required
    )
    why, first = said_of(same)
    assert why == "same values"
    assert first.startswith("No winner: both configurations that meet the requirements measure the same, F1")
    assert any(line.startswith("Left out at k 5, as they do not meet the requirements") for line in evidence(same))


def test_the_only_one_that_meets_the_requirements_is_shipped():
    alone = with_latency(10, 20, 30, settings=replace(SETTINGS, require={"latency/mean_ms": 15}))
    why, first = said_of(alone)
    assert why is None
    assert first.startswith("Ship alpha 0.3")
    assert first.endswith("Nothing else meets the requirements.")


def test_a_cutoff_at_which_nothing_meets_the_requirements_shows_no_winner():
    """At k 3 one is far worse, but all are too slow there."""
    runs = [
        of_scores(f"{alpha} {k}", scores, {"retriever.alpha": alpha, "k": k}, latency=latency, k=str(k))
        for k, latency, means in ((3, 90, [0.2, 0.8]), (5, 10, [0.5, 0.5]))
        for alpha, scores in zip((0.3, 0.5), noisy(means), strict=True)
    ]
    why, first = said_of(decided(*runs, settings=replace(SETTINGS, require={"latency/mean_ms": 25})))
    assert why == "tied"
    assert first.startswith("Your 40 queries cannot tell the 2 configurations apart at k 5. ")
    assert "At k 3 none meets the requirements." in first


@pytest.mark.parametrize(("same", "count"), [([0, 0], 2), ([0, 0, 1], 3)])
def test_a_tie_counts_the_configurations_where_some_measure_the_same(same, count):
    """At k 3 all measure the same; at k 5 some do, and the others are tied with them."""
    scores = noisy([0.5, 0.5])
    runs = [
        of_scores(f"{alpha} {k}", scores[row], {"retriever.alpha": alpha, "k": k}, k=str(k))
        for k, rows in ((3, [0] * len(same)), (5, [*same[1:], 1]))
        for alpha, row in zip((0.3, 0.5, 0.7), rows, strict=False)
    ]
    why, first = said_of(decided(*runs))
    assert why == "tied"
    assert first.startswith(f"Your 40 queries cannot tell the {count} configurations apart at any k.")
    assert "measured best" not in first


# Several cutoffs


def test_one_configuration_for_every_cutoff_is_said_in_one_sentence():
    decision = over_k([0.3, 0.4, 0.5], [0.6, 0.7, 0.8])
    first, second, third = headline(decision)
    assert first.startswith("At every k: alpha 0.5. Better than the other one at each (p <= 0.05")
    means = [choice.named.value("recall") for choice in decision.choices.values()]
    assert second == (
        f"k buys recall: {means[0]:.2f} at k 3 (about 300 tokens), {means[1]:.2f} at 5 (500), "
        f"{means[2]:.2f} at 10 (1,000). Choose it by your budget."
    )
    assert third.startswith("Expected on new queries at k 5: F1 0.7")


def test_what_is_tied_at_every_cutoff_is_in_brackets():
    first = headline(over_k([0.2, 0.2, 0.2], [0.6, 0.7, 0.8], [0.6, 0.7, 0.8]))[0]
    assert first == "At every k: alpha 0.5 (0.7 measures exactly the same)."


def test_of_equal_configurations_the_one_that_is_best_at_most_cutoffs_is_named():
    """At k 5 and 10 alpha 0.3 measures the same as 0.5, which alone is the best at k 3."""
    values = {0.3: (0.3, 0.6, 0.7), 0.5: (0.6, 0.6, 0.7), 0.7: (0.2, 0.3, 0.3)}
    decision = decided(
        *[alpha_k(alpha, k, f1) for alpha, row in values.items() for k, f1 in zip((3, 5, 10), row, strict=True)]
    )
    assert headline(decision)[0] == "At every k: alpha 0.5. At k 5 and 10, others cannot be told apart from it."
    assert [choice.named.swept["retriever.alpha"] for choice in decision.choices.values()] == [0.5, 0.5, 0.5]
    assert not any(", of alpha" in sentence for sentence in headline(decision))


def test_different_configurations_are_named_with_their_cutoffs():
    first = headline(over_k([0.3, 0.4, 0.8], [0.6, 0.7, 0.5]))[0]
    assert first == "At k 3 and 5: alpha 0.5; at k 10: alpha 0.3."


def test_a_sweep_over_k_alone_compares_nothing():
    decision = decided(*[alpha_k(0.5, k, f1) for k, f1 in ((1, 0.6), (3, 0.5), (5, 0.4))])
    first, second, *_ = headline(decision)
    assert first == "One configuration at 3 cutoffs: only k is to be chosen."
    assert second == "A larger k buys no recall: 0.60 at k 1 (about 100 tokens), 0.50 at 3 (300), 0.40 at 5 (500)."
    assert not any("worse" in sentence or "tied" in sentence for sentence in evidence(decision))


def test_different_configurations_at_different_cutoffs_are_not_called_one():
    first = headline(decided(alpha_k(0.2, 3, 0.6), alpha_k(0.5, 5, 0.5)))[0]
    assert "One configuration" not in first
    assert "nothing can be compared" in first


def test_what_a_larger_cutoff_buys_is_said_of_one_configuration():
    """At k 10 another one is chosen, with less recall than at k 5; chosen apart, k would seem to cost recall."""
    decision = over_k([0.3, 0.4, 0.8], [0.6, 0.7, 0.5])
    [sentence] = [line for line in headline(decision) if "The best recall" in line]
    named = [run for run in decision.sweep.outcomes if run.swept["retriever.alpha"] == 0.5]
    assert "alpha 0.5" in sentence
    for run in named:
        assert f"{run.value('recall'):.2f} at {'k ' if run.cutoff == 3 else ''}{run.cutoff} " in sentence


def test_a_configuration_that_was_measured_at_one_cutoff_buys_nothing():
    runs = [alpha_k(0.3, 3, 0.3), alpha_k(0.5, 5, 0.4)]
    assert not any("buys" in line for line in headline(decided(*runs)))
    assert not any("still rises" in line for line in evidence(decided(*runs)))


def test_the_table_has_a_row_per_cutoff():
    head, *rows = cells(over_k([0.3, 0.4, 0.5], [0.6, 0.7, 0.8]))
    assert head == ["k", "choice", "cannot be told apart", "F1", "Recall", "Tokens", "Latency"]
    assert [row[:3] + row[5:] for row in rows] == [
        ["3", "alpha 0.5", "none", "300", "20 ms"],
        ["5", "alpha 0.5", "none", "500", "20 ms"],
        ["10", "alpha 0.5", "none", "1,000", "20 ms"],
    ]


# Warnings


def test_most_queries_without_any_answer_are_the_news():
    scores = np.zeros((2, 40))
    scores[:, :15] = noisy([0.3, 0.6], queries=15)
    news, *_ = headline(over(scores, [0, 1]))
    assert news.startswith("Look at the data first: every configuration gives 25 of 40 queries the worst possible F1.")


def test_the_best_at_the_edge_is_pointed_out():
    lines = evidence(over(noisy([0.2, 0.4, 0.6]), [0, 0.5, 0.7]))
    assert "alpha 0.7 is the largest value of the sweep: sweep larger ones." in lines
    sizes = [outcome(f"s{size}", f1, {"chunker.size": size}) for size, f1 in ((300, 0.6), (500, 0.4), (800, 0.3))]
    assert "size 300 is the smallest value of the sweep: sweep smaller ones." in evidence(decided(*sizes))


def test_a_method_says_what_to_vary_when_it_is_the_best():
    lines = evidence(over(noisy([0.6, 0.4, 0.2])))
    assert "alpha 0 is at the end of its range: sweep stemmer and stop_words of the sparse retriever instead." in lines


def test_a_gain_that_still_rises_is_pointed_out():
    lines = evidence(over_k([0.3, 0.4, 0.5], [0.5, 0.6, 0.7]))
    assert any(line.startswith("Recall still rises between the two largest k of the sweep: 0.") for line in lines)


def test_a_tie_with_sparse_retrieval_is_pointed_out():
    decision = over(noisy([0.5, 0.51, 0.2]))
    assert (
        "One of the tied configurations is pure sparse retrieval, which needs no encoder." in evidence(decision)
    ) == (decision.named.name != "alpha=0")


def test_too_few_queries_to_show_any_difference_are_pointed_out():
    decision = over(noisy([0.3, 0.7], queries=4), [0, 1])
    lines = evidence(decision)
    assert "Only 4 queries: intervals and tests with so few queries are not reliable." in headline(decision)
    assert "4 queries cannot show any difference: no test on so few has a p below 0.05." in lines


def test_the_baseline_is_compared_in_counts_and_with_a_test():
    [against] = [line for line in evidence(over(noisy([0.3, 0.7]), [0, 1])) if "against" in line]
    assert against.startswith("The best against pure sparse retrieval, alpha=0: +0.4")
    assert "p < 0.001 of the hypothesis that alpha=0 is one of the best" in against
    assert against.endswith("40 queries better, 0 equal, 0 worse.")


def test_a_configuration_per_type_is_reported_to_pay_off_if_types_differ():
    halves = np.repeat([0.0, 1.0], 40)
    scores = noisy([0.5, 0.5], queries=80) + 0.2 * np.array([halves, 1 - halves])
    decision = over(scores, [0.3, 0.7], types=["one"] * 40 + ["other"] * 40)
    assert any(line.startswith("A configuration for each query type pays off: +0.") for line in evidence(decision))


# Costs, requirements, promises


def with_latency(*latencies, settings, means=(0.5, 0.5, 0.5)):
    """The decision of a sweep over alpha whose runs have these latencies."""
    runs = [
        of_scores(f"alpha={alpha}", row, {"retriever.alpha": alpha}, latency=ms, **{"retriever.alpha": str(alpha)})
        for alpha, row, ms in zip((0.3, 0.5, 0.7), noisy(means, queries=300, noise=0.02), latencies, strict=True)
    ]
    return decided(*runs, settings=settings)


def test_the_cheapest_of_the_tied_is_chosen_if_a_cost_is_preferred():
    decision = with_latency(30, 10, 20, settings=replace(SETTINGS, prefer="latency/mean_ms"))
    assert decision.named.name == "alpha=0.5"
    assert "Ship the fastest: alpha 0.5 (10 ms at k 5), F1 0." in headline(decision)[0]
    assert any("lowest latency" in line and "among 3 configurations" in line for line in evidence(decision))


def test_what_costs_the_same_is_not_called_the_fastest():
    first = headline(with_latency(20, 20.1, 20.2, settings=replace(SETTINGS, prefer="latency/mean_ms")))[0]
    assert "fastest" not in first
    assert "about the same latency for each (20 ms at k 5)" in first


def test_what_is_nearly_as_good_for_a_fifth_of_the_cost_is_named():
    said = " ".join(headline(with_latency(3000, 30, 2900, settings=SETTINGS, means=(0.6, 0.57, 0.3))))
    assert "Its latency is 3,000 ms: alpha 0.5 has 30 ms, and F1 0.5" in said
    assert "Its latency" not in " ".join(
        headline(with_latency(3000, 30, 2900, settings=SETTINGS, means=(0.6, 0.5, 0.3)))
    )


def test_what_costs_nothing_is_not_compared_with_what_costs_nothing_either():
    assert "Its latency" not in " ".join(headline(with_latency(0, 0, 0, settings=SETTINGS, means=(0.6, 0.57, 0.3))))


@pytest.mark.parametrize(("sample", "is_said"), [((1.0, 2.0), True), ((1.0, 1.0), False), ((), False)])
def test_a_time_that_was_taken_once_is_not_called_a_fraction(sample, is_said):
    """The first configuration of a sweep takes longer than the others, whichever it is."""
    runs = []
    for alpha, row, ms in zip((0.3, 0.5), noisy((0.6, 0.57), queries=300, noise=0.02), (30, 3), strict=True):
        swept = {"retriever.alpha": alpha}
        run = of_scores(f"alpha={alpha}", row, swept, latency=ms, **{"retriever.alpha": str(alpha)})
        time = replace(run.facts.measures["latency/mean_ms"], sample=sample, machines=("this",))
        runs.append(replace(run, facts=replace(run.facts, measures={"latency/mean_ms": time})))
    settings = replace(SETTINGS, gains=[], costs=["latency/mean_ms"])
    assert ("Its latency is 30 ms" in " ".join(headline(decided(*runs, settings=settings)))) is is_said


def test_the_cheapest_that_is_not_worse_by_the_margin_is_chosen():
    settings = replace(SETTINGS, prefer="latency/mean_ms", margin=0.05)
    decision = with_latency(30, 20, 1, settings=settings, means=(0.6, 0.58, 0.3))
    assert decision.named.name == "alpha=0.5"  # the cheapest one is far worse, the best one is dearer
    assert any("not to be worse than the best by 0.05 F1 or more" in line for line in evidence(decision))
    first = headline(decision)[0]
    assert first.startswith("Ship alpha 0.5 at k 5: F1 0.5")
    assert "By F1, alpha 0.3 is better (p <= 0.05)" in first
    assert cells(decision)[1][1:3] == ["alpha 0.5", "worse than alpha 0.3"]


def test_nothing_is_shown_to_be_within_a_tiny_margin():
    decision = with_latency(30, 20, 1, settings=replace(SETTINGS, prefer="latency/mean_ms", margin=0.0001))
    assert decision.named is decision.headline.best
    assert evidence(decision)[0].startswith(
        "Chosen: the best measured F1. No configuration is shown to be within 0.0001 of the true best (p <= 0.05)"
    )


def test_with_a_margin_something_is_on_every_front():
    decision = with_latency(10.1, 10, 90, settings=replace(SETTINGS, margin=0.05), means=(0.6, 0.58, 0.3))
    assert [[each.name for each in front.members] for front in decision.fronts][-1] == ["alpha=0.3"]
    assert captions_of(decision)[FRONT].endswith("the lowest is alpha=0.3 with 10.1 ms.")


def test_a_baseline_that_is_the_best_is_compared_with_the_runner_up():
    sweep = replace(over_alpha(noisy((0.6, 0.5, 0.3)), (0.3, 0.5, 0.7)), baseline="alpha=0.3")
    assert captions_of(decide(sweep))[AGAINST].startswith("alpha=0.3 is better than alpha=0.5 on ")


@pytest.mark.parametrize(
    ("means", "end"),
    [
        ((0.6, 0.6), "; the other one cannot"),
        ((0.6, 0.6, 0.6), "; the other 2 cannot"),
        ((0.6, 0.6, 0.1), "; 1 of the other 2 cannot"),
    ],
)
def test_a_caption_says_how_many_of_the_others_are_tied(means, end):
    sweep = over_alpha(noisy(means), (0.3, 0.5, 0.7)[: len(means)])
    assert captions_of(decide(sweep))[ONE_SETTING].endswith(f"{end} be told apart from it.")


def test_a_headline_at_a_cutoff_without_a_run_is_named():
    runs = [alpha_k(alpha, k, alpha) for alpha in (0.3, 0.5) for k in (3, 5)]
    decision = decided(*runs, settings=replace(SETTINGS, at=10))
    assert "decision.at is 10, at which no run finished: the headline is about k 3." in evidence(decision)


def test_a_margin_alone_says_what_is_equivalent():
    decision = with_latency(1, 1, 1, settings=replace(SETTINGS, margin=0.05), means=(0.6, 0.58, 0.3))
    assert "Shown to be within 0.05 F1 of the best at k 5 (p <= 0.05): alpha 0.3, alpha 0.5." in evidence(decision)


def over_k_and_cost(settings):
    """The decision of a sweep over alpha and k: alpha 0.5 is the best, 0.7 cannot be told apart and is faster."""
    runs = []
    for k, means in ((3, (0.3, 0.6, 0.595)), (5, (0.3, 0.7, 0.695)), (10, (0.3, 0.8, 0.795))):
        for alpha, row, ms in zip((0.3, 0.5, 0.7), noisy(means), (30, 20, 10 if k < 10 else 40), strict=True):
            swept = {"retriever.alpha": alpha, "k": k}
            texts = {name: str(value) for name, value in swept.items()}
            runs.append(of_scores(f"alpha={alpha} k={k}", row, swept, latency=ms, **texts))
    return decided(*runs, settings=settings)


def test_one_configuration_for_every_cutoff_is_the_choice_at_every_cutoff_if_a_cost_is_preferred():
    assert headline(over_k_and_cost(SETTINGS))[0] == "At every k: alpha 0.5 (0.7 cannot be told apart)."
    cheapest = over_k_and_cost(replace(SETTINGS, prefer="latency/mean_ms"))
    assert [choice.named.swept["retriever.alpha"] for choice in cheapest.choices.values()] == [0.7, 0.7, 0.5]
    assert headline(cheapest)[0] == "At k 3 and 5: alpha 0.7; at k 10: alpha 0.5."
    assert "is estimated for the best one only" in headline(cheapest)[-1]


def test_a_cutoff_at_which_nothing_meets_the_requirements_is_named():
    decision = over_k_and_cost(replace(SETTINGS, require={"f1": 0.65}))
    first, second, _ = headline(decision)
    assert first.startswith(
        "Your 40 queries cannot tell the 2 configurations that meet the requirements apart at k 5 and 10."
    )
    assert "At k 3 none meets the requirements." in first
    assert second.startswith("k buys recall: 0.7")
    assert cells(decision)[1][3:] == ["", "", "", ""]
    there = headline(over_k_and_cost(replace(SETTINGS, require={"f1": 0.65}, at=3)))
    assert not any("Expected" in line for line in there)


def test_the_only_configuration_that_meets_the_requirements_is_named_as_such():
    fast = replace(SETTINGS, require={"latency/mean_ms": 15})
    decision = over_k_and_cost(fast)
    assert headline(decision)[0] == "At k 3 and 5: alpha 0.7; at k 10: none meets the requirements."
    small = decided(*[run for run in decision.sweep.outcomes if run.cutoff < 10], settings=fast)
    assert headline(small)[0] == "At k 3 and 5: alpha 0.7. Nothing else meets the requirements."
    assert not small.at_edge


def test_a_cost_that_is_nearly_the_smallest_does_not_decide():
    decision = with_latency(10.1, 10, 10.1, settings=replace(SETTINGS, prefer="latency/mean_ms", margin=0.3))
    best = max(decision.sweep.outcomes, key=lambda outcome: outcome.value("f1"))
    assert decision.named is best


def test_queries_that_all_fail_are_the_only_news():
    [news] = headline(over(np.zeros((2, 40)), [0, 1]))
    assert news.startswith("Look at the data first: every configuration gives 40 of 40 queries the worst possible F1.")


def test_what_does_not_meet_a_requirement_is_left_out():
    settings = replace(SETTINGS, require={"latency/mean_ms": 25})
    decision = with_latency(30, 20, 10, settings=settings, means=(0.9, 0.6, 0.3))
    assert decision.named.name == "alpha=0.5"
    assert "Left out at k 5, as they do not meet the requirements: alpha=0.3." in evidence(decision)


def test_it_is_said_if_nothing_meets_the_requirements():
    decision = with_latency(30, 20, 10, settings=replace(SETTINGS, require={"latency/mean_ms": 5}))
    assert headline(decision)[0].startswith("No configuration meets the requirements. The best without them, alpha 0.")
    assert "required at most 5" in headline(decision)[0]


def test_a_promise_is_kept_or_the_queries_that_could_show_it_are_named():
    run = alpha_k(0.5, 5, 0.5)
    facts = replace(run.facts, curves={**run.facts.curves, "hit": (0.5, 0.9, 1.0)})
    kept = decided(replace(run, facts=facts), settings=replace(SETTINGS, target={"hit": 0.85}))
    assert "k 3 is the smallest shown to have a hit of at least 0.85 (95 % confidence)." in headline(kept)[-1]
    broken = decided(replace(run, facts=facts), settings=replace(SETTINGS, target={"hit": 0.9}))
    assert headline(broken)[-1] == (
        "No k up to 3 is shown to have a hit of at least 0.9: 20 queries show at least 0.861 at k 3; "
        "29 queries like these would show it."
    )


def test_a_promise_about_a_metric_without_a_cutoff_is_tested_once():
    run = alpha_k(0.5, 5, 0.5)
    right = np.array([1.0] * 19 + [0.0])
    run = replace(run, per_query=run.per_query.assign(right=right))
    for share, shown in ((0.75, True), (0.8, False)):  # the exact lower bound of 19 in 20
        decision = decided(run, settings=replace(SETTINGS, target={"right": share}))
        [promise] = decision.promises
        assert (promise.certificate.cutoff == 1) is shown
        assert bool(binom.sf(18, 20, share) <= 0.05) is shown
        assert ("is shown to have" in headline(decision)[-1]) is shown


def test_a_promise_is_tested_up_to_the_largest_swept_cutoff():
    """The headline is about k 3; the run at k 5 has measured two cutoffs more."""
    curves = {3: (0.5, 0.6, 0.7), 5: (0.5, 0.6, 0.7, 0.9, 1.0), 10: (0.5, 0.6, 0.7, 0.9, 1.0)}
    runs = [alpha_k(0.5, k, 0.5) for k in (3, 5)] + [alpha_k(0.3, k, 0.4) for k in (3, 10)]
    measured = [
        replace(run, facts=replace(run.facts, curves={**run.facts.curves, "hit": curves[run.cutoff]})) for run in runs
    ]
    decision = decided(*measured, settings=replace(SETTINGS, target={"hit": 0.8}, at=3))
    [promise] = decision.promises
    assert promise.largest == 5
    assert promise.certificate.cutoff == 5  # 20 of 20: 0.05 / 2 configurations is .025 ** (1 / 20) = .83


# Words


@pytest.mark.parametrize(
    ("chosen", "words"),
    [([0.3, 0.5, 0.7], "0.3 to 0.7"), ([0.3, 0.5], "0.3 or 0.5"), ([0, 0.5, 0.7, 1], "0 or 0.5 to 1"), ([1], "1")],
)
def test_neighbours_are_a_range(chosen, words):
    assert ranges([0, 0.3, 0.5, 0.7, 1], chosen) == words


def tied(points, chosen):
    """The words for a sweep over alpha and size in which exactly the chosen points are tied with the best."""
    rng = np.random.default_rng(0)
    runs = [
        of_scores(
            f"{alpha} {size}",
            (0.6 if (alpha, size) in chosen else 0.1) + rng.normal(0, 0.01, 30),
            {"retriever.alpha": alpha, "chunker.size": size},
            **{"retriever.alpha": str(alpha)},
        )
        for alpha, size in points
    ]
    return tied_in_words(Sweep(runs, {}), Sweep(runs, {}))


GRID = [(alpha, size) for alpha in (0, 0.3, 0.5, 0.7) for size in (300, 500)]


def test_ties_that_fill_a_box_are_named_as_one():
    assert tied(GRID, [(0.3, 300), (0.5, 300), (0.7, 300)]) == "alpha 0.3 to 0.7, size 300"
    assert tied(GRID, [(0.3, 300), (0.3, 500)]) == "alpha 0.3, any size"


def test_ties_that_do_not_fill_a_box_are_split():
    assert (
        tied(GRID, [(0, 300), (0.3, 300), (0.5, 300), (0.5, 500)])
        == "size 300 with alpha 0 to 0.5; size 500 with alpha 0.5"
    )


def test_ties_of_a_setting_in_words():
    runs = [outcome(name, f1, {"retriever": name}) for name, f1 in (("dense", 0.4), ("sparse", 0.2), ("hybrid", 0.4))]
    assert tied_in_words(Sweep(runs, {}), Sweep(runs, {})) == "retriever dense or hybrid"


def test_any_value_is_any_of_the_sweep_and_not_of_those_that_are_compared():
    runs = [outcome(name, 0.4, {"retriever": name}) for name in ("dense", "sparse", "hybrid")]
    assert tied_in_words(Sweep(runs, {}), Sweep(runs, {})) == "any retriever"
    assert tied_in_words(Sweep(runs[:2], {}), Sweep(runs, {})) == "retriever dense or sparse"


def test_ties_of_the_same_settings_are_counted():
    runs = [outcome(name, f1, {"b": 5}) for name, f1 in (("new", 0.4), ("newer", 0.4), ("old", 0.1))]
    other = outcome("other", 0.1, {"b": 9})
    sweep = Sweep([*runs, other], {})
    assert tied_in_words(sweep, sweep) == "b 5, 2 of 3 runs with these settings"


def test_a_p_value_at_the_border_is_not_rounded_across_it():
    assert [p_value(p) for p in (0.0504, 0.0497, 0.2, 0.0004)] == ["0.0504", "0.0497", "0.20", "< 0.001"]


def test_costs_are_rounded_to_two_digits():
    assert [rough(number) for number in (303.2, 1007, 0.0512, 0, 12_345)] == ["300", "1,000", "0.051", "0", "12,000"]


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    ("count", "most", "more"), [(20, 3, {}), pytest.param(200, 10, DEFAULT, marks=pytest.mark.soak)]
)
def test_equal_configurations_have_a_winner_in_at_most_five_percent_of_sweeps(count, most, more):
    """Of 15 equal configurations. If the true rate is 5 %, more than 3 winners in 20 have a probability of 1.6 %."""
    sweeps = [over(f1_like(np.random.default_rng(seed), alike(15)), ALPHAS, **more) for seed in range(count)]
    assert sum(not headline(sweep)[0].startswith("Your 133 queries cannot tell the 15 ") for sweep in sweeps) <= most
    assert not any(len(sweep.headline.tied) == 1 for sweep in sweeps)


def test_grid_of_the_fixtures_is_read_as_it_is_meant():
    assert headline(decide(grid()))[0].startswith("At every k: alpha 1. Better than the others")


def test_configurations_with_the_same_numbers_are_named_also_where_their_settings_differ():
    rng = np.random.default_rng(4)
    same, other = rng.random(30), rng.random(30)
    said = " ".join(evidence(decide(over_alpha([same, same, other], (0, 0.5, 1)))))
    assert "alpha 0 and alpha 0.5 have the same number in every metric." in said
    assert "same number" not in " ".join(evidence(decide(over_alpha([same, other], (0, 1)))))


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(("deviation", "queries"), [(0.0834, 133), (0.2, 783), (0.1, 195)])
def test_what_is_said_of_power_holds_and_agrees_with_how_many_queries_it_takes(deviation, queries):
    """As printed, 133 queries once detected 0.020, and 0.02 needed 136."""
    half = queries // 2
    row = np.concatenate([np.full(half, 0.5 + deviation), np.full(queries - half, 0.5 - deviation)])
    decision = over([np.full(queries, 0.5), row], (0, 1))
    said = next(line for line in evidence(decision) if "can detect" in line)
    detected, needed = (
        float(each.replace(",", "")) for each in re.search(r"of (0\.\d+) F1.*needs ([\d,]+)", said).groups()
    )
    assert (detected <= 0.02) == (needed <= queries)


def test_what_no_configuration_meets_is_said_of_the_smallest_and_the_largest_cutoff():
    decision = over_k([0.5, 0.5, 0.5], [0.3, 0.3, 0.3])
    missed = decide(replace(decision.sweep, settings=replace(SETTINGS, require={"recall": 0.999})))
    assert re.search(r"alpha 0.3 at k 3: recall 0\.\d+, .*alpha 0.3 at k 10: recall 0\.\d+, ", headline(missed)[0])


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
    sweep = over_alpha(noisy([0.6, 0.3]), (0, 1))
    runs = [
        replace(run, facts=replace(run.facts, judged=each and JudgedFact(*each)))
        for run, each in zip(sweep.outcomes, judged, strict=True)
    ]
    assert any("judged" in sentence for sentence in headline(decided(*runs))) == said


def test_a_cutoff_beyond_the_end_of_a_list_buys_nothing_that_is_known():
    runs = over_k([0.4, 0.4, 0.4], [0.6, 0.6, 0.6]).sweep.outcomes
    short = [replace(run, facts=replace(run.facts, ends_at=5)) if run.cutoff == 10 else run for run in runs]
    said = " ".join(headline(decided(*short)))
    assert " at 10" in " ".join(headline(decided(*runs)))
    assert "at most 5 results for a query" in said
    assert "k buys recall: " in said
    assert " at 10 " not in said.partition("k buys recall: ")[2]
