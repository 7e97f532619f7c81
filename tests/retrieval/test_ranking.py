"""Rankings: their order, thresholds, and what classes of users may return: a ranking, or one line says why not."""

import json
import math
import re
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from letters import LetterEncoder
from rankings import SPARSE, order_of, pairs_of, ranking_of

from ragsweep.core.errors import ConfigError, DatasetError, EncoderError, RetrieverError
from ragsweep.core.timing import sample
from ragsweep.datasets import PageChunker
from ragsweep.models.encoders.embeddings import check_embeddings
from ragsweep.retrieval import (
    NOTHING,
    DenseRetriever,
    EncoderReranker,
    FusedRetriever,
    HybridRetriever,
    PipelineRetriever,
    Ranker,
    Ranking,
    ReciprocalRankFusion,
    ReturnedRetriever,
    Search,
    SparseRetriever,
    rank,
    ranked,
)
from ragsweep.retrieval.ingest.ingest import dataset_of
from ragsweep.retrieval.ranking import reaching
from ragsweep.retrieval.ranking_checks import checked_ranking
from ragsweep.store.stage_store import NO_STORE
from ragsweep.testing import component
from ragsweep.testing.datasets import Loaded

CANDIDATES = st.dictionaries(st.integers(0, 9), st.integers(-2, 2), min_size=1)


@given(CANDIDATES, st.integers(1, 10))
def test_the_order_is_score_descending_then_corpus_order(candidates, depth):
    expected = sorted(candidates, key=lambda passage: (-candidates[passage], passage))[:depth]
    scores = np.array([[*candidates.values()]], float)
    assert order_of(ranked(np.array([[*candidates]]), scores, depth)) == [expected]


def test_nothing_stands_behind_every_passage_whatever_its_score():
    ranking = ranked(np.array([[NOTHING, 5]]), np.array([[9.0, -3]]), 100)
    assert (ranking.passages.tolist(), ranking.scores.tolist()) == ([[5, NOTHING]], [[-3, -INF]])


def test_a_latency_sample_is_at_most_16_queries_from_first_to_last():
    assert [sample(queries).tolist() for queries in (1, 3, 31)] == [[0], [0, 1, 2], [*range(0, 31, 2)]]
    for queries in (133, 100_000):
        chosen = sample(queries).tolist()
        assert (len(chosen), chosen[0], chosen[-1]) == (16, 0, queries - 1)


def test_other_texts_are_another_search_and_some_of_its_queries_keep_what_is_left_out_for_them():
    texts = [(("ab", "c"), ("q",)), (("a", "bc"), ("q",)), (("ab", "c"), ("p",)), (("ab", "c", "q"), ())]
    assert len({Search(*of_search).digest for of_search in texts}) == len(texts)
    unranked = np.array([[0, 1], [5, 2], [5, 3], [6, 4]])
    search = Search(("one", "two", "three", "four", "five"), tuple("abcdefgh"), unranked=unranked)
    for rows, queries, expected in (([3], "d", []), ([0, 5, 7], "afh", [[0, 1], [1, 2], [1, 3]])):
        some = search.rows(np.array(rows))
        assert (some.queries, some.unranked.tolist()) == (tuple(queries), expected)


# Too low a score


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=8), st.integers(-4, 4))
def test_what_is_left_reaches_the_threshold(scores, threshold):
    ranking = ranking_of(dict(enumerate(scores)))
    assert pairs_of(reaching(ranking, threshold)) == [[pair for pair in pairs_of(ranking)[0] if pair[1] >= threshold]]
    assert reaching(ranking, None) is ranking


