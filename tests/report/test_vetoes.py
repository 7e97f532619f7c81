"""What vetoes shipping: guessing, requirements, and data that can show no winner."""

import json
from dataclasses import replace

import numpy as np
import pytest
from outcomes import FACTS, SETTINGS, as_guesses, claims, decided, noisy, of_scores
from scipy.stats import binomtest

from ragsweep.report import rows_of, veto_of
from ragsweep.report.claims import claims_of, evidence, headline
from ragsweep.report.record import as_record
from ragsweep.report.report_text import table_of_configurations
from ragsweep.statistics import LEVEL, holm
from ragsweep.tasks.facts import MetricFact, ReturnedFact, UnreadText

MS = "latency/mean_ms"


def over(scores, settings=SETTINGS, swept="retriever.alpha", **more):
    """The decision between runs with these scores; `more` has a value for each run."""
    values = zip((0.3, 0.5, 0.7), scores, *more.values(), strict=False)
    runs = [of_scores(f"{v}", row, {swept: v}, **dict(zip(more, rest, strict=True))) for v, row, *rest in values]
    return decided(*runs, settings=settings)


def against_guessing(*p, means=(0.3, 0.7, 0.3), chance=0.25):
    """The decision of a sweep over alpha whose runs have these p-values against guessing."""
    return as_guesses(over(noisy(means)), chance, p)


def test_that_nothing_is_better_than_guessing_comes_first():
    """Each p-value is below 0.05, but not after a correction for three tests."""
    decision = against_guessing(0.02, 0.03, 0.04)
    first = claims_of(decision)[0]
    assert (first.name, first.place, first.numbers["better"], first.numbers["tests"]) == ("guessing", "headline", 0, 3)
    assert veto_of(decision) == "guessing"


@pytest.mark.parametrize("p", [0.5, 0.001])
def test_a_tie_of_guesses_is_not_taken(p):
    tied = as_guesses(over(noisy([0.5, 0.5])), 0.25, (p, p))
    assert tied.headline.undecided == "tied"
    assert veto_of(tied) == ("guessing" if p > 0.05 else "tied")
    assert ("tied" in claims(tied)) is (p < 0.05)


@pytest.mark.parametrize(
    ("p", "own", "better"),
    [((0.5, 0.001, 0.5), True, 1), ((0.001, 0.5, 0.5), False, 1), ((0.001, 0.001, 0.001), True, 3)],
)
def test_the_choice_itself_must_be_better_than_guessing(p, own, better):
    decision = against_guessing(*p)
    numbers = claims(decision)["guessing"]
    assert (numbers["own"], numbers["better"], numbers["label"]) == (own, better, "alpha 0.5")
    assert veto_of(decision) == (None if own else "guessing")


def test_what_is_significantly_worse_than_guessing_is_not_better():
    decision = against_guessing(0.001, 0.001, 0.001, chance=0.5)
    said = {row.run.name: row.against_guessing for row in rows_of(decision)}
    assert said == {"0.3": "worse, p 0.003", "0.5": "better, p 0.003", "0.7": "worse, p 0.003"}


def test_tables_and_the_record_have_the_comparison_with_guessing():
    decision, p = against_guessing(0.5, 0.001, 0.5), pytest.approx(0.003)
    choice = json.loads(json.dumps(as_record(decision, "")))["choice"]
    assert choice["against_guessing"] == {"value": 0.25, "p": p, "p_worse": p, "better": True, "worse": False}
    head, *lines = table_of_configurations(decision).splitlines()
    assert "against guessing" in head
    assert ["better, p 0.003" in line for line in lines] == [True, False, False]
    assert ["no better, p 1.00" in line for line in lines] == [False, True, True]


def test_guessers_are_called_better_in_at_most_one_sweep_of_twenty():
    """15 systems guess at 64 questions with four options; without a correction they would be in one sweep of four."""
    right = np.random.default_rng(0).binomial(64, 0.25, (2000, 15))
    p = np.array([binomtest(count, 64, 0.25).pvalue for count in range(65)])[right]
    better = np.apply_along_axis(holm, 1, p) <= LEVEL
    assert (better & (right > 16)).any(axis=1).mean() <= LEVEL
    assert ((p <= LEVEL) & (right > 16)).any(axis=1).mean() > 0.2


# Controls and requirements


