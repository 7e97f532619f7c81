"""For how many queries nothing is found, why, and what to do: in runs, the audit and the decision of a sweep."""

# ruff: noqa: RUF001  # letters that look alike are the point

import json
import re
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from outcomes import decided, facts_of, of_scores

from ragsweep.core.errors import NothingFoundError
from ragsweep.datasets import Collection, Dataset, Document, Judgment, PageChunker, Qrels, Query
from ragsweep.evaluation import hit_rate, ndcg
from ragsweep.report.claims import claims_of
from ragsweep.retrieval import (
    NOTHING,
    FusedRetriever,
    HybridRetriever,
    PipelineRetriever,
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
LETTERS = partial(re.sub, r"\W", "")
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
    ("retriever", "query", "reason", "setting"),
    [
        (SPARSE, UNKNOWN, "no passage has a word", ""),
        (SPARSE, WEIGHTLESS, "rank_bm25 weighs it 0", "retriever.backend=bm25s"),
        (SPARSE, WORDLESS, "no letter and no digit", ""),
        (replace(SPARSE, stop_words="english"), "it is", "stop words", "retriever.stop_words=null"),
        (HybridRetriever(Everything(), SPARSE, 0), WEIGHTLESS, "weighs it 0", "retriever.sparse.backend=bm25s"),
        (FusedRetriever({"words": SPARSE}), WEIGHTLESS, "weighs it 0", "retriever.rankers.words.backend=bm25s"),
        (NothingForTheFirst(), FOUND, "returned no passage", ""),
        (replace(SPARSE, score_threshold=0.7), FOUND, "score_threshold removed", ""),
    ],
)
def test_a_run_says_for_how_many_queries_nothing_is_found_and_why(retriever, query, reason, setting):
    measurement = measured(items_of(query, "tablets"), retriever)
    silent = [notice for notice in measurement.notices if query in notice]
    assert len(silent) == 1
    assert "Nothing is found for" in silent[0]
    assert reason in silent[0]
    assert setting in silent[0]
    assert silent[0] in next(iter(measurement.sections.values()))


@pytest.mark.parametrize(
    ("retriever", "reason"),
    [
        (Nothing(), "returned nothing for any of 2 queries"),
        (SPARSE, "no passage has a word"),
    ],
)
def test_a_run_that_finds_nothing_for_any_query_fails_with_the_reason(retriever, reason):
    with pytest.raises(NothingFoundError, match=reason):
        measured(items_of(*(("Eisen", "Tee") if retriever is SPARSE else (FOUND, "tablets"))), retriever)


@dataclass(frozen=True)
class Dropping(Reranker):
    """Drops whatever was ranked."""

    def rerank(self, search: Search, ranking: Ranking, depth: int) -> Ranking:
        return Nothing().rank(search, depth)


@pytest.mark.parametrize(
    ("retriever", "stages", "setting"),
    [
        (replace(SPARSE, score_threshold=99), {}, "score_threshold"),
        (replace(SPARSE, score_threshold=99), {"query": Translated()}, "score_threshold"),
        (SPARSE, {"dynamic_k": Dropping()}, "dynamic_k"),
        (FusedRetriever({"words": replace(SPARSE, score_threshold=99)}), {}, "rankers.words.score_threshold"),
    ],
)
def test_what_its_own_settings_remove_is_measured_as_0(retriever, stages, setting):
    measurement = measured(items_of(FOUND, "tablets"), retriever, **stages)
    assert set(measurement.values.values()) == {0}
    [notice] = measurement.notices
    assert "2 of 2 queries" in notice
    assert f" {setting} removed all that was ranked" in notice


def test_a_reranker_that_returns_nothing_and_a_threshold_of_what_finds_nothing_explain_nothing():
    with pytest.raises(NothingFoundError, match="returned nothing for any of 1 query"):
        measured(items_of(FOUND), reranker=Dropping())
    with pytest.raises(NothingFoundError, match="no passage has a word"):
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
    assert "score_threshold removed all that was ranked" in sweep.stderr
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


