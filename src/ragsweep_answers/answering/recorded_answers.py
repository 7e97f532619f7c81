"""Answers that a table has, of any system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from ragsweep.core.digest import digest_file
from ragsweep.core.errors import DatasetError
from ragsweep.core.limits import Between, Text
from ragsweep.core.terminal import one_line, say_once, shortened, verb
from ragsweep.datasets.model.faults import Faults, OnError
from ragsweep.datasets.readers.fields import SHOWN_CHARACTERS, listed
from ragsweep.datasets.readers.files import what_is
from ragsweep.text.normalisation import composed
from ragsweep_answers.answering.question import Answer, Question
from ragsweep_answers.answering.rows import LOGS, UnknownCaseError

if TYPE_CHECKING:
    from ragsweep_answers.answering.answer_table import AnswerTable

PATTERN = """\"answerer.pattern='Final: ([A-E])'\""""  # as it is typed
SHOWN_TEXTS = 3  # in which no answer was found
ENDINGS = (".jsonl", ".json", ".csv", ".tsv", ".parquet")


@dataclass(frozen=True)
class RecordedAnswerer:
    """Answers questions with the answers in a file.

    What counts is the content of the file and the name of the system, not the path: a file that was moved to another
    folder gives the same run.

    Attributes:
        path: The file: `.jsonl`, `.json`, `.csv`, `.tsv`, also with `.gz`, or `.parquet`.
        confidence_scale: Scale of the confidences and probabilities: 0 to 1, 0 to 10, or percent.
        missing: What to do if there is no answer to some of the questions: stop, or count them as not answered.
        on_error: What an answer does that does not fit its question or has none: refuse the file, or be left out, so
            that its question, if there is one, counts as not answered.
        pattern: A regular expression whose only group is the answer in a response, a letter or the text of an option;
            the last match counts. None reads the forms of docs/answers.md.
        max_unread: The largest share of texts in which no answer may be found; with more, the file is refused.
        name: Name of the system that answered, for tables and charts; None takes that of the file.
    """

    path: Text
    confidence_scale: Literal["unit", "ten", "percent"] = "unit"
    missing: Literal["refuse", "no_answer"] = "refuse"
    on_error: OnError = "refuse"
    pattern: Text | None = None
    max_unread: Annotated[float, Between(0, 1)] = 0.2
    name: Text | None = None

    recorded: ClassVar[bool] = True
    without_effect: ClassVar[tuple[str, ...]] = ("path",)  # the fingerprint stands for the content

    def __post_init__(self) -> None:
        if self.name is None:
            object.__setattr__(self, "name", Path(self.path).name)
        if self.pattern is not None:
            from ragsweep_answers.answering.answer_forms import pattern_of

            pattern_of(self.pattern)

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the file's content, for which it stands in the digest of a run."""
        try:
            return digest_file(self._file)
        except OSError as error:
            raise DatasetError(f"{self.path}: cannot be read ({error.strerror or error})") from error

    @property
    def has_confidence(self) -> bool:
        """Whether the file has confidences or probabilities."""
        return self._table.has_confidence

    def answer(self, questions: Sequence[Question]) -> list[Answer]:
        """The recorded answers to the questions, in the same order.

        Raises:
            DatasetError: An answer does not fit its question or has no question, or a question has no answer.
        """
        return self.answer_some(questions, ())

    def answer_some(self, questions: Sequence[Question], left_out: Sequence[str | None]) -> list[Answer]:
        """As `answer`, but answers may be to questions with these ids, which the dataset has left out."""
        asked = tuple(questions)
        answers = self._answered.get(asked)
        if answers is None:
            self._answered.clear()
            answers = self._answered[asked] = self._answers(asked, left_out)
        return list(answers)

    @cached_property
    def _answered(self) -> dict[tuple[Question, ...], list[Answer]]:
        """The answers to the last questions: a sweep asks the same ones when it is planned and when it runs."""
        return {}

    def _answers(self, questions: Sequence[Question], left_out: Sequence[str | None]) -> list[Answer]:
        asked = {composed(question.question_id): question for question in questions}
        answers: dict[str, Answer] = {}
        places: dict[str, str] = {}
        faults, usable, others, texts = Faults(self.path, "answerer", "answers"), 0, 0, 0
        left_ids = {composed(each) for each in left_out if each}
        for where, case, answer in self._table.answers(asked):
            if isinstance(answer, UnknownCaseError) and case in left_ids:
                others += 1
                continue
            if isinstance(answer, DatasetError):
                faults.add(answer, case)
                answers.setdefault(case, Answer(None))
                continue
            if case in places:
                first = places[case].rpartition(", ")[2]
                raise DatasetError(f"{where}: the case {case[:SHOWN_CHARACTERS]!r} is answered twice, first in {first}")
            places[case], answers[case] = where, answer
            usable += 1
            texts += answer.letter is not None or bool(answer.unread)
        if unused := faults.left_out(self.on_error, usable):
            say_once(f"{self.path}: answers left out by answerer.on_error=skip: {len(unused)} ({unused[0].text}, ...)")
        if others:
            say_once(f"{self.path}: answers to questions that the dataset leaves out: {others}")
        self._check_unread(texts, [each.unread for each in answers.values() if each.unread])
        missing = [question.question_id for case, question in asked.items() if case not in answers]
        if missing and self.missing == "refuse":
            raise DatasetError(
                f"{self.path}: {len(missing)} of {len(questions)} cases {verb(len(missing), 'have')} no answer: "
                f"{listed(missing)}; to count them as not answered, set answerer.missing=no_answer"
            )
        return [answers.get(composed(question.question_id), Answer(None)) for question in questions]

    def _check_unread(self, texts: int, unread: Sequence[str]) -> None:
        """Raise `DatasetError` if no answer is found in too many texts."""
        if len(unread) <= self.max_unread * texts:
            return
        advice = "set another answerer.pattern"
        if self.pattern is None:
            advice = f"put what a model wrote into the field response, set a pattern for the answer, such as {PATTERN}"
        examples = ", ".join(repr(shortened(one_line(text), SHOWN_CHARACTERS)) for text in unread[:SHOWN_TEXTS])
        raise DatasetError(
            f"{self.path}: {len(unread)} of {texts} answers state no option in a form that is read: {examples}; "
            f"{advice}, or answerer.max_unread={ceil(100 * len(unread) / texts) / 100:g} to count them as wrong"
        )

    @cached_property
    def _file(self) -> Path:
        path = Path(self.path)
        if (found := what_is(path)) != "a file":
            problem = f"is {found}" if found else "does not exist"
            raise DatasetError(f"answerer.path: {path} {problem}; expected a file of answers")
        return path

    @cached_property
    def _table(self) -> AnswerTable:
        # Imported here, as the patterns that read answers are compiled for a fifth of a second.
        from ragsweep_answers.answering.answer_table import AnswerTable

        if not self._file.name.lower().removesuffix(".gz").endswith(ENDINGS):
            expected = f"{', '.join(ENDINGS[:-1])} and {ENDINGS[-1]}; {LOGS}"
            raise DatasetError(f"answerer.path: {self.path} has another ending than {expected}")
        return AnswerTable.read(self._file, self.confidence_scale, self.pattern)