CONTROL = {"control": "nobody has the judged pages"}


@pytest.mark.parametrize(
    ("scores", "veto"),
    [
        (noisy([0.5, 0.5, 0.9]), "tied"),
        (noisy([0.3, 0.5, 0.9]), None),
        (noisy([0.5, 0.9])[[0, 0, 1]], "same values"),
        (noisy([0.5, 0.9]), "one configuration"),
    ],
)
def test_a_control_makes_no_winner_of_a_tie(scores, veto):
    """The last one is a control, and measures best."""
    decision = over(scores, facts=[{}] * (len(scores) - 1) + [CONTROL])
    assert veto_of(decision) == veto
    assert claims(decision)["control"]["why"] == CONTROL["control"]


@pytest.mark.parametrize(
    ("scores", "limit", "veto"),
    [
        (noisy([0.5, 0.5, 0.5]), 25, "tied"),
        (noisy([0.5, 0.9])[[0, 0, 1]], 25, "same values"),
        (noisy([0.5, 0.5, 0.9]), 15, None),  # one alone meets it
        (noisy([0.9, 0.5, 0.5]), 5, "requirements"),
    ],
)
def test_an_unmet_requirement_makes_no_winner_of_a_tie(scores, limit, veto):
    decision = over(scores, replace(SETTINGS, require={MS: limit}), latency=(10, 20, 30))
    assert veto_of(decision) == veto
    if veto == "requirements":
        assert claims(decision)["requirements"]["best"] == [
            {"label": "alpha 0.3", "at": " at k 5", "why": f"{MS} 10, required at most 5"}
        ]
    else:
        assert claims(decision)["left_out"]["names"] == (["0.7"] if limit == 25 else ["0.5", "0.7"])


def test_a_cutoff_at_which_nothing_meets_the_requirements_shows_no_winner():
    """At k 3 one is far worse, but all are too slow there."""
    runs = [
        of_scores(f"{alpha} {k}", scores, {"retriever.alpha": alpha, "k": k}, latency=latency, k=str(k))
        for k, latency, means in ((3, 90, [0.2, 0.8]), (5, 10, [0.5, 0.5]))
        for alpha, scores in zip((0.3, 0.5), noisy(means), strict=True)
    ]
    decision = decided(*runs, settings=replace(SETTINGS, require={MS: 25}))
    assert (veto_of(decision), decision.headline.cutoff) == ("tied", 5)


def test_what_no_configuration_meets_is_said_of_the_smallest_and_the_largest_cutoff():
    runs = [of_scores(f"{k}", row, {"k": k}, k=str(k)) for k, row in zip((3, 5, 10), noisy([0.5] * 3), strict=True)]
    best = claims(decided(*runs, settings=replace(SETTINGS, require={"recall": 0.999})))["requirements"]["best"]
    assert [one["at"] for one in best] == [" at k 3", " at k 10"]
    asked = claims(decided(*runs, settings=replace(SETTINGS, require={"context/tokens": 400}, at=10)))["requirements"]
    assert (asked["at"], [one["at"] for one in asked["best"]]) == (" at k 10", [" at k 10"])  # k 3 meets it


# Data


UNREAD_TEXT = UnreadText("MiniLM", "queries", 5, 100, 254, "tokens")


def test_what_cannot_be_compared_comes_before_what_is_tied():
    """Two identical systems: that is the news, whatever else could be said of them."""
    same = noisy([0.5])[[0, 0]]
    assert veto_of(over(same)) == "same values"
    assert veto_of(over(same, facts=[{"unread_texts": [UNREAD_TEXT._asdict()]}, {}])) == "unread texts"


@pytest.mark.parametrize(("cut", "veto"), [(5, "unread texts"), (4, None)])
@pytest.mark.parametrize("which", [0, 1])
def test_nothing_is_shipped_where_a_model_reads_less_than_is_asked(cut, veto, which):
    facts = [{}, {}]
    facts[which] = {"unread_texts": [UNREAD_TEXT._replace(cut=cut)._asdict()]}
    decision = over(noisy([0.3, 0.7]), facts=facts)
    assert veto_of(decision) == veto
    if veto:
        assert [*claims(decision)["unread_texts"]["texts"].values()] == [[("alpha 0.3", "alpha 0.5")[which]]]


