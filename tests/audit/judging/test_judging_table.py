"""The table that is handed out: what comes back counts once, and what was changed is refused."""

import csv
import re
from functools import partial

import numpy as np
import pytest

from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep_audit.judging.journal import Journal
from ragsweep_audit.judging.judging_table import COLUMNS, hand_out, take_back
from ragsweep_audit.judging.pool import Pair, Pool, Shown

HOSTILE = '=HYPERLINK("http://x")'


@pytest.fixture
def journal(tmp_path):
    names = ["=1+1", "-2", "'=x", "ä; b", " c "]
    shown = partial(Shown, before=HOSTILE, match="\nand\ttea", after="+1")
    pairs = [Pair(name, f"@{name}\nwhat?", f"+{name}", partial(shown, f"={name}.pdf")) for name in names]
    pool = Pool(["a", "b"], pairs, np.tile([[0], [1]], 5), np.full(5, np.nan), 5, "dcg", 2)
    return Journal(tmp_path / "judged.jsonl", pool, 0.0, 1e-9, 1, 2, "jo")


@pytest.fixture
def table(journal, tmp_path):
    hand_out(journal, tmp_path / "judging.csv", 4)
    return tmp_path / "judging.csv"


def rows_of(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def filled(table, *grades, delimiter=",", **changed):
    """The table as a spreadsheet saves it, with grades, and changes of its last row."""
    rows = rows_of(table)
    for row, grade in zip(rows, grades, strict=True):
        row["grade"] = grade
    rows[-1].update(changed)
    path = table.with_name("filled.csv")
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_no_table_is_written_where_no_question_is_left(journal, table):
    rest, empty = table.with_name("rest.csv"), table.with_name("empty.csv")
    assert "1 question handed out" in hand_out(journal, rest, 100)
    assert hand_out(journal, empty, 100) == f"No question is left to hand out, so that {empty} is not written."
    assert not empty.exists()


def test_a_table_is_safe_for_spreadsheets_and_cannot_be_overwritten(journal, table):
    rows = rows_of(table)
    assert len(rows) == 4
    assert "judging.csv" in journal.path.read_text()
    assert str(table.parent) not in journal.path.read_text()
    assert not any(cell[:1] in "=+-@" for row in rows for cell in row.values() if cell)
    before = table.read_text()
    with pytest.raises(ConfigError, match="exists; name a new file"):
        hand_out(journal, table, 1)
    assert table.read_text() == before


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_grades_are_taken_back_once_and_blanks_are_asked_next(journal, table, delimiter):
    path = filled(table, "2", "", "?", "1.0", delimiter=delimiter)
    said = take_back(journal, path)
    assert "3 new judgments of 4 rows" in said
    assert journal.grades == {1: 2, 3: None, 4: 1}
    assert journal.race.learnt == 1
    assert "0 new judgments of 4 rows" in take_back(journal, path)
    assert journal.ask().number == 2
    assert "1 grade differed" in take_back(journal, filled(table, "0", "2", "?", "1"))
    assert journal.grades == {1: 2, 2: 2, 3: None, 4: 1}
    assert journal.race.learnt == 4


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"grade": "3"}, "column grade: found '3', expected 0 to 2"),
        ({"grade": "maybe"}, "column grade: found 'maybe'"),
        ({"grade": "-1"}, "column grade: found '-1'"),
        ({"number": "9"}, "column number: '9' is not a question"),
        ({"number": "x"}, "column number: 'x' is not a question"),
        ({"number": "1"}, "; the table was changed"),
        ({"query_id": "other"}, "column query_id: found 'other'"),
        ({"query": "other"}, "column query: found 'other'"),
        ({"unit": "other"}, "column unit: found 'other'"),
    ],
)
def test_what_was_changed_is_refused_and_nothing_is_taken_back(journal, table, changed, problem):
    with pytest.raises(DatasetError, match=re.escape(problem)) as caught:
        take_back(journal, filled(table, "1", "1", "1", "1", **changed))
    assert "filled.csv, line " in str(caught.value)
    assert "\n" not in str(caught.value)
    assert journal.grades == {}


def test_two_grades_of_one_question_are_refused(journal, table):
    path = filled(table, "1", "1", "1", "0")
    twice = {**rows_of(path)[-1], "grade": "2"}
    with path.open("a", newline="") as file:
        csv.DictWriter(file, COLUMNS).writerow(twice)
    with pytest.raises(DatasetError, match="has two grades"):
        take_back(journal, path)


@pytest.mark.parametrize("content", ["", "<html>\n", "number,grade\n1,1\n"])
def test_a_file_that_is_no_such_table_is_refused(journal, tmp_path, content):
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(DatasetError, match="has no column"):
        take_back(journal, tmp_path / "t.csv")
