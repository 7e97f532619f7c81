"""What a generator is asked for, and what it returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ragsweep.core.errors import RagsweepError
from ragsweep.store.component import Component

UNANSWERABLE = "unanswerable"  # the type of questions that the documents do not answer


class GeneratorError(RagsweepError):
    """A generator of questions whose drafts cannot be used, or a test set that cannot be written."""


class Source(NamedTuple):
    """A passage that a question is made from: characters `start` to `end` of a document, within one page."""

    document: str
    page_number: str
    start: int
    end: int
    text: str


class Request(NamedTuple):
    """The wish for one question.

    Attributes:
        source: The passage that it is made from.
        query_type: One of the generator's types, or `UNANSWERABLE`.
        attempt: How many questions were asked for from this passage before.
    """

    source: Source
    query_type: str
    attempt: int = 0


@dataclass(frozen=True)
class Draft:
    """A question that a generator proposes. It is not checked yet.

    Attributes:
        question: The question.
        references: Texts that answer it, which the generator claims to have copied from the passage.
        flaw: Why there is no question; empty if there is one.
        tokens_in: Tokens of the prompts; None if not known.
        tokens_out: Tokens of the responses; None if not known.
    """

    question: str
    references: tuple[str, ...] = ()
    flaw: str = ""
    tokens_in: int | None = 0
    tokens_out: int | None = 0


class Generator(Component, ABC):
    """Makes questions from passages. To add one, write a subclass with `types` and `draft`.

    Attributes:
        types: The types of questions that it makes, such as `factual`. A generator that also makes questions that the
            documents do not answer has `UNANSWERABLE` among them.
        repeats: How many drafts it makes of one passage and type.
    """

    types: ClassVar[tuple[str, ...]]
    repeats: ClassVar[int] = 1

    @property
    def prompts(self) -> Mapping[str, str]:
        """The prompts of its model by their names; none for a generator without a model."""
        return {}

    @abstractmethod
    def draft(self, requests: Sequence[Request]) -> Sequence[Draft]:
        """A draft for each request, in the same order, and the same one for the same request."""
