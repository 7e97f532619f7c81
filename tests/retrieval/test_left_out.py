"""What is left out for a query takes no part in fusing its rankings: a slow loop leaves it out before it fuses."""

import numpy as np
import pytest
from rank_bm25 import BM25Okapi

from ragsweep.retrieval import (
    NOTHING,
    DenseRetriever,
    Encoder,
    HybridRetriever,
    ReciprocalRankFusion,
    Search,
    SparseRetriever,
    WeightedSum,
    rank,
)
from ragsweep.store.stage_store import NO_STORE

PASSAGES, QUERIES, LEFT_OUT, ALPHA = 150, 24, 3, 0.3
WORDS = "fever malaria iron tablet midwife clinic water salt growth child mother visit record page".split()


class LetterCounts(Encoder):
    """Embeds a text by how often it has each letter: inner products are whole numbers, so that ties are exact."""

    fingerprint, similarity = "counts", "dot"

    def encode(self, texts, role):
        return np.array([[text.count(chr(letter)) for letter in range(97, 123)] for text in texts], np.float32)


def documents(seed):
    generator = np.random.default_rng(seed)
    return [" ".join(["clinic", *generator.choice(WORDS, generator.integers(3, 9))]) for _ in range(PASSAGES)]


def search():
    """As in ArguAna each query is a document, which is left out for it, and two further documents with it.

    All passages share a word, so that none scores 0: what is left out would be the only one that does.
    """
    texts = documents(1)
    unranked = [(query, (query + 7 * other) % PASSAGES) for query in range(QUERIES) for other in range(LEFT_OUT)]
    return Search(tuple(texts), tuple(texts[:QUERIES]), unranked=np.array(unranked))


def minmax(scores):
    low, high = min(scores.values()), max(scores.values())
    return {passage: 1.0 if high == low else (score - low) / (high - low) for passage, score in scores.items()}


def zscore(scores):
    values = [*scores.values()]
    deviation = np.std(values)
    return {passage: (score - np.mean(values)) / deviation if deviation else 0.0 for passage, score in scores.items()}


def reciprocal_rank(scores):
    return {passage: 1 / (60 + rank) for rank, passage in enumerate(scores, start=1)}


def slow(search, query, norm, candidates, *, by_rank):
    """The fused scores of a query by passage; rankings are dictionaries in their order."""
    okapi = BM25Okapi([text.lower().split() for text in search.passages])
    embeddings, [asked] = (LetterCounts().encode(texts, "") for texts in (search.passages, [search.queries[query]]))
    sparse = okapi.get_scores(search.queries[query].lower().split()).tolist()
    left_out = {passage for of, passage in search.unranked.tolist() if of == query}
    fused = {}
    for weight, scores in (ALPHA, (embeddings @ asked).tolist()), (1 - ALPHA, sparse):
        kept = [passage for passage in range(PASSAGES) if passage not in left_out]
        if scores is sparse and (candidates or by_rank):  # else the scores of all passages are fused
            kept = [passage for passage in kept if scores[passage]]
        best = sorted(kept, key=lambda passage: (-scores[passage], passage))[:candidates]
        for candidate, score in norm({passage: scores[passage] for passage in best}).items():
            fused[candidate] = fused.get(candidate, 0.0) + weight * score
    return fused


@pytest.mark.parametrize("candidates", [100, None])
@pytest.mark.parametrize(
    ("fusion", "norm"),
    [
        (WeightedSum(), minmax),
        (WeightedSum(norm="zscore"), zscore),
        (WeightedSum(norm="none"), dict),
        (ReciprocalRankFusion(), reciprocal_rank),
    ],
    ids=["minmax", "zscore", "none", "rrf"],
)
def test_what_is_left_out_takes_no_part_in_a_fusion(fusion, norm, candidates):
    asked = search()
    dense, sparse = DenseRetriever(LetterCounts(), NO_STORE), SparseRetriever(NO_STORE)
    ranking = rank(HybridRetriever(dense, sparse, ALPHA, candidates, fusion), asked, PASSAGES)
    for query in range(QUERIES):
        expected = slow(asked, query, norm, candidates, by_rank=norm is reciprocal_rank)
        retrieved = ranking.passages[query] != NOTHING
        scores = dict(zip(ranking.passages[query][retrieved].tolist(), ranking.scores[query][retrieved], strict=True))
        assert scores == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("rows", [[3], [0, 5, 7]])
def test_some_queries_of_a_search_keep_what_is_left_out_for_them(rows):
    queries = tuple("abcdefgh")
    unranked = np.array([[0, 1], [5, 2], [5, 3], [6, 4]])
    some = Search(("one", "two", "three", "four", "five"), queries, unranked=unranked).rows(np.array(rows))
    assert some.queries == tuple(queries[row] for row in rows)
    expected = [(place, passage) for place, row in enumerate(rows) for query, passage in unranked if query == row]
    assert list(map(tuple, some.unranked.tolist())) == expected
