"""Dense and sparse together, against a slow loop that leaves out what a query leaves out before it fuses."""

from dataclasses import dataclass

import numpy as np
import pytest
from rank_bm25 import BM25Okapi
from rankings import SPARSE, are_same, pairs_of

from ragsweep.core.errors import ConfigError
from ragsweep.retrieval import (
    DenseRetriever,
    Encoder,
    Fusion,
    HybridRetriever,
    ReciprocalRankFusion,
    Search,
    SparseRetriever,
    WeightedSum,
    rank,
)
from ragsweep.store.stage_store import NO_STORE


@pytest.fixture
def hybrid(letters, store):
    def hybrid(alpha=0.7, **settings):
        return HybridRetriever(DenseRetriever(letters, store), SparseRetriever(store), alpha=alpha, **settings)

    return hybrid


def test_alpha_1_is_the_dense_ranking_and_alpha_0_the_sparse_one(hybrid, manual_search):
    for alpha, part in ((1, hybrid().dense), (0, hybrid().sparse)):
        assert are_same(hybrid(alpha=alpha).rank(manual_search, 10), part.rank(manual_search, 10))


@dataclass(frozen=True)
class FirstRanking(Fusion):
    """A fusion without weights."""

    def fuse(self, rankings):
        return rankings[0]


@pytest.mark.usefixtures("long_work")
def test_alpha_has_no_effect_on_a_fusion_without_weights(hybrid, manual_search):
    one, other = (hybrid(alpha=alpha, fusion=FirstRanking()) for alpha in (0.3, 0.7))
    assert are_same(one.rank(manual_search, 10), other.rank(manual_search, 10))
    assert one.without_effect == ("alpha",)
    assert hybrid(alpha=0.3).without_effect == ()
    assert hybrid(alpha=1, fusion=FirstRanking()).without_effect == ("sparse", "candidates", "fusion")


def test_weights_beside_alpha_are_refused(hybrid):
    with pytest.raises(ConfigError, match=r"fusion\.weights: found \[0\.5, 0\.5\], expected null, as alpha gives"):
        hybrid(fusion=WeightedSum([0.5, 0.5]))


def test_a_fusion_by_ranks_gives_no_rank_to_what_was_not_retrieved(letters):
    by_ranks = {"candidates": None, "fusion": ReciprocalRankFusion()}
    hybrid = HybridRetriever(DenseRetriever(letters, NO_STORE), SPARSE, **by_ranks)
    assert hybrid.rank(Search(("iron", "tea", "zinc"), ("xyz",)), 1).scores.tolist() == [[0.7 / 61]]


# Against a slow loop

PASSAGES, QUERIES, ALPHA = 150, 24, 0.3
WORDS = "fever malaria iron tablet midwife clinic water salt growth child mother visit record page".split()


class LetterCounts(Encoder):
    """Embeds a text by how often it has each letter: inner products are whole numbers, so that ties are exact."""

    fingerprint, similarity = "counts", "dot"

    def encode(self, texts, role):
        return np.array([[text.count(chr(letter)) for letter in range(97, 123)] for text in texts], np.float32)


def documents(seed):
    generator = np.random.default_rng(seed)
    return [" ".join(["clinic", *generator.choice(WORDS, generator.integers(3, 9))]) for _ in range(PASSAGES)]


def search_of(left_out):
    """As in ArguAna each query is a document, which is left out for it, with some further documents or none.

    All passages share a word, so that none scores 0: what is left out would be the only one that does.
    """
    texts = documents(1)
    unranked = [(query, (query + 7 * other) % PASSAGES) for query in range(QUERIES) for other in range(left_out)]
    return Search(tuple(texts), tuple(texts[:QUERIES]), unranked=np.array(unranked, dtype=np.int64).reshape(-1, 2))


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
def test_the_scores_are_those_of_a_loop_and_what_is_left_out_takes_no_part(fusion, norm, candidates):
    retriever = HybridRetriever(DenseRetriever(LetterCounts(), NO_STORE), SPARSE, ALPHA, candidates, fusion)
    for left_out in (0, 3):
        search = search_of(left_out)
        for query, pairs in enumerate(pairs_of(rank(retriever, search, PASSAGES))):
            expected = slow(search, query, norm, candidates, by_rank=norm is reciprocal_rank)
            assert dict(pairs) == pytest.approx(expected, abs=1e-9)
