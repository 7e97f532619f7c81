"""Late interaction: every token of a query looks for its best match among the tokens of a passage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Annotated, ClassVar

import numpy as np

from ragsweep.core.arrays import Scores
from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Between
from ragsweep.core.timing import timed
from ragsweep.models.encoders.encoder import Embeddings, Encoder
from ragsweep.models.encoders.encoder_capabilities import EmbedsTokens
from ragsweep.models.encoders.similarity import name_of_similarity
from ragsweep.retrieval.ranking import Ranking, Search, ranked
from ragsweep.retrieval.ranking_checks import expect_encoder
from ragsweep.retrieval.rerankers.pair_scores import Pair, pair_scores, pairs_of
from ragsweep.store.code import code_of, kind_of
from ragsweep.store.identity import identity, own_settings
from ragsweep.store.stage_store import Store

PASSAGES_AT_ONCE = 64  # whose tokens are embedded and kept in memory at once


@dataclass(frozen=True)
class LateInteractionReranker:
    """Orders passages by MaxSim over embeddings of tokens (Khattab and Zaharia 2020, arXiv:2004.12832).

    The score is the sum over the query's tokens of the largest cosine to a token of the passage, or of the largest
    inner product if the encoder's similarity is that. Any encoder can do this that has a method
    `token_embeddings(texts, role)`, which returns an array [tokens, dimensions] for every text, of length 1 each for
    cosines. ColBERT was trained for it; a model for whole sentences was not.

    Embeddings of tokens take a hundred times the space of embeddings of passages. So scores are kept and not
    embeddings, and a query costs embedding its candidates.

    Attributes:
        encoder: Gives the embeddings of tokens.
        store: Keeps the scores of pairs and the rankings.
        candidates: How many passages of the first ranking are reranked; None reranks all.
    """

    at_least: ClassVar[Mapping[str, str]] = {"candidates": "k"}

    encoder: Encoder
    store: Store
    candidates: Annotated[int, Between(1)] | None = 100

    def __post_init__(self) -> None:
        expect_encoder(self.encoder)
        if not isinstance(self.encoder, EmbedsTokens):
            raise ConfigError(
                f"encoder: {kind_of(self.encoder)} has no method 'token_embeddings', which late interaction needs; "
                "encoder=minilm has it"
            )

    @property
    def formula(self) -> str:
        """How the score is made."""
        similarity = name_of_similarity(self.encoder)
        return f"sum over the query's tokens of the largest {similarity} to a token of the passage (MaxSim)"

    def rerank(self, search: Search, ranking: Ranking, depth: int) -> Ranking:
        """The passages of a ranking by MaxSim, at most `depth` of them."""
        key = [code_of(self), own_settings(self, LateInteractionReranker), identity(self.encoder)]
        scores = pair_scores(search, ranking, MaxSim(self.encoder), self.store, key)
        latency_ms = timed(lambda row: MaxSim(self.encoder)(pairs_of(search, ranking, row)), len(search.queries))
        return ranked(ranking.passages, scores, depth, latency_ms)


class MaxSim:
    """Scores pairs. The tokens of queries stay in memory, and those of passages for as long as they are needed."""

    def __init__(self, encoder: Encoder) -> None:
        self._embed = encoder.token_embeddings  # type: ignore[attr-defined]
        self._queries: dict[str, Embeddings] = {}

    def __call__(self, pairs: Sequence[Pair]) -> Scores:
        """The scores of pairs, which have those of one passage together, shape [pairs]."""
        new = sorted({query for query, _ in pairs} - self._queries.keys())
        if new:
            self._queries |= dict(zip(new, self._embed(new, "query"), strict=True))
        by_passage = [(passage, [query for query, _ in group]) for passage, group in groupby(pairs, itemgetter(1))]
        scores: list[float] = []
        for start in range(0, len(by_passage), PASSAGES_AT_ONCE):
            some = by_passage[start : start + PASSAGES_AT_ONCE]
            tokens = self._embed([passage for passage, _ in some], "passage")
            for (_, queries), passage in zip(some, tokens, strict=True):
                scores += [maxsim(self._queries[query], passage) for query in queries]
        return np.array(scores)


def maxsim(query: Embeddings, passage: Embeddings) -> float:
    """The sum over the query's tokens of the largest inner product with a token of the passage; 0 without tokens.

    Args:
        query: Shape [tokens, dimensions].
        passage: The same.
    """
    if not len(query) or not len(passage):
        return 0.0
    return float((query @ passage.T).max(axis=1).sum(dtype=np.float64))
