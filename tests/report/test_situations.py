"""Situations that a sweep can end in, each with the headline it gets, as docs/headlines.md shows them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from outcomes import SETTINGS, as_guesses, decided, of_scores
from simulated import alike, f1_like

from ragsweep.report import across_in_words, headline
from ragsweep.sweeps import AcrossDatasets, Sweep, decide
from ragsweep.tasks.facts import ReturnedFact

PAGE = Path(__file__).parents[2] / "docs" / "headlines.md"
LATENCY = {"latency/mean_ms": 25}


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
        measures = dict(run.facts.measures)
        cost = (tokens[place] if tokens else 500) * k / 5
        measures["context/tokens"] = replace(measures["context/tokens"], value=float(cost))
        per_query = run.per_query.assign(**{"context/tokens": float(cost)})
        made.append(replace(run, per_query=per_query, facts=replace(run.facts, measures=measures)))
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
    about = {run.run_id: ReturnedFact(run.swept["chunker.size"], "words") for run in made}
    used = {run.run_id: {**run.settings, "chunker.size": str(run.swept["chunker.size"])} for run in made}
    known = {run.run_id: replace(run.facts, returned=about[run.run_id], **facts) for run in made}
    return [replace(run, facts=known[run.run_id], settings=used[run.run_id]) for run in made]


def within_budgets(rows_at):
    """Runs that were measured within budgets of tokens instead of at a k."""
    made = []
    for budget, rows in rows_at.items():
        for run, row in zip(runs(rows, budget, tokens=[4.5, 4.9, 4.8]), rows, strict=True):
            swept = {"chunker.size": run.swept["chunker.size"], "budget": budget}
            settings = {name: each for name, each in run.settings.items() if name != "k"} | {"budget": str(budget)}
            facts = replace(run.facts, cutoff="budget", cutoff_unit="tokens")
            table = run.per_query.assign(recall=np.clip(row + budget / 3000, 0, 1))
            made.append(replace(run, swept=swept, settings=settings, per_query=table, facts=facts))
    return made


def parsed(rows, **more):
    """Runs that differ by the parser of the documents, and have further settings in common."""
    made = []
    for name, run in zip(("pdfium", "pypdf"), runs(rows, tokens=(317, 300)), strict=True):
        facts = replace(run.facts, source="the same files", parser=name)
        swept = {"corpus.parser": name, **more}
        settings = {**run.settings, **{key: str(value) for key, value in swept.items()}}
        title = " ".join(f"{key}={value}" for key, value in swept.items())
        made.append(replace(run, name=title, run_id=title, swept=swept, settings=settings, facts=facts))
    return made


def nothing_found(queries, lost):
    """Three configurations that find nothing for so many of the questions."""
    found = scores([0.5, 0.5, 0.5], queries)
    found[:, :lost] = 0
    return found


def near_copies(queries, differing):
    """Two configurations that differ on so many questions."""
    one = scores([0.5], queries)[0]
    return [one, np.clip(one + np.where(np.arange(queries) < differing, 0.05, 0), 0, 1)]


FIVES = [f"page {row // 5}" for row in range(133)]
CHUNKS = {"if_swept": {"chunker": "Judgments of pages cannot say which chunks are better."}}
ONE, SAME = scores([0.5])[0], np.repeat(scores([0.5]), 3, axis=0)
SEVERAL_K = {k: scores([0.3, 0.55, 0.54], seed=k) + k / 100 for k in (3, 5, 10)}
FOUND_LITTLE = np.array([[0.5, 0, 0.2, 0, 0, 0], [0, 0.4, 0, 0, 0.3, 0], [0] * 6])
NO_DIFFERENCE = {k: scores([0.5] * 3, 8, seed=k) for k in (3, 5, 10)}

SITUATIONS = {
    "1 question, 2 configurations": lambda: decided(*runs(scores([0.3, 0.7], 1))),
    "4 questions, one far ahead": lambda: decided(*runs(scores([0.2, 0.8], 4, 0.02))),
    "8 questions, nothing told apart, other prices": lambda: decided(
        *runs(scores([0.5, 0.52, 0.5], 8), tokens=(170, 300, 480))
    ),
    "6 questions, the cheapest finds nothing": lambda: decided(*runs(FOUND_LITTLE, tokens=(500, 400, 0))),
    "8 questions, three k, nothing told apart": lambda: decided(*at_each(NO_DIFFERENCE, tokens=(170, 300, 480))),
    "8 questions, one far ahead": lambda: decided(*runs(scores([0.2, 0.3, 0.9], 8, 0.05))),
    "133 questions, one far ahead": lambda: decided(*runs(scores([0.3, 0.4, 0.7]))),
    "133 questions, two tied at the top": lambda: decided(*runs(scores([0.3, 0.6, 0.61, 0.2]))),
    "133 questions, nothing told apart, one price": lambda: decided(*runs(scores([0.5, 0.5, 0.5]))),
    "133 questions, nothing told apart, two prices": lambda: decided(
        *runs(scores([0.5, 0.5, 0.5]), tokens=(500, 500, 900))
    ),
    "1,000 questions, a small lead": lambda: decided(*runs(scores([0.5, 0.53], 1000))),
    "1,000 questions, no lead": lambda: decided(*runs(scores([0.5, 0.5], 1000), tokens=(400, 300))),
    "300 questions, near copies": lambda: decided(*runs(near_copies(300, 2))),
    "three configurations that measure the same": lambda: decided(*runs(SAME)),
    "the same at every k": lambda: decided(*at_each(dict.fromkeys((3, 5), SAME))),
    "twins and a worse one": lambda: decided(*runs([ONE, ONE, ONE * 0.3])),
    "three k, the same winner at each": lambda: decided(*at_each(SEVERAL_K)),
    "three k, another winner at the largest": lambda: decided(
        *at_each({3: scores([0.3, 0.6]), 5: scores([0.3, 0.6]), 10: scores([0.7, 0.4])})
    ),
    "small chunks at a large k find more in fewer tokens": lambda: decided(
        *runs(scores([0.6, 0.5], seed=2), 5, tokens=(500, 900)),
        *runs(scores([0.55, 0.75], seed=2), 10, tokens=(450, 200)),
    ),
    "sizes of chunks at a single k": lambda: decided(*sized({5: scores([0.4, 0.5, 0.7])})),
    "sizes of chunks at three k": lambda: decided(*sized({k: scores([0.4, 0.5, 0.7], seed=k) for k in (2, 4, 8)})),
    "budgets of 300 and 900 tokens, one ahead": lambda: decided(
        *within_budgets({300: scores([0.3, 0.5, 0.4]), 900: scores([0.4, 0.65, 0.5])})
    ),
    "budgets of 300 and 900 tokens, nothing told apart": lambda: decided(
        *within_budgets({300: scores([0.5] * 3, 8), 900: scores([0.6] * 3, 8)})
    ),
    "8 questions, parsers that nothing tells apart": lambda: decided(*parsed(scores([0.5, 0.52], 8))),
    "8 questions, parsers and an ingest that nothing tells apart": lambda: decided(
        *parsed(scores([0.58, 0.5], 8), ingest="plain"), *parsed(scores([0.5, 0.5], 8, seed=2), ingest="contextual")
    ),
    "only k was swept": lambda: decided(*at_each({k: scores([0.4 + k / 50]) for k in (3, 5, 10)})),
    "one configuration": lambda: decided(*runs(scores([0.5]))),
    "another configuration at each k": lambda: decided(*runs(scores([0.5])), *runs(scores([0.6]), k=10, values=(500,))),
    "the best one is a control": lambda: decided(*controlled(runs(scores([0.3, 0.5, 0.9])), 2)),
    "one meets the requirement": lambda: decided(
        *runs(scores([0.5, 0.6, 0.7]), latency=(10, 40, 90)), settings=replace(SETTINGS, require=LATENCY)
    ),
    "none meets the requirement": lambda: decided(
        *runs(scores([0.5, 0.6]), latency=(40, 90)), settings=replace(SETTINGS, require=LATENCY)
    ),
    "a cost is preferred, and a margin allowed": lambda: decided(
        *runs(scores([0.60, 0.59, 0.3], 1000, 0.05), tokens=(900, 400, 100)),
        settings=replace(SETTINGS, prefer="context/tokens", margin=0.05),
    ),
    "a cost is preferred, nothing told apart": lambda: decided(
        *runs(scores([0.5, 0.5, 0.5]), latency=(30, 10, 20)), settings=replace(SETTINGS, prefer="latency/mean_ms")
    ),
    "2 of 5 runs failed": lambda: decided(
        *runs(scores([0.3, 0.4, 0.7])), unfinished={"size=1200": "FAILED", "size=2000": "FAILED"}
    ),
    "nothing is found for most questions": lambda: decided(*runs(nothing_found(40, 30))),
    "nothing is found for any question": lambda: decided(*runs(nothing_found(40, 40))),
    "one configuration, nothing is found for most questions": lambda: decided(*runs(nothing_found(40, 30)[:1])),
    "no better than guessing": lambda: as_guesses(decided(*runs(scores([0.25, 0.27, 0.24]))), 0.25, (0.9, 0.4, 0.8)),
    "better than guessing, and tied": lambda: as_guesses(
        decided(*runs(scores([0.6, 0.6, 0.6]))), 0.25, (0.001, 0.001, 0.002)
    ),
    "chunk sizes, judged by pages": lambda: decided(*runs(scores([0.3, 0.4, 0.7]), **CHUNKS)),
    "sizes of chunks at a single k, judged by pages": lambda: decided(
        *sized({5: scores([0.4, 0.5, 0.7])}, **CHUNKS, if_unequal={"chunker": ""})
    ),
    "sizes of chunks at two k, judged by pages, nothing told apart": lambda: decided(
        *sized({k: scores([0.5] * 3, 40) for k in (3, 5)}, **CHUNKS, if_unequal={"chunker": ""})
    ),
    "133 questions in groups of 5, one ahead": lambda: decided(*runs(scores([0.4, 0.5, 0.7]), groups=FIVES)),
    "133 questions in groups of 5, nothing told apart": lambda: decided(*runs(scores([0.5] * 3, seed=2), groups=FIVES)),
    "133 questions, all of one group": lambda: decided(*runs(scores([0.4, 0.5, 0.7]), groups=["one"] * 133)),
    "scores as they are in practice, fifteen configurations": lambda: decided(
        *runs(
            f1_like(np.random.default_rng(0), alike(15)),
            values=range(100, 1600, 100),
        )
    ),
}


def on(**datasets):
    """The decision over several datasets: the runs on each, by its name."""
    swept = []
    for name, made in datasets.items():
        for run in made:
            facts, given = replace(run.facts, dataset=name, digest=name), {"dataset": name, **run.swept}
            texts = run.per_query.assign(query=("manual" if name == "copy" else name) + run.per_query["query"])
            swept.append(replace(run, name=f"dataset={name} {run.name}", swept=given, facts=facts, per_query=texts))
    return AcrossDatasets([decide(each) for each in Sweep(swept, {}, SETTINGS).by_dataset])


SEVERAL = {
    "two datasets that agree": lambda: on(
        manual=runs(scores([0.3, 0.4, 0.6])), faq=runs(scores([0.4, 0.5, 0.7], 60, seed=2))
    ),
    "two datasets that disagree": lambda: on(
        manual=runs(scores([0.3, 0.6, 0.5])), faq=runs(scores([0.6, 0.3, 0.5], 60, seed=2))
    ),
    "one dataset with too few questions": lambda: on(
        manual=runs(scores([0.4, 0.6, 0.5])), mine=runs(scores([0.62, 0.55, 0.4], 8, seed=2))
    ),
    "two datasets with too few questions, other prices": lambda: on(
        mine=runs(scores([0.5, 0.52, 0.5], 8), tokens=(170, 300, 480)),
        yours=runs(scores([0.5, 0.5, 0.51], 6, seed=2), tokens=(170, 300, 480)),
    ),
    "the same questions twice": lambda: on(manual=runs(scores([0.3, 0.5, 0.6])), copy=runs(scores([0.3, 0.5, 0.6]))),
    "configurations that measure the same on two datasets": lambda: on(manual=runs(SAME), faq=runs(SAME[:, :50])),
    "three datasets, one unlike the others": lambda: on(
        manual=runs(scores([0.3, 0.6, 0.55])),
        faq=runs(scores([0.4, 0.7, 0.62], 60, seed=2)),
        letters=runs(scores([0.6, 0.35, 0.5], 80, seed=3)),
    ),
    "six datasets that agree": lambda: on(
        **{f"part{seed}": runs(scores([0.4, 0.52, 0.5], 100, seed=seed)) for seed in range(1, 7)}
    ),
    "no dataset tells them apart, all together do": lambda: on(
        **{f"part{seed}": runs(scores([0.5, 0.55], 30, seed=seed), tokens=(300, 500)) for seed in range(1, 6)}
    ),
    "a run failed on one of two datasets": lambda: on(
        manual=runs(scores([0.3, 0.4, 0.6])), faq=runs(scores([0.4, 0.5, 0.7], 60, seed=2)[:2])
    ),
    "one configuration on two datasets": lambda: on(manual=runs(scores([0.5])), faq=runs(scores([0.6], 60, seed=2))),
    "a control on two datasets": lambda: on(
        manual=controlled(runs(scores([0.3, 0.5, 0.9])), 2), faq=controlled(runs(scores([0.4, 0.5, 0.9], 60)), 2)
    ),
    "no better than guessing on one of two datasets": lambda: AcrossDatasets(
        [
            as_guesses(each, 0.25, p)
            for each, p in zip(
                on(
                    cases=runs(scores([0.5, 0.6])),
                    exam=runs(scores([0.25, 0.27], 60, seed=2)),
                ).decisions,
                ((0.001, 0.001), (0.9, 0.4)),
                strict=True,
            )
        ]
    ),
    "other k on each dataset": lambda: on(manual=runs(scores([0.3, 0.6])), faq=runs(scores([0.3, 0.6], 60), k=10)),
    "three k on two datasets": lambda: on(manual=at_each(SEVERAL_K), faq=at_each({3: SEVERAL_K[5], 5: SEVERAL_K[10]})),
}


def test_there_are_thirty_situations():
    assert len(SITUATIONS) >= 30


def rows_of_page():
    cells = [line.split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return {name.removeprefix("| "): said.removesuffix(" |") for name, said in cells[1:]}


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_page_shows_what_is_said(name):
    assert rows_of_page()[name] == " ".join(headline(SITUATIONS[name]()))


@pytest.mark.parametrize("name", SEVERAL)
def test_the_page_shows_what_is_said_of_several_datasets(name):
    assert rows_of_page()[name] == " ".join(across_in_words(SEVERAL[name]()))


def test_nothing_is_shipped_that_guessing_equals():
    assert "Ship" not in " ".join(headline(SITUATIONS["no better than guessing"]()))


def test_a_few_tokens_less_name_no_parser_and_no_ingest():
    decision = SITUATIONS["8 questions, parsers and an ingest that nothing tells apart"]()
    assert decision.named is decision.headline.best
    assert decision.named.value("context/tokens") > min(run.value("context/tokens") for run in decision.sweep.outcomes)


def test_what_costs_about_the_same_is_not_said_to_beat_the_choice():
    """Equal recall for 355 tokens instead of 372: a tie that was just said to cost about the same."""
    ahead = scores([0.8])[0]
    behind = ahead.copy()
    behind[ahead.argmax()] = 0.92  # where recall is 1 as well
    said = " ".join(headline(decided(*runs(np.array([ahead, behind]), tokens=(372, 355)))))
    assert "Ship size 300" in said
    assert "about the same tokens for each" in said
    assert " beats " not in said
