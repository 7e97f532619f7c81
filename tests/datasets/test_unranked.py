"""Documents that a benchmark leaves out of the ranking of a query, as the evaluators of BEIR and MTEB do."""

from dataclasses import replace

import pytest
import pytrec_eval
from arguments import ARGUMENTS, COUNTERS, QRELS, written
from letters import LetterEncoder
from read_strictly import expect_refusal, in_catalogue

import ragsweep
from ragsweep.core.timing import UNTIMED
from ragsweep.datasets import IrDatasetsDataset, PageChunker, beir_dataset
from ragsweep.datasets.formats.beir import Unranked
from ragsweep.datasets.formats.conversion import convert
from ragsweep.retrieval import (
    DenseRetriever,
    Expander,
    Expansion,
    GapCutoff,
    HybridRetriever,
    RunFileRetriever,
    SparseRetriever,
    rank,
)
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.ranking.conventions import HEADING
from ragsweep.tasks.ranking.metrics import ndcg
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings
from ragsweep.tasks.ranking.ranking_task import RankingTask
from ragsweep.tasks.search import search_of

BM25S, IN_LETTERS = SparseRetriever(NO_STORE, backend="bm25s"), DenseRetriever(LetterEncoder(), NO_STORE)
RETRIEVERS = [BM25S, IN_LETTERS, HybridRetriever(IN_LETTERS, BM25S), SparseRetriever(NO_STORE)]


@pytest.fixture
def ranking(tmp_path):
    """The task of ranking a folder in the layout of BEIR, with its items."""
    folders = iter(range(9))

    def ranking(retriever=BM25S, k=3, *, files=None, stages=None, **settings):
        folder = written(tmp_path / f"folder {next(folders)}", **files or {})
        evaluation = EvaluationSettings("after_cutoff", 1, "linear", 10, {"ndcg": ndcg})
        dataset = beir_dataset("a", str(folder), **settings)
        task = RankingTask(dataset, PageChunker(), retriever, evaluation, k, 0, NO_STORE, **stages or {})
        return task, task.load()

    return ranking


def as_beir(run, qrels, k):
    """What BEIR's evaluator measures: it drops the document with the query's id, and then calls trec_eval."""
    kept = {query: {name: score for name, score in hits.items() if name != query} for query, hits in run.items()}
    measured = pytrec_eval.RelevanceEvaluator(qrels, {f"ndcg_cut.{k}"}).evaluate(kept)
    return {query: values[f"ndcg_cut_{k}"] for query, values in measured.items()}


@pytest.mark.parametrize("retriever", RETRIEVERS[:2])
def test_the_numbers_are_those_of_the_evaluator_of_beir(ranking, retriever):
    kept, items = ranking(retriever, leave_out=None)
    names = [passage.source for passage in items.passages]
    run = {
        query.query_id: {names[place]: float(-rank) for rank, place in enumerate(row) if place >= 0}
        for query, row in zip(items.queries, kept.rank(items).passages.tolist(), strict=True)
    }
    expected = as_beir(run, {query: {document: 1} for query, document in QRELS.items()}, 3)
    own, own_items = ranking(retriever)
    measured = own.measure(own_items)
    assert measured.per_item.set_index("query_id")["ndcg"].to_dict() == pytest.approx(expected)
    assert measured.values["ndcg"] > kept.measure(items).values["ndcg"]  # turning it off changes the result


@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_no_rank_is_lost_to_what_is_left_out(ranking, retriever):
    search = search_of(ranking()[1])
    own = {(row, place) for row, place in search.unranked.tolist()}
    assert len(own) == 3
    deep = rank(retriever, replace(search, unranked=search.unranked[:0]), 6).passages.tolist()
    expected = [[place for place in ranked if (row, place) not in own] for row, ranked in enumerate(deep)]
    for k in (1, 3):
        shallow = rank(retriever, search, k).passages.tolist()
        assert {(row, place) for row, ranked in enumerate(shallow) for place in ranked} & own == set()
        assert [rank(retriever, search.row(row), k).passages.tolist() for row in range(3)] == [[row] for row in shallow]
        is_hybrid = isinstance(retriever, HybridRetriever)  # its scores are scaled by the highest one
        assert is_hybrid or shallow == [ranked[:k] for ranked in expected]


class AsksForTheFirst(Expander):
    """An expander that searches for the first passage of a first ranking."""

    def expand(self, search, ranker):
        texts = tuple(search.passages[place] for place in rank(ranker, search, 1).passages[:, 0])
        return Expansion((replace(search, queries=texts),), UNTIMED, ("",) * len(texts))


def test_stages_after_a_ranker_never_see_it(ranking):
    """A cutoff at the largest gap would end after the query's own document, and an expander would repeat the query."""
    cut, items = ranking(IN_LETTERS, stages={"dynamic_k": GapCutoff()})
    assert (cut.rank(items).passages[:, 0] >= 3).all()
    fed, items = ranking(stages={"query": AsksForTheFirst()})
    [searched] = [texts for name, texts in fed.measure(items).details.items() if name == "searched"]
    own = {(row, items.passages[place].text) for row, place in search_of(items).unranked.tolist()}
    assert not own.intersection(enumerate(searched))


