"""For how many queries nothing is found: in runs and in the decision of a sweep."""

# ruff: noqa: RUF001  # letters that look alike are the point

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest
from outcomes import decided, facts_of, of_scores

from ragsweep.core.errors import NothingFoundError
from ragsweep.datasets import Collection, Dataset, Document, Judgment, PageChunker, Qrels, Query
from ragsweep.evaluation import hit_rate, ndcg
from ragsweep.report.claims import claims_of
from ragsweep.retrieval import (
    NOTHING,
    FusedRetriever,
    Ranker,
    Ranking,
    Reranker,
    Rewriter,
    Search,
    SparseRetriever,
    ranked,
)
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.measurement_files import facts
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings
from ragsweep.tasks.ranking.ranking_task import RankingTask

SPARSE = SparseRetriever(NO_STORE)
TEXTS = ("iron tablets", "iron and tea", "rest", "sleep")  # iron is in exactly half of them
FOUND, UNKNOWN, WEIGHTLESS, WORDLESS = "tea", "Eisen", "iron", "?!"


@dataclass(frozen=True)
class Everything(Ranker):
    """Ranks the whole corpus for every query."""

    def rank(self, search: Search, depth: int) -> Ranking:
        rows = np.tile(np.arange(len(search.passages)), (len(search.queries), 1))
        return ranked(rows, -rows.astype(float), depth)


@dataclass(frozen=True)
class Nothing(Ranker):
    """Finds nothing, and does not say why."""

    def rank(self, search: Search, depth: int) -> Ranking:
        return Ranking(np.full((len(search.queries), 1), -1), np.full((len(search.queries), 1), -np.inf))


@dataclass(frozen=True)
class NothingForTheFirst(Ranker):
    """Finds nothing for the first query, and does not say why."""

    def rank(self, search: Search, depth: int) -> Ranking:
        rows = np.arange(len(search.queries))[:, None] - 1  # NOTHING is -1
        return Ranking(rows, np.where(rows == NOTHING, -np.inf, 1.0))


@dataclass(frozen=True)
class Talkative(Everything):
    """Has something to say."""

    def sections(self, search):
        return {"What was found": ["Some texts are of other pages."]}


@dataclass(frozen=True)
class Translated(Rewriter):
    def rewrite(self, queries):
        return [{"Eisen": "tea"}.get(query, query) for query in queries]


def items_of(*queries):
    documents = tuple(Document.from_pages(text, [("1", text, text)]) for text in TEXTS)
    asked = tuple(Query(f"q{number}", text) for number, text in enumerate(queries))
    judgments = tuple(Judgment(query.query_id, TEXTS[0], 1) for query in asked)
    return Dataset.from_collection(Collection("small", "document", documents, asked, judgments), PageChunker())


def measured(items, retriever=SPARSE, **stages):
    evaluation = EvaluationSettings("after_cutoff", 1, "linear", 10, {"ndcg": ndcg, "hit_rate": hit_rate})
    task = RankingTask(None, PageChunker(), retriever, evaluation, 3, 0, NO_STORE, "words", **stages)
    return task.measure(items)


@pytest.mark.parametrize(
    ("retriever", "query"),
    [
        (SPARSE, UNKNOWN),
        (FusedRetriever({"words": SPARSE}), WEIGHTLESS),
        (NothingForTheFirst(), FOUND),
        (replace(SPARSE, score_threshold=0.7), FOUND),
    ],
)
def test_a_run_says_for_how_many_queries_nothing_is_found(retriever, query):
    measurement = measured(items_of(query, "tablets"), retriever)
    [line] = [line for line in measurement.notices if query in line]
    assert "1 of 2 queries" in line
    assert line in next(iter(measurement.sections.values()))


@pytest.mark.parametrize(("retriever", "queries"), [(Nothing(), (FOUND, "tablets")), (SPARSE, ("Eisen", "Tee"))])
def test_a_run_that_finds_nothing_for_any_query_fails(retriever, queries):
    with pytest.raises(NothingFoundError, match="any of 2 queries"):
        measured(items_of(*queries), retriever)


@dataclass(frozen=True)
class Dropping(Reranker):
    """Drops whatever was ranked."""

    def rerank(self, search: Search, ranking: Ranking, depth: int) -> Ranking:
        return Nothing().rank(search, depth)


