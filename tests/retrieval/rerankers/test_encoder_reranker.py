"""Reranking by another encoder, held against dense retrieval."""

import numpy as np
import pytest

from ragsweep.core.errors import EncoderError
from ragsweep.retrieval import (
    NOTHING,
    DenseRetriever,
    Encoder,
    EncoderReranker,
    SparseRetriever,
)


@pytest.mark.usefixtures("long_work")
def test_the_order_is_that_of_dense_retrieval_among_the_candidates(letters, store, manual_search):
    first = SparseRetriever(store).rank(manual_search, 20)
    reranked = EncoderReranker(letters, store).rerank(manual_search, first, 20)
    dense = DenseRetriever(letters, store).rank(manual_search, len(manual_search.passages))
    for query, candidates in enumerate(first.passages):
        among = np.isin(dense.passages[query], candidates)
        is_passage = reranked.passages[query] != NOTHING
        assert reranked.passages[query, is_passage].tolist() == dense.passages[query, among].tolist()
        assert reranked.scores[query, is_passage].tolist() == dense.scores[query, among].tolist()


def test_only_candidates_are_embedded_and_none_twice(letters, store, manual_search):
    first = SparseRetriever(store).rank(manual_search, 2)
    EncoderReranker(letters, store).rerank(manual_search, first, 2)
    EncoderReranker(letters, store).rerank(manual_search, SparseRetriever(store).rank(manual_search, 1), 1)
    asked = [text for text in letters.asked if text in set(manual_search.passages)]
    expected = {manual_search.passages[passage] for passage in np.unique(first.passages[first.passages >= 0])}
    assert sorted(asked) == sorted(expected)


def test_passages_that_dense_retrieval_has_embedded_are_not_embedded_again(letters, store, manual_search):
    DenseRetriever(letters, store).rank(manual_search, 2)
    letters.asked.clear()
    EncoderReranker(letters, store).rerank(manual_search, SparseRetriever(store).rank(manual_search, 20), 5)
    assert not set(letters.asked) & set(manual_search.passages)


class Shapeless(Encoder):
    fingerprint = "shapeless"

    def encode(self, texts, role):
        return np.eye(3 if role == "query" else 4, dtype=np.float32)[[len(text) % 3 for text in texts]]


@pytest.mark.usefixtures("long_work")
def test_an_encoder_whose_queries_and_passages_cannot_be_compared_is_refused(store, manual_search):
    first = SparseRetriever(store).rank(manual_search, 20)
    with pytest.raises(EncoderError, match=r"Shapeless: embeds queries in 3 dimensions and passages in 4"):
        EncoderReranker(Shapeless(), store).rerank(manual_search, first, 5)
