"""Situations that a sweep can end in: the headline that docs/report.md shows, and what holds of every outlet.

`PYTHONPATH=tests python tests/report/test_situations.py` writes the table of the page.
"""

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from outcomes import FACTS, SETTINGS, as_guesses, claims, decided, of_scores, with_measure
from scipy.stats import binomtest
from simulated import alike, f1_like

from ragsweep.production.export_folder import Origin as Source
from ragsweep.production.model_card import model_card
from ragsweep.report import Origin, rows_of, veto_of
from ragsweep.report.claims import claims_of, evidence, headline
from ragsweep.report.decision_record import as_record
from ragsweep.report.notebook import SweepDecision
from ragsweep.report.report_page import write_report
from ragsweep.report.report_tables import head_of_choice
from ragsweep.report.report_text import table_by_cutoff, table_of_configurations
from ragsweep.report.value_words import cutoffs_in_words
from ragsweep.statistics import LEVEL, holm
from ragsweep.sweeps import Decision
from ragsweep.tasks.evaluation_record import MetricFact, ReturnedFact, UnreadText
from ragsweep.tasks.ranking.ranking_tables import CHUNKS_BY_PAGES
from ragsweep.tracking.decision_tags import answer_of

PAGE = Path(__file__).parents[2] / "docs" / "report.md"
HEAD = "| what was measured | what is said |\n| --- | --- |\n"


def scores(means, queries=133, noise=0.15, seed=1):
    """F1 values around these means, one row per mean: questions differ, and so do configurations on each."""
    rng = np.random.default_rng(seed)
    questions = rng.normal(0, 0.15, queries)
    return np.clip(np.array(means)[:, None] + questions + rng.normal(0, noise, (len(means), queries)), 0, 1)


def runs(rows, k=5, *, tokens=(), latency=(), values=(300, 500, 800, 1200, 2000), groups=None, **facts):
    """A run for each row of scores: what is swept, what it costs, and what its task says."""
    made = []
    for place, row in enumerate(rows):
        run = of_scores(
            f"size={values[place]} k={k}",
            row,
            {"chunker.size": values[place], "k": k},
            facts=facts,
            latency=latency[place] if latency else 20.0,
            k=str(k),
            recall=np.clip(row + k / 50, 0, 1),
            groups=groups,
        )
        cost = (tokens[place] if tokens else 500) * k / 5
        run = with_measure(run, "context/tokens", value=float(cost))
        made.append(replace(run, per_query=run.per_query.assign(**{"context/tokens": float(cost)})))
    return made


def at_each(rows_at, **more):
    """Runs at several k: the rows of scores by k."""
    return [run for k, rows in rows_at.items() for run in runs(rows, k, **more)]


def controlled(made, place):
    """One of the runs is a control."""
    facts = replace(made[place].facts, control="nobody has the judged pages")
    return [replace(run, facts=facts) if run is made[place] else run for run in made]


def sized(rows_at, sizes=(200, 400, 800), **facts):
    """Runs at several k whose passages differ in size, a quarter of their characters tokens."""
    made = at_each(rows_at, values=sizes, tokens=[size * 5 / 4 for size in sizes])
    return [
        replace(
            run,
            facts=replace(run.facts, returned=ReturnedFact(run.swept["chunker.size"], "words"), **facts),
            settings={**run.settings, "chunker.size": str(run.swept["chunker.size"])},
        )
        for run in made
    ]


def within_budgets(rows_at):
    """Runs that were measured within budgets of tokens instead of at a k."""
    made = []
    for budget, rows in rows_at.items():
        for run, row in zip(runs(rows, budget, tokens=[4.5, 4.9, 4.8]), rows, strict=True):
            swept = {"chunker.size": run.swept["chunker.size"], "budget": budget}
            settings = {name: value for name, value in run.settings.items() if name != "k"} | {"budget": str(budget)}
            facts = replace(run.facts, cutoff="budget", cutoff_unit="tokens")
            table = run.per_query.assign(recall=np.clip(row + budget / 3000, 0, 1))
            made.append(replace(run, swept=swept, settings=settings, per_query=table, facts=facts))
    return made