def test_it_is_said_for_how_many_queries_and_which_judgments_and_belongs_to_the_digest(ranking):
    (own, items), (kept, all_items) = ranking(), ranking(leave_out=None)
    measured = own.measure(items)
    assert "For 3 of 3 queries" in measured.sections[HEADING][0]
    assert measured.sections[HEADING][0] in measured.notices
    assert HEADING not in kept.measure(all_items).sections
    assert items.digest != all_items.digest
    own, items = ranking(files={"qrels": {"tax": "tax", "ban": "c2", "vote": "c3"}})
    measured = own.measure(items)
    assert measured.per_item["ndcg"][0] == 0
    assert "judged relevant for 1 query" in measured.sections[HEADING][1]
    assert items.coverage().share == pytest.approx(2 / 3)  # the own document is in the corpus
    assert measured.facts["answerable"]["queries"] == 2


def test_nothing_changes_where_no_ids_coincide_or_mostly_answer_the_query(ranking, capsys):
    """As in PubMedQA, where the id of a question is that of its abstract."""
    queries = [{"_id": f"q{name}", "text": text} for name, text in ARGUMENTS.items()]
    files = {"queries": queries, "qrels": {f"q{query}": document for query, document in QRELS.items()}}
    first, second = (ranking(files=files, leave_out=rule)[0].dataset.load() for rule in ("same_id", None))
    assert first == second
    assert first.digest == second.digest
    _, items = ranking(files={"qrels": {"tax": "tax", "ban": "ban", "vote": "c3"}})
    assert items.left_out.documents == ()
    assert "2 of 3 are judged relevant" in capsys.readouterr().err


def test_what_is_left_out_tells_nothing_of_the_judgments_of_a_query(ranking):
    judged = (QRELS, {**QRELS, "tax": "tax"}, {**QRELS, "vote": "vote"})
    unranked = [search_of(ranking(files={"qrels": qrels})[1]).unranked.tolist() for qrels in judged]
    assert unranked == [[[0, 0], [1, 1], [2, 2]]] * 3


def excluding(excluded):
    queries = [{"_id": "q", "text": "vote people age", "excluded_ids": excluded}, {"_id": "r", "text": "cars"}]
    return {"queries": queries, "qrels": {"q": "vote", "r": "c2"}}


def test_queries_may_exclude_documents_by_their_ids(ranking):
    for excluded, left in ((["c3"], True), (["N/A"], False), ("c3", True), (None, False)):
        own, items = ranking(files=excluding(excluded))
        assert items.left_out.documents == ((Unranked("q", "c3"),) if left else ())
        assert ("c3" not in own.measure(items).details["retrieved"][0]) == left
        assert items.queries[0].fields == ()
    expect_refusal(lambda: ranking(files=excluding([{"id": 1}])), "'excluded_ids'")
    assert len(ranking(files=excluding([{"id": 1}]), on_error="skip")[1].queries) == 1


def test_a_run_file_keeps_its_own_documents_out_of_ranks(ranking, tmp_path):
    lines = [f"{query} Q0 {document} 0 {score} other" for query in QRELS
             for document, score in ((query, 9), (QRELS[query], 5), ("c1" if query != "tax" else "c2", 4))]  # fmt: skip
    (tmp_path / "run").write_text("\n".join(lines))
    own, items = ranking(RunFileRetriever(str(tmp_path / "run")), k=1)
    assert own.measure(items).values["ndcg"] == 1


@pytest.mark.extra("ir_datasets")
def test_the_catalogue_leaves_it_out_of_the_benchmarks_of_beir(tmp_path):
    docs = "".join(f"{name}\t{text}\n" for name, text in (ARGUMENTS | COUNTERS).items())
    queries = "".join(f"{name}\t{text}\n" for name, text in {**ARGUMENTS, "d": " "}.items())
    qrels = "".join(f"{query} 0 {document} 1\n" for query, document in {**QRELS, "x": "c1"}.items())
    for benchmark, number in (("beir/here", 3), ("trec/here", 0)):
        name = in_catalogue(tmp_path, docs, queries, qrels, benchmark)
        selected = IrDatasetsDataset("small", name, ids=[*ARGUMENTS]).load()
        assert len(selected.left_out.documents) == number
        assert [len(selected.queries), {*selected.left_out.unselected}] == [3, {"d", "x"}]
        skipped = IrDatasetsDataset("small", name, on_error="skip").load()
        assert [len(skipped.queries), {fault.name for fault in skipped.left_out.faulty}] == [3, {"d", "x"}]
        expect_refusal(IrDatasetsDataset("small", name).load, "2 of 5 questions ", "dataset.on_error=skip")


def test_a_converted_dataset_leaves_out_the_same(tmp_path):
    for rule in ("same_id", None):
        collection = beir_dataset("a", str(written(tmp_path / str(rule))), leave_out=rule).load()
        made = convert(collection, tmp_path / f"made {rule}")
        assert "dataset.leave_out=null" in made.settings
        again = beir_dataset("a", str(tmp_path / f"made {rule}"), leave_out=None).load()
        assert {*again.left_out.documents} == {*collection.left_out.documents}


def test_rankings_of_other_programs_say_it_or_leave_it_out():
    run, qrels = {"q1": {"q1": 3.0, "d1": 2.0}, "q2": {"d1": 1.0}}, {"q1": {"d1": 1}, "q2": {"d1": 1}}
    as_they_are = ragsweep.evaluate(run, qrels, k=3, resamples=1)
    left_out = ragsweep.evaluate(run, qrels, k=3, leave_out="same_id", resamples=1)
    assert as_they_are.means["ndcg"] == pytest.approx((0.6309 + 1) / 2, abs=1e-4)
    assert left_out.means["ndcg"] == 1
    assert as_they_are.with_own_document == left_out.with_own_document == ("q1",)
    assert "leave_out='same_id' leaves it out" in repr(as_they_are)
