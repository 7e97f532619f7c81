"""Rankers that are made of others: fusions, a hybrid, and a pipeline of four stages, of which some are a user's own."""

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
import pytest
from application import PROJECT, succeeded
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi
from rankings import SPARSE, are_same, order_of, pairs_of, ranking_of

from ragsweep.core.errors import ConfigError, RetrieverError
from ragsweep.core.limits import Between
from ragsweep.retrieval import (
    DenseRetriever,
    Encoder,
    Expander,
    Expansion,
    FusedRetriever,
    Fusion,
    HybridRetriever,
    PipelineRetriever,
    Ranking,
    ReciprocalRankFusion,
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

QUERIES = 3
FEW = settings(max_examples=30)  # of each fusion
SCORES = st.integers(-2, 2) | st.floats(-1e6, 1e6)
DIFFERENT = st.dictionaries(st.integers(0, 7), st.integers(-99, 99), min_size=2).filter(
    lambda scores: len({*scores.values()}) == len(scores)
)
FUSIONS = {
    "minmax": WeightedSum,
    "zscore": partial(WeightedSum, norm="zscore"),
    "sum": partial(WeightedSum, norm="none"),
    "rrf": lambda weights=None: ReciprocalRankFusion(weights=weights),
}
CANDIDATES = st.lists(st.dictionaries(st.integers(0, 7), SCORES), min_size=QUERIES, max_size=QUERIES)


def normalised(scores):
    low, high = min(scores.values(), default=0), max(scores.values(), default=0)
    return {passage: 1.0 if high == low else (score - low) / (high - low) for passage, score in scores.items()}


def slow_weighted_sum(rankings, weights):
    fused = {}
    for weight, scores in zip(weights, map(normalised, rankings), strict=True):
        for passage, score in scores.items() if weight else ():
            fused[passage] = fused.get(passage, 0.0) + weight * score
    return [(p, fused[p]) for p in sorted(fused, key=lambda p: (-fused[p], p))]


@given(
    st.lists(st.tuples(CANDIDATES, st.floats(0, 1)), min_size=1, max_size=4).filter(
        lambda weighted: any(weight for _, weight in weighted)
    )
)
def test_a_weighted_sum_equals_a_slow_loop_over_dictionaries(weighted):
    rankings, weights = zip(*weighted, strict=True)
    expected = [slow_weighted_sum(of_query, weights) for of_query in zip(*rankings, strict=True)]
    assert pairs_of(WeightedSum(weights).fuse([ranking_of(*scores) for scores in rankings])) == expected


def fused_by_ranx(ranx, rankings, norm, method, params):
    """What ranx makes of rankings `{passage: score}`."""
    runs = [ranx.Run({"q": {str(passage): float(score) for passage, score in scores.items()}}) for scores in rankings]
    fused = ranx.fuse(runs, norm=norm, method=method, params=params)
    return {int(passage): float(score) for passage, score in fused.to_dict()["q"].items()}


@pytest.mark.extra("bench")
@pytest.mark.parametrize(
    ("fusion", "norm", "method"),
    [
        (WeightedSum([0.2, 0.5, 0.3]), "min-max", ("wsum", {"weights": [0.2, 0.5, 0.3]})),
        (WeightedSum([0.2, 0.5, 0.3], norm="zscore"), "zmuv", ("wsum", {"weights": [0.2, 0.5, 0.3]})),
        (WeightedSum([1, 1, 1], norm="none"), None, ("sum", {})),
        (WeightedSum([1, 1, 1], norm="zscore"), "zmuv", ("sum", {})),
        (ReciprocalRankFusion(), None, ("rrf", {"k": 60})),
        (ReciprocalRankFusion(constant=3), None, ("rrf", {"k": 3})),
    ],
)
@FEW
@given(rankings=st.lists(DIFFERENT, min_size=3, max_size=3))
def test_scores_equal_those_of_ranx(ranx, fusion, norm, method, rankings):
    [fused] = pairs_of(fusion.fuse([ranking_of(scores) for scores in rankings]))
    assert dict(fused) == pytest.approx(fused_by_ranx(ranx, rankings, norm, *method), abs=1e-9)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("name", FUSIONS)
@FEW
@given(candidates=st.lists(CANDIDATES, min_size=3, max_size=3), weights=st.tuples(*[st.floats(0.01, 1)] * 2))
def test_order_and_other_queries_do_not_matter_and_weights_go_with_their_rankings(name, candidates, weights):
    fusion, rankings = FUSIONS[name], [ranking_of(*scores) for scores in candidates]
    fused = pairs_of(fusion().fuse(rankings))
    for order in permutations(rankings):
        for one, other in zip(fused, pairs_of(fusion().fuse([*order])), strict=True):
            assert dict(one) == pytest.approx(dict(other), rel=1e-9, abs=1e-9)
    for query in range(QUERIES):
        assert pairs_of(fusion().fuse([ranking_of(scores[query]) for scores in candidates])) == [fused[query]]
    first, absent, last = rankings
    two = pairs_of(fusion(weights).fuse([first, last]))
    assert pairs_of(fusion(weights[::-1]).fuse([last, first])) == two
    assert pairs_of(fusion([weights[0], 0, weights[1]]).fuse([first, absent, last])) == two  # weight 0: not there


@pytest.fixture
def hybrid(letters, store):
    return partial(HybridRetriever, DenseRetriever(letters, store), SparseRetriever(store))


def test_alpha_1_is_the_dense_ranking_and_alpha_0_the_sparse_one(hybrid, manual_search):
    for alpha, part in ((1, hybrid().dense), (0, hybrid().sparse)):
        assert are_same(hybrid(alpha=alpha).rank(manual_search, 10), part.rank(manual_search, 10))


@dataclass(frozen=True)
class FirstRanking(Fusion):
    """A fusion without weights."""

    def fuse(self, rankings):
        return rankings[0]


@pytest.mark.usefixtures("long_work")
def test_alpha_has_no_effect_on_a_fusion_without_weights_and_others_take_theirs_from_it(hybrid, manual_search):
    one, other = (hybrid(alpha=alpha, fusion=FirstRanking()) for alpha in (0.3, 0.7))
    assert are_same(one.rank(manual_search, 10), other.rank(manual_search, 10))
    assert one.without_effect == ("alpha",)
    assert hybrid(alpha=0.3).without_effect == ()
    assert hybrid(alpha=1, fusion=FirstRanking()).without_effect == ("sparse", "candidates", "fusion")
    with pytest.raises(ConfigError, match=r"fusion\.weights: found \[0\.5, 0\.5\], expected null, as alpha gives"):
        hybrid(fusion=WeightedSum([0.5, 0.5]))


def test_a_fusion_by_ranks_gives_no_rank_to_what_was_not_retrieved_and_equal_scores_one_norm(letters):
    by_ranks = {"candidates": None, "fusion": ReciprocalRankFusion()}
    hybrid = HybridRetriever(DenseRetriever(letters, NO_STORE), SPARSE, **by_ranks)
    assert hybrid.rank(Search(("iron", "tea", "zinc"), ("xyz",)), 1).scores.tolist() == [[0.7 / 61]]
    equal = ranking_of(dict.fromkeys(range(3), 0.1))
    for norm, score in (("minmax", 1.0), ("zscore", 0.0), ("none", 0.1)):
        assert pairs_of(WeightedSum(norm=norm).fuse([equal])) == [[(passage, score) for passage in range(3)]]


# Against a slow loop

MANY, ASKED, ALPHA = 150, 24, 0.3
WORDS = "fever malaria iron tablet midwife clinic water salt growth child mother visit record page".split()


class LetterCounts(Encoder):
    """Embeds a text by how often it has each letter: inner products are whole numbers, so that ties are exact."""

    fingerprint, similarity = "counts", "dot"

    def encode(self, texts, role):
        return np.array([[text.count(chr(letter)) for letter in range(97, 123)] for text in texts], np.float32)


def search_of(left_out):
    """As in ArguAna each query is a document, which is left out for it, with some further documents or none.

    All passages share a word, so that none scores 0: what is left out would be the only one that does.
    """
    rng = np.random.default_rng(1)
    texts = [" ".join(["clinic", *rng.choice(WORDS, rng.integers(3, 9))]) for _ in range(MANY)]
    unranked = [(query, (query + 7 * other) % MANY) for query in range(ASKED) for other in range(left_out)]
    return Search(tuple(texts), tuple(texts[:ASKED]), unranked=np.array(unranked, dtype=np.int64).reshape(-1, 2))


def zscore(scores):
    values = [*scores.values()]
    mean, deviation = np.mean(values), np.std(values)
    return {passage: (score - mean) / deviation if deviation else 0.0 for passage, score in scores.items()}


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
        kept = [passage for passage in range(MANY) if passage not in left_out]
        if scores is sparse and (candidates or by_rank):  # else the scores of all passages are fused
            kept = [passage for passage in kept if scores[passage]]
        best = sorted(kept, key=lambda passage: (-scores[passage], passage))[:candidates]
        for candidate, score in norm({passage: scores[passage] for passage in best}).items():
            fused[candidate] = fused.get(candidate, 0.0) + weight * score
    return fused


NORMS = {  # a fusion, and what becomes of the scores of a ranking by passage
    "minmax": (WeightedSum(), normalised),
    "zscore": (WeightedSum(norm="zscore"), zscore),
    "none": (WeightedSum(norm="none"), dict),
    "rrf": (ReciprocalRankFusion(), reciprocal_rank),
}


@pytest.mark.parametrize("candidates", [100, None])
@pytest.mark.parametrize("name", NORMS)
def test_the_scores_are_those_of_a_loop_and_what_is_left_out_takes_no_part(name, candidates):
    fusion, norm = NORMS[name]
    retriever = HybridRetriever(DenseRetriever(LetterCounts(), NO_STORE), SPARSE, ALPHA, candidates, fusion)
    for left_out in (0, 3):
        search = search_of(left_out)
        for query, pairs in enumerate(pairs_of(rank(retriever, search, MANY))):
            expected = slow(search, query, norm, candidates, by_rank=name == "rrf")
            assert dict(pairs) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("fusion", "formula", "norm"),
    [
        (ReciprocalRankFusion(), "1 / (60 + rank in one) + 1 / (60 + rank in two)", "1 / (60 + rank in this part)"),
        (WeightedSum([0.9, 0.1]), "0.9 * norm of one + 0.1 * norm of two", "the score of this part, from 0 "),
    ],
)
def test_a_trace_says_how_the_score_is_made(fusion, formula, norm):
    rankers = {"one": SPARSE, "two": SparseRetriever(NO_STORE, b=0.1)}
    trace = FusedRetriever(rankers, fusion=fusion).trace(Search(("iron", "tea"), ("tea",)), 0)
    assert trace.formula == formula
    assert trace.normalisation.means.startswith(norm)


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
    made, pairs = pipeline(), []
    for row, spelled in enumerate(SPELL.rewrite(SEARCH.queries)):
        rankings = [ranker.rank(Search(PASSAGES, (spelled,)), 3) for ranker in made.ranker.rankers.values()]
        fused = made.ranker.fusion.fuse(rankings)
        first = Ranking(fused.passages[:, :2], fused.scores[:, :2])
        pairs += pairs_of(made.reranker.rerank(SEARCH.row(row), first, 2))
    assert pairs_of(rank(made, SEARCH, 2)) == pairs


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
