"""Answers by a language model, which a reasoning method asks."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ragsweep.core.terminal import counted, one_line, shortened
from ragsweep.models.language.language_model import (
    Asking,
    Conversation,
    LanguageModel,
    MaxTokens,
    TooLongError,
    most_tokens,
)
from ragsweep.store.component import expect_kind
from ragsweep_answers.answering.question import Answer, Answerer, AnswererError, Question, Reasoning

if TYPE_CHECKING:
    from pydantic import BaseModel

ANSWER_TOKENS = 1024  # of a response


@dataclass(frozen=True)
class LanguageModelAnswerer(Answerer):
    """Answers with a language model.

    Attributes:
        language_model: The model. If it is `structured`, a reasoning method gets an answer's fields instead of a text
            in which it has to find them.
        reasoning: How the model comes to an answer.
        max_tokens: The most tokens of one response; None takes 1024, or what a smaller model usually writes. A response
            that is cut off often has no answer.
    """

    language_model: LanguageModel
    reasoning: Reasoning
    max_tokens: MaxTokens | None = None

    def __post_init__(self) -> None:
        expect_kind(self.language_model, LanguageModel, "answerer.language_model")
        expect_kind(self.reasoning, Reasoning, "reasoning")
        most = most_tokens(self.language_model, self.max_tokens, ANSWER_TOKENS, "answerer")
        object.__setattr__(self, "max_tokens", most)

    def answer(self, questions: Sequence[Question]) -> list[Answer]:
        """An answer for each question, in the same order.

        If a prompt is longer than the model's context, the last passages of the question are left out, with a warning.

        Raises:
            AnswererError: A question is too long even without its passages.
            ModelError: The model cannot be loaded or asked, or the limit on tokens is reached.
        """
        answered = self.language_model.ask_each(questions, self._answer, self._asking)
        cut = [(question, why) for question, (_, why) in zip(questions, answered, strict=True) if why]
        if cut:
            first, why = cut[0]
            example = shortened(one_line(first.question))
            warnings.warn(
                f"answerer: {counted(len(cut), 'question')} (such as {example!r}) and their passages are {why}; "
                "their last passages were left out",
                stacklevel=2,
            )
        return [answer for answer, _ in answered]

    @property
    def _asking(self) -> Asking:
        assert self.max_tokens is not None  # since __post_init__
        go_on = "start again with tracking.resume=true"
        return Asking("answerer", self.max_tokens, _fields, go_on=go_on)

    def _answer(self, question: Question, model: Conversation) -> tuple[Answer, str]:
        """The answer, and why passages were left out; empty if none were."""
        why = ""
        for kept in range(len(question.evidence), -1, -1):
            try:
                answer = self.reasoning.answer(replace(question, evidence=question.evidence[:kept]), model)
            except TooLongError as error:
                why = str(error)
                continue
            exchanges = (*answer.exchanges, *model.asked_again)
            return replace(answer, exchanges=exchanges, causes=tuple(model.causes)), why
        raise AnswererError(f"answerer: question {question.question_id!r} is {why}")


def _fields(question: Question) -> type[BaseModel]:
    from ragsweep_answers.answering.json_answer import fields_of

    return fields_of(question.letters)
