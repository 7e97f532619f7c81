"""What vetoes shipping: guessing, requirements, and data that can show no winner."""

import json
from dataclasses import replace

import numpy as np
import pytest
from outcomes import FACTS, SETTINGS, as_guesses, claims, decided, noisy, of_scores, with_measure
from scipy.stats import binomtest

from ragsweep.report import rows_of, veto_of
from ragsweep.report.claims import claims_of, evidence, headline
from ragsweep.report.record import as_record
from ragsweep.report.report_text import table_of_configurations
from ragsweep.statistics import LEVEL, holm
from ragsweep.tasks.facts import MetricFact, ReturnedFact, UnreadText

MS, TOKENS = "latency/mean_ms", "context/tokens"
CONTROL = {"control": "nobody has the judged pages"}


def over(scores, settings=SETTINGS, swept="retriever.alpha", **more):
    """The decision between runs with these scores; `more` has a value for each run."""
    values = zip((0.3, 0.5, 0.7), scores, *more.values(), strict=False)
    runs = [of_scores(f"{v}", row, {swept: v}, **dict(zip(more, rest, strict=True))) for v, row, *rest in values]
    return decided(*runs, settings=settings)


def against_guessing(*p, means=(0.3, 0.7, 0.3), chance=0.25):
    """The decision of a sweep over alpha whose runs have these p-values against guessing."""
    return as_guesses(over(noisy(means)), chance, p)


def with_control(scores):
    """The last one is a control."""
    return over(scores, facts=[{}] * (len(scores) - 1) + [CONTROL])


def required(scores, limit):
    """A latency is required of runs that have 10, 20 and 30 ms."""
    return over(scores, replace(SETTINGS, require={MS: limit}), latency=(10, 20, 30))


def cut(scores, queries, place=0):
    """The model of one run reads the beginning alone of so many of 100 queries."""
    facts = [{}, {}]
    facts[place] = {"unread_texts": [UnreadText("MiniLM", "queries", queries, 100, 254, "tokens")._asdict()]}
    return over(scores, facts=facts)


def by_pages(scores, swept):
    return over(scores, swept=swept, facts=[{"if_swept": {"chunker": "Judge spans."}}] * 2)


def without_answer(lost):
    """No run finds anything for so many of 40 queries."""
    scores = np.zeros((2, 40))
    scores[:, lost:] = noisy([0.3, 0.6], queries=40 - lost)
    return over(scores)


def one_finds_nothing(scores):
    rows = np.array([scores[0], np.zeros_like(scores[0])])
    return over(rows, recall=rows)


def so_few(queries, copies=None):
    """One is far better on so many queries, or groups of copies of a query."""
    rows = np.linspace([0.2] * queries, [0.9] * queries, 2) + np.linspace(0, 0.01, queries)
    if copies is None:
        return over(rows)
    return over(np.repeat(rows, copies, axis=1), groups=[np.repeat(np.arange(queries), copies).astype(str)] * 2)


def unread(right, lost, guess=0.25):
    """The decision between runs that are right, and were not read, at these places, and what a guess counts there."""
    otherwise = {"measure": "lost", "otherwise": {"a guess": "guess"}, "lost": "", "causes": {}}
    facts = {"metrics": {**FACTS["metrics"], "f1": {**FACTS["metrics"]["f1"], "unread": otherwise}}}
    scores = [row * ~gone for row, gone in zip(right, lost, strict=True)]
    runs = [
        replace(run, per_query=run.per_query.assign(lost=gone * 1.0, guess=run.per_query["f1"] + guess * gone))
        for run, gone in zip(over(np.array(scores, dtype=float), facts=[facts] * 2).sweep.outcomes, lost, strict=True)
    ]
    return decided(*runs)


def some_unread(lost):
    """140 of 200 right with so many unread, against 100 of 200."""
    right = [np.arange(200) % 10 < 7, np.arange(200) % 10 < 5]
    return unread(right, [np.arange(200) < lost, np.zeros(200, dtype=bool)])