def nothing_found(queries, lost):
    """Three configurations that find nothing for so many of the questions."""
    rows = scores([0.5, 0.5, 0.5], queries)
    rows[:, :lost] = 0
    return rows


def shares(*of_runs):
    """Of 200 answers of each run, drawn: whether they are right, and the first, which could not be read."""
    rng = np.random.default_rng(0)
    return [(rng.random(200) < right, np.arange(200) < 200 * lost) for right, lost in of_runs]


def unread(answers, guess=0.25):
    """The decision between runs of right answers, and of some that could not be read; a guess counts so much."""
    about, made = {**FACTS["metrics"]["f1"], "unread": UNREAD}, []
    for place, (right, is_lost) in enumerate(answers):
        read = right & ~is_lost
        facts = {"metrics": {"f1": about}}
        run = of_scores(f"model={place}", read.astype(float), {"model": f"m{place}"}, facts=facts)
        table = run.per_query.assign(lost=is_lost.astype(float), guess=read + guess * is_lost)
        made.append(replace(run, per_query=table))
    return decided(*made)


def many_unread(lost=0.4, right=0.7):
    """The second one is better, and leaves more answers unread."""
    return unread(shares((0.6, 0), (right, lost)))


def by_chance():
    """Half of 40 answers of each are right; one of the second that is unread makes that the best."""
    numbers = np.arange(40)
    return unread([(numbers % 2 == 0, numbers < 0), (numbers % 2 == 1, numbers == 1)], guess=2)


def cut(made, queries, out_of=133, place=0):
    """A model of one of the runs reads the beginning alone of so many queries."""
    facts = replace(made[place].facts, unread_texts=(UnreadText("MiniLM", "queries", queries, out_of, 254, "tokens"),))
    return [*made[:place], replace(made[place], facts=facts), *made[place + 1 :]]


def guesses(rows, *p, chance=0.25):
    """The decision between runs that have these p-values against guessing."""
    return as_guesses(decided(*runs(rows)), chance, p)


def within_ms(limit, rows, *latency):
    """The decision between runs with these latencies, of which at most so much is required."""
    return decided(*runs(rows, latency=latency), settings=replace(SETTINGS, require={MS: limit}))


def of_chunkers(rows, setting):
    """Runs that sweep another setting, where pages are judged."""
    return [replace(run, swept={setting: run.swept["chunker.size"]}) for run in runs(rows, **CHUNKS)]


def without(run, cost):
    """The run, of which a cost is not known."""
    measures = {name: fact for name, fact in run.facts.measures.items() if name != cost}
    return replace(run, facts=replace(run.facts, measures=measures))


def copied(queries, copies):
    """Two runs, one far better, on so many groups of copies of a query."""
    rows = np.array([[0.2], [0.9]]) + np.linspace(0, 0.01, queries)
    return runs(np.repeat(rows, copies, axis=1), groups=np.repeat(np.arange(queries), copies).astype(str))


def false_finds(*, aggregate, gains=("recall",)):
    """One finds nothing, and so has no false finds either: it measures best, and its gains say what it is."""
    about = MetricFact("false_find_rate", "False finds", higher_is_better=False, low=0, high=1)
    made = []
    for run, recall, mean in zip(runs(scores([0.5] * 2, 40)), (0.8, 0.0), (0.5, 0.0), strict=True):
        rate = replace(about, aggregate=True, mean=mean, ci_low=mean, ci_high=mean) if aggregate else about
        columns = {"recall": recall} | ({} if aggregate else {"rate": np.tile([0, 2 * mean], 20)})
        facts = replace(run.facts, metrics={**run.facts.metrics, "rate": rate})
        drawn = {"rate": np.full(run.resamples, mean)}
        made.append(replace(run, per_query=run.per_query.assign(**columns), facts=facts, resampled=drawn))
    return decided(*made, settings=replace(SETTINGS, metric="rate", gains=gains))


