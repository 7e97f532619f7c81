"""Questions by a language model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from ragsweep.config.run_settings import Seed
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
from ragsweep_generate.draft_prompts import (
    PROMPTS,
    REFUSED,
    TYPES,
    chat_about,
    draft_of_json,
    draft_of_text,
    prompt_of,
    question_in,
)
from ragsweep_generate.drafts import UNANSWERABLE, Draft, Request
from ragsweep_generate.extractive import NO_SENTENCE
from ragsweep_generate.telling_sentences import chosen_sentence

if TYPE_CHECKING:
    from pydantic import BaseModel

DRAFT_TOKENS = {"passage": 1024, "sentence": 48}  # of a response


@dataclass(frozen=True)
class LanguageModelGenerator:
    """Asks a language model for questions.

    About a passage, it asks for a question of a type and for the sentences that answer it, copied. A `structured` model
    that returns something else than the JSON that was asked for is told once what is wrong with it. A small model
    cannot copy. It is asked about one sentence instead, which is chosen at random and is the reference. Many of these
    questions are poor, and some are not answered by their sentence, which no check finds.

    Attributes:
        language_model: The model.
        about: What it is asked about; None takes a sentence for a model on this machine, and else a passage.
        max_tokens: The most tokens of one response; None takes 1024 about a passage, 48 about a sentence.
        seed: Of the choice of sentences.
    """

    language_model: LanguageModel
    about: Literal["passage", "sentence"] | None = None
    max_tokens: MaxTokens | None = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        expect_method(self.language_model, "ask_each", "generator.language_model")
        about = self.about or ("passage" if self.language_model.context is None else "sentence")
        object.__setattr__(self, "about", about)
        most = most_tokens(self.language_model, self.max_tokens, DRAFT_TOKENS[about], "generator")
        object.__setattr__(self, "max_tokens", most)

    @property
    def types(self) -> tuple[str, ...]:
        """The types of questions that it makes."""
        return (*TYPES, UNANSWERABLE) if self.about == "passage" else ("sentence",)

    @property
    def repeats(self) -> int:
        """How many drafts it makes of one passage and type."""
        return 1 if self.about == "passage" else 5

    @property
    def prompts(self) -> Mapping[str, str]:
        """The prompts by their names."""
        form = "json" if self.language_model.structured else "text"
        names = ("question", *self.types, form) if self.about == "passage" else self.types
        return {name: PROMPTS[name] for name in names}

    def draft(self, requests: Sequence[Request]) -> list[Draft]:
        """A draft for each request.

        Raises:
            ModelError: The model cannot be loaded or asked, or the limit on tokens is reached.
        """
        return self.language_model.ask_each(requests, self._draft, self._asking)

    @cached_property
    def _asking(self) -> Asking:
        assert self.max_tokens is not None  # since __post_init__
        return Asking("generator", self.max_tokens, _fields)  # of all batches, which may be small

    def _draft(self, request: Request, model: Conversation) -> Draft:
        if self.about == "sentence":
            return self._about_sentence(request, model)
        prompt = prompt_of(request, as_json=model.structured)
        said = model.complete([Message("user", prompt)], as_json=model.structured)
        draft = draft_of_json(said.text) if model.structured else draft_of_text(said.text)
        if draft.flaw and said.cause:
            draft = replace(draft, flaw=f"the response has no usable text ({CAUSE_NAMES[said.cause]})")
        elif draft.flaw and model.asked_again:
            draft = replace(draft, flaw=f"{draft.flaw} (asked twice)")
        return replace(draft, tokens_in=said.tokens_in, tokens_out=said.tokens_out)

    def _about_sentence(self, request: Request, model: Conversation) -> Draft:
        sentence = chosen_sentence(request, self.seed)
        if sentence is None:
            return Draft("", flaw=NO_SENTENCE)
        said = model.complete(chat_about(sentence))
        question = question_in(said.text)
        flaw = "" if question.endswith("?") else "it is no question" if question else REFUSED
        return Draft(question, (sentence,), flaw, said.tokens_in, said.tokens_out)


def _fields(request: Request) -> type[BaseModel]:
    from ragsweep_generate.draft_fields import QuestionFields

    return QuestionFields