@pytest.mark.parametrize("word", ["שלום", "حَبيبي", "live"])
def test_words_from_right_to_left_that_a_pdf_file_has_as_they_are_drawn_are_named(word):
    [silence] = SPARSE.silences(Search(("there is " + word[::-1], "rest", "sleep"), (word,)))
    assert ("in reverse order" in silence.reason) == (word != "live")


def test_what_a_ranker_says_is_printed_once_and_in_the_report():
    measurement = measured(items_of(FOUND), Talkative())
    assert "Some texts are of other pages." in measurement.notices
    assert measurement.sections["What was found"] == ["Some texts are of other pages."]
    assert not measurement.summary


def test_where_something_is_found_for_every_query_nothing_is_said():
    measurement = measured(items_of(FOUND, "tablets"))
    assert (measurement.notices, measurement.caution) == ([], "")
    assert facts(measurement, items_of(FOUND), "ndcg")["caution"] == ""


def test_passages_that_score_0_in_the_whole_corpus_are_a_ranking_of_no_part():
    fused = FusedRetriever({"words": SPARSE}, candidates=None)
    [notice] = measured(items_of(UNKNOWN, FOUND), fused).notices
    assert notice.startswith("The words part finds nothing for 1 of 2 queries")


def test_a_part_that_finds_nothing_is_named_though_the_others_do():
    measurement = measured(items_of(UNKNOWN, FOUND), HybridRetriever(Everything(), SPARSE, 0.5))
    [notice] = measurement.notices
    assert notice.startswith('The sparse part finds nothing for 1 of 2 queries ("Eisen")')
    assert not measurement.caution


def test_a_part_that_finds_nothing_for_most_queries_comes_first():
    measurement = measured(items_of(UNKNOWN, WORDLESS, FOUND), HybridRetriever(Everything(), SPARSE, 0.5))
    assert "The sparse part finds nothing" in measurement.caution


def test_what_is_searched_for_counts_and_not_what_was_asked():
    assert measured(items_of(UNKNOWN, FOUND), query=Translated()).notices == []
    pipeline = PipelineRetriever(SPARSE, Translated())
    assert [each is None for each in pipeline.silences(Search(TEXTS, (UNKNOWN, WEIGHTLESS)))] == [True, False]
    [notice] = measured(items_of(WEIGHTLESS, FOUND), query=Translated()).notices
    assert "retriever.backend=bm25s" in notice


def test_the_setting_that_is_named_finds_something():
    assert measured(items_of(WEIGHTLESS), replace(SPARSE, backend="bm25s")).notices == []
    assert measured(items_of("it is iron"), replace(SPARSE, stop_words="english", backend="bm25s")).notices == []


WORDS = st.lists(st.sampled_from(["iron", "tea", "the", "图书", "!", "é"]), max_size=4).map(" ".join)


@given(
    st.lists(WORDS, min_size=1, max_size=5).filter(lambda texts: any(map(str.strip, map(LETTERS, texts)))),
    st.lists(WORDS, min_size=1, max_size=4),
    st.sampled_from([{}, {"backend": "bm25s"}, {"epsilon": 0}]),
)
def test_bm25_is_silent_exactly_where_its_ranking_is_empty(texts, queries, settings):
    retriever, search = replace(SPARSE, **settings), Search(tuple(texts), tuple(queries))
    empty = (retriever.rank(search, 9).passages == NOTHING).all(axis=1)
    assert [each is not None for each in retriever.silences(search)] == empty.tolist()


def test_what_is_kept_is_what_was_found(store):
    search, kept = Search(TEXTS, (FOUND, UNKNOWN, WEIGHTLESS)), replace(SPARSE, store=store)
    assert kept.silences(search) == kept.silences(search) == SPARSE.silences(search)


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
