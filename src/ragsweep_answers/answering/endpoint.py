"""Answers from any OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from ragsweep.models.language.cost import Cost
from ragsweep.models.language.endpoint_client import EndpointClient
from ragsweep.models.language.endpoint_model import EndpointModel
from ragsweep.retrieval.checks import expect_method
from ragsweep_answers.answering.question import Answer, Question, Reasoning

if TYPE_CHECKING:
    from pydantic import BaseModel


@dataclass(frozen=True)
class OpenAIAnswerer(EndpointClient):
    """Answers with a language model behind an OpenAI-compatible endpoint.

    If the endpoint is `structured`, a reasoning method gets an answer's fields, and need not find them in a text.

    Attributes:
        reasoning: How the model comes to an answer.
    """

    group: ClassVar[str] = "answerer"
    noun: ClassVar[str] = "question"
    returns: ClassVar[str] = "answer"
    kept_note: ClassVar[str] = "start again with tracking.resume=true to ask for no more than these"

    reasoning: Reasoning

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_method(self.reasoning, "answer", "reasoning")

    @classmethod
    def fields(cls) -> type[BaseModel]:
        """The fields of an answer."""
        from ragsweep_answers.answering.fields import AnswerFields

        return AnswerFields

    def answer(self, questions: Sequence[Question]) -> list[Answer]:
        """An answer for each question, in the same order. `announce` says before what that costs.

        Raises:
            ModelError: The endpoint cannot be used, the limit on tokens is reached, or responses cannot be kept.
        """
        return self.ask_each(questions, self._answer, announce=False)

    def cost_of(self, questions: Sequence[Question]) -> Cost:
        """What answers will cost."""
        return self.estimate(questions, self._answer)

    def _answer(self, question: Question, model: EndpointModel) -> Answer:
        answer = self.reasoning.answer(question, model)
        return replace(answer, exchanges=(*answer.exchanges, *model.asked_again), causes=tuple(model.causes))