def one_decides_by_chance():
    """Half of 40 answers of each are right; one that is unread makes the other one the best."""
    right = [np.arange(40) % 2 == place for place in (0, 1)]
    return unread(right, [np.zeros(40, dtype=bool), np.arange(40) == 1], guess=2)


def at_two_cutoffs():
    """At k 3 one is far worse, but all are too slow there."""
    runs = [
        of_scores(f"{alpha} {k}", scores, {"retriever.alpha": alpha, "k": k}, latency=latency, k=str(k))
        for k, latency, means in ((3, 90, [0.2, 0.8]), (5, 10, [0.5, 0.5]))
        for alpha, scores in zip((0.3, 0.5), noisy(means), strict=True)
    ]
    return decided(*runs, settings=replace(SETTINGS, require={MS: 25}))


def returning(*characters, tokens=None):
    """The first of three runs is the best; they return passages of these characters, and so many tokens."""
    runs = over(noisy([0.9, 0.5, 0.3])).sweep.outcomes
    texts = [ReturnedFact(float(size), "words") for size in characters]
    runs = [replace(run, facts=replace(run.facts, returned=text)) for run, text in zip(runs, texts, strict=True)]
    if tokens is None:  # they were counted of the first alone
        return decided(runs[0], *(without(run, TOKENS) for run in runs[1:]))
    counted = [
        replace(with_measure(run, TOKENS, value=count), per_query=run.per_query.assign(**{TOKENS: count}))
        for run, count in zip(runs, tokens, strict=True)
    ]
    return decided(*counted)


def without(run, cost):
    """The run, of which a cost is not known."""
    measures = {name: fact for name, fact in run.facts.measures.items() if name != cost}
    table = run.per_query.drop(columns=cost, errors="ignore")
    return replace(run, facts=replace(run.facts, measures=measures), per_query=table)


def false_finds(*, aggregate, gains=("recall",)):
    """One finds nothing, and so has no false finds either: it measures best, and its gains say what it is."""
    about = MetricFact("false_find_rate", "False finds", higher_is_better=False, low=0, high=1)
    runs = []
    for run, recall, mean in zip(over(noisy([0.5] * 2)).sweep.outcomes, (0.8, 0.0), (0.5, 0.0), strict=True):
        rate = replace(about, aggregate=True, mean=mean, ci_low=mean, ci_high=mean) if aggregate else about
        columns = {"recall": recall} | ({} if aggregate else {"rate": np.tile([0, 2 * mean], 20)})
        facts = replace(run.facts, metrics={**run.facts.metrics, "rate": rate})
        drawn = {"rate": np.full(run.resamples, mean)}
        runs.append(replace(run, per_query=run.per_query.assign(**columns), facts=facts, resampled=drawn))
    return decided(*runs, settings=replace(SETTINGS, metric="rate", gains=gains))


