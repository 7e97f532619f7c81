"""Searches the corpus for the questions: where else are they answered, and are they too easy to find?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ragsweep.core.arrays import Indices
from ragsweep.models.encoders.embeddings import embed
from ragsweep.models.encoders.encoder import Embeddings, Encoder
from ragsweep.retrieval import NOTHING, SparseRetriever
from ragsweep.retrieval.bm25 import Bm25Index
from ragsweep.retrieval.indexes.exact import ExactSearch
from ragsweep.store.stage_store import Store
from ragsweep.text.content_words import content_stems
from ragsweep_generate.drafts import Source

BM25_DEPTH = 100  # ranks in which BM25 may find a passage
NEAREST = 5  # passages, of BM25 and of the encoder, that may answer a question as well
ANSWERED = 0.8  # share of the words of an answer that a passage has if it answers the question
ASKED = 0.5  # share of the words of a question that it then has, too
LEAST_TERMS = 3  # words of an answer that the question does not have; of fewer, all words of the answer count
COVERED = 0.9  # share of the words of an out-of-scope question that a passage has if it may answer it


@dataclass(frozen=True)
class Hits:
    """What a search for one question found.

    Attributes:
        rank: The rank, from 1, at which BM25 finds the passage that the question is made from; None if it is not among
            the first 100 passages.
        nearest: Positions of the best passages of BM25 and of the encoder, without that passage.
    """

    rank: int | None
    nearest: tuple[int, ...]


@dataclass(frozen=True)
class CorpusSearch:
    """BM25 and, with an encoder, dense search over the passages of the corpus.

    Attributes:
        sources: All passages.
        encoder: Embeds passages and questions; None searches by BM25 alone.
        store: Keeps embeddings and the counts of words.
    """

    sources: Sequence[Source]
    encoder: Encoder | None
    store: Store

    def find(self, questions: Sequence[str], origins: Sequence[Source]) -> list[Hits]:
        """Search for each question.

        Args:
            questions: Texts.
            origins: The passage that each question is made from.
        """
        if not questions:
            return []
        sparse = self._sparse.search(questions, BM25_DEPTH).passages
        dense = self._dense(questions)
        hits = []
        for row, origin in enumerate(origins):
            own = self._position[origin]
            ranks = np.flatnonzero(sparse[row] == own)
            nearest = dict.fromkeys([*sparse[row][: NEAREST + 1].tolist(), *dense[row].tolist()])
            near = tuple(at for at in nearest if at not in (own, NOTHING))
            hits.append(Hits(int(ranks[0]) + 1 if len(ranks) else None, near))
        return hits

    def embeddings_of(self, questions: Sequence[str]) -> Embeddings | None:
        """The embeddings of questions, of length 1, shape [questions, dimensions]; None without an encoder."""
        if self.encoder is None or not questions:
            return None
        return self.encoder.of_length_1(embed(self.encoder, self.store, questions, "query"))

    def answered_elsewhere(self, question: str, answer: str, hits: Hits) -> Source | None:
        """A passage that seems to answer the question as well; None if there is none.

        It has most words of the answer that are not in the question, and half of the words of the question.
        """
        asked, answering = {*content_stems(question)}, {*content_stems(answer)}
        new = answering - asked
        wanted = new if len(new) >= LEAST_TERMS else answering
        for at in hits.nearest:
            terms = self._terms(at)
            if share_within(wanted, terms) >= ANSWERED and share_within(asked, terms) >= ASKED:
                return self.sources[at]
        return None

    def maybe_answered(self, question: str, origin: Source, hits: Hits) -> Source | None:
        """A passage that may answer a question that is meant to be out of scope: it has nearly all of its words."""
        asked = {*content_stems(question)}
        for at in (self._position[origin], *hits.nearest):
            if share_within(asked, self._terms(at)) >= COVERED:
                return self.sources[at]
        return None

    def _terms(self, at: int) -> set[str]:
        return {*content_stems(self.sources[at].text)}

    def _dense(self, questions: Sequence[str]) -> Indices:
        """The nearest passages, shape [questions, ranks]; no ranks without an encoder."""
        embeddings = self.embeddings_of(questions)
        if embeddings is None or self.encoder is None:
            return np.empty((len(questions), 0), dtype=np.int64)
        passages = embed(self.encoder, self.store, self._texts, "passage")
        return ExactSearch(passages)(embeddings, NEAREST + 1).passages

    @cached_property
    def _sparse(self) -> Bm25Index:
        return SparseRetriever(self.store, stop_words="english", stemmer="english").index(self._texts)

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        return tuple(source.text for source in self.sources)

    @cached_property
    def _position(self) -> dict[Source, int]:
        return {source: at for at, source in enumerate(self.sources)}


def share_within(terms: set[str], of: set[str]) -> float:
    """The share of `terms` that are in `of`; 0 if there are no terms."""
    return len(terms & of) / len(terms) if terms else 0.0
