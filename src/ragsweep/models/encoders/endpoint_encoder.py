"""Embeddings from any OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from ragsweep.core.digest import digest
from ragsweep.core.errors import ConfigError, EncoderError, ModelError
from ragsweep.core.limits import Between
from ragsweep.core.progress import in_threads, progress
from ragsweep.core.terminal import counted, say_once
from ragsweep.core.timing import TIMED_QUERIES
from ragsweep.models.encoders.embeddings import has_kept
from ragsweep.models.encoders.encoder import Embeddings, Role, Similarity
from ragsweep.models.encoders.prompts import Prompted
from ragsweep.models.language.endpoint import Endpoint
from ragsweep.store.stage_store import Store

AFTER_FAILURE = "what the store has is kept; start again to ask for no more than the rest"
CHARACTERS_PER_TOKEN = 4  # of English text, roughly


@dataclass(frozen=True, kw_only=True)
class OpenAIEncoder(Endpoint, Prompted):
    """Embeddings of a model behind an OpenAI-compatible endpoint, such as OpenAI's own, vLLM or Ollama.

    Endpoints do not know of roles: prompts are put before the texts here. What arrives is normalised, unless
    `similarity` is `dot`. The store keeps embeddings as soon as `concurrency` requests have ended, so that a start
    after a failure asks for no more than the rest. Besides each text once, 16 queries are sent again, one by one, to
    time what encoding a query takes.

    Attributes:
        dimensions: Of the embeddings, where the model can shorten them; None takes the model's own.
        batch_size: Texts of a request.
        truncate: The most characters of a text, with its prompt, that are sent; the rest of it does not enter its
            embedding. None sends all of it, and a server that reads less refuses it or cuts it by itself.
        similarity: By which embeddings are compared. With `dot` they keep the length with which they arrive.
    """

    group: ClassVar[str] = "encoder"
    window_unit = "characters"
    most_timed: ClassVar[int] = TIMED_QUERIES  # each is paid for

    dimensions: Annotated[int, Between(1)] | None = None
    batch_size: Annotated[int, Between(1, 2048)] = 64
    truncate: Annotated[int, Between(1)] | None = None
    similarity: Similarity | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.similarity is None:
            object.__setattr__(self, "similarity", "cosine")
        self._fill_prompts(self.model, own={})
        for role, prompt in self.prompts.items():
            if self.truncate is not None and prompt and self.truncate <= len(prompt):
                raise ConfigError(
                    f"encoder.truncate: found {self.truncate}, expected more than the {len(prompt)} characters of "
                    f"encoder.prompts.{role} ({prompt!r}), which precedes each text and is cut with it"
                )

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Settings that have no effect on the embeddings."""
        return (*super().without_effect, "batch_size")

    @property
    def window(self) -> int | None:
        """How many characters of a text, with its prompt, are sent."""
        return self.truncate

    @property
    def own_fields(self) -> tuple[str, ...]:
        """The fields of a request that `extra_body` cannot set."""
        return ("model", "input", "encoding_format", "dimensions")

    @property
    def fingerprint(self) -> str:
        """Digest of what determines the embeddings, as far as this side knows; never of the key."""
        asked = [self.asked, self.model, self.dimensions, self.truncate, dict(self.extra_body)]
        return digest([*asked, self.similarity, dict(self.prompts)])

    def has_kept(self, store: Store) -> bool:
        """Whether a store has embeddings of it."""
        return has_kept(self, store)

    @property
    def piece(self) -> int:
        """How many texts are encoded before they are kept."""
        return self.batch_size * self.concurrency

    def encode(self, texts: Sequence[str], role: Role) -> Embeddings:
        """Embeddings, shape [texts, dimensions], of the texts with the prompt for the role.

        Raises:
            ModelError: The endpoint cannot be used, or the limit on tokens is reached.
            EncoderError: It returned embeddings of different dimensions.
        """
        texts = [self.prompt(role) + text for text in texts]
        if self.truncate is not None and max(map(len, texts), default=0) > self.truncate:
            say_once(f"encoder.truncate={self.truncate}: only the beginning of longer texts is sent to {self.model}")
            texts = [text[: self.truncate] for text in texts]
        batches = [texts[start : start + self.batch_size] for start in range(0, len(texts), self.batch_size)]
        shown = progress(f"asking {self.model} for {counted(len(texts), 'embedding')}", len(batches))
        with shown if len(texts) > 1 else nullcontext():  # a single query is timed
            embeddings = in_threads(
                lambda batch, _: self._batch(batch), batches, self.concurrency, noun="request", go_on=AFTER_FAILURE
            )
        dimensions = sorted({rows.shape[1] for rows in embeddings})
        if len(dimensions) > 1:
            raise EncoderError(f"{self.url}: embeds texts in {dimensions} dimensions, expected the same")
        return np.vstack(embeddings)

    def _batch(self, texts: list[str]) -> Embeddings:
        shorter: Any = {} if self.dimensions is None else {"dimensions": self.dimensions}
        request: Any = {"model": self.model, "input": texts, "encoding_format": "float", **shorter}
        response = self.call(
            lambda client: client.embeddings.create(**request, extra_body=dict(self.extra_body)),
            sum(map(len, texts)) // CHARACTERS_PER_TOKEN,
        )
        try:
            embeddings = _rows_of(response.data, len(texts))
            if self.dimensions not in (None, embeddings.shape[1]):
                flaw = f"embeddings of {embeddings.shape[1]} dimensions, expected {self.dimensions}"
                raise ValueError(f"{flaw} (encoder.dimensions)")
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                if self.similarity != "dot":
                    embeddings = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
                embeddings = embeddings.astype(np.float32)
                lengths = np.linalg.norm(embeddings, axis=1)
            if not (np.isfinite(lengths) & (lengths > 0)).all():
                raise ValueError("an embedding with a number that is not finite in 32 bits, or of zeros only")
        except ValueError as error:
            raise ModelError(f"{self.url}: the response has {error}") from None
        return np.asarray(embeddings)


def _rows_of(data: Any, texts: int) -> npt.NDArray[np.float64]:
    """The embeddings of a response in the order of the texts, also where it leaves out indices, or the index 0.

    Raises:
        ValueError: They are not as many lists of as many numbers as there are texts.
    """
    try:
        places = [int(getattr(row, "index", None) or 0) for row in data]
        embeddings = np.array([data[row].embedding for row in np.argsort(places, kind="stable")], dtype=np.float64)
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError("no list of embeddings of the same dimensions") from error
    if embeddings.ndim != 2 or len(embeddings) != texts or not embeddings.shape[1]:
        raise ValueError(f"embeddings of shape {[*embeddings.shape]}, expected [{texts} texts, dimensions]")
    if any(places) and sorted(places) != [*range(texts)]:
        raise ValueError(f"embeddings with other indices than 0 to {texts - 1}, each once")
    return embeddings