@pytest.mark.parametrize(
    ("retriever", "stages"),
    [
        (replace(SPARSE, score_threshold=99), {"query": Translated()}),
        (SPARSE, {"dynamic_k": Dropping()}),
        (FusedRetriever({"words": replace(SPARSE, score_threshold=99)}), {}),
    ],
)
def test_what_its_own_settings_remove_is_measured_as_0(retriever, stages):
    measurement = measured(items_of(FOUND, "tablets"), retriever, **stages)
    assert set(measurement.values.values()) == {0}
    [line] = measurement.notices
    assert "2 of 2 queries" in line


def test_a_reranker_that_returns_nothing_and_a_threshold_of_what_finds_nothing_fail():
    with pytest.raises(NothingFoundError):
        measured(items_of(FOUND), reranker=Dropping())
    with pytest.raises(NothingFoundError):
        measured(items_of(UNKNOWN), replace(SPARSE, score_threshold=0.1))


def test_queries_that_are_not_measured_do_not_save_a_run_that_finds_nothing():
    items = items_of(UNKNOWN, FOUND)
    first = items.qrels.query == 0
    of_first = Qrels(*(column[first] for column in (items.qrels.query, items.qrels.unit, items.qrels.grade)))
    with pytest.raises(NothingFoundError, match="any of 1 query"):
        measured(replace(items, qrels=of_first))
    none_right = replace(items, queries=(items.queries[0], replace(items.queries[1], answerable=False)), qrels=of_first)
    assert measured(none_right).values["ndcg"] == 0  # of one whose documents do not answer it, something is found


EMPTY = """
from dataclasses import dataclass

import numpy as np

from ragsweep.retrieval import Ranking, SparseRetriever


@dataclass(frozen=True)
class Mine(SparseRetriever):
    empty: bool = False

    def rank(self, search, depth):
        shape = len(search.queries), depth
        return Ranking(np.full(shape, -1), np.full(shape, -np.inf)) if self.empty else super().rank(search, depth)
"""


def test_an_arm_that_returns_nothing_has_failed_and_what_its_threshold_removes_measures_0(
    application, dataset, tmp_path
):
    (tmp_path / "mine.py").write_text(EMPTY)
    mine = ["retriever=sparse", "retriever._target_=mine.Mine", "+retriever.empty=false,true"]
    swept = ["-m", *dataset, *mine, "retriever.score_threshold=0,99"]
    sweep = application.run(*swept, PYTHONPATH=str(tmp_path))
    assert sweep.returncode == 1
    [parent] = application.parents()
    statuses = {run.info.run_name: run.info.status for run in application.children()}
    assert statuses == {
        "empty=False score_threshold=0": "FINISHED",
        "empty=False score_threshold=99": "FINISHED",
        "empty=True score_threshold=0": "FAILED",
        "empty=True score_threshold=99": "FAILED",
    }
    *_, removed, failed, _ = application.children()
    assert "returned nothing for any of" in failed.data.tags["error"]
    assert removed.data.metrics["f1"] == 0
    decision = json.loads((application.artifacts(parent) / "decision.json").read_text())
    [line] = [line for line in decision["headline"] if "empty=True score_threshold=0" in line]
    assert line in sweep.stdout
    assert decision["configurations"] == 2


def test_a_single_run_that_finds_nothing_has_failed(application, dataset, tmp_path):
    (tmp_path / "mine.py").write_text(EMPTY)
    mine = ["retriever=sparse", "retriever._target_=mine.Mine", "+retriever.empty=true"]
    process = application.run(*dataset, *mine, PYTHONPATH=str(tmp_path))
    assert process.returncode == 1
    assert "returned nothing for any of" in process.stderr
    assert [run.info.status for run in application.runs()] == ["FAILED"]


def test_what_a_ranker_says_is_printed_once_and_in_the_report():
    measurement = measured(items_of(FOUND), Talkative())
    assert "Some texts are of other pages." in measurement.notices
    assert measurement.sections["What was found"] == ["Some texts are of other pages."]
    assert not measurement.summary


def test_where_something_is_found_for_every_query_nothing_is_said():
    measurement = measured(items_of(FOUND, "tablets"))
    assert (measurement.notices, measurement.caution) == ([], "")
    assert facts(measurement, items_of(FOUND), "ndcg")["caution"] == ""


