"""Questions by a language model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError

from ragsweep.core.parsing import MalformedError
from ragsweep.core.terminal import one_line, shortened
from ragsweep.models.language.language_model import Asking, Conversation, LanguageModel, MaxTokens, Message, most_tokens
from ragsweep.models.language.response import CAUSE_NAMES, json_in
from ragsweep.models.language.writing import MARK, prompt_beside
from ragsweep.store.component import expect_kind
from ragsweep_generate.drafts import UNANSWERABLE, Draft, Generator, Request

TYPES = ("factual", "procedural", "reason", "comparison")
PARTS = ("question", UNANSWERABLE, "json", *TYPES)
PROMPTS = {part: prompt_beside(__file__, f"_{part}") for part in PARTS}

NOT_AS_ASKED = "it is not in the form that was asked for"
REFUSED = "the model refused, or returned nothing"


class QuestionFields(BaseModel):
    """A question about a passage, as a model returns it. Other fields are ignored.

    Attributes:
        question: The question.
        references: The sentences of the passage that answer it, copied.
    """

    model_config = ConfigDict(extra="ignore", strict=True, json_schema_extra={"additionalProperties": False})

    question: str
    references: list[str]


def prompt_of(request: Request) -> str:
    """What a model is told for a request: the passage, the task and the form of the response.

    The passage is one line, so that no line of it can pass for a part of the prompt, and the marks of chat templates in
    it are broken up.
    """
    passage = MARK.sub("< ", one_line(request.source.text))
    task = PROMPTS[UNANSWERABLE]
    if request.query_type != UNANSWERABLE:
        task = PROMPTS["question"].replace("{type}", PROMPTS[request.query_type])
    return f"Passage: {passage}\n\n{task}\n\n{PROMPTS['json']}"


def draft_of(text: str) -> Draft:
    """The draft in JSON, which may stand among other text, such as a code fence."""
    try:
        fields = QuestionFields.model_validate(json_in(text))
    except (MalformedError, ValidationError):
        return Draft("", flaw=f"{NOT_AS_ASKED}: {shortened(one_line(text))!r}" if text.strip() else REFUSED)
    return Draft(fields.question, tuple(fields.references))


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
        expect_kind(self.language_model, LanguageModel, "generator.language_model")
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
        # Cached for all batches, which may be small.
        return Asking("generator", self.max_tokens, lambda request: QuestionFields)

    def _draft(self, request: Request, model: Conversation) -> Draft:
        completion = model.complete([Message("user", prompt_of(request))], as_json=model.structured)
        draft = draft_of(completion.text)
        if draft.flaw and completion.cause:
            draft = replace(draft, flaw=f"the response has no usable text ({CAUSE_NAMES[completion.cause]})")
        elif draft.flaw and model.asked_again:
            draft = replace(draft, flaw=f"{draft.flaw} (asked twice)")
        return replace(draft, tokens_in=completion.tokens_in, tokens_out=completion.tokens_out)
