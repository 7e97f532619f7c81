"""The answers to all cases as arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ragsweep.core.terminal import counted, verb
from ragsweep.datasets.model.cases import Case
from ragsweep.models.language.response import CAUSE_NAMES, Cause
from ragsweep.statistics.groups import Groups
from ragsweep.statistics.intervals import Array, Indices
from ragsweep_answers.answering import Answer, Evidence, Question
from ragsweep_answers.measuring.contexts import NEED_RANKING, Source
from ragsweep_answers.measuring.measures.accuracy import NOT_ANSWERED, WITHHELD

LEAST_COMPARED = 10  # questions with other evidence, of which it is said that all their answers are the same


@dataclass(frozen=True, eq=False)
class Answered:
    """The cases with their answers.

    Attributes:
        cases: The cases.
        questions: What was asked, with the evidence.
        answers: The answers.
        source: Where the evidence of the questions comes from; `none` also for recorded answers.
        groups: The groups of the cases.
        threshold: The lowest confidence of an answer that is given; others are withheld. None gives all.
    """

    cases: Sequence[Case]
    questions: Sequence[Question]
    answers: Sequence[Answer]
    source: Source
    groups: Groups
    threshold: float | None = None

    def only(self, rows: Indices) -> Answered:
        """Some of the cases."""
        chosen = np.isin(np.arange(len(self.cases)), rows)
        parts = ([each[row] for row in rows] for each in (self.cases, self.questions, self.answers))
        cases, questions, answers = parts
        return replace(self, cases=cases, questions=questions, answers=answers, groups=self.groups.only(chosen))

    @cached_property
    def chosen(self) -> Indices:
        """As `read`; `WITHHELD` for an answer that is not given."""
        if self.threshold is None:
            return self.read
        withheld = (self.read != NOT_ANSWERED) & (np.nan_to_num(self.confidence) < self.threshold)
        return np.where(withheld, WITHHELD, self.read)

    @cached_property
    def read(self) -> Indices:
        """Position of the option that was read from the answer, shape [cases]; `NOT_ANSWERED` if there is none."""
        letters = zip(self.cases, self.answers, strict=True)
        return np.array([case.letters.find(each.letter or "\0") for case, each in letters], dtype=np.int64)

    @cached_property
    def expected(self) -> Indices:
        """Position of the correct option, shape [cases]; -1 if there is none."""
        return np.array([case.position for case in self.cases], dtype=np.int64)

    @property
    def correct(self) -> Array:
        """Whether an answer is given and correct, 0 or 1, shape [cases]."""
        correct: Array = (self.chosen == self.expected).astype(float)
        return correct

    @property
    def right(self) -> Array:
        """Whether the answer is correct, given or not, 0 or 1, shape [cases]."""
        right: Array = (self.read == self.expected).astype(float)
        return right

    @property
    def correct_as_control(self) -> Array:
        """As `correct`, shape [cases]; NaN for a case without a judged page, if judged pages were to be given."""
        has_evidence = [self.source != "judged" or bool(each.evidence) for each in self.questions]
        return np.where(has_evidence, self.correct, np.nan)

    @property
    def chance(self) -> Array:
        """The probability of guessing the correct option, shape [cases]."""
        return np.array([1 / len(case.options) for case in self.cases])

    @cached_property
    def units(self) -> list[tuple[str, ...]]:
        """The units of the evidence of each answer, best first; several passages of a unit repeat it.

        They are those that the answering system retrieved by itself, otherwise those of its question.
        """
        return [
            tuple(passage.unit for passage in question.evidence) if each.retrieved is None else each.retrieved
            for question, each in zip(self.questions, self.answers, strict=True)
        ]

    @property
    def evidence(self) -> list[tuple[Evidence, ...] | None]:
        """The passages of each answer; empty if none were found, None if it needed none or if they are not known."""
        needs_ranking, found = self.source in NEED_RANKING, list[tuple[Evidence, ...] | None]()
        for question, each in zip(self.questions, self.answers, strict=True):
            none_found = needs_ranking if each.retrieved is None else not each.retrieved
            found.append(question.evidence or (() if none_found else None))
        return found

    @property
    def unread(self) -> list[str]:
        """The texts in which no answer was found."""
        return [each.unread for each in self.answers if each.unread]

    @property
    def retrieved(self) -> bool:
        """Whether the answering system retrieved evidence by itself."""
        return any(each.retrieved is not None for each in self.answers)

    @cached_property
    def confidence(self) -> Array:
        """Probability that the answer is correct, shape [cases]; NaN if there is no answer or no confidence.

        It is the confidence that the answerer states, otherwise the probability of the chosen option.
        """
        stated = np.array([each.confidence for each in self.answers], dtype=float)  # None becomes NaN
        of_chosen = [
            each.probabilities[read] if each.probabilities and read != NOT_ANSWERED else np.nan
            for each, read in zip(self.answers, self.read.tolist(), strict=True)
        ]
        confidence: Array = np.where(np.isnan(stated), of_chosen, stated)
        return np.where(self.read == NOT_ANSWERED, np.nan, confidence)

    def known(self, value: Callable[[Answer], float | None]) -> Array | None:
        """A number of every answer, shape [cases]; None if one of them lacks it."""
        values = [value(each) for each in self.answers]
        return None if any(each is None for each in values) else np.array(values, dtype=float)


def doubts_of_controls(answered: Answered, controls: Sequence[Answered]) -> Iterator[str]:
    """Sentences on what a comparison with a control may not show: all answers are the same, or some cannot be read."""
    for control in controls:
        pairs = [
            _stated(one) == _stated(other)
            for asked, again, one, other in zip(
                answered.questions, control.questions, answered.answers, control.answers, strict=True
            )
            if asked.evidence != again.evidence
        ]
        if len(pairs) >= LEAST_COMPARED and all(pairs):
            yield (
                f"The answers to all {len(pairs)} questions with other evidence are the same with the evidence "
                f"{answered.source!r} and {control.source!r}: evidence changes nothing here, or the answerer keeps "
                "answers by the text of the question, and then this control measures nothing."
            )
        compared = ~np.isnan(control.correct_as_control)
        if unread := int((compared & (control.chosen == NOT_ANSWERED)).sum()):
            causes = causes_of([each for each, counts in zip(control.answers, compared, strict=True) if counts])
            named = ", ".join(f"{CAUSE_NAMES[cause]} {count}" for cause, count in causes.items())
            yield (
                f"With the evidence {control.source!r}, {unread} of {counted(int(compared.sum()), 'question')} "
                f"{verb(unread, 'have')} no answer that could be read{named and f' ({named})'}, "
                f"and {verb(unread, 'count')} as wrong in the comparison with it."
            )


def causes_of(answers: Sequence[Answer]) -> dict[Cause, int]:
    """For how many answers a response had no usable text, by cause; without those that no answer has."""
    counts = Counter(cause for each in answers for cause in {*each.causes})
    return {cause: counts[cause] for cause in Cause if counts[cause]}


def _stated(given: Answer) -> tuple[object, ...]:
    """What an answer says, apart from what it cost."""
    return given.letter, given.confidence, given.probabilities, given.reasoning
