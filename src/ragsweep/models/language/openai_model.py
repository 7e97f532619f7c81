"""Models behind OpenAI-compatible endpoints for rewriters and rerankers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from ragsweep.core.limits import Between
from ragsweep.models.language.endpoint_client import EndpointClient


@dataclass(frozen=True, kw_only=True)
class OpenAIModel(EndpointClient):
    """A language model behind an OpenAI-compatible endpoint, which returns texts.

    Endpoints do not tell how likely a given text is.
    """

    group: ClassVar[str] = "language_model"
    noun: ClassVar[str] = "question"
    returns: ClassVar[str] = "text"
    has_likelihoods: ClassVar[bool] = False
    start_will_do: ClassVar[bool] = True  # what is searched for may lack its end

    structured: bool = field(default=False, init=False)
    max_tokens: Annotated[int, Between(1, 1_000_000)] = 256
