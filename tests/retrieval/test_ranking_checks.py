"""What classes of users return: either it is a ranking, or one line says what is wrong with it."""

import json
import math
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ragsweep.core.errors import ConfigError, DatasetError, EncoderError, RetrieverError
from ragsweep.datasets import PageChunker
from ragsweep.models.encoders.embeddings import check_embeddings
from ragsweep.retrieval import (
    NOTHING,
    DenseRetriever,
    Encoder,
    HybridRetriever,
    Ranker,
    Ranking,
    ReturnedRetriever,
    Search,
    SparseRetriever,
    rank,
)
from ragsweep.retrieval.ingest.ingest import dataset_of
from ragsweep.retrieval.ranking_checks import checked_ranking
from ragsweep.store.stage_store import NO_STORE
from ragsweep.testing.datasets import Loaded

SEARCH = Search(("zinc", "iron", "iodine", "folate"), ("which metal?", "which vitamin?"))
DEPTH = 3
GOOD = Ranking(np.array([[2, 0, 3], [1, NOTHING, NOTHING]]), np.array([[0.9, 0.5, 0.5], [0.1, -np.inf, -np.inf]]))
NAN, INF = np.nan, np.inf


def changed(name, at, value):
    array = np.array(getattr(GOOD, name))
    array[at] = value
    return replace(GOOD, **{name: array})


def with_passage(at, value):
    return changed("passages", at, value)


def with_score(at, value):
    return changed("scores", at, value)


def with_scores(*first_row):
    return changed("scores", 0, first_row)


WRONG = [
    (None, "returned NoneType, expected a Ranking"),
    (replace(GOOD, passages=np.ma.masked_less(GOOD.passages, 1)), "passages: found MaskedArray, expected an array of"),
    (replace(GOOD, passages=GOOD.passages.astype(float)), "an array of float64, expected int64"),
    (Ranking(GOOD.passages[0], GOOD.scores[0]), "passages: found shape [3], expected [2 queries, 1 to 3 passages]"),
    (Ranking(np.zeros((2, 4), int), np.zeros((2, 4))), "found shape [2, 4], expected [2 queries, 1 to 3"),
    (with_passage((0, 2), 4), "passages[0, 2] (query 0, rank 3): found 4, expected 0 to 3, or -1"),
    (with_passage((0, 1), NOTHING), "passages[0, 1] (query 0, rank 2): found -1, expected -1 behind"),
    (with_passage((0, 2), 2), "passages[0, 2] (query 0, rank 3): found 2 again, expected a passage once"),
    (with_score((0, 1), NAN), "scores[0, 1] (query 0, rank 2): found nan of passage 0, expected a number"),
    (with_score((1, 1), 0), "(query 1, rank 2): found 0.0 of passage -1, expected -inf where"),
    (with_scores(0.5, 0.6, 0.1), "(query 0, rank 2): found 0.6 of passage 0, expected scores in"),
    (with_scores(0.9, 0.9, 0.1), "found 0.9 of passage 0, expected passages of equal scores in corpus"),
    (replace(GOOD, latency_ms=np.ones(1)), "latency_ms: found shape [1], expected none"),
    (replace(GOOD, latency_ms=np.array([NAN, -1])), "shape [2] with numbers of at least 0"),
    (replace(GOOD, stages_ms=np.ones((2, 2))), "stages_ms: found shape [2, 2], expected none"),
    (replace(GOOD, recall_of_exact=np.ones(1)), "recall_of_exact: expected none or 2 numbers from 0 to 1"),
]


def test_a_ranking_passes_as_it_is():
    checked = checked_ranking(GOOD, SEARCH, DEPTH, "theirs")
    for name, array in vars(GOOD).items():
        np.testing.assert_array_equal(getattr(checked, name), array)


def test_what_is_no_ranking_is_refused_in_one_line():
    for ranking, expected in WRONG:
        with pytest.raises(RetrieverError) as refused:
            checked_ranking(ranking, SEARCH, DEPTH, "theirs")
        message = str(refused.value)
        assert message.startswith("theirs: ")
        assert expected in message
        assert "\n" not in message


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
    """The rules of `Ranking`, one entry after the other."""
    if passages.ndim != 2 or passages.shape[0] != 2 or not 1 <= passages.shape[1] <= DEPTH:
        return False
    if scores.shape != passages.shape:
        return False
    for row, values in zip(passages.tolist(), scores.tolist(), strict=True):
        ended, seen = False, []
        for passage, score in zip(row, values, strict=True):
            if passage == NOTHING:
                ended = True
                if score != -INF:
                    return False
                continue
            if ended or not 0 <= passage < 4 or not -1e30 <= score <= 1e30:
                return False
            if any(passage == other for other, _ in seen):
                return False
            if seen and (score > seen[-1][1] or (score == seen[-1][1] and passage < seen[-1][0])):
                return False
            seen.append((passage, score))
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
        if (part, alpha) in (("dense", 0), ("sparse", 1)):
            rank(hybrid, SEARCH, DEPTH)
        else:
            with pytest.raises(RetrieverError, match=r"\bFixed: returned NoneType"):
                rank(hybrid, SEARCH, DEPTH)


