"""What an answerer is asked, and what it answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from ragsweep.core.errors import RagsweepError
from ragsweep.core.timing import UNKNOWN, Machines
from ragsweep.datasets.model.cases import LETTERS, Option
from ragsweep.models.language.language_model import Conversation, Exchange
from ragsweep.store.component import Component


class AnswererError(RagsweepError):
    """An answerer whose answers cannot be used, or a question that it cannot be asked."""


class Evidence(NamedTuple):
    """A passage that an answerer may use, and the unit that it belongs to, such as `manual.pdf#34`."""

    unit: str
    text: str


@dataclass(frozen=True)
class Question:
    """One multiple-choice question. It does not contain the correct answer.

    Attributes:
        question_id: Names the question in this call. For recorded answers it is the id of the case.
        case: What the question is about, such as a patient; may be empty.
        question: The question.
        options: The answers to choose from, with the letters A, B, C, ...
        evidence: The passages to use, best first; empty for an answer without evidence.
    """

    question_id: str
    case: str
    question: str
    options: tuple[Option, ...]
    evidence: tuple[Evidence, ...] = ()

    @property
    def letters(self) -> str:
        """The letters of the options."""
        return LETTERS[: len(self.options)]


@dataclass(frozen=True)
class Answer:
    """The answer to one question.

    Attributes:
        letter: Letter of the chosen option. None if no answer could be read from what the answerer returned.
        confidence: Probability, as stated by the answerer, that the letter is correct, 0 to 1; None if not stated.
        probabilities: The probability of each option, adding up to 1, shape [options]. Empty if not known.
        reasoning: How the answerer came to the answer, as text.
        cited: Units of the evidence that the reasoning cites.
        retrieved: Units of the evidence that the answering system retrieved by itself, best first; None if it was given
            the evidence of the question.
        exchanges: Every prompt and response.
        tokens_in: Tokens of all prompts; None if not known.
        tokens_out: Tokens of all responses; None if not known.
        time_ms: How long the answer took, in milliseconds; None if not known.
        machines: What it took that long with.
        lost: Names of the fields of the response that could not be used, such as a confidence of 85: out of range, of
            another type, or missing although they were asked for.
        causes: Why responses had no usable text, other than that the model did not know better; see
            `language_models.response.Cause`.
        unread: The text in which no answer was found; empty if there is a letter, or was no text.
    """

    letter: str | None
    confidence: float | None = None
    probabilities: tuple[float, ...] = ()
    reasoning: str = ""
    cited: tuple[str, ...] = ()
    retrieved: tuple[str, ...] | None = None
    exchanges: tuple[Exchange, ...] = ()
    tokens_in: int | None = None
    tokens_out: int | None = None
    time_ms: float | None = None
    lost: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    unread: str = ""
    machines: Machines = field(default=UNKNOWN, compare=False)


class Answerer(Component, ABC):
    """Base of what answers multiple-choice questions. To add an answerer, inherit it and write `answer`.

    It is asked once for each kind of evidence: what was retrieved, and the controls. Each time, a fresh copy is asked,
    in another order and with other ids, and it is not told which evidence it gets. An answerer must not keep answers by
    the text of a question alone: the controls would then measure nothing.

    Attributes:
        recorded: Whether the answers exist already, so that the evidence of the questions is ignored.
    """

    recorded: ClassVar[bool] = False

    @property
    def system(self) -> str:
        """Name of the system that gave the answers, where they exist already; empty for one that is asked."""
        return ""

    @property
    def has_confidence(self) -> bool:
        """Whether it states confidences or probabilities."""
        return True

    @abstractmethod
    def answer(self, questions: Sequence[Question]) -> Sequence[Answer]:
        """An answer for each question, in the same order."""

    def answer_some(self, questions: Sequence[Question], left_out: Sequence[str | None]) -> Sequence[Answer]:
        """As `answer`, of a dataset that has left out questions with these ids; None is an id that cannot be read."""
        return self.answer(questions)


class Reasoning(Component, ABC):
    """Base of the ways to come to an answer with a language model. To add one, inherit it and write `answer`."""

    @abstractmethod
    def answer(self, question: Question, model: Conversation) -> Answer:
        """The answer to one question, with every prompt and response in its `exchanges`."""
