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
def journal_of(tmp_path, made):
    with ExitStack() as before:

        def opened(judge="jo", **settings):
            """The journal, opened by this judge after the one before has closed it."""
            before.close()
            given = {"margin": 0.0, "level": 1e-6, "seed": 1, "highest": 1, **settings}
            return before.enter_context(closing(Journal(tmp_path / "judged.jsonl", made[0], judge=judge, **given)))

        yield opened


def judged(journal, made, times):
    """Answer so many questions by the true grades."""
    pool, grades = made
    for _ in range(times):
        asked = journal.ask()
        journal.answer(asked, int(grades[pool.pairs.index(asked.pair)]))
    return journal


def state(journal):
    kept = [dict(events) for events in (journal.grades, journal.repeats, journal.dropped)]
    return [*kept, journal.race._against_best.tolist()]


def test_the_race_is_the_same_when_it_is_read_again(journal_of, made):
    journal = judged(journal_of(), made, 60)
    assert state(journal_of("another")) == state(journal)


def test_a_share_of_the_judgments_is_asked_for_twice(journal_of, made):
    journal = judged(journal_of(), made, 84)
    assert len(journal.repeats) == int(ASKED_AGAIN * 80)
    assert all(journal.repeats.values())


def test_a_line_that_a_killed_process_has_not_finished_is_written_anew(journal_of, made, tmp_path):
    before = state(judged(journal_of(), made, 10))
    with (tmp_path / "judged.jsonl").open("ab") as file:
        file.write(b'{"event": "answer", "gra')
    journal = journal_of()
    assert state(journal) == before
    judged(journal, made, 1)
    assert state(journal_of()) == state(journal) != before


def test_a_pair_that_was_shown_and_not_answered_is_shown_again(journal_of):
    asked = journal_of().ask()
    assert journal_of().ask() == asked


def test_a_second_judge_is_refused_until_the_first_has_ended(journal_of, made, tmp_path):
    journal = judged(journal_of("jo"), made, 3)
    given = {"margin": 0.0, "level": 1e-6, "seed": 1, "highest": 1, "judge": "kim"}
    with pytest.raises(ConfigError, match=r"judged\.jsonl: is in use by another ragsweep judge"):
        Journal(journal.path, made[0], **given)
    assert state(Journal(journal.path, made[0], **given, only_read=True)) == state(journal)
    before = state(judged(journal, made, 2))
    assert state(journal_of("kim")) == before


def test_what_is_taken_back_is_asked_again_and_leaves_no_trace_in_the_race(journal_of, made):
    journal = judged(journal_of(), made, 10)
    before = state(journal)
    asked = journal.ask()
    journal.answer(asked, 1)
    journal.ask()
    assert journal.undo()
    assert state(journal) == before
    assert journal.ask() == asked
    judged(journal, made, 3)
    assert state(journal_of()) == state(journal)


def test_a_repeat_is_taken_back_alone(journal_of, made):
    journal = judged(journal_of(), made, 20)
    asked = journal.ask()
    assert asked.again
    before = state(journal)
    journal.answer(asked, None)
    assert not all(journal.repeats.values())
    assert journal.undo()
    assert state(journal) == before == state(journal_of())
    assert journal.ask() == asked
    judged(journal, made, 2)
    repeats = dict(journal.repeats)
    assert journal.undo()
    assert journal.repeats == repeats == journal_of().repeats


def test_a_file_that_is_no_journal_is_left_alone(journal_of, tmp_path):
    (tmp_path / "judged.jsonl").write_text("my notes")
    with pytest.raises(ConfigError, match="is no journal"):
        journal_of()
    assert (tmp_path / "judged.jsonl").read_text() == "my notes"


def test_nothing_is_written_where_it_is_only_read(journal_of, tmp_path):
    with pytest.raises(ConfigError, match="is not a file"):
        journal_of(only_read=True)
    assert not [*tmp_path.iterdir()]


def test_nobody_takes_back_what_another_judge_has_judged(journal_of, made):
    judged(journal_of("jo"), made, 5)
    assert not journal_of("kim").undo()
    assert journal_of("jo").undo()


def test_a_journal_of_another_schema_or_with_other_settings_is_refused(journal_of):
    path = journal_of().path
    for changed in ({"seed": 2}, {"margin": 0.1}, {"highest": 3}):
        with pytest.raises(ConfigError, match="was begun with"):
            journal_of(**changed)
    path.write_text(path.read_text().replace('"schema": 1', '"schema": 2', 1))
    before = path.read_bytes()
    with pytest.raises(ConfigError, match="schema: found 2, expected 1"):
        journal_of()
    assert path.read_bytes() == before


def test_a_judgment_that_was_changed_by_hand_is_noticed(journal_of, made):
    path = judged(journal_of(), made, 30).path
    lines = path.read_text().splitlines()
    place = next(number for number, line in enumerate(lines) if '"grade": 1' in line)
    lines[place] = lines[place].replace('"grade": 1', '"grade": 0')
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(ConfigError, match="the file was changed"):
        journal_of()


FOREIGN = ["[]", "{", '"event"', "x" * 10_000]
FOREIGN += ['{"event": "answer"}', '{"event": "answer", "number": 99, "grade": 1, "again": false}']
FOREIGN += ['{"event": "draw", "number": 1}', '{"event": "other", "number": 1}', '{"event": "other", "number": []}']


def test_a_line_that_is_none_of_ours_is_named(journal_of):
    journal = journal_of()
    asked, path = journal.ask(), journal.path
    begun = path.read_text()
    above = f'{{"event": "answer", "number": {asked.number}, "grade": 2, "again": false}}'
    for line, fact in [*dict.fromkeys(FOREIGN, "line 3").items(), (above, "found the grade 2")]:
        path.write_text(f"{begun}{line}\n")
        with pytest.raises(ConfigError, match=fact):
            journal_of()
