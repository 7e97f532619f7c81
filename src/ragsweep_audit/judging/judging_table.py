"""A table of questions to hand out, and the grades that come back in it."""

from __future__ import annotations

import csv
from pathlib import Path

from ragsweep.core.csv_files import as_it_was, as_text
from ragsweep.core.digest import digest
from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.terminal import counted, one_line
from ragsweep.datasets.readers.columns import without_columns
from ragsweep.datasets.readers.fields import SHOWN_CHARACTERS, grade_of
from ragsweep.datasets.readers.tables import lines_of, rows_of
from ragsweep_audit.judging.journal import Journal
from ragsweep_audit.judging.judges import UNSURE
from ragsweep_audit.judging.pool import LONGEST_SHOWN, Asked, Pair

KEPT = ("query_id", "query", "unit")  # columns that must come back as they were
COLUMNS = ("number", *KEPT, "where", "text", "grade")
BLANK = ""
DIGITS = 12  # of a digest, which tells tables of one name apart: paths of a machine do not belong in MLflow
MARK = "\n>>> ", " <<<\n"  # around the passage that is ranked highest


def hand_out(journal: Journal, path: Path, rows: int) -> str:
    """Write the next questions into a new table, and say how many there are.

    Raises:
        ConfigError: The file exists or cannot be written.
    """
    try:
        with path.open("x", encoding="utf-8-sig", newline="") as file:  # spreadsheets look for its byte order mark
            asked = journal.hand_out(f"{path.name} {digest(str(path.resolve()))[:DIGITS]}", rows)
            writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows([as_text(cell) for cell in _row(question)] for question in asked)
    except FileExistsError as error:
        raise ConfigError(f"--table: {path} exists; name a new file") from error
    except (OSError, ConfigError) as error:
        path.unlink(missing_ok=True)
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(f"--table: {path} cannot be written ({why})") from error
    if not asked:
        path.unlink()
        return f"No question is left to hand out, so that {path} is not written."
    return f"{counted(len(asked), 'question')} handed out in {path}; --apply {path} takes the grades back."


def _row(asked: Asked) -> list[str]:
    shown = asked.pair.read().cut(LONGEST_SHOWN)
    mark = MARK if shown.before or shown.after else ("", "")
    text = shown.before + mark[0] + shown.match + mark[1] + shown.after
    return [str(asked.number), *_kept(asked.pair), shown.where, text, BLANK]


def _kept(pair: Pair) -> list[str]:
    return [pair.query_id, one_line(pair.query), pair.unit]


def take_back(journal: Journal, path: Path) -> str:
    """Write the grades of a table into the journal, and say how many are new.

    What is blank is asked next. What is in the journal already is not counted again.

    Raises:
        DatasetError: The file is no such table, a question was changed, or there is no such grade. Nothing is written.
    """
    grades: dict[int, str] = {}
    first = next((line.replace('"', "") for _, line in lines_of(path, "--apply", "judgments") if line.strip()), "")
    delimiter = next((mark for mark in ";\t" if f"{COLUMNS[0]}{mark}" in first), ",")  # as a spreadsheet saves it
    names = [name.strip() for name in first.split(delimiter)]
    if missing := [name for name in COLUMNS if name not in names]:
        raise DatasetError(f"{without_columns(names, missing, str(path))}; expected the table that --table writes")
    for where, row in rows_of(path, lines_of(path, "--apply", "judgments"), delimiter):
        cells = {name: as_it_was(str(cell)).strip() for name, cell in row.items()}
        number = grade_of(cells["number"]) or 0
        if number not in journal.asked_pairs:
            found = cells["number"][:SHOWN_CHARACTERS]
            raise DatasetError(f"{where}, column number: {found!r} is not a question of {journal.path}")
        for name, expected in zip(KEPT, _kept(journal.asked_pairs[number]), strict=True):
            if cells[name] != expected.strip():
                found = f"found {cells[name][:SHOWN_CHARACTERS]!r}, expected {expected[:SHOWN_CHARACTERS]!r}"
                raise DatasetError(f"{where}, column {name}: {found}; the table was changed, or is of another journal")
        grade = _grade(cells["grade"], where, journal.highest)
        if grades.setdefault(number, grade) != grade:
            raise DatasetError(f"{where}: question {number} has two grades in this table; expected one")
    before = dict(journal.grades)
    for number, grade in grades.items():
        if grade != BLANK and number not in journal.grades:
            value = None if grade == UNSURE else int(grade)
            journal.answer(Asked(number, journal.asked_pairs[number], again=False), value)
    journal.release([number for number, grade in grades.items() if grade == BLANK])
    new, blank = len(journal.grades) - len(before), sum(grade == BLANK for grade in grades.values())
    sentences = [f"{path}: {counted(new, 'new judgment')} of {counted(len(grades), 'row')}."]
    other = sum(_shown(before[number]) != grade != BLANK for number, grade in grades.items() if number in before)
    if other:
        sentences.append(f"{counted(other, 'grade')} differed from what was judged before, which counts.")
    if blank:
        sentences.append(f"{counted(blank, 'row')} left blank: asked next, and later judgments wait for them.")
    return " ".join(sentences)


def _grade(cell: str, where: str, highest: int) -> str:
    """A cell as one of the answers: a grade, `?`, or nothing."""
    if cell in (UNSURE, BLANK):
        return cell
    grade = grade_of(cell)
    if grade is None or not 0 <= grade <= highest:
        found = f"found {cell[:SHOWN_CHARACTERS]!r}, expected 0 to {highest}, ? for cannot tell, or nothing"
        raise DatasetError(f"{where}, column grade: {found}")
    return str(grade)


def _shown(grade: int | None) -> str:
    return UNSURE if grade is None else str(grade)
