"""The journal: nothing that was judged is lost or counted twice, and the race can be run again from the file alone."""

from contextlib import ExitStack, closing

import numpy as np
import pytest

from ragsweep.core.errors import ConfigError
from ragsweep_audit.judging.journal import ASKED_AGAIN, Journal
from ragsweep_audit.judging.pool import Pair, Pool, Shown

QUERIES, DOCUMENTS = 20, 12


@pytest.fixture(scope="module")
def made():
    """A pool of three configurations, and the true grades."""
    generator = np.random.default_rng(7)
    grades = (np.arange(DOCUMENTS) < 2).astype(int) * np.ones((QUERIES, 1), dtype=int)
    ranks = np.full((3, QUERIES, DOCUMENTS), -1)
    for configuration, quality in enumerate((0.2, 0.6, 1.2)):
        top = np.argsort(-(2 * quality * grades + generator.normal(size=grades.shape)), axis=1)[:, :5]
        np.put_along_axis(ranks[configuration], top, np.arange(5), axis=1)
    pairs = [
        Pair(f"q{query}", f"question {query}?", f"d{document}", lambda: Shown("a.pdf", "", "text", ""))
        for query in range(QUERIES)
        for document in range(DOCUMENTS)
    ]
    unjudged = np.full(len(pairs), np.nan)
    return Pool(["a", "b", "c"], pairs, ranks.reshape(3, -1), unjudged, QUERIES, "dcg", 5), grades.ravel()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "judged.jsonl"


@pytest.fixture
def journal_of(path, made):
    with ExitStack() as before:

        def opened(judge="jo", *, beside=False, **settings):
            """The journal, opened by this judge after the one before has closed it, unless it is opened beside it."""
            if not beside:
                before.close()
            given = {"margin": 0.0, "level": 1e-6, "seed": 1, "highest": 1, **settings}
            return before.enter_context(closing(Journal(path, made[0], judge=judge, **given)))

        yield opened


@pytest.fixture
def judged(made):
    """Answer so many questions by the true grades."""

    def answered(journal, times):
        pool, grades = made
        for _ in range(times):
            asked = journal.ask()
            journal.answer(asked, int(grades[pool.pairs.index(asked.pair)]))
        return journal

    return answered


def state(journal):
    kept = [dict(events) for events in (journal.grades, journal.repeats, journal.dropped)]
    return [*kept, journal.race._against_best.tolist()]


def test_the_race_is_the_same_when_it_is_read_again_and_a_share_of_the_judgments_is_asked_for_twice(journal_of, judged):
    journal = judged(journal_of(), 84)
    assert len(journal.repeats) == int(ASKED_AGAIN * 80)
    assert all(journal.repeats.values())
    assert state(journal_of("another")) == state(journal)


def test_what_a_killed_process_has_not_finished_is_written_anew_and_what_it_asked_is_asked_again(
    journal_of, judged, path
):
    before = state(judged(journal_of(), 10))
    with path.open("ab") as file:
        file.write(b'{"event": "answer", "gra')
    journal = journal_of()
    assert state(journal) == before
    judged(journal, 1)
    assert state(journal_of()) == state(journal) != before
    asked = journal_of().ask()
    assert journal_of().ask() == asked


def test_a_second_judge_is_refused_until_the_first_has_ended(journal_of, judged):
    journal = judged(journal_of("jo"), 3)
    with pytest.raises(ConfigError, match=r"judged\.jsonl: is in use by another ragsweep judge"):
        journal_of("kim", beside=True)
    assert state(journal_of("kim", beside=True, only_read=True)) == state(journal)
    before = state(judged(journal, 2))
    assert state(journal_of("kim")) == before


def test_what_is_taken_back_is_asked_again_and_leaves_no_trace_in_the_race(journal_of, judged):
    journal = judged(journal_of(), 10)
    before = state(journal)
    asked = journal.ask()
    journal.answer(asked, 1)
    journal.ask()
    assert journal.undo()
    assert state(journal) == before
    assert journal.ask() == asked
    judged(journal, 3)
    assert state(journal_of()) == state(journal)
    assert not journal_of("kim").undo(), "what another judge has judged"
    assert journal_of("jo").undo()


def test_a_repeat_is_taken_back_alone(journal_of, judged):
    journal = judged(journal_of(), 20)
    asked = journal.ask()
    assert asked.again
    before = state(journal)
    journal.answer(asked, None)
    assert not all(journal.repeats.values())
    assert journal.undo()
    assert state(journal) == before == state(journal_of())
    assert journal.ask() == asked
    judged(journal, 2)
    repeats = dict(journal.repeats)
    assert journal.undo()
    assert journal.repeats == repeats == journal_of().repeats


FOREIGN = ["[]", "{", '"event"', "x" * 10_000]
FOREIGN += ['{"event": "answer"}', '{"event": "answer", "number": 99, "grade": 1, "again": false}']
FOREIGN += ['{"event": "answer", "number": 1, "grade": 1, "again": true, "judge": "jo"}']
FOREIGN += ['{"event": "draw", "number": 1}', '{"event": "other", "number": 1}', '{"event": "other", "number": []}']
OTHERS = [({"seed": 2}, "seed 1"), ({"margin": 0.1}, "margin 0.0"), ({"highest": 3}, "highest 1")]


def test_what_is_no_journal_of_this_race_is_refused_and_left_alone(journal_of, path):
    with pytest.raises(ConfigError, match="is not a file"):
        journal_of(only_read=True)
    assert not path.exists()
    asked, begun = journal_of().ask(), path.read_text()
    for changed, was in OTHERS:
        with pytest.raises(ConfigError, match=f"was begun with {was}"):
            journal_of(**changed)
    above = f'{{"event": "answer", "number": {asked.number}, "grade": 2, "again": false}}'
    contents = [(f"{begun}{line}\n", "line 3") for line in FOREIGN]
    contents += [(f"{begun}{above}\n", "found the grade 2"), ("my notes", "is no journal")]
    contents += [(begun.replace('"schema": 1', '"schema": 2', 1), "schema: found 2, expected 1")]
    contents += [(begun.replace('"chance": 0.', '"chance": 0.9'), "line 2")]
    for content, fact in contents:
        path.write_text(content)
        with pytest.raises(ConfigError, match=fact):
            journal_of()
        assert path.read_text() == content