def test_a_threshold_cuts_the_ranking_at_its_score_whatever_ranks_and_all_share_one_in_the_store(letters, store):
    dense = DenseRetriever(letters, NO_STORE)
    for make in (
        partial(DenseRetriever, letters, NO_STORE),
        partial(SparseRetriever, store),
        partial(HybridRetriever, dense, SPARSE, 0.3),
        partial(HybridRetriever, dense, SPARSE, 0),
        partial(HybridRetriever, dense, SPARSE, fusion=ReciprocalRankFusion()),
        partial(FusedRetriever, {"dense": dense, "sparse": SPARSE}),
        partial(PipelineRetriever, SPARSE),
    ):
        without = pairs_of(rank(make(), component.SEARCH, 10))
        threshold = float(np.median([score for row in without for _, score in row]))
        cut = pairs_of(rank(make(score_threshold=threshold), component.SEARCH, 10))
        assert cut == [[pair for pair in row if pair[1] >= threshold] for row in without] != without, make
    assert len([*Path(store.path).glob("sparse/*/scores.npy")]) == 1


NAN, INF = np.nan, np.inf
SEARCH = Search(("zinc", "iron", "iodine", "folate"), ("which metal?", "which vitamin?"))
DEPTH = 3


GOOD = Ranking(np.array([[2, 0, 3], [1, NOTHING, NOTHING]]), np.array([[0.9, 0.5, 0.5], [0.1, -INF, -INF]]))


def changed(name, at, value):
    array = np.array(getattr(GOOD, name))
    array[at] = value
    return replace(GOOD, **{name: array})


WRONG = [
    (None, "returned NoneType, expected a Ranking"),
    (replace(GOOD, passages=np.ma.masked_less(GOOD.passages, 1)), "passages: found MaskedArray, expected an array of"),
    (replace(GOOD, passages=GOOD.passages.astype(float)), "an array of float64, expected int64"),
    (Ranking(GOOD.passages[0], GOOD.scores[0]), "passages: found shape [3], expected [2 queries, 1 to 3 passages]"),
    (Ranking(np.zeros((2, 4), int), np.zeros((2, 4))), "found shape [2, 4], expected [2 queries, 1 to 3"),
    (changed("passages", (0, 2), 4), "passages[0, 2] (query 0, rank 3): found 4, expected 0 to 3, or -1"),
    (changed("passages", (0, 1), NOTHING), "passages[0, 1] (query 0, rank 2): found -1, expected -1 behind"),
    (changed("passages", (0, 2), 2), "passages[0, 2] (query 0, rank 3): found 2 again, expected a passage once"),
    (changed("scores", (0, 1), NAN), "scores[0, 1] (query 0, rank 2): found nan of passage 0, expected a number"),
    (changed("scores", (1, 1), 0), "(query 1, rank 2): found 0.0 of passage -1, expected -inf where"),
    (changed("scores", 0, (0.5, 0.6, 0.1)), "(query 0, rank 2): found 0.6 of passage 0, expected scores in"),
    (changed("scores", 0, (0.9, 0.9, 0.1)), "found 0.9 of passage 0, expected passages of equal scores in corpus"),
    (replace(GOOD, latency_ms=np.ones(1)), "latency_ms: found shape [1], expected none"),
    (replace(GOOD, latency_ms=np.array([NAN, -1])), "shape [2] with numbers of at least 0"),
    (replace(GOOD, stages_ms=np.ones((2, 2))), "stages_ms: found shape [2, 2], expected none"),
    (replace(GOOD, recall_of_exact=np.ones(1)), "recall_of_exact: expected none or 2 numbers from 0 to 1"),
]


def test_what_is_no_ranking_is_refused_in_one_line_and_a_ranking_passes_as_it_is():
    for ranking, expected in WRONG:
        with pytest.raises(RetrieverError, match=rf"\Atheirs: [^\n]*{re.escape(expected)}[^\n]*\Z"):
            checked_ranking(ranking, SEARCH, DEPTH, "theirs")
    checked = checked_ranking(GOOD, SEARCH, DEPTH, "theirs")
    for name, array in vars(GOOD).items():
        np.testing.assert_array_equal(getattr(checked, name), array)


POSITIONS = st.one_of(st.integers(0, 3), st.integers(-3, 5))
VALUES = st.one_of(st.sampled_from([-INF, NAN, INF, 0.0, -0.0, 1e30, 1e31]), st.integers(-2, 2).map(float))
SHAPES = st.one_of(st.tuples(st.just(2), st.integers(1, 3)), st.lists(st.integers(0, 4), max_size=3).map(tuple))