def test_what_is_searched_for_counts_and_not_what_was_asked():
    assert measured(items_of(UNKNOWN, FOUND), query=Translated()).notices == []


@pytest.mark.parametrize(
    ("queries", "is_headline"),
    [((UNKNOWN, FOUND, "tablets", "tea tablets"), False), ((UNKNOWN, FOUND, "tablets"), True)],
    ids=["a quarter", "a third"],
)
def test_if_nothing_is_found_for_many_queries_that_comes_first(queries, is_headline):
    items = items_of(*queries)
    measurement = measured(items)
    assert bool(measurement.caution) == is_headline
    assert facts_of(facts(measurement, items, "ndcg")).caution == measurement.caution


def test_the_decision_begins_with_it():
    caution = "Nothing is found for 20 of 20 queries: no passage has a word of theirs."
    good, bad = np.linspace(0.7, 0.9, 20), np.zeros(20)
    none = [of_scores(f"k={k}", bad, {"k": k}, facts={"caution": caution}, k=str(k)) for k in (3, 5)]
    some = of_scores("alpha=1", good, {"retriever.alpha": 1})
    mixed = decided(some, of_scores("alpha=0", bad, {"retriever.alpha": 0}, facts={"caution": caution}))
    for decision, place in ((decided(*none), "headline"), (mixed, "evidence")):
        assert [claim.place for claim in claims_of(decision) if claim.name == "caution"] == [place]


LANGUAGES = {  # passages, each with a query about it
    "Chinese": [
        ("图书馆周一至周五上午九点开门。", "图书馆几点开门"),
        ("借书证丢失后请补办。", "借书证丢失怎么办"),
    ],
    "Japanese": [("図書館は九時に開きます。", "図書館は何時に開くか"), ("ﾌﾟﾘﾝﾀｰは二階です。", "プリンターはどこ")],
    "Korean": [("도서관은 아홉 시에 엽니다.", "도서관 시간"), ("프린터는 이층에 있습니다.", "프린터 위치")],
    "Thai": [("ห้องสมุดเปิดเวลาเก้าโมง", "ห้องสมุดเปิดกี่โมง"), ("เครื่องพิมพ์อยู่ชั้นสอง", "เครื่องพิมพ์อยู่ที่ไหน")],
    "Khmer": [("បណ្ណាល័យបើកម៉ោងប្រាំបួន", "បណ្ណាល័យបើកម៉ោងប៉ុន្មាន"), ("ម៉ាស៊ីនបោះពុម្ពនៅជាន់ទីពីរ", "ម៉ាស៊ីនបោះពុម្ពនៅឯណា")],
    "Burmese": [("စာကြည့်တိုက်ကိုးနာရီဖွင့်သည်", "စာကြည့်တိုက်ဘယ်အချိန်ဖွင့်သလဲ"), ("ပုံနှိပ်စက်ဒုတိယထပ်တွင်ရှိသည်", "ပုံနှိပ်စက်ဘယ်မှာလဲ")],
    "Hindi": [("पुस्तकालय नौ बजे खुलता है", "पुस्तकालय कब खुलता"), ("प्रिंटर दूसरी मंज़िल पर", "प्रिंटर मंज़िल")],
    "vowel signs": [("पिता घर पर", "पिता"), ("पोता घर पर", "पोता")],  # the same letters without them
    "decomposed": [
        ("Die Gebu\u0308hr betra\u0308gt 5 Euro", "Gebühr"),
        ("Das Café öffnet", "Cafe\u0301"),
    ],
    "full width": [("ＣＯＶＩＤ－１９ vaccine", "covid 19"), ("ibuprofen ４００mg", "400mg")],
    "invisible": [("Wirt\u00adschafts\u00adkrise", "Wirtschaftskrise"), ("zero\u200bwidth", "\ufeffzerowidth")],
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_of_every_script_are_found(language):
    texts, queries = zip(*LANGUAGES[language], strict=True)
    others = ("0", "1", "2")  # so that no term is in half of the passages
    assert SPARSE.rank(Search((*texts, *others), queries), 1).passages.ravel().tolist() == [0, 1]
