"""Four stages, of which three are a user's own: rewriting, a hybrid of two encoders and BM25, reranking."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
import pytest
from application import PROJECT
from sklearn.feature_extraction.text import HashingVectorizer

from ragsweep.core.errors import RetrieverError
from ragsweep.core.limits import Between
from ragsweep.retrieval import (
    NOTHING,
    DenseRetriever,
    Encoder,
    Expander,
    Expansion,
    FusedRetriever,
    Fusion,
    PipelineRetriever,
    Ranking,
    Reranker,
    Rewriter,
    Search,
    SparseRetriever,
    WeightedSum,
    rank,
    ranked,
)
from ragsweep.store.stage_store import NO_STORE, Store


@dataclass(frozen=True)
class SpelledOut(Rewriter):
    """Writes out abbreviations."""

    abbreviations: Mapping[str, str]

    def rewrite(self, queries: Sequence[str]) -> list[str]:
        return [re.sub(r"\w+", lambda word: self.abbreviations.get(word[0], word[0]), query) for query in queries]


@dataclass(frozen=True)
class HashedLetters(Encoder):
    """Embeds a text by the runs of letters that it has, as fastText does without its training."""

    letters: Annotated[int, Between(1, 6)] = 3

    @property
    def fingerprint(self) -> str:
        return f"hashed {self.letters}"

    def encode(self, texts: Sequence[str], role: str) -> np.ndarray:
        vectors = HashingVectorizer(n_features=256, analyzer="char_wb", ngram_range=(self.letters, self.letters))
        return vectors.transform(texts).toarray().astype(np.float32)


@dataclass(frozen=True)
class SharedWords(Reranker):
    """Ranks the candidates by the share of the query's long words that they have."""

    letters: Annotated[int, Between(1)] = 1
    store: Store = NO_STORE

    def rerank(self, search: Search, ranking: Ranking, depth: int) -> Ranking:
        asked = [self.words(query) for query in search.queries]
        scores = [
            [len(words & self.words(search.passages[passage])) / max(len(words), 1) for passage in row]
            for words, row in zip(asked, ranking.passages.tolist(), strict=True)
        ]
        return ranked(ranking.passages, np.array(scores), depth)

    def words(self, text: str) -> set[str]:
        return {word for word in re.findall(r"\w+", text.lower()) if len(word) >= self.letters}


SPELL = SpelledOut({"Hb": "haemoglobin", "ORS": "oral rehydration salts"})
PASSAGES = (
    "Haemoglobin below 11 g/dl is anaemia.",
    "Iron tablets raise it within weeks.",
    "Oral rehydration salts are given after each loose stool.",
    "Test the urine of each pregnant woman.",
    "Zinc and salts shorten diarrhoea.",
)
SEARCH = Search(PASSAGES, ("Which Hb is low?", "When is ORS given?", "Who is tested for urine?"))
STAGES = ["--config-dir", str(Path(__file__).parent / "conf"), "retriever=stages", "encoder=wordllama"]
ENVIRONMENT = {"PYTHONPATH": f"{Path(__file__).parent}:{PROJECT / 'tests'}"}


@pytest.fixture
def pipeline(letters, store):
    """The pipeline of the YAML, with an encoder that needs no model; stages may be replaced."""

    def make(**stages):
        rankers = {
            "meaning": DenseRetriever(letters, store),
            "spelling": DenseRetriever(HashedLetters(), store),
            "words": SparseRetriever(store),
        }
        fused = FusedRetriever(stages.pop("rankers", rankers), stages.pop("fusion", WeightedSum([0.4, 0.2, 0.4])), 3)
        given = {"rewriter": SPELL, "reranker": SharedWords(4, store), "candidates": 2, **stages}
        return PipelineRetriever(fused, **given)

    return make


def order(ranking):
    return [[passage for passage in row if passage != NOTHING] for row in ranking.passages.tolist()]