@st.composite
def anything(draw):
    """Two arrays, mostly of the shape that is expected, often sorted as expected."""
    shape = draw(SHAPES)
    passages = draw(arrays(np.int64, shape, elements=POSITIONS))
    scores = draw(arrays(np.float64, draw(st.one_of(st.just(shape), SHAPES)), elements=VALUES))
    if scores.ndim and scores.shape == shape and draw(st.booleans()):
        scores = -np.sort(-np.where(passages == NOTHING, -INF, scores), axis=-1)
    return passages, scores


def is_ranking(passages, scores):
    """The rules of `Ranking`, one row after the other."""
    if passages.shape != scores.shape or scores.ndim != 2 or len(scores) != 2 or not 1 <= scores.shape[1] <= DEPTH:
        return False
    for row, values in zip(passages.tolist(), scores.tolist(), strict=True):
        pairs = [(-score, passage) for passage, score in zip(row, values, strict=True) if passage != NOTHING]
        rest = len(row) - len(pairs)
        if row[len(pairs) :] != [NOTHING] * rest or values[len(pairs) :] != [-INF] * rest:
            return False
        if not all(0 <= passage < 4 and -1e30 <= score <= 1e30 for score, passage in pairs):
            return False
        if pairs != sorted(pairs) or len({passage for _, passage in pairs}) < len(pairs):
            return False
    return True


@given(anything())
def test_any_arrays_are_a_ranking_or_refused(both):
    passages, scores = both
    if is_ranking(passages, scores):
        checked_ranking(Ranking(passages, scores), SEARCH, DEPTH, "theirs")
    else:
        with pytest.raises(RetrieverError, match=r"\Atheirs: [^\n]+\Z"):
            checked_ranking(Ranking(passages, scores), SEARCH, DEPTH, "theirs")


class Fixed(Ranker):
    """Returns what it was given, or raises it."""

    def __init__(self, returned):
        self.returned = returned

    def rank(self, search, depth):
        if isinstance(self.returned, BaseException):
            raise self.returned
        return self.returned


def test_the_parts_of_a_hybrid_that_are_used_are_checked_by_their_own_names(letters, store):
    parts = {"dense": DenseRetriever(letters, store), "sparse": SparseRetriever(store)}
    for part, alpha in product(parts, (0, 0.5, 1)):
        hybrid = HybridRetriever(**parts | {part: Fixed(None)}, alpha=alpha)
        is_unused = (part, alpha) in (("dense", 0), ("sparse", 1))
        refused = pytest.raises(RetrieverError, match=r"\bFixed: returned NoneType")
        with nullcontext() if is_unused else refused:
            rank(hybrid, SEARCH, DEPTH)
    with pytest.raises(RuntimeError, match=r"\bFixed called sys\.exit\(0\)$"):
        rank(Fixed(SystemExit(0)), SEARCH, DEPTH)


def test_a_part_that_is_of_another_kind_is_refused_when_it_is_built(letters, store):
    for make, message in [
        (lambda: HybridRetriever(None, SPARSE), r"retriever\.dense: builtins\.NoneType does not inherit"),
        (lambda: DenseRetriever(None, store), r"encoder: builtins\.NoneType does not inherit from"),
        (lambda: DenseRetriever(letters, store, store), r"index: ragsweep\.store\.stage_store\.Store does not inherit"),
        (lambda: HybridRetriever(ReturnedRetriever("log.jsonl"), SPARSE), r"retriever\.dense: .* so it stands alone"),
    ]:
        with pytest.raises(ConfigError, match=message):
            make()


UNIT = np.eye(3, dtype=np.float32)
WRONG_EMBEDDINGS = [
    (None, "returned NoneType, expected an array of float32"),
    (UNIT.astype(int), "returned an array of int64, expected float32"),
    (UNIT[0], r"returned embeddings of shape \[3\], expected \[3 texts, dimensions\]"),
    (UNIT * [[1], [NAN], [1]], "the embedding of text 1 of 3 has length nan, expected 1"),
    (UNIT * 0, "the embedding of text 0 of 3 has length 0, expected 1"),
]