@pytest.mark.parametrize(
    ("swept", "veto"), [("chunker.size", "page judgments"), ("chunker", "page judgments"), ("retriever.alpha", None)]
)
def test_judgments_do_not_choose_what_they_cannot_show(swept, veto):
    facts = {"if_swept": {"chunker": "Judge spans."}}
    assert veto_of(over(noisy([0.3, 0.7]), swept=swept, facts=[facts] * 2)) == veto
    assert veto_of(over(noisy([0.5, 0.5]), swept=swept, facts=[facts] * 2)) == (veto or "tied")


@pytest.mark.parametrize(("lost", "veto"), [(21, "most fail"), (20, None), (40, "most fail")])
def test_most_queries_without_any_answer_are_the_news(lost, veto):
    scores = np.zeros((2, 40))
    scores[:, lost:] = noisy([0.3, 0.6], queries=40 - lost)
    decision = over(scores)
    assert veto_of(decision) == veto
    assert not veto or claims(decision)["most_fail"]["lost"] == lost


@pytest.mark.parametrize("scores", [noisy([0.7]), noisy([0.05], 6)], ids=["far ahead", "few and cheap"])
def test_a_configuration_that_finds_nothing_has_failed(scores):
    rows = np.array([scores[0], np.zeros_like(scores[0])])
    decision = over(rows, recall=rows)
    assert claims(decision)["nothing_found"]["labels"] == ["alpha 0.5"]
    assert veto_of(decision) == "nothing found"


@pytest.mark.parametrize("aggregate", [False, True])
def test_a_configuration_that_finds_nothing_wins_no_rate_of_false_finds(aggregate):
    """It has none of them, which is the best that one can measure: its gains say what it is."""
    about = MetricFact("false_find_rate", "False finds", higher_is_better=False, low=0, high=1)
    runs = []
    for run, found, mean in zip(over(noisy([0.5] * 2)).sweep.outcomes, (0.8, 0.0), (0.5, 0.0), strict=True):
        rate = replace(about, aggregate=True, mean=mean, ci_low=mean, ci_high=mean) if aggregate else about
        columns = {"recall": found} | ({} if aggregate else {"rate": np.tile([0, 2 * mean], 20)})
        facts = replace(run.facts, metrics={**run.facts.metrics, "rate": rate})
        drawn = {"rate": np.full(run.resamples, mean)}
        runs.append(replace(run, per_query=run.per_query.assign(**columns), facts=facts, resampled=drawn))
    assert veto_of(decided(*runs, settings=replace(SETTINGS, metric="rate"))) == "nothing found"
    assert veto_of(decided(*runs, settings=replace(SETTINGS, metric="rate", gains=[]))) != "nothing found"


@pytest.mark.parametrize(("queries", "veto"), [(1, "too few"), (5, "too few"), (6, None)])
def test_so_few_queries_show_no_difference(queries, veto):
    """A test that flips signs has no p below 2 / 2 ** 5 = .0625 with five."""
    rows = np.linspace([0.2] * queries, [0.9] * queries, 2) + np.linspace(0, 0.01, queries)
    assert veto_of(over(rows)) == veto
    groups = np.repeat(np.arange(queries), 3).astype(str)
    assert veto_of(over(np.repeat(rows, 3, axis=1), groups=[groups] * 2)) == veto
    assert veto_of(over(rows[:1])) == "one configuration"


@pytest.mark.parametrize(("lost", "veto"), [(80, "unread answers"), (20, None)])
def test_the_choice_must_not_depend_on_how_unread_answers_count(lost, veto):
    """140 of 200 right with up to 80 unread, against 100 of 200: a guess is right for one in four."""
    unread = {"measure": "lost", "otherwise": {"a guess": "guess"}, "lost": "", "causes": {}}
    facts = {"metrics": {**FACTS["metrics"], "f1": {**FACTS["metrics"]["f1"], "unread": unread}}}
    right = [np.arange(200) % 10 < 7, np.arange(200) % 10 < 5]
    is_lost = [np.arange(200) < lost, np.zeros(200, dtype=bool)]
    made = over([(r & ~u).astype(float) for r, u in zip(right, is_lost, strict=True)], facts=[facts] * 2).sweep.outcomes
    runs = [
        replace(run, per_query=run.per_query.assign(lost=gone.astype(float), guess=run.per_query["f1"] + gone / 4))
        for run, gone in zip(made, is_lost, strict=True)
    ]
    decision = decided(*runs)
    assert veto_of(decision) == veto
    said = claims(decision)["unread_answers" if veto else "unread"]
    assert [*said["counts"].values()] == [lost, 0]
    assert said["otherwise"][0]["counted_as"] == "a guess"