CLEAR, SAME = noisy([0.3, 0.7]), noisy([0.5])[[0, 0]]
VETOES = [  # what vetoes, and the decisions in which it does
    ("guessing", lambda: against_guessing(0.02, 0.03, 0.04)),  # each is below 0.05, but not after a correction
    ("guessing", lambda: against_guessing(0.001, 0.5, 0.5)),  # of another one than the choice
    (None, lambda: against_guessing(0.5, 0.001, 0.5)),
    (None, lambda: against_guessing(0.001, 0.001, 0.001)),
    ("tied", lambda: with_control(noisy([0.5, 0.5, 0.9]))),
    ("same values", lambda: with_control(noisy([0.5, 0.9])[[0, 0, 1]])),
    ("one configuration", lambda: with_control(noisy([0.5, 0.9]))),
    ("same values", lambda: required(noisy([0.5, 0.9])[[0, 0, 1]], 25)),
    (None, lambda: required(noisy([0.5, 0.5, 0.9]), 15)),  # one alone meets it
    ("tied", at_two_cutoffs),
    ("unread texts", lambda: cut(SAME, 5)),  # two identical systems: that is not the news
    ("unread texts", lambda: cut(CLEAR, 5)),
    ("unread texts", lambda: cut(CLEAR, 5, place=1)),
    (None, lambda: cut(CLEAR, 4)),
    (None, lambda: cut(CLEAR, 4, place=1)),
    ("page judgments", lambda: by_pages(noisy([0.5, 0.5]), "chunker")),
    (None, lambda: by_pages(CLEAR, "retriever.alpha")),
    ("tied", lambda: by_pages(noisy([0.5, 0.5]), "retriever.alpha")),
    ("most fail", lambda: without_answer(21)),
    (None, lambda: without_answer(20)),
    ("nothing found", lambda: one_finds_nothing(noisy([0.7]))),
    ("nothing found", lambda: one_finds_nothing(noisy([0.05], 6))),
    ("nothing found", lambda: false_finds(aggregate=False)),
    ("nothing found", lambda: false_finds(aggregate=True)),
    ("too few", lambda: so_few(5)),  # a test that flips signs has no p below 2 / 2 ** 5 = .0625
    (None, lambda: so_few(6)),
    ("too few", lambda: so_few(5, copies=3)),
    (None, lambda: so_few(6, copies=3)),
    ("one configuration", lambda: over(noisy([0.5], 5))),
    ("unread answers", lambda: some_unread(80)),
    (None, lambda: some_unread(20)),
    ("tied", one_decides_by_chance),
    (None, lambda: returning(800, 200, 200, tokens=(400.0, 500.0, 500.0))),  # longer passages that are fewer
    ("unequal text", lambda: returning(800, 200, 200, tokens=(2000.0, 500.0, 500.0))),
    ("unequal text", lambda: returning(800, 200, 200)),
]


def test_what_vetoes():
    """At its limits; see also the situations of test_situations.py."""
    vetoes = [(place, veto_of(make()), veto) for place, (veto, make) in enumerate(VETOES)]
    assert [row for row in vetoes if row[1] != row[2]] == []
    assert veto_of(false_finds(aggregate=True, gains=())) != "nothing found"


def test_a_claim_that_vetoes_has_the_numbers_of_its_sentence():
    for decision, name, numbers in (
        (against_guessing(0.02, 0.03, 0.04), "guessing", {"own": False, "better": 0, "tests": 3, "label": "alpha 0.5"}),
        (against_guessing(0.001, 0.5, 0.5), "guessing", {"own": False, "better": 1}),
        (against_guessing(0.001, 0.001, 0.001), "guessing", {"own": True, "better": 3}),
        (with_control(noisy([0.3, 0.5, 0.9])), "control", {"why": CONTROL["control"]}),
        (required(noisy([0.5, 0.5, 0.5]), 25), "left_out", {"names": ["0.7"]}),
        (required(noisy([0.5, 0.5, 0.9]), 15), "left_out", {"names": ["0.5", "0.7"]}),
        (without_answer(21), "most_fail", {"lost": 21}),
        (one_finds_nothing(noisy([0.7])), "nothing_found", {"labels": ["alpha 0.5"]}),
        (some_unread(80), "unread_answers", {"counts": {"alpha 0.3": 80, "alpha 0.5": 0}}),
        (some_unread(20), "unread", {"counts": {"alpha 0.3": 20, "alpha 0.5": 0}}),
        (returning(800, 200, 200), "unequal_text", {"texts": [800.0, 200.0], "unit": "characters a passage"}),
    ):
        assert numbers.items() <= claims(decision)[name].items(), name
    assert [*claims(cut(CLEAR, 5, place=1))["unread_texts"]["texts"].values()] == [["alpha 0.5"]]
    assert some_unread(80).unread.recounts[0].counted_as == "a guess"
    by_chance = one_decides_by_chance()  # what is tied however unread answers count depends on nothing
    assert by_chance.unread.recounts[0].choice.best.name != by_chance.headline.best.name
    assert not by_chance.unread.replacing
    best = {"label": "alpha 0.3", "at": " at k 5", "why": f"{MS} 10, required at most 5"}
    assert claims(required(noisy([0.9, 0.5, 0.5]), 5))["requirements"]["best"] == [best]
    first = claims_of(against_guessing(0.02, 0.03, 0.04))[0]  # that nothing is better than guessing comes first
    assert (first.name, first.place) == ("guessing", "headline")
    assert "tied" not in claims(against_guessing(0.5, 0.5, means=(0.5, 0.5)))


