"""Answers that a table has, of any system."""

from __future__ import annotations

from collections.abc import Collection, Sequence
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
from ragsweep.datasets.readers.files import kind_at
from ragsweep.text.normalisation import composed
from ragsweep_answers.answering.question import Answer, Answerer, Question

if TYPE_CHECKING:
    from ragsweep_answers.answering.answer_table import Row

PATTERN = """\"answerer.pattern='Final: ([A-E])'\""""  # as it is typed
SHOWN_TEXTS = 3  # in which no answer was found
ENDINGS = (".jsonl", ".json", ".csv", ".tsv", ".parquet")


@dataclass(frozen=True)
class RecordedAnswerer(Answerer):
    """Answers questions with the answers in a file.

    What counts is the content of the file and the name of the system, not the path: a file that was moved to another
    folder gives the same run.

    Attributes:
        path: The file: `.jsonl`, `.json`, `.csv`, `.tsv`, also with `.gz`, or `.parquet`.
        confidence_scale: Scale of the confidences and probabilities: 0 to 1, 0 to 10, or percent.
        missing: What to do if there is no answer to some of the questions: stop, or count them as not answered.
        on_error: What an answer does that does not fit its question or has none: refuse the file, or be left out, so
            that its question, if there is one, counts as not answered. A bad field of an answer refuses the file, too,
            or is left out alone.
        pattern: A regular expression whose only group is the answer in a response, a letter or the text of an option;
            the last match counts. None reads the forms of docs/answers.md.
        max_unread: The largest share of texts in which no answer may be found; with more, the file is refused.
        name: Name of the system that answered, for tables and charts; None takes that of the file.
    """

    recorded: ClassVar[bool] = True

    path: Text
    confidence_scale: Literal["unit", "ten", "percent"] = "unit"
    missing: Literal["refuse", "no_answer"] = "refuse"
    on_error: OnError = "refuse"
    pattern: Text | None = None
    max_unread: Annotated[float, Between(0, 1)] = 0.2
    name: Text | None = None

    def __post_init__(self) -> None:
        if self.name is None:
            object.__setattr__(self, "name", Path(self.path).name)
        if self.pattern is not None:
            from ragsweep_answers.answering.answer_letters import pattern_of

            pattern_of(self.pattern)

    @property
    def system(self) -> str:
        """The name that was given, or that of the file."""
        return str(self.name)

    @property
    def without_effect(self) -> tuple[str, ...]:
        """The path: only the content of the file counts, by its fingerprint."""
        return ("path",)

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the file's content, for which it stands in the digest of a run."""
        try:
            return digest_file(self._file)
        except OSError as error:
            raise DatasetError(f"{self.path}: cannot be read ({error.strerror or error})") from error

    @cached_property
    def has_confidence(self) -> bool:
        """Whether the file has confidences or probabilities."""
        from ragsweep_answers.answering.answer_table import confidence_in

        return any(
            row.fields.get("confidence") is not None
            or row.fields.get("probabilities")
            or confidence_in(row.fields.get("response"), 1)[0] is not None
            for row in self._rows
        )

    def answer(self, questions: Sequence[Question]) -> list[Answer]:
        """The recorded answers to the questions, in the same order.

        Raises:
            DatasetError: An answer does not fit its question or has no question, or a question has no answer.
        """
        return self.answer_some(questions, ())

    def answer_some(self, questions: Sequence[Question], left_out: Sequence[str | None]) -> list[Answer]:
        """As `answer`, but answers may be to questions with these ids, which the dataset has left out."""
        asked = tuple(questions)
        if asked not in self._answered:  # a sweep asks the same when it is planned and when it runs
            answers = self._answers(asked, {composed(name) for name in left_out if name})
            self._answered.clear()
            self._answered[asked] = answers
        return [*self._answered[asked]]

    @cached_property
    def _answered(self) -> dict[tuple[Question, ...], list[Answer]]:
        """The answers to the last questions."""
        return {}

    def _answers(self, questions: Sequence[Question], left_out: Collection[str]) -> list[Answer]:
        from ragsweep_answers.answering.answer_letters import pattern_of
        from ragsweep_answers.answering.answer_table import LARGEST_OF_SCALE, read_answer

        asked = {composed(question.question_id): question for question in questions}
        pattern, scale = pattern_of(self.pattern) if self.pattern else None, LARGEST_OF_SCALE[self.confidence_scale]
        retrieves = any(row.fields.get("evidence") for row in self._rows)
        answers: dict[str, Answer] = {}
        places: dict[str, str] = {}
        faults, unasked = Faults(self.path, "answerer", "answers"), 0
        for row in self._rows:
            if row.case in left_out and row.case not in asked:
                unasked += 1
                continue
            if row.case in places:
                first = places[row.case].rpartition(", ")[2]
                case = repr(row.case[:SHOWN_CHARACTERS])
                raise DatasetError(f"{row.where}: the case {case} is answered twice, first in {first}")
            try:
                if row.case not in asked:
                    unknown = f"the dataset has no case {row.case[:SHOWN_CHARACTERS]!r}; its cases are {listed(asked)}"
                    raise DatasetError(f"{row.where}: {unknown}")
                places[row.case] = row.where
                question = asked[row.case]
                answers[row.case], errors = read_answer(row, question, scale, retrieves=retrieves, pattern=pattern)
                if errors and self.on_error == "refuse":
                    raise errors[0]
            except DatasetError as error:
                faults.add(error, row.case)
                answers[row.case] = Answer(None)
        usable = len(answers) - len(faults.faults)
        if unused := faults.left_out(self.on_error, usable):
            say_once(f"{self.path}: answers left out by answerer.on_error=skip: {len(unused)} ({unused[0].text}, ...)")
        if unasked and not self._answered:  # a round of a race, which comes later, leaves out further ones
            say_once(f"{self.path}: answers to questions that the dataset leaves out: {unasked}")
        self._check_unread([*answers.values()])
        missing = [question.question_id for case, question in asked.items() if case not in answers]
        if missing and self.missing == "refuse":
            raise DatasetError(
                f"{self.path}: {len(missing)} of {len(questions)} cases {verb(len(missing), 'have')} no answer: "
                f"{listed(missing)}; to count them as not answered, set answerer.missing=no_answer"
            )
        return [answers.get(composed(question.question_id), Answer(None)) for question in questions]

    def _check_unread(self, answers: Sequence[Answer]) -> None:
        """Raise `DatasetError` if no answer is found in too many texts."""
        texts = sum(answer.letter is not None or bool(answer.unread) for answer in answers)
        unread = [answer.unread for answer in answers if answer.unread]
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
        if (kind := kind_at(path)) != "a file":
            problem = f"is {kind}" if kind else "does not exist"
            raise DatasetError(f"answerer.path: {path} {problem}; expected a file of answers")
        return path

    @cached_property
    def _rows(self) -> Sequence[Row]:
        # Imported here, as the patterns that read answers are compiled for a fifth of a second.
        from ragsweep_answers.answering.answer_table import LOGS, read_answers

        if not self._file.name.lower().removesuffix(".gz").endswith(ENDINGS):
            expected = f"{', '.join(ENDINGS[:-1])} and {ENDINGS[-1]}; {LOGS}"
            raise DatasetError(f"answerer.path: {self.path} has another ending than {expected}")
        return read_answers(self._file, self.confidence_scale)
