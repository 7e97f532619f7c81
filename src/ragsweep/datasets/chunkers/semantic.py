"""Passages that end where the topic changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt

from ragsweep.core.digest import digest_texts, version
from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Between
from ragsweep.datasets.chunkers.pieces import joined, pieces
from ragsweep.datasets.chunkers.rulers import Ruler
from ragsweep.datasets.chunkers.simple import WITHIN
from ragsweep.datasets.chunkers.sized import SizedChunker
from ragsweep.store.identity import identity
from ragsweep.store.stage_store import NO_STORE, Arrays, Store
from ragsweep.text.sentences import LIBRARIES, sentences_of
from ragsweep.text.tokens import Span

Distances = npt.NDArray[np.float64]

SENTENCES_AT_ONCE = 20_000  # sentences whose embeddings are in memory at once


class SentenceEncoder(Protocol):
    """Embeds texts; every encoder of ragsweep can."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the embeddings would."""

    def encode(self, texts: Sequence[str], role: Literal["query", "passage"]) -> npt.NDArray[np.float32]:
        """Embeddings, shape [texts, dimensions]."""


@dataclass(frozen=True)
class SemanticChunker(SizedChunker):
    """Cuts a text between the sentences that differ most.

    Each sentence is embedded together with its neighbours. A passage ends where the cosine distance to the next
    sentence is above a threshold, or where it would be longer than `size`. The method is Greg Kamradt's ("5 Levels of
    Text Splitting", 2024), which LangChain's `SemanticChunker` and Chroma's evaluation of chunkers took up
    (https://research.trychroma.com/evaluating-chunking). As in the latter, passages have a maximum size.

    Attributes:
        encoder: Embeds the sentences.
        threshold: `percentile` of the distances of the text (a page, or a document if `across_pages`), or their mean
            plus so many times their `standard_deviation`.
        amount: The percentile, from 0 to 100, or the number of standard deviations.
        neighbours: Sentences before and after a sentence that are embedded together with it.
        store: Keeps the distances.
    """

    libraries: ClassVar[Sequence[str]] = LIBRARIES

    size: Annotated[int, Between(1)] = 1000
    encoder: SentenceEncoder = field(kw_only=True)
    threshold: Literal["percentile", "standard_deviation"] = "percentile"
    amount: Annotated[float, Between(0)] = 90
    neighbours: Annotated[int, Between(0)] = 1
    store: Store = NO_STORE

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.threshold == "percentile" and self.amount > 100:
            raise ConfigError(f"chunker.amount: found {self.amount:g}, expected a percentile from 0 to 100")

    def split_all(self, texts: Sequence[str]) -> Iterator[Sequence[Span]]:
        """Spans of the passages of each text."""
        distances = self._distances(texts)
        for text, ruler in self._measured(texts):
            sentences = sentences_of(text)
            of_text, distances = distances[: max(len(sentences) - 1, 0)], distances[max(len(sentences) - 1, 0) :]
            yield self._cut_at(text, sentences, of_text, ruler)

    def _cut_at(self, text: str, sentences: Sequence[Span], distances: Distances, ruler: Ruler) -> list[Span]:
        cuts = (np.flatnonzero(distances > self._limit(distances)) + 1).tolist() if len(distances) else []
        spans: list[Span] = []
        for first, last in zip([0, *cuts], [*cuts, len(sentences)], strict=True):
            parts = [
                part for sentence in sentences[first:last] for part in pieces(text, sentence, ruler, self.size, WITHIN)
            ]
            spans += joined(text, parts, ruler, self.size, self.overlap)
        return spans

    def _limit(self, distances: Distances) -> float:
        if self.threshold == "percentile":
            return float(np.percentile(distances, self.amount))
        return float(distances.mean() + self.amount * distances.std())

    def _distances(self, texts: Sequence[str]) -> Distances:
        """Cosine distance of each sentence to the next one of its text, for all texts one after another."""
        libraries = [version(name) for name in LIBRARIES]
        inputs = [identity(self.encoder), self.neighbours, self.across_pages, libraries, digest_texts(texts)]
        return self.store.get("distances", inputs, lambda: self._computed(texts))["distances"]

    def _computed(self, texts: Sequence[str]) -> Arrays:
        windows: list[str] = []
        lengths: list[int] = []
        distances: list[Distances] = [np.empty(0)]
        for text in map(self._in_lines, texts):
            sentences = sentences_of(text)
            lengths.append(len(sentences))
            windows += self._windows(text, sentences)
            if len(windows) >= SENTENCES_AT_ONCE:
                distances.append(self._between(windows, lengths))
                windows, lengths = [], []
        if windows:
            distances.append(self._between(windows, lengths))
        return {"distances": np.concatenate(distances)}

    def _windows(self, text: str, sentences: Sequence[Span]) -> Iterator[str]:
        """Each sentence with its neighbours."""
        for place in range(len(sentences)):
            first = max(place - self.neighbours, 0)
            last = min(place + self.neighbours, len(sentences) - 1)
            yield text[sentences[first][0] : sentences[last][1]].strip()

    def _between(self, windows: Sequence[str], lengths: Sequence[int]) -> Distances:
        """Distances between neighbouring windows of the same text.

        Args:
            windows: The windows of several texts.
            lengths: Windows of each text.
        """
        embeddings = np.asarray(self.encoder.encode(windows, "passage"), dtype=np.float64)
        embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True).clip(min=1e-12)
        distances: Distances = 1 - np.einsum("wd,wd->w", embeddings[:-1], embeddings[1:])
        between_texts = np.cumsum(lengths)[:-1] - 1
        within = np.ones(len(distances), dtype=bool)
        within[between_texts[(between_texts >= 0) & (between_texts < len(distances))]] = False
        return distances[within]