NUMBERS = st.one_of(st.sampled_from([NAN, INF, 1e300, 0.0, 1.0, -1.0, 0.6, 0.8]), st.floats(-2, 2))


@given(arrays(np.float64, st.tuples(st.integers(1, 3), st.integers(0, 2)), elements=NUMBERS))
def test_any_array_is_embeddings_or_refused(embeddings):
    texts, lengths = ("a", "b"), [math.hypot(*row) for row in embeddings.tolist()]
    if len(embeddings) == 2 and all(abs(length - 1) <= 1e-3 for length in lengths):
        assert check_embeddings(embeddings, LetterEncoder(), texts).dtype == np.float32
    else:
        with pytest.raises(EncoderError, match=r"\A[\w.]*LetterEncoder: [^\n]+\Z"):
            check_embeddings(embeddings, LetterEncoder(), texts)


class Longer(LetterEncoder):
    """Embeds queries in one dimension more."""

    def encode(self, texts, role):
        return np.pad(super().encode(texts, role), [(0, 0), (0, role == "query")])


def test_what_is_no_embeddings_or_no_dataset_is_refused_in_one_line(letters, store):
    for embeddings, expected in WRONG_EMBEDDINGS:
        with pytest.raises(EncoderError, match=rf"\A[\w.]*LetterEncoder: {expected}"):
            check_embeddings(embeddings, letters, ("a", "b", "c"))
    for loaded in (None, (1, 2), []):
        with pytest.raises(DatasetError, match=rf"\.load\(\) returned {type(loaded).__name__}, expected a Collection"):
            dataset_of(Loaded(loaded), PageChunker(), None, NO_STORE)
    for search in (
        lambda: DenseRetriever(Longer(), store).rank(SEARCH, DEPTH),
        lambda: EncoderReranker(Longer(), store).rerank(SEARCH, GOOD, DEPTH),
    ):
        with pytest.raises(EncoderError, match="Longer: embeds queries in 27 dimensions and passages in 26, expected"):
            search()


THEIRS = """
import sys
from dataclasses import dataclass
import numpy as np
from ragsweep.retrieval import Ranking, SparseRetriever
from ragsweep.retrieval.ranking import reaching

@dataclass(frozen=True)
class Theirs(SparseRetriever):
    how: str = "fine"

    def rank(self, search, depth):
        ranking = super().rank(search, depth)
        if self.how == "exits":
            sys.exit(0)
        if self.how == "empty":
            return reaching(ranking, np.inf)
        return Ranking(ranking.passages, ranking.scores * (np.nan if self.how == "scoreless" else 1))
"""


def test_a_broken_retriever_is_refused_and_costs_its_own_jobs_of_a_sweep_only(application, dataset, tmp_path):
    (tmp_path / "theirs.py").write_text(THEIRS)
    theirs = [*dataset, "retriever=sparse", "retriever._target_=theirs.Theirs"]
    process = application.run(*theirs, "+retriever.how=scoreless", PYTHONPATH=str(tmp_path))
    assert process.returncode == 2
    assert "ragsweep: theirs.Theirs: scores[0, 0] (query 0, rank 1): found nan of passage" in process.stderr
    assert application.runs() == []
    assert not (application.home / "outputs").exists()

    swept = ["-m", *theirs, "+retriever.how=scoreless,exits,empty,fine"]
    process = application.run(*swept, PYTHONPATH=str(tmp_path))
    assert process.returncode == 1
    assert [run.info.status for run in application.children()] == [*["FAILED"] * 3, "FINISHED"]
    assert "1/4 how=scoreless FAILED: theirs.Theirs: scores[0, 0]" in process.stderr
    assert "2/4 how=exits FAILED: RuntimeError: theirs.Theirs called sys.exit(0)" in process.stderr
    assert "3/4 how=empty FAILED: the retriever returned nothing for any of" in process.stderr
    [parent] = application.parents()
    decision = json.loads((application.artifacts(parent) / "decision.json").read_text())
    [line] = [line for line in decision["headline"] if "how=empty" in line]
    assert line in process.stdout
    assert decision["configurations"] == 1