def near_copies(queries, differing):
    """Two configurations that differ on so many questions."""
    one = scores([0.5], queries)[0]
    return [one, np.clip(one + np.where(np.arange(queries) < differing, 0.05, 0), 0, 1)]


UNREAD = {"measure": "lost", "otherwise": {"a guess": "guess"}, "lost": "", "causes": {}}
FIVES = [f"page {row // 5}" for row in range(133)]
CHUNKS = {"if_swept": {"chunker": CHUNKS_BY_PAGES.format("page")}}
ONE, SAME = scores([0.5])[0], np.repeat(scores([0.5]), 3, axis=0)
SEVERAL_K = {k: scores([0.3, 0.55, 0.54], seed=k) + k / 100 for k in (3, 5, 10)}
FOUND_LITTLE = np.array([[0.5, 0, 0.2, 0, 0, 0], [0, 0.4, 0, 0, 0.3, 0], [0] * 6])
NO_DIFFERENCE = {k: scores([0.5] * 3, 8, seed=k) for k in (3, 5, 10)}
TIED, FEW, TEXT, PAGES = "tied", "too few", "unequal text", "page judgments"
MS, TOKENS = "latency/mean_ms", "context/tokens"


def situations():  # noqa: PLR0915  # a table
    """The name of each situation, what vetoes in it, and the runs or the decision between them."""
    yield "1 question, 2 configurations", FEW, runs(scores([0.3, 0.7], 1))
    yield "4 questions, one far ahead", FEW, runs(scores([0.2, 0.8], 4, 0.02))
    made = runs(scores([0.5, 0.52, 0.5], 8), tokens=(170, 300, 480))
    yield "8 questions, nothing told apart, other prices", TIED, made
    yield "6 questions, the cheapest finds nothing", "nothing found", runs(FOUND_LITTLE, tokens=(500, 400, 0))
    yield "8 questions, three k, nothing told apart", TIED, at_each(NO_DIFFERENCE, tokens=(170, 300, 480))
    yield "8 questions, one far ahead", None, runs(scores([0.2, 0.3, 0.9], 8, 0.05))
    yield "133 questions, one far ahead", None, runs(scores([0.3, 0.4, 0.7]))
    yield "133 questions, two tied at the top", None, runs(scores([0.3, 0.6, 0.61, 0.2]))
    yield "133 questions, nothing told apart, one price", TIED, runs(scores([0.5, 0.5, 0.5]))
    yield "133 questions, nothing told apart, two prices", TIED, runs(scores([0.5, 0.5, 0.5]), tokens=(500, 500, 900))
    yield "1,000 questions, a small lead", None, runs(scores([0.5, 0.53], 1000))
    yield "1,000 questions, no lead", TIED, runs(scores([0.5, 0.5], 1000), tokens=(400, 300))
    yield "300 questions, near copies", TIED, runs(near_copies(300, 2))
    yield "three configurations that measure the same", "same values", runs(SAME)
    yield "the same at every k", "same values", at_each(dict.fromkeys((3, 5), SAME))
    yield "twins and a worse one", None, runs([ONE, ONE, ONE * 0.3])
    yield "three k, the same winner at each", None, at_each(SEVERAL_K)
    made = at_each({3: scores([0.3, 0.6]), 5: scores([0.3, 0.6]), 10: scores([0.7, 0.4])})
    yield "three k, another winner at the largest", None, made
    made = decided(
        *runs(scores([0.6, 0.5], seed=2), 5, tokens=(500, 900)),
        *runs(scores([0.55, 0.75], seed=2), 10, tokens=(450, 200)),
    )
    yield "small chunks at a large k find more in fewer tokens", None, made
    yield "sizes of chunks at a single k", TEXT, sized({5: scores([0.4, 0.5, 0.7])})
    yield "sizes of chunks at three k", TEXT, sized({k: scores([0.4, 0.5, 0.7], seed=k) for k in (2, 4, 8)})
    made = within_budgets({300: scores([0.3, 0.5, 0.4]), 900: scores([0.4, 0.65, 0.5])})
    yield "budgets of 300 and 900 tokens, one ahead", None, made
    made = within_budgets({300: scores([0.5] * 3, 8), 900: scores([0.6] * 3, 8)})
    yield "budgets of 300 and 900 tokens, nothing told apart", TIED, made
    yield "only k was swept", "one configuration", at_each({k: scores([0.4 + k / 50]) for k in (3, 5, 10)})
    yield "one configuration", "one configuration", runs(scores([0.5]))
    made = decided(*runs(scores([0.5])), *runs(scores([0.6]), k=10, values=(500,)))
    yield "another configuration at each k", "one configuration", made
    yield "the best one is a control", None, controlled(runs(scores([0.3, 0.5, 0.9])), 2)
    yield "one meets the requirement", None, within_ms(25, scores([0.5, 0.6, 0.7]), 10, 40, 90)
    yield "none meets the requirement", "requirements", within_ms(25, scores([0.5, 0.6]), 40, 90)
    made = decided(
        *runs(scores([0.6, 0.59, 0.3], 1000, 0.05), tokens=(900, 400, 100)),
        settings=replace(SETTINGS, prefer="context/tokens", margin=0.05),
    )
    yield "a cost is preferred, and a margin allowed", None, made
    made = decided(
        *runs(scores([0.5, 0.5, 0.5]), latency=(30, 10, 20)), settings=replace(SETTINGS, prefer="latency/mean_ms")
    )
    yield "a cost is preferred, nothing told apart", TIED, made
    made = decided(*runs(scores([0.3, 0.4, 0.7])), unfinished={"size=1200": "FAILED", "size=2000": "FAILED"})
    yield "2 of 5 runs failed", None, made
    yield "nothing is found for most questions", "most fail", runs(nothing_found(40, 30))
    yield "nothing is found for any question", "most fail", runs(nothing_found(40, 40))
    yield "one configuration, nothing is found for most questions", "most fail", runs(nothing_found(40, 30)[:1])
    yield "no better than guessing", "guessing", guesses(scores([0.25, 0.27, 0.24]), 0.9, 0.4, 0.8)
    yield "better than guessing, and tied", TIED, guesses(scores([0.6, 0.6, 0.6]), 0.001, 0.001, 0.002)
    yield "chunk sizes, judged by pages", PAGES, runs(scores([0.3, 0.4, 0.7]), **CHUNKS)
    yield "sizes of chunks at a single k, judged by pages", PAGES, sized({5: scores([0.4, 0.5, 0.7])}, **CHUNKS)
    made = sized({k: scores([0.5] * 3, 40) for k in (3, 5)}, **CHUNKS)
    yield "sizes of chunks at two k, judged by pages, nothing told apart", PAGES, made
    made = at_each({5: scores([0.3, 0.6]), 10: scores([0.7, 0.4])}, **CHUNKS)
    yield "chunk sizes, judged by pages, another winner at the larger k", PAGES, made
    yield "133 questions in groups of 5, one ahead", None, runs(scores([0.4, 0.5, 0.7]), groups=FIVES)
    yield "133 questions in groups of 5, nothing told apart", TIED, runs(scores([0.5] * 3, seed=2), groups=FIVES)
    yield "133 questions, all of one group", FEW, runs(scores([0.4, 0.5, 0.7]), groups=["one"] * 133)
    made = runs(f1_like(np.random.default_rng(0), alike(15)), values=range(100, 1600, 100))
    yield "scores as they are in practice, fifteen configurations", TIED, made
    made = decided(
        *at_each({3: scores([0.3, 0.4]), 5: scores([0.4, 0.5])}), settings=replace(SETTINGS, require={"recall": 0.99})
    )
    yield "two k, no configuration meets the requirement", "requirements", made
    yield "all that meet the requirement are tied", TIED, within_ms(25, scores([0.5, 0.5, 0.7]), 10, 20, 90)
    yield "another one is better than guessing", "guessing", guesses(scores([0.25, 0.4, 0.28]), 0.001, 0.4, 0.8)
    yield "the winner left answers of the other unread", "unread answers", many_unread()
    yield "no answer that is unread decides", None, many_unread(0.1, 0.9)
    yield "a model does not read its queries to their end", "unread texts", cut(runs(scores([0.3, 0.7])), 60)
    made = decided(
        *runs(scores([0.2, 0.9], 40, 0.05), groups=[f"page {row // 5}" for row in range(40)]),
        unfinished={"size=800": "FAILED"},
    )
    yield "8 groups of questions, one far ahead, a run failed", None, made


