"""Questions by a language model behind any OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from ragsweep.models.language.endpoint_client import EndpointClient
from ragsweep.models.language.endpoint_model import EndpointModel
from ragsweep.models.language.language_model import Message
from ragsweep_generate.drafts import UNANSWERABLE, Draft, Request
from ragsweep_generate.prompts import PROMPTS, TYPES, draft_of_json, draft_of_text, prompt_of

if TYPE_CHECKING:
    from pydantic import BaseModel


@dataclass(frozen=True)
class OpenAIGenerator(EndpointClient):
    """Asks a language model for a question about a passage, and for the sentences that answer it, copied.

    If the endpoint is `structured` and returns something else than the JSON that was asked for, it is told once what is
    wrong with it.
    """

    group: ClassVar[str] = "generator"
    noun: ClassVar[str] = "question"
    returns: ClassVar[str] = "question"
    types: ClassVar[tuple[str, ...]] = (*TYPES, UNANSWERABLE)

    @classmethod
    def fields(cls) -> type[BaseModel]:
        """The fields of a question."""
        from ragsweep_generate.fields import QuestionFields

        return QuestionFields

    @property
    def prompts(self) -> Mapping[str, str]:
        """The prompts by their names."""
        form = "json" if self.structured else "text"
        return {name: PROMPTS[name] for name in ("question", *self.types, form)}

    def draft(self, requests: Sequence[Request]) -> list[Draft]:
        """A draft for each request.

        Raises:
            ModelError: The endpoint cannot be used, the limit on tokens is reached, or responses cannot be kept.
        """
        return self.ask_each(requests, self._draft, announce=False)

    def estimate_of(self, requests: Sequence[Request]) -> str:
        """What drafts will cost; empty if all responses are kept."""
        cost = self.estimate(requests, self._draft)
        return cost.line if cost.planned else ""

    def _draft(self, request: Request, model: EndpointModel) -> Draft:
        prompt = prompt_of(request, as_json=self.structured)
        said = model.complete([Message("user", prompt)], as_json=self.structured)
        draft = draft_of_json(said.text) if self.structured else draft_of_text(said.text)
        return replace(draft, tokens_in=said.tokens_in, tokens_out=said.tokens_out)