def by_hand(pipeline, depth):
    """The ranking as a loop over queries and stages gives it."""
    orders = []
    for asked, searched in zip(SEARCH.queries, SPELL.rewrite(SEARCH.queries), strict=True):
        sums = {}
        for weight, ranker in zip((0.4, 0.2, 0.4), pipeline.ranker.rankers.values(), strict=True):
            one = ranker.rank(Search(PASSAGES, (searched,)), 3)
            scores = dict(zip(one.passages[0].tolist(), one.scores[0].tolist(), strict=True))
            scores.pop(NOTHING, None)
            low, high = min(scores.values()), max(scores.values())
            for passage, score in scores.items():
                sums[passage] = sums.get(passage, 0) + weight * ((score - low) / (high - low) if high > low else 1)
        best = sorted(sums, key=lambda passage: (-sums[passage], passage))[:2]
        shared = {
            passage: len(SharedWords(4).words(asked) & SharedWords(4).words(PASSAGES[passage])) for passage in best
        }
        orders.append(sorted(best, key=lambda passage: (-shared[passage], passage))[:depth])
    return orders


@pytest.mark.usefixtures("long_work")
def test_the_stages_work_one_after_the_other(pipeline):
    assert order(rank(pipeline(), SEARCH, 2)) == by_hand(pipeline(), 2)


class Counting(SharedWords):
    """Counts how often it is asked for all queries."""

    asked: list[int] = []  # noqa: RUF012 - not a setting

    def rerank(self, search, ranking, depth):
        self.asked.append(len(search.queries))
        return super().rerank(search, ranking, depth)


@pytest.mark.parametrize(("same", "times"), [(True, 1), (False, 2)])
def test_a_stage_with_a_store_is_asked_once_for_the_same_settings(pipeline, store, same, times):
    Counting.asked.clear()
    first, other = Counting(4, store), Counting(4 if same else 5, store)
    made, again = (rank(pipeline(reranker=reranker), SEARCH, 2) for reranker in (first, other))
    assert Counting.asked.count(len(SEARCH.queries)) == times
    assert not same or order(made) == order(again)


class Wrong(Rewriter, Fusion, Reranker):
    """A stage that returns what it was made with."""

    def __init__(self, returned):
        self.returned = returned

    def rewrite(self, queries):
        return self.returned

    def fuse(self, rankings):
        return self.returned

    def rerank(self, search, ranking, depth):
        return self.returned


@pytest.mark.parametrize(
    ("stage", "returned", "message"),
    [
        ("rewriter", ["one"], r"returned 1 texts, expected a list of 3 texts"),
        ("rewriter", ["one", None, "three"], r"returned NoneType for query 1, expected a string"),
        ("fusion", None, r"returned NoneType, expected a Ranking"),
        ("reranker", Ranking(np.array([[0, 1]] * 3), np.array([[1.0, 2.0]] * 3)), r"expected scores in descending"),
        ("reranker", Ranking(np.array([[3]] * 3), np.ones((3, 1))), r"found 3, expected one of the passages to rerank"),
    ],
)
def test_what_a_stage_returns_is_checked_by_its_name(pipeline, stage, returned, message):
    with pytest.raises(RetrieverError, match=rf"\btest_pipeline\.Wrong: .*{message}"):
        rank(pipeline(**{stage: Wrong(returned)}), SEARCH, 2)


def test_the_trace_names_every_stage(pipeline):
    trace = pipeline().trace(SEARCH, 0)
    assert list(trace.stages) == [
        "rewriter",
        "ranker.meaning",
        "ranker.spelling",
        "ranker.words",
        "ranker.fusion",
        "reranker",
    ]
    assert trace.stages["rewriter"].endswith("test_pipeline.SpelledOut")
    assert trace.searched == "Which haemoglobin is low?"
    assert list(trace.parts) == ["meaning", "spelling", "words", "ranker"]
    assert trace.words.stage == "words"
    assert trace.words.added["haemoglobin"][0] > 0


@pytest.fixture(scope="module")
def runs(shared_application, dataset):
    swept = ["-m", "retriever.reranker.letters=1", "retriever.ranker.rankers.spelling.encoder.letters=2,3"]
    process = shared_application.run(*STAGES, *dataset, *swept, **ENVIRONMENT)
    assert process.returncode == 0, process.stderr
    return shared_application.children()


def test_an_explanation_names_every_stage(runs, shared_application, dataset):
    query = "How much paracetamol does a hot child need?"
    given = ["--allow", "test_pipeline", runs[0].info.run_id, query, *dataset[2:]]
    process = shared_application.script("explain", *given, **ENVIRONMENT)
    assert process.returncode == 0, process.stderr
    for stage in ("rewriter", "ranker.meaning", "ranker.spelling", "ranker.words", "ranker.fusion", "reranker"):
        assert re.search(rf"^{re.escape(stage)} +\S", process.stdout, re.MULTILINE), process.stdout


