"""Four stages, of which some are a user's own: rewriting, a hybrid of two encoders and BM25, reranking."""

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
import pytest
from application import PROJECT, succeeded
from rankings import SPARSE, order_of

from ragsweep.core.errors import RetrieverError
from ragsweep.core.limits import Between
from ragsweep.retrieval import (
    DenseRetriever,
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
    WordLlamaEncoder,
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
STAGES = ["rewriter", "ranker.meaning", "ranker.spelling", "ranker.words", "ranker.fusion", "reranker"]


@pytest.fixture
def pipeline(letters, store):
    """The pipeline of the YAML, with an encoder that needs no model; stages may be replaced."""
    spelling, words = DenseRetriever(WordLlamaEncoder(dimensions=64), store), SparseRetriever(store)
    rankers = {"meaning": DenseRetriever(letters, store), "spelling": spelling, "words": words}

    def make(fusion=None, **stages):
        fused = FusedRetriever(rankers, fusion or WeightedSum([0.4, 0.2, 0.4]), 3)
        given = {"rewriter": SPELL, "reranker": SharedWords(4, store), "candidates": 2, **stages}
        return PipelineRetriever(fused, **given)

    return make


@pytest.mark.usefixtures("long_work")
def test_the_stages_work_one_after_the_other(pipeline):
    """Each query is spelled out, its fused candidates are cut, and the reranker sees it as it was asked."""
    made, orders = pipeline(), []
    for row, spelled in enumerate(SPELL.rewrite(SEARCH.queries)):
        rankings = [ranker.rank(Search(PASSAGES, (spelled,)), 3) for ranker in made.ranker.rankers.values()]
        fused = made.ranker.fusion.fuse(rankings)
        first = Ranking(fused.passages[:, :2], fused.scores[:, :2])
        orders += order_of(made.reranker.rerank(SEARCH.row(row), first, 2))
    assert order_of(rank(made, SEARCH, 2)) == orders


class Counting(SharedWords):
    """Counts how often it is asked for all queries."""

    asked: list[int] = []  # noqa: RUF012 - not a setting

    def rerank(self, search, ranking, depth):
        self.asked.append(len(search.queries))
        return super().rerank(search, ranking, depth)


def test_a_stage_with_a_store_is_asked_once_for_the_same_settings(pipeline, store):
    Counting.asked.clear()
    made, again, _ = (order_of(rank(pipeline(reranker=Counting(n, store)), SEARCH, 2)) for n in (4, 4, 5))
    assert Counting.asked.count(len(SEARCH.queries)) == 2
    assert made == again


class Wrong(Rewriter, Fusion, Reranker):
    """A stage that returns what it was made with."""

    def __init__(self, returned):
        self.returned = returned

    def rewrite(self, *_):
        return self.returned

    fuse = rerank = rewrite


class WrongExpander(Expander):
    """Expands to these searches."""

    def __init__(self, *searches, changes=3):
        self.expansion = Expansion(searches, np.zeros(3), ("",) * changes)

    def expand(self, search, ranker):
        return self.expansion


def test_what_a_stage_returns_is_checked_by_its_name(pipeline):
    fewer = replace(SEARCH, passages=PASSAGES[:2])
    ascending = Ranking(np.array([[0, 1]] * 3), np.array([[1.0, 2.0]] * 3))
    elsewhere = Ranking(np.array([[3]] * 3), np.ones((3, 1)))
    for stage, returned, message in [
        ("rewriter", Wrong(["one"]), r"returned 1 texts, expected a list of 3 texts"),
        ("rewriter", Wrong(["one", None, "three"]), r"returned NoneType for query 1, expected a string"),
        ("rewriter", WrongExpander(), "expected an Expansion"),
        ("rewriter", WrongExpander(SEARCH.row(0)), "a search of 1, expected 3 queries and the same passages"),
        ("rewriter", WrongExpander(fewer), "expected 3 queries and the same passages"),
        ("rewriter", WrongExpander(SEARCH, changes=1), "changes: found 1, expected 3 texts"),
        ("fusion", Wrong(None), r"returned NoneType, expected a Ranking"),
        ("reranker", Wrong(ascending), r"expected scores in descending"),
        ("reranker", Wrong(elsewhere), r"found 3, expected one of the passages to rerank"),
    ]:
        with pytest.raises(RetrieverError, match=rf"\btest_pipeline\.Wrong(Expander)?\b.*{message}"):
            rank(pipeline(**{stage: returned}), SEARCH, 2)


def test_a_trace_and_an_explanation_name_every_stage(pipeline, application, dataset, monkeypatch):
    trace = pipeline().trace(SEARCH, 0)
    assert [*trace.stages] == STAGES
    assert trace.stages["rewriter"].endswith("test_pipeline.SpelledOut")
    assert trace.searched == "Which haemoglobin is low?"
    assert list(trace.parts) == ["meaning", "spelling", "words", "ranker"]
    assert trace.words.stage == "words"
    assert trace.words.added["haemoglobin"][0] > 0

    monkeypatch.syspath_prepend(Path(__file__).parent)
    monkeypatch.delitem(sys.modules, "test_pipeline", raising=False)
    own = ["--config-dir", str(Path(__file__).parent / "conf"), "retriever=stages", "encoder=wordllama"]
    given = application.arguments(*own, *dataset, "retriever.reranker.letters=1")
    succeeded(application.script_here("run", *given))
    [run] = application.runs()
    given = ["--allow", "test_pipeline", run.info.run_id, "How much paracetamol does a hot child need?", *dataset[2:]]
    explained = succeeded(application.script_here("explain", *given)).stdout
    assert [stage for stage in STAGES if not re.search(rf"^{re.escape(stage)} +\S", explained, re.MULTILINE)] == []


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
    pipeline, search = PipelineRetriever(SPARSE, Also()), Search(PASSAGES, ("haemoglobin salts",))
    both = [SPARSE.rank(searched, 5) for searched in (search, Search(PASSAGES, ("zinc",)))]
    assert order_of(rank(pipeline, search, 5)) == order_of(Also().fusion.fuse(both))
    alone = Search(PASSAGES, ("haemoglobin",))
    assert [4 in order_of(rank(ranker, alone, 5))[0] for ranker in (SPARSE, pipeline)] == [False, True]


def test_a_rerankers_own_candidates_count():
    search = Search(PASSAGES, ("haemoglobin iron salts zinc urine",))
    assert len(order_of(rank(PipelineRetriever(SPARSE, reranker=SharedWords(), candidates=3), search, 5))[0]) == 3
    own = PipelineRetriever(SPARSE, reranker=type("Own", (SharedWords,), {"candidates": 4})(), candidates=3)
    assert len(order_of(rank(own, search, 5))[0]) == 4
    assert own.without_effect == ("candidates",)


def test_stages_stand_around_any_retriever(application, dataset, tmp_path):
    for option, text in {
        "query/spelled": "SpelledOut\nabbreviations: {paracetamol: acetaminophen paracetamol}",
        "reranker/shared": "SharedWords\nletters: 2",
    }.items():
        (tmp_path / "conf" / option).parent.mkdir(parents=True)
        (tmp_path / f"conf/{option}.yaml").write_text(f"_target_: test_pipeline.{text}\n")
    swept = ["-m", "retriever=sparse", "query=spelled", "reranker=shared,none", "dynamic_k=gap,none", "k=3"]
    path = {"PYTHONPATH": f"{Path(__file__).parent}:{PROJECT / 'tests'}"}
    succeeded(application.run("--config-dir", str(tmp_path / "conf"), *dataset, *swept, **path))
    runs = application.children()
    assert len({run.data.tags["config.digest"] for run in runs}) == len(runs) == 4
    has = {tuple(name in run.data.params for name in ("reranker", "dynamic_k")): run.data.params for run in runs}
    assert len(has) == 4
    most = has[True, True]
    assert (most["query"], most["reranker.letters"]) == ("test_pipeline.SpelledOut", "2")