VERDICT = re.compile(r"chosen( at .+)?|tied|worse|left out|control|only one|not shipped: [a-z ]+")


@cache
def every_situation():
    """For each: its name, the decision, what vetoes, the record for programs, and the numbers of the claims by name."""
    rows = []
    for name, veto, made in situations():
        decision = made if isinstance(made, Decision) else decided(*made)
        record = as_record(decision, "s1")
        rows.append((name, decision, veto, record, {claim["name"]: claim["numbers"] for claim in record["claims"]}))
    return rows


def table():
    """Rows of the page: of headlines that make the same claims, the first."""
    rows = {}
    for name, _, _, record, _ in every_situation():
        text = " ".join(record["headline"]).replace("|", "\\|")
        key = tuple(claim["name"] for claim in record["claims"] if claim["place"] == "headline")
        rows.setdefault(key, f"| {name} | {text} |\n")
    return HEAD + "".join(rows.values())


def test_the_page_shows_what_is_said():
    """If not, see the first lines of this file."""
    assert table() in PAGE.read_text()


def test_what_vetoes_is_the_first_claim_that_does_and_in_the_record_also_at_its_limits():
    for name, decision, veto, record, _ in every_situation():
        vetoes = [claim["name"].replace("_", " ") for claim in record["claims"] if claim["vetoes"]]
        assert [veto_of(decision), record["not_shipped"], next(iter(vetoes), None)] == [veto] * 3, name
    cases = [(veto, veto_of(made if isinstance(made, Decision) else decided(*made))) for veto, made in at_limits()]
    assert [(place, *case) for place, case in enumerate(cases) if case[0] != case[1]] == []
    assert veto_of(false_finds(aggregate=True, gains=())) != "nothing found"