@dataclass(frozen=True)
class Also(Expander):
    """Searches for the query, and for one word besides."""

    word: str = "zinc"
    fusion: ClassVar = WeightedSum([0.5, 0.5])

    def expand(self, search, ranker):
        other = replace(search, queries=(self.word,) * len(search.queries))
        changes = (f"+ {self.word}",) * len(search.queries)
        return Expansion((search, other), np.zeros(len(search.queries)), changes, self.fusion)


def test_several_searches_are_fused():
    words = SparseRetriever(NO_STORE)
    pipeline, search = PipelineRetriever(words, Also()), Search(PASSAGES, ("haemoglobin salts",))
    both = [words.rank(searched, 5) for searched in (search, Search(PASSAGES, ("zinc",)))]
    assert order(rank(pipeline, search, 5)) == order(Also().fusion.fuse(both))
    assert 4 not in order(words.rank(Search(PASSAGES, ("haemoglobin",)), 5))[0]
    assert 4 in order(rank(pipeline, Search(PASSAGES, ("haemoglobin",)), 5))[0]


@pytest.mark.parametrize(
    ("searches", "changes", "message"),
    [
        ((), ("",) * 3, "expected an Expansion"),
        ((SEARCH.row(0),), ("",) * 3, "returned a search of 1, expected 3 queries and the same passages"),
        ((replace(SEARCH, passages=PASSAGES[:2]),), ("",) * 3, "expected 3 queries and the same passages"),
        ((SEARCH,), ("",), "changes: found 1, expected 3 texts"),
    ],
)
def test_an_expansion_is_checked(searches, changes, message):
    class Expanding(Expander):
        def expand(self, search, ranker):
            return Expansion(searches, np.zeros(3), changes)

    with pytest.raises(RetrieverError, match=message):
        rank(PipelineRetriever(SparseRetriever(NO_STORE), Expanding()), SEARCH, 2)


@dataclass(frozen=True)
class FirstTwo(Reranker):
    """Keeps the first passages, of those that it asks for."""

    candidates: int | None = 2

    def rerank(self, search, ranking, depth):
        return ranked(ranking.passages, ranking.scores, min(2, depth))


def test_a_rerankers_own_candidates_count(pipeline):
    words = SparseRetriever(NO_STORE)
    search = Search(PASSAGES, ("haemoglobin iron salts zinc urine",))
    assert len(order(rank(PipelineRetriever(words, reranker=SharedWords(), candidates=3), search, 5))[0]) == 3
    own = PipelineRetriever(words, reranker=type("Own", (SharedWords,), {"candidates": 4})(), candidates=3)
    assert len(order(rank(own, search, 5))[0]) == 4
    assert own.without_effect == ("candidates",)


def test_stages_stand_around_any_retriever(application, dataset, tmp_path):
    for group in ("query", "reranker", "dynamic_k"):
        (tmp_path / "conf" / group).mkdir(parents=True)
    (tmp_path / "conf/query/spelled.yaml").write_text(
        "_target_: test_pipeline.SpelledOut\nabbreviations: {paracetamol: acetaminophen paracetamol}\n"
    )
    (tmp_path / "conf/reranker/shared.yaml").write_text("_target_: test_pipeline.SharedWords\nletters: 2\n")
    (tmp_path / "conf/dynamic_k/two.yaml").write_text("_target_: test_pipeline.FirstTwo\n")
    swept = ["-m", "retriever=sparse", "query=spelled,plain", "reranker=shared,none", "dynamic_k=two,none", "k=3"]
    process = application.run("--config-dir", str(tmp_path / "conf"), *dataset, *swept, **ENVIRONMENT)
    assert process.returncode == 0, process.stderr
    runs = {run.info.run_name: run for run in application.children()}
    assert len({run.data.tags["config.digest"] for run in runs.values()}) == len(runs) == 8
    stages = ("query", "reranker", "dynamic_k")
    has = {tuple(name in run.data.params for name in stages): run.data.params for run in runs.values()}
    assert len(has) == 8
    most = has[True, True, True]
    assert (most["query"], most["reranker.letters"]) == ("test_pipeline.SpelledOut", "2")
