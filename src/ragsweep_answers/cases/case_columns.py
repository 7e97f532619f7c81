"""Reads multiple-choice cases from rows whose columns the user names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from ragsweep.config.annotations import as_configured
from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.limits import Text
from ragsweep.core.parsing import MalformedError, from_json
from ragsweep.datasets.model.cases import LETTERS, Case, Option, flaw_of_case, flaw_of_options
from ragsweep.datasets.readers.columns import ALL_RELEVANT, Columns, expect_columns
from ragsweep.datasets.readers.fields import Entry, answerable_in, grade_of, listed, shown_value, text_of, value_of


@dataclass(frozen=True)
class CaseColumns(Columns):
    """Which column of a CSV file, or field of a JSON object, contains what. Null: there is no such column.

    `options` and `option_conditions` name one column with a mapping from letters to texts or a list of texts, in CSV as
    JSON, or list one column per option, such as `[opa, opb, opc, opd]`. The last options may be blank, so that cases
    can have different numbers of options.

    A case that is not `answerable` has options and no answer, and every answer to it is wrong.

    Attributes:
        question: The question.
        options: The answers to choose from.
        answer: The correct answer.
        answer_is: What the column of the answer contains: the `letter` of an option, its exact `text`, or its position,
            counted from 1 or from 0.
        case: What the question is about, such as a patient.
        specialty: Medical field.
        difficulty: Such as easy, medium or hard.
        condition: The disease or problem.
        option_conditions: The condition that each option stands for.
        relevant: As of every table of questions; None if pages are not judged.
    """

    GROUP: ClassVar[str] = "dataset.columns"
    COLUMNS: ClassVar[tuple[str, ...]] = ("question", "options", "answer", *Columns.COLUMNS, "case", "specialty",
                                          "difficulty", "condition", "option_conditions")  # fmt: skip

    question: Text = "question"
    options: Text | Sequence[Text] = "options"
    answer: Text = "answer"
    answer_is: Literal["letter", "text", "position_from_1", "position_from_0"] = "letter"
    case: Text | None = None
    specialty: Text | None = None
    difficulty: Text | None = None
    condition: Text | None = None
    option_conditions: Text | Sequence[Text] | None = None
    relevant: Text | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("options", *(() if self.option_conditions is None else ("option_conditions",))):
            value = getattr(self, name)
            columns = [value] if isinstance(value, str) else value
            are_names = isinstance(columns, Sequence) and all(
                isinstance(column, str) and column.strip() for column in columns
            )
            if not are_names or len(columns) > len(LETTERS):
                expected = f"the name of a column, or a list of at most {len(LETTERS)} such names"
                raise ConfigError(f"dataset.columns.{name}: found {as_configured(value)}, expected {expected}")
        if self.is_by_row and self.grade is None:
            raise ConfigError(f"dataset.columns.grade: found null, expected a column, or {ALL_RELEVANT}")

    def expect(self, rows: Sequence[tuple[str, Entry]], *, is_judged: bool) -> None:
        """Raise `DatasetError` with the settings to paste, unless rows have the columns of cases."""
        columns = dict.fromkeys(name for _, row in rows for name in row)
        optional = {*self.OPTIONAL, *(["answer"] if self.answerable in columns else [])}
        unused = () if is_judged else ("relevant", "document", "page", "grade")
        needed = {setting: name for setting, name in self.named.items() if " " not in setting and setting not in unused
                  and not (setting in optional and name == getattr(CaseColumns, setting))}  # fmt: skip
        expect_columns(columns, needed, rows[0][0], "dataset.columns")

    def case_of(self, row: Entry, where: str, query_id: str) -> Case:
        """The case in a row.

        Args:
            row: Values by column.
            where: The place of the row, for error messages.
            query_id: The id of the case.

        Raises:
            DatasetError: A column is missing, or the row is not a valid case.
        """
        options = tuple(Option(letter, text) for letter, text in _by_letter(row, self.options, where).items())
        if flaw := flaw_of_options(options):
            raise DatasetError(f"{where}: {flaw}")
        conditions = _by_letter(row, self.option_conditions, where)
        letters = [option.letter for option in options]
        if foreign := sorted(conditions.keys() - set(letters)):
            raise DatasetError(f"{where}: {listed(foreign)} has a condition, but is not the letter of an option")
        case = Case(
            query_id=query_id,
            case=text_of(row, self.case, where) or "",
            question=text_of(row, self.question, where) or "",
            options=options,
            correct=self._correct(row, options, where),
            specialty=text_of(row, self.specialty, where),
            difficulty=text_of(row, self.difficulty, where),
            condition=text_of(row, self.condition, where),
            conditions=tuple(map(conditions.get, letters)) if conditions else (),
        )
        if flaw := flaw_of_case(case):
            raise DatasetError(f"{where}: {flaw}")
        return case

    def grades_of(self, row: Entry, where: str, *, in_text: bool) -> dict[str, int]:
        """The grades of the pages that a row names as relevant. Raises `DatasetError` if they are malformed."""
        if answerable_in(row, self.answerable, where):
            return self.judged_in(row, where, in_text=in_text)
        self._expect_none(row, self.judging, where)
        return {}

    def _expect_none(self, row: Entry, columns: Sequence[str], where: str) -> None:
        for name in columns:
            if row.get(name) not in (None, "", [], {}):
                expected = f"expected none, as {self.answerable} is false"
                raise DatasetError(f"{where}: the field {name!r} is {shown_value(row[name])}; {expected}")

    def _correct(self, row: Entry, options: Sequence[Option], where: str) -> str | None:
        """The letter of the correct option; None if there is none."""
        if not answerable_in(row, self.answerable, where):
            self._expect_none(row, [self.answer], where)
            return None
        value = value_of(row, self.answer, where)
        answer = value.strip() if isinstance(value, str) else json.dumps(value, default=str)
        if value is None or not answer:
            expected = f"expected the correct answer of each case, or {self.answerable}: false"
            raise DatasetError(f"{where}: the field {self.answer!r} is empty; {expected}")
        if self.answer_is == "letter":
            answer, expected = answer.upper(), "the letter of an option"
            letters = {option.letter: option.letter for option in options}
        elif self.answer_is == "text":
            expected = "the text of an option"
            letters = {option.text: option.letter for option in options}
        else:
            first = int(self.answer_is[-1])
            answer, expected = str(grade_of(answer)), f"a position from {first} to {first + len(options) - 1}"
            letters = {str(position): option.letter for position, option in enumerate(options, start=first)}
        if answer not in letters:  # never left out: the answers that fit, such as a text "A", may mean another option
            other = {"position_from_1": "position_from_0", "position_from_0": "position_from_1"}.get(self.answer_is)
            advice = (
                f"; if positions are counted from {other[-1]}, set dataset.columns.answer_is={other}" if other else ""
            )
            problem = f"the answer {shown_value(value)} is not {expected}"
            raise ConfigError(f"{where}: {problem} (dataset.columns.answer_is={self.answer_is}){advice}")
        return letters[answer]


def _by_letter(row: Entry, columns: str | Sequence[str] | None, where: str) -> dict[str, str]:
    """The texts that are not blank, in the order of their letters."""
    if isinstance(columns, str):
        texts = value_of(row, columns, where) or []
        where = f"{where}: the field {columns!r}"
    else:
        texts = [value_of(row, column, where) for column in columns or ()]
    if isinstance(texts, str):
        try:
            texts = from_json(texts)
        except MalformedError as error:
            raise DatasetError(f"{where}: {error}; expected texts by letter as JSON, or one column each") from error
    if isinstance(texts, list) and len(texts) <= len(LETTERS):
        texts = dict(zip(LETTERS, texts, strict=False))
    if not isinstance(texts, dict):
        raise DatasetError(f"{where} is {shown_value(texts)}; expected texts by letter, or a list of at most 26 texts")
    for letter, text in texts.items():
        if text is not None and not isinstance(text, str):
            raise DatasetError(f"{where}: {letter[:80]!r} is {shown_value(text)}; expected a text")
    return {letter: text.strip() for letter, text in sorted(texts.items()) if text and text.strip()}