def test_a_retriever_may_not_end_the_process():
    with pytest.raises(RuntimeError, match=r"\bFixed called sys\.exit\(0\)$"):
        rank(Fixed(SystemExit(0)), SEARCH, DEPTH)


def test_a_part_that_lacks_its_method_is_refused_when_it_is_built(letters, store):
    with pytest.raises(ConfigError, match=r"retriever\.dense: builtins\.NoneType does not inherit"):
        HybridRetriever(None, SparseRetriever(store))
    with pytest.raises(ConfigError, match=r"encoder: builtins\.NoneType does not inherit from"):
        DenseRetriever(None, store)
    with pytest.raises(ConfigError, match=r"index: ragsweep\.store\.stage_store\.Store does not inherit"):
        DenseRetriever(letters, store, store)
    with pytest.raises(ConfigError, match=r"retriever\.dense: .* has passages of its own, so it stands alone"):
        HybridRetriever(ReturnedRetriever("log.jsonl"), SparseRetriever(store))


UNIT = np.eye(3, dtype=np.float32)


@dataclass(frozen=True)
class UnitEncoder(Encoder):
    """The same embedding for all texts of a role."""

    more: int = 0
    fingerprint = "units"

    def encode(self, texts, role):
        return np.tile(np.eye(3 + self.more * (role == "query"), dtype=np.float32)[0], (len(texts), 1))


def test_what_is_no_embeddings_is_refused_in_one_line(letters):
    for embeddings, expected in [
        (None, "returned NoneType, expected an array of float32"),
        (UNIT.astype(int), "returned an array of int64, expected float32"),
        (UNIT[0], r"returned embeddings of shape \[3\], expected \[3 texts, dimensions\]"),
        (UNIT * [[1], [NAN], [1]], "the embedding of text 1 of 3 has length nan, expected 1"),
        (UNIT * 0, "the embedding of text 0 of 3 has length 0, expected 1"),
    ]:
        with pytest.raises(EncoderError, match=rf"LetterEncoder: {expected}"):
            check_embeddings(embeddings, letters, ("a", "b", "c"))


NUMBERS = st.one_of(st.sampled_from([NAN, INF, 1e300, 0.0, 1.0, -1.0, 0.6, 0.8]), st.floats(-2, 2))


@given(arrays(np.float64, st.tuples(st.integers(1, 3), st.integers(0, 2)), elements=NUMBERS))
def test_any_array_is_embeddings_or_refused(embeddings):
    texts, encoder = ("a", "b"), UnitEncoder()
    lengths = [math.hypot(*row) for row in embeddings.tolist()]
    if len(embeddings) == 2 and all(abs(length - 1) <= 1e-3 for length in lengths):
        assert check_embeddings(embeddings, encoder, texts).dtype == np.float32
    else:
        with pytest.raises(EncoderError, match=r"\A[\w.]*UnitEncoder: [^\n]+\Z"):
            check_embeddings(embeddings, encoder, texts)


def test_queries_and_passages_have_one_number_of_dimensions(store):
    differ = replace(SEARCH, passages=SEARCH.passages[:1])  # else all of a corpus would look the same
    with pytest.raises(EncoderError, match="embeds queries in 4 dimensions and passages in 3, expected the same"):
        DenseRetriever(UnitEncoder(more=1), store).rank(differ, DEPTH)


def test_a_dataset_that_loads_something_else_is_refused():
    for loaded in (None, (1, 2), []):
        with pytest.raises(DatasetError, match=rf"\.load\(\) returned {type(loaded).__name__}, expected a Collection"):
            dataset_of(Loaded(loaded), PageChunker(), None, NO_STORE)


THEIRS = """
import sys
import numpy as np
from ragsweep.retrieval import SparseRetriever, Ranking

class Theirs(SparseRetriever):
    how: str = "fine"

    def __init__(self, how, **settings):
        super().__init__(**settings)
        object.__setattr__(self, "how", how)

    def rank(self, search, depth):
        ranking = super().rank(search, depth)
        if self.how == "exits":
            sys.exit(0)
        if self.how == "empty":
            return Ranking(np.full((len(search.queries), 1), -1), np.full((len(search.queries), 1), -np.inf))
        return Ranking(ranking.passages, ranking.scores * (np.nan if self.how == "scoreless" else 1))
"""


@pytest.fixture
def theirs(application, dataset, tmp_path):
    """Run the small dataset with a retriever of a user's own that returns something else."""
    (tmp_path / "theirs.py").write_text(THEIRS)

    def run(how, *more):
        settings = ["retriever=sparse", "retriever._target_=theirs.Theirs", f"+retriever.how={how}"]
        return application.run(*more, *dataset, *settings, PYTHONPATH=str(tmp_path))

    return run


def test_a_run_with_a_broken_ranking_is_refused_and_leaves_nothing(theirs, application):
    process = theirs("scoreless")
    assert process.returncode == 2
    assert "ragsweep: theirs.Theirs: scores[0, 0] (query 0, rank 1): found nan of passage" in process.stderr
    assert application.runs() == []
    assert not (application.home / "outputs").exists()


def test_in_a_sweep_a_broken_retriever_costs_its_own_jobs_only(theirs, application):
    process = theirs("scoreless,exits,empty,fine", "-m")
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