def none_sure():
    return guesses(scores([0.3, 0.7, 0.3]), 0.02, 0.03, 0.04)  # each is below 0.05, but not after a correction


def at_two_cutoffs():
    """At k 3 one is far worse, but all are too slow there."""
    made = [*runs(scores([0.2, 0.8]), 3, latency=(90, 90)), *runs(scores([0.5, 0.5]), latency=(10, 10))]
    return decided(*made, settings=replace(SETTINGS, require={MS: 25}))


def at_limits():
    """What vetoes, and the runs or the decision between them, on both sides of a limit."""
    apart, same = scores([0.3, 0.7]), SAME[:2]
    yield "guessing", none_sure()
    yield None, guesses(scores([0.3, 0.7, 0.3]), 0.5, 0.001, 0.5)
    yield TIED, controlled(runs(scores([0.5, 0.5, 0.9])), 2)
    yield "same values", controlled(runs([ONE, ONE, ONE * 0.3]), 2)
    yield "one configuration", controlled(runs(apart), 1)
    yield "same values", within_ms(25, [ONE, ONE, ONE * 0.3], 10, 20, 30)
    yield None, within_ms(15, scores([0.5, 0.5, 0.9]), 10, 20, 30)  # one alone meets it
    yield TIED, at_two_cutoffs()
    yield "unread texts", cut(runs(same), 5, 100)  # two identical systems: that is not the news
    for place in (0, 1):
        yield "unread texts", cut(runs(apart), 5, 100, place)
        yield None, cut(runs(apart), 4, 100, place)
    yield PAGES, of_chunkers(scores([0.5, 0.5]), "chunker")
    yield None, of_chunkers(apart, "retriever.alpha")
    yield TIED, of_chunkers(scores([0.5, 0.5]), "retriever.alpha")
    yield "most fail", runs(nothing_found(40, 21))
    yield TIED, runs(nothing_found(40, 20))
    yield "nothing found", runs([ONE, ONE * 0])
    yield "nothing found", runs([ONE[:6] / 10, ONE[:6] * 0])
    yield "nothing found", false_finds(aggregate=False)
    yield "nothing found", false_finds(aggregate=True)
    yield FEW, copied(5, 1)  # a test that flips signs has no p below 2 / 2 ** 5 = .0625
    yield None, copied(6, 1)
    yield FEW, copied(5, 3)
    yield None, copied(6, 3)
    yield "one configuration", runs(scores([0.5], 5))
    yield TIED, by_chance()