def test_what_is_tied_however_unread_answers_count_depends_on_nothing():
    """Half of 40 answers of each are right; one that is unread makes the other one the best by chance."""
    unread = {"measure": "lost", "otherwise": {"a guess": "guess"}, "lost": "", "causes": {}}
    facts = {"metrics": {**FACTS["metrics"], "f1": {**FACTS["metrics"]["f1"], "unread": unread}}}
    right = [(np.arange(40) % 2 == place).astype(float) for place in (0, 1)]
    made = over([right[0], right[1] * (np.arange(40) != 1)], facts=[facts] * 2).sweep.outcomes
    lost = [np.zeros(40), (np.arange(40) == 1) * 1.0]
    columns = [{"lost": gone, "guess": run.per_query["f1"] + 2 * gone} for run, gone in zip(made, lost, strict=True)]
    runs = [replace(run, per_query=run.per_query.assign(**more)) for run, more in zip(made, columns, strict=True)]
    decision = decided(*runs)
    assert next(recount.choice.best.name for recount in decision.unread.recounts) != decision.headline.best.name
    assert veto_of(decision) == "tied"


def test_runs_that_did_not_finish_are_in_every_headline():
    for scores in (noisy([0.3, 0.7]), noisy([0.5, 0.5]), np.zeros((2, 20))):
        runs = over(scores).sweep.outcomes
        assert any("Did not finish: a" in line for line in headline(decided(*runs, unfinished={"a": "FAILED"})))
        assert "missing" not in claims(decided(*runs))


def test_tokens_that_were_not_counted_of_all_are_not_said_to_be_fewer():
    texts = [ReturnedFact(size, "words") for size in (800.0, 200.0, 200.0)]
    runs = [replace(run, facts=replace(run.facts, returned=size)) for run, size in zip(apart(), texts, strict=True)]
    runs[1:] = [without(run, "context/tokens") for run in runs[1:]]
    numbers = claims(decided(*runs))["unequal_text"]
    assert (numbers["texts"], numbers["unit"]) == ([800.0, 200.0], "characters a passage")


def test_longer_passages_that_are_fewer_are_not_said_to_be_more_text():
    """A threshold leaves two passages of 800 characters, against five of 200."""
    texts = zip(apart(), (800.0, 200.0, 200.0), (400.0, 500.0, 500.0), strict=True)
    runs = [
        costing(replace(run, facts=replace(run.facts, returned=ReturnedFact(size, "words"))), tokens)
        for run, size, tokens in texts
    ]
    assert veto_of(decided(*runs)) is None
    assert veto_of(decided(costing(runs[0], 2000.0), *runs[1:])) == "unequal text"


def test_a_preferred_cost_that_was_not_measured_chooses_nothing():
    """The headline of runs that were compared without times names none of them as the quickest."""
    runs = [without(run, MS) for run in over(noisy([0.5, 0.5, 0.5])).sweep.outcomes[:2]]
    other = over(noisy([0.5, 0.5, 0.1])).sweep.outcomes[2]  # it has a time, and is worse
    decision = decided(*runs, other, settings=replace(SETTINGS, prefer=MS))
    assert decision.named.value(MS) is None
    assert "Latency" not in " ".join([*headline(decision), *evidence(decision)])


def apart():
    """Three runs of which the first is the best."""
    return list(over(noisy([0.9, 0.5, 0.3])).sweep.outcomes)


def costing(run, tokens):
    """The run with so many tokens."""
    fact = replace(run.facts.measures["context/tokens"], value=tokens)
    facts = replace(run.facts, measures={**run.facts.measures, "context/tokens": fact})
    return replace(run, facts=facts, per_query=run.per_query.assign(**{"context/tokens": tokens}))


def without(run, cost):
    """The run, of which a cost is not known."""
    measures = {name: fact for name, fact in run.facts.measures.items() if name != cost}
    return replace(
        run, facts=replace(run.facts, measures=measures), per_query=run.per_query.drop(columns=cost, errors="ignore")
    )
