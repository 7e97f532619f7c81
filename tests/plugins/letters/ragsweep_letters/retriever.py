"""Ranks passages by the letters that they share with the query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ragsweep.retrieval import Ranker, Ranking, Search, ranked
from ragsweep_letters.alphabet import Alphabet


@dataclass(frozen=True)
class LettersRetriever(Ranker):
    """The score is the number of letters that a passage shares with the query, each counted as often as in both."""

    alphabet: Alphabet

    def rank(self, search: Search, depth: int) -> Ranking:
        """Rank the passages for every query, at most `depth` of them."""
        passages, queries = self.alphabet.counts(search.passages), self.alphabet.counts(search.queries)
        scores = np.array([np.minimum(passages, query).sum(axis=1) for query in queries])
        return ranked(np.broadcast_to(np.arange(len(passages)), scores.shape), scores, depth)