def test_a_claim_that_vetoes_has_the_numbers_of_its_sentence():
    ahead, required = scores([0.5, 0.5, 0.9]), within_ms(5, scores([0.9, 0.5, 0.5]), 10, 20, 30)
    for decision, name, numbers in (
        (none_sure(), "guessing", {"own": False, "better": 0, "tests": 3, "label": "size 500"}),
        (guesses(scores([0.3, 0.7, 0.3]), 0.001, 0.5, 0.5), "guessing", {"own": False, "better": 1}),
        (guesses(scores([0.3, 0.7, 0.3]), 0.001, 0.001, 0.001), "guessing", {"own": True, "better": 3}),
        (decided(*controlled(runs(scores([0.3, 0.5, 0.9])), 2)), "control", {"why": "nobody has the judged pages"}),
        (within_ms(25, ahead, 10, 20, 30), "left_out", {"names": ["size=800 k=5"]}),
        (within_ms(15, ahead, 10, 20, 30), "left_out", {"names": ["size=500 k=5", "size=800 k=5"]}),
        (decided(*runs(nothing_found(40, 21))), "most_fail", {"lost": 21}),
        (decided(*runs([ONE, ONE * 0])), "nothing_found", {"labels": ["size 500"]}),
        (many_unread(), "unread_answers", {"counts": {"model m0": 0, "model m1": 80}}),
        (many_unread(0.1, 0.9), "unread", {"counts": {"model m0": 0, "model m1": 20}}),
    ):
        assert numbers.items() <= claims(decision)[name].items(), name
    texts = claims(decided(*cut(runs(scores([0.3, 0.7])), 5, 100, 1)))["unread_texts"]["texts"]
    assert [*texts.values()] == [["size 500"]]
    assert many_unread().unread.recounts[0].counted_as == "a guess"
    # What is tied however unread answers count depends on nothing.
    decision = by_chance()
    assert decision.unread.recounts[0].choice.best.name != decision.headline.best.name
    assert not decision.unread.replacing
    best = {"label": "size 300", "at": " at k 5", "why": f"{MS} 10, required at most 5"}
    assert claims(required)["requirements"]["best"] == [best]
    first = claims_of(none_sure())[0]  # that nothing is better than guessing comes first
    assert (first.name, first.place) == ("guessing", "headline")
    assert "tied" not in claims(guesses(scores([0.5, 0.5]), 0.5, 0.5))