def test_tables_and_the_record_have_the_comparison_with_guessing():
    decision, p = against_guessing(0.5, 0.001, 0.5), pytest.approx(0.003)
    choice = json.loads(json.dumps(as_record(decision, "")))["choice"]
    assert choice["against_guessing"] == {"value": 0.25, "p": p, "p_worse": p, "better": True, "worse": False}
    head, *lines = table_of_configurations(decision).splitlines()
    assert "against guessing" in head
    assert ["better, p 0.003" in line for line in lines] == [True, False, False]
    assert ["no better, p 1.00" in line for line in lines] == [False, True, True]
    worse = against_guessing(0.001, 0.001, 0.001, chance=0.5)  # significantly, but on the other side
    verdicts = {row.run.name: row.against_guessing for row in rows_of(worse)}
    assert verdicts == {"0.3": "worse, p 0.003", "0.5": "better, p 0.003", "0.7": "worse, p 0.003"}


def test_guessers_are_called_better_in_at_most_one_sweep_of_twenty():
    """15 systems guess at 64 questions with four options; without a correction they would be in one sweep of four."""
    right = np.random.default_rng(0).binomial(64, 0.25, (2000, 15))
    p = np.array([binomtest(count, 64, 0.25).pvalue for count in range(65)])[right]
    better = np.apply_along_axis(holm, 1, p) <= LEVEL
    assert (better & (right > 16)).any(axis=1).mean() <= LEVEL
    assert ((p <= LEVEL) & (right > 16)).any(axis=1).mean() > 0.2


def test_the_headline_is_about_a_cutoff_at_which_a_configuration_meets_the_requirements():
    assert at_two_cutoffs().headline.cutoff == 5
    runs = [of_scores(f"{k}", row, {"k": k}, k=str(k)) for k, row in zip((3, 5, 10), noisy([0.5] * 3), strict=True)]
    best = claims(decided(*runs, settings=replace(SETTINGS, require={"recall": 0.999})))["requirements"]["best"]
    assert [one["at"] for one in best] == [" at k 3", " at k 10"]  # none: the smallest and the largest
    asked = claims(decided(*runs, settings=replace(SETTINGS, require={TOKENS: 400}, at=10)))["requirements"]
    assert (asked["at"], [one["at"] for one in asked["best"]]) == (" at k 10", [" at k 10"])  # k 3 meets it


def test_runs_that_did_not_finish_are_in_every_headline():
    for scores in (CLEAR, noisy([0.5, 0.5]), np.zeros((2, 20))):
        runs = over(scores).sweep.outcomes
        assert any("Did not finish: a" in line for line in headline(decided(*runs, unfinished={"a": "FAILED"})))
        assert "missing" not in claims(decided(*runs))


def test_a_preferred_cost_that_was_not_measured_chooses_nothing():
    """The headline of runs that were compared without times names none of them as the quickest."""
    runs = [without(run, MS) for run in over(noisy([0.5, 0.5, 0.5])).sweep.outcomes[:2]]
    slow = over(noisy([0.5, 0.5, 0.1])).sweep.outcomes[2]  # it has a time, and is worse
    decision = decided(*runs, slow, settings=replace(SETTINGS, prefer=MS))
    assert decision.named.value(MS) is None
    assert "Latency" not in " ".join([*headline(decision), *evidence(decision)])
