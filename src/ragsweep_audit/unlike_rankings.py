"""Rankings by three methods that have little in common: words, embeddings, and sequences of letters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.datasets import Dataset
from ragsweep.retrieval import DenseRetriever, Encoder, Ranker, Ranking, Search, SparseRetriever, rank, ranked
from ragsweep.store.stage_store import Store

LETTERS = (3, 5)  # letters of a sequence: fewer are in every passage, more are whole words
SEARCHED_AT_ONCE = 64  # that are searched for at once
COMPARED_DEPTH = 100
MOST_PASSAGES = 100_000  # of a corpus that is ranked by sequences of letters, which takes a second for 1,000


@dataclass(frozen=True)
class LetterRetriever(Ranker):
    """Ranks passages by the cosine of TF-IDF vectors of sequences of letters within words.

    It finds other forms of a word, and misspelled ones, which BM25 misses; and rare names, which embeddings miss.

    Attributes:
        store: Keeps rankings.
    """

    libraries: ClassVar[tuple[str, ...]] = ("scikit-learn",)

    store: Store

    def rank(self, search: Search, depth: int) -> Ranking:
        """Rank the passages for every query, at most `depth` of them."""
        from sklearn.feature_extraction.text import TfidfVectorizer  # type: ignore[import-untyped]

        vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=LETTERS, sublinear_tf=True, dtype=np.float32)
        passages = vectorizer.fit_transform(search.passages)
        queries = vectorizer.transform(search.queries)
        found: list[Ranking] = []
        for start in range(0, len(search.queries), SEARCHED_AT_ONCE):
            scores = (queries[start : start + SEARCHED_AT_ONCE] @ passages.T).toarray()
            places = np.where(scores > 0, np.arange(len(search.passages)), NOTHING)
            found.append(ranked(places, scores, depth))
        return Ranking(
            np.concatenate([part.passages for part in found]), np.concatenate([part.scores for part in found])
        )


def unlike_rankings(
    items: Dataset, encoder: Encoder, store: Store, depth: int = COMPARED_DEPTH
) -> Mapping[str, Indices]:
    """Rank the passages for every query by BM25, by embeddings, and by sequences of letters.

    Args:
        items: What is searched.
        encoder: Gives the embeddings.
        store: Keeps the rankings.
        depth: Ranks of each ranking.

    Returns:
        Position of the passage at each rank by the name of the method, each of shape [queries, depth]; -1 after the
        last passage that was found.
    """
    queries = tuple(query.text for query in items.queries)
    search = Search(items.texts, queries, unranked=items.unranked_passages)
    rankers: dict[str, Ranker] = {
        "words": SparseRetriever(store),
        "letters": LetterRetriever(store),
        "meaning": DenseRetriever(encoder, store),
    }
    return {name: rank(ranker, search, depth).passages for name, ranker in rankers.items()}