def test_a_headline_has_at_most_three_sentences_and_four_numbers():
    """A configuration, a cutoff and a setting to type are no numbers; an interval counts as two."""
    for name, decision, _, record, numbers in every_situation():
        text, sweep = " ".join(record["headline"]), decision.sweep
        assert len(re.findall(r"[.!?](?=\s|$)", text)) <= 3, name
        tied = numbers.get("not_one_best", {}).get("labels", "-")
        words = [*map(sweep.label, sweep.outcomes), *sweep.unfinished, tied, cutoffs_in_words(sweep, *sweep.cutoffs)]
        words += [cutoffs_in_words(sweep, cutoff) for cutoff in sweep.cutoffs]
        for word in (*sorted(words, key=len, reverse=True), sweep.metric_title, "budget=500,1000,2000"):
            text = text.replace(word, "")
        assert len(re.findall(r"\d+(?:[.,]\d+)*", text)) <= 4, text


def outlets(decision, record):
    """Everything that a reader of a decision may see, by where."""
    with TemporaryDirectory() as folder:
        write_report(Path(folder), decision, Origin("ragsweep", "s1", "", "20250101_000000"), [])
        page = Path(folder, "report.md").read_text()
    notebook = SweepDecision(decision, "s1")
    return {
        "headline": " ".join(record["headline"]),
        "evidence": " ".join(record["evidence"]),
        "tables": table_by_cutoff(decision) + table_of_configurations(decision),
        "decision.json": json.dumps(record, allow_nan=False),
        "report.md": page,
        "model card": model_card(decision.named, Source("r1", decision.named.name, "manual", 3, "d"), record, 9),
        "notebook": repr(notebook) + notebook._repr_html_(),
        "parent run": f"{answer_of(decision)}",
    }


def test_every_outlet_ships_and_counts_the_same():
    """None ships what a veto holds back; runs that differ in their cutoff alone are one configuration."""
    for name, decision, veto, record, numbers in every_situation():
        texts = outlets(decision, record)
        for outlet, text in texts.items():
            ships = re.findall(r"(?i)(?<!nothing to )\bship\b", text)
            assert not (ships and veto), (name, outlet)
            assert ships or veto or outlet not in ("headline", "report.md", "model card", "notebook"), (name, outlet)
        assert veto in (None, "tied") or not {"choice", "elsewhere"} & numbers.keys(), name
        swept = [{**run.swept, "k": None, "budget": None} for run in decision.sweep.outcomes]
        number = sum(settings not in swept[:place] for place, settings in enumerate(swept))
        assert number == record["configurations"] == answer_of(decision).numbers["configurations"], name
        assert re.search(rf"^{number} configurations?(,| at )", texts["report.md"], re.MULTILINE), name


def test_a_column_of_what_measured_best_has_no_other():
    for name, decision, *_ in every_situation():
        for choice in decision.choices.values() if head_of_choice(decision) == "measured best" else ():
            values = [run.value(decision.sweep.decided_by) for run in choice.allowed.outcomes]
            assert choice.named.value(decision.sweep.decided_by) == max(values), name


def test_every_run_has_a_verdict_one_is_chosen_unless_a_veto_holds_and_what_is_worse_is_never_tied():
    for name, decision, veto, record, numbers in every_situation():
        verdicts = {row["run_id"]: row["verdict"] for row in record["rows"]}
        assert {*verdicts} == {run.run_id for run in decision.sweep.outcomes}, name
        assert len(verdicts) == len(record["rows"]), name
        assert all(map(VERDICT.fullmatch, verdicts.values())), name
        chosen = [run_id for run_id, verdict in verdicts.items() if verdict == "chosen"]
        assert chosen == ([decision.named.run_id] if veto is None else []), name
        assert veto is None or not any(verdict.startswith("chosen") for verdict in verdicts.values()), name
        choices = {choice["cutoff"]: choice["cannot_be_told_apart"] for choice in record["choices"]}
        worse = [row.run for row in rows_of(decision) if row.verdict == "worse"]
        assert not [run for run in worse if decision.sweep.label(run) in choices[run.cutoff]], name
        sizes = [run.swept.get("chunker.size") for run in worse if run.cutoff == decision.headline.cutoff]
        assert not sizes or "tied" not in numbers, name
        tied = numbers.get("not_one_best", {}).get("labels", "")
        assert not [size for size in sizes if re.search(rf"\b{size}\b", tied)], name


