"""Questions by a language model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from ragsweep.models.language.language_model import (
    Asking,
    Conversation,
    LanguageModel,
    MaxTokens,
    Message,
    most_tokens,
)
from ragsweep.models.language.response import CAUSE_NAMES
from ragsweep.retrieval.ranking_checks import expect_method
from ragsweep_generate.draft_prompts import PROMPTS, TYPES, QuestionFields, draft_of, prompt_of
from ragsweep_generate.drafts import UNANSWERABLE, Draft, Generator, Request


@dataclass(frozen=True)
class LanguageModelGenerator(Generator):
    """Asks a language model for a question of a type about a passage, and for the sentences that answer it, copied.

    A `structured` model that returns something else than the JSON that was asked for is told once what is wrong with
    it.

    Attributes:
        language_model: The model.
        max_tokens: The most tokens of one response.
    """

    types: ClassVar[tuple[str, ...]] = (*TYPES, UNANSWERABLE)

    language_model: LanguageModel
    max_tokens: MaxTokens = 1024

    def __post_init__(self) -> None:
        expect_method(self.language_model, "ask_each", "generator.language_model")
        most_tokens(self.language_model, self.max_tokens, self.max_tokens, "generator")

    @property
    def prompts(self) -> Mapping[str, str]:
        """The prompts by their names."""
        return PROMPTS

    def draft(self, requests: Sequence[Request]) -> list[Draft]:
        """A draft for each request.

        Raises:
            ModelError: The model cannot be loaded or asked, or the limit on tokens is reached.
        """
        return self.language_model.ask_each(requests, self._draft, self._asking)

    @cached_property
    def _asking(self) -> Asking:
        return Asking(
            "generator", self.max_tokens, lambda request: QuestionFields
        )  # of all batches, which may be small

    def _draft(self, request: Request, model: Conversation) -> Draft:
        said = model.complete([Message("user", prompt_of(request))], as_json=model.structured)
        draft = draft_of(said.text)
        if draft.flaw and said.cause:
            draft = replace(draft, flaw=f"the response has no usable text ({CAUSE_NAMES[said.cause]})")
        elif draft.flaw and model.asked_again:
            draft = replace(draft, flaw=f"{draft.flaw} (asked twice)")
        return replace(draft, tokens_in=said.tokens_in, tokens_out=said.tokens_out)