def test_what_costs_about_the_same_is_not_said_to_beat_the_choice():
    """Equal recall for 355 tokens instead of 372: a tie that was just said to cost about the same."""
    ahead = scores([0.8])[0]
    behind = ahead.copy()
    behind[ahead.argmax()] = 0.92  # where recall is 1 as well
    numbers = claims(decided(*runs(np.array([ahead, behind]), tokens=(372, 355))))
    assert numbers["tied"]["alike"]
    assert "beaten" not in numbers


def test_tables_and_the_record_have_the_comparison_with_guessing():
    decision, p = guesses(scores([0.3, 0.7, 0.3]), 0.5, 0.001, 0.5), pytest.approx(0.003)
    choice = json.loads(json.dumps(as_record(decision, "")))["choice"]
    assert choice["against_guessing"] == {"value": 0.25, "p": p, "p_worse": p, "better": True, "worse": False}
    head, *lines = table_of_configurations(decision).splitlines()
    assert "against guessing" in head
    assert ["better, p 0.003" in line for line in lines] == [True, False, False]
    assert ["no better, p 1.00" in line for line in lines] == [False, True, True]
    worse = guesses(scores([0.3, 0.7, 0.3]), *[0.001] * 3, chance=0.5)  # significantly, but on the other side
    verdicts = [row.against_guessing for row in rows_of(worse)]
    assert verdicts == ["better, p 0.003", "worse, p 0.003", "worse, p 0.003"]


def test_guessers_are_called_better_in_at_most_one_sweep_of_twenty():
    """15 systems guess at 64 questions with four options; without a correction they would be in one sweep of four."""
    right = np.random.default_rng(0).binomial(64, 0.25, (2000, 15))
    p = np.array([binomtest(count, 64, 0.25).pvalue for count in range(65)])[right]
    better = np.apply_along_axis(holm, 1, p) <= LEVEL
    assert (better & (right > 16)).any(axis=1).mean() <= LEVEL
    assert ((p <= LEVEL) & (right > 16)).any(axis=1).mean() > 0.2


def test_the_headline_is_about_a_cutoff_at_which_a_configuration_meets_the_requirements():
    assert at_two_cutoffs().headline.cutoff == 5
    made = at_each({k: scores([0.5], seed=k) for k in (3, 5, 10)})
    for require, at, named in (
        ({"recall": 0.999}, None, [" at k 3", " at k 10"]),  # none: the smallest and the largest
        ({TOKENS: 400}, 10, [" at k 10"]),  # k 3 meets it
    ):
        decision = decided(*made, settings=replace(SETTINGS, require=require, at=at))
        assert [one["at"] for one in claims(decision)["requirements"]["best"]] == named


def test_runs_that_did_not_finish_are_in_every_headline():
    for made in (runs(scores([0.3, 0.7])), runs(scores([0.5, 0.5])), runs(nothing_found(40, 40))):
        assert any("Did not finish: a" in line for line in headline(decided(*made, unfinished={"a": "FAILED"})))
        assert "missing" not in claims(decided(*made))


def test_a_preferred_cost_that_was_not_measured_chooses_nothing():
    """The headline of runs that were compared without times names none of them as the quickest."""
    *made, slow = runs(scores([0.5, 0.5, 0.1]))  # it has a time, and is worse
    decision = decided(*(without(run, MS) for run in made), slow, settings=replace(SETTINGS, prefer=MS))
    assert decision.named.value(MS) is None
    assert "Latency" not in " ".join([*headline(decision), *evidence(decision)])


if __name__ == "__main__":
    before, _, after = PAGE.read_text().partition(HEAD)
    rest = after[next(line.start() for line in re.finditer(r"^(?!\|)", after, re.MULTILINE)) :]
    PAGE.write_text(before + table() + rest)
