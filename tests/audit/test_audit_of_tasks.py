"""The audit as a task composes it: ranks of units, settings, what is kept, and encoders that do not read everything."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest
import small
from rank_bm25 import BM25Okapi

from ragsweep.core.errors import NotAcceptedError
from ragsweep.datasets import (
    Collection,
    Dataset,
    DatasetFormat,
    Document,
    FixedChunker,
    Judgment,
    OwnDataset,
    PageChunker,
    Qrels,
    Query,
    RecursiveChunker,
    Reference,
    TableCorpus,
    TableQuestions,
    pdf_dataset,
)
from ragsweep.evaluation import recall
from ragsweep.retrieval import (
    DenseRetriever,
    EncoderReranker,
    ExactIndex,
    FusedRetriever,
    SentenceTransformerEncoder,
    SparseRetriever,
    WordLlamaEncoder,
)
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings
from ragsweep.tasks.ranking.ranking_task import RankingTask
from ragsweep.tasks.search import Retrieval
from ragsweep.text.tokens import Tokenizer
from ragsweep_audit.check import DatasetAudit
from ragsweep_audit.dataset_audit import as_json, audit
from ragsweep_audit.findings.finding import Audited
from ragsweep_audit.findings.unit_ranks import unit_ranks
from ragsweep_audit.findings.unread_text import UnknownTokens, UnreadTexts

pytestmark = pytest.mark.usefixtures("models")

PAGES = PageChunker()
SPARSE = SparseRetriever(NO_STORE)
DENSE = DenseRetriever(encoder=SentenceTransformerEncoder(), index=ExactIndex(), store=NO_STORE)
STATIC = DenseRetriever(encoder=WordLlamaEncoder(), index=ExactIndex(), store=NO_STORE)  # another encoder, and fast


def examined(task):
    """The measurement of a task with what the audit says."""
    items = task.load()
    return DatasetAudit().examine(task, items).added_to(task.measure(items))


def audited(items, store=NO_STORE, retriever=SPARSE, **settings):
    return complete(items, store, retriever, **settings).findings


def complete(items, store=NO_STORE, retriever=SPARSE, **settings):
    return audit(Audited(items, store=store, retriever=retriever, **settings))


@pytest.fixture(scope="module")
def with_a_long_page():
    document = Document.from_pages("a", [("1", "a#1", "iron " * 300), ("2", "a#2", "tea"), ("3", "a#3", "salt")])
    queries, judgments = (Query("1", "What of tea?"),), (Judgment("1", "a#2", 1),)
    return Dataset.from_collection(Collection("long", "page", (document,), queries, judgments), PAGES)


def test_unread_text_is_a_finding_if_it_is_enough(with_a_long_page):
    [finding] = audited(with_a_long_page, retriever=DENSE)
    assert (finding.kind, finding.details["window"]) == ("unread_text", 254)
    assert finding.details["unread_share"] == pytest.approx(46 / 302)
    assert not [*UnreadTexts(0.9).find(Audited(with_a_long_page, retriever=DENSE))]
    assert not audited(with_a_long_page)


def test_an_encoder_of_a_ranker_among_several_is_found(with_a_long_page):
    fused = FusedRetriever({"words": SPARSE, "meaning": DENSE})
    assert [each.kind for each in audited(with_a_long_page, retriever=fused)] == ["unread_text"]


@pytest.fixture(scope="module")
def chinese():
    texts = ["图书馆周一至周五上午九点开门。周末不开放。", "借书证丢失后请到服务台补办。费用为十元。", "打印机在二楼。"]
    document = Document.from_pages("a", [(str(row), f"a#{row}", text) for row, text in enumerate(texts)])
    asked = ["图书馆几点开门", "借书证丢失怎么办", "打印一页多少钱"]
    queries = tuple(Query(str(row), text) for row, text in enumerate(asked))
    judgments = tuple(Judgment(str(row), f"a#{row}", 1) for row in range(3))
    return Collection("chinese", "page", (document,), queries, judgments)


def unknown_in(items, **settings):
    return [each for each in audited(items, **settings) if each.kind == "unknown_tokens"]


def test_an_encoder_that_does_not_know_the_language_is_named(chinese, with_a_long_page):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(DENSE.encoder.folder)
    items = Dataset.from_collection(chinese, PAGES)
    texts = [*items.texts, *(query.text for query in items.queries)]
    ids = [each for text in texts for each in tokenizer(text, add_special_tokens=False)["input_ids"]]
    [finding] = unknown_in(items, retriever=DENSE)
    assert (finding.count, finding.out_of) == (ids.count(tokenizer.unk_token_id), len(ids))
    assert f"{DENSE.encoder.model} does not know {finding.count / len(ids):.0%} of the tokens" in finding.problem
    assert not [*UnknownTokens(0.99).find(Audited(items, retriever=DENSE))]
    assert not unknown_in(items)  # BM25 has no encoder
    assert not [*UnknownTokens(0).find(Audited(with_a_long_page, retriever=DENSE))]


def test_the_encoder_of_a_reranker_must_know_the_language_and_the_run_says_it_first(chinese):
    class Given(DatasetFormat):
        def load(self):
            return chinese

    task = RankingTask(
        dataset=Given(),
        chunker=PAGES,
        retriever=SPARSE,
        evaluation=EvaluationSettings("after_cutoff", 1, "linear", 100, {"recall": recall}),
        k=1,
        seed=0,
        store=NO_STORE,
        reranker=EncoderReranker(DENSE.encoder, NO_STORE),
    )
    measured = examined(task)
    [said] = [each for each in measured.notices if "does not know" in each]
    assert said in measured.caution
    assert [said] in measured.sections.values()
    assert said in measured.findings


@dataclass(frozen=True)
class Answering:
    """A task that retrieves, but does not measure rankings."""

    retrieval: Retrieval


def test_where_rankings_are_not_measured_queries_without_judgments_are_no_fault(with_a_long_page):
    level, check = 1, DatasetAudit(fail_on=["dependent_queries"])
    measuring, answering = (
        Answering(Retrieval(pdf_dataset("", "", ""), SPARSE, SPARSE, level, NO_STORE, is_measured=each))
        for each in (True, False)
    )
    items = replace(
        with_a_long_page, queries=(*with_a_long_page.queries, Query("unjudged", "What does this passage recommend?"))
    )
    kinds = [{each.kind for each in check.of(task.retrieval, items).findings} for task in (measuring, answering)]
    assert kinds[0] - kinds[1] == {"queries_without_judgments"}
    assert kinds[1]
    said = check.examine(answering, items)
    assert len(said.findings) == len(json.loads("".join(said.files["audit.json"]))["findings"])
    with pytest.raises(NotAcceptedError, match="dependent_queries"):
        check.accept(answering, items)


def test_documents_without_a_judged_page_are_audited_too(with_a_long_page):
    """Such as manuals beside MedQA, whose questions name no pages: scans among them are never found."""
    nothing = Qrels(*np.empty((3, 0), dtype=np.int64))
    unjudged = replace(with_a_long_page, qrels=nothing, empty_pages=("a#4", "a#5"))
    answering = Answering(Retrieval(pdf_dataset("", "", ""), SPARSE, SPARSE, 1, NO_STORE, is_measured=False))
    [finding] = DatasetAudit().of(answering.retrieval, unjudged).findings
    assert (finding.kind, finding.count, finding.out_of) == ("pages_without_text", 2, 5)
    without_documents = DatasetAudit().of(answering.retrieval, replace(unjudged, passages=(), empty_pages=()))
    assert (len(without_documents.findings), len(without_documents.not_checked)) == (0, 1)


def test_questions_that_a_setting_leaves_out_are_found(tmp_path):
    (tmp_path / "d.csv").write_text("id,text\n1,iron\n2,zinc\n")
    (tmp_path / "q.csv").write_text("query,relevant_docs\nwhat,1\nwho,9\nwhy,8\n")
    corpus, questions = (
        TableCorpus(str(tmp_path / "d.csv"), id="id"),
        TableQuestions(str(tmp_path / "q.csv"), unit="document"),
    )
    dataset = OwnDataset("own", corpus, questions, on_error="skip")
    items = Dataset.from_collection(dataset.load(), PageChunker())
    [finding] = [each for each in audited(items) if each.kind == "questions_left_out"]
    assert (finding.count, finding.out_of, len(finding.examples)) == (2, 3, 2)
    assert "measured: 1 of 3 questions" in finding.problem


def test_what_is_kept_is_what_was_found(manual_pages, store, monkeypatch):
    moved = np.maximum(manual_pages.qrels.unit - 1, 0)
    items = replace(manual_pages, qrels=replace(manual_pages.qrels, unit=moved))
    found = complete(items, store)
    monkeypatch.setattr("ragsweep_audit.findings.finding.unit_ranks", None)  # nothing may be computed again
    assert as_json(items, complete(items, store)) == as_json(items, found)
    with pytest.raises(TypeError):
        audited(items, store, level=0.2)  # another level finds something else
    assert {each.kind for each in found.findings} == {"shifted_pages"}


def test_ranks_of_units_are_those_of_their_best_passages(manual):
    items = Dataset.from_collection(manual, RecursiveChunker(500, 50))
    found = unit_ranks(items, 1, NO_STORE)
    tokens = Tokenizer("english", "english")
    bm25 = BM25Okapi([tokens(text) for text in items.texts])
    for row, query in list(enumerate(found.queries))[::20]:
        best: dict[int, float] = {}
        for unit, score in zip(
            items.passage_units.tolist(), bm25.get_scores(tokens(items.queries[query].text)), strict=True
        ):
            best[unit] = max(score, best.get(unit, 0))
        expected = [sum(other > best.get(unit, 0) + 1e-9 for other in best.values()) for unit in found.units.tolist()]
        assert np.array_equal(found.ranks[row], expected)


def test_many_queries_are_ranked_in_a_sample(manual_pages, monkeypatch):
    monkeypatch.setattr("ragsweep_audit.findings.unit_ranks.MOST_AUDITED_QUERIES", 10)
    some = unit_ranks(manual_pages, 1, NO_STORE)
    assert len(some.queries) == 10
    assert {*some.queries[[0, -1]].tolist()} == {0, 132}


def test_pages_that_are_pictures_are_told_from_blank_ones(tmp_path, store):
    from PIL import Image
    from reportlab.pdfgen.canvas import Canvas

    Image.new("RGB", (20, 20), "red").save(tmp_path / "scan.png")
    canvas = Canvas(str(tmp_path / "a.pdf"))
    for draw in ("text", "scan", "nothing"):
        if draw == "text":
            canvas.drawString(72, 700, "Iron tablets are taken daily.")
        if draw == "scan":
            canvas.drawImage(str(tmp_path / "scan.png"), 72, 600)
        canvas.showPage()
    canvas.save()
    (tmp_path / "q.json").write_text('[{"query": "What of iron?", "relevant_docs": ["1"]}]')
    pdf = pdf_dataset("small", str(tmp_path / "a.pdf"), str(tmp_path / "q.json"), store=store)
    items = Dataset.from_collection(pdf.load(), PageChunker())
    assert items.empty_pages == ("a.pdf#2", "a.pdf#3")
    assert pdf.corpus.pictures(items.empty_pages) == ["a.pdf#2"]
    [finding] = audit(Audited(items, dataset=pdf)).findings
    assert "2 pages without text (a.pdf#2, a.pdf#3); 1 with a picture (a.pdf#2)." in finding.text


def test_a_run_reports_its_findings_and_the_queries_that_can_be_answered(tmp_path):
    documents = dict(each.partition("=")[::2] for each in small.arguments(tmp_path))["dataset.documents"]
    asked = [("Which test finds malaria?", ["fever.pdf#2"], "factual"), ("What is blank?", ["fever.pdf#3"], "factual")]
    task = RankingTask(
        dataset=pdf_dataset("small", documents, str(small.write_queries(tmp_path / "q.json", asked))),
        chunker=PageChunker(),
        retriever=SPARSE,
        evaluation=EvaluationSettings("after_cutoff", 1, "linear", 100, {"recall": recall}),
        k=3,
        seed=0,
        store=NO_STORE,
    )
    measured = examined(task)
    assert measured.findings[0].startswith(
        "1 relevant page has no passage (fever.pdf#3), so it is never found. Recall can "
    )
    assert {*measured.sections} == {"Answerable queries", "Coverage", "Query types"}
    assert measured.sections["Answerable queries"] == [
        "Something relevant can be found for 1 of 2 queries. On these (on all): Recall 1.000 (0.500)."
    ]
    assert "1 present, 1 missing (fever.pdf#3)" in measured.sections["Coverage"][0]
    assert [each["kind"] for each in json.loads("".join(measured.files["audit.json"]))["findings"]] == [
        "absent_units",
        "pages_without_text",
    ]
    DatasetAudit().accept(task, task.load())
    with pytest.raises(NotAcceptedError):
        DatasetAudit(fail_on=["absent_units"]).accept(task, task.load())


WORDS = [f"{first}{second}" for first in ("oak", "elm", "ash", "fir", "yew", "ivy") for second in ("bark", *"abcd")]


def trees(unjudged, chunker=PAGES, cover=()):
    """30 queries, each with two documents; the last page of the better one is not judged for some of them."""
    texts = [text for word in WORDS for text in (f"{word} {word}wood grows slowly", f"{word} is burnt here today")]
    documents = tuple(
        Document.from_pages(f"d{n}", [(str(at), f"d{n}#{at}", page) for at, page in enumerate((*cover, text), start=1)])
        for n, text in enumerate(texts)
    )
    queries = tuple(Query(str(n), f"where grows {word} {word}wood") for n, word in enumerate(WORDS))
    judged = tuple(
        Judgment(query.query_id, f"d{2 * n + (n < unjudged)}#{len(cover) + 1}", 1) for n, query in enumerate(queries)
    )
    return Dataset.from_collection(Collection("trees", "page", documents, queries, judged), chunker)


def has_unjudged(items, retriever=STATIC, store=NO_STORE):
    return "unjudged" in {each.kind for each in audited(items, store, retriever)}


@pytest.mark.parametrize(("unjudged", "found"), [(14, True), (4, False)])
def test_pages_that_unlike_retrievers_agree_on_and_nobody_judged_are_a_finding(unjudged, found):
    """The better of two pages is not judged for some of 30 queries: p = .008 of 14 or more, .963 of 4 or more."""
    assert has_unjudged(trees(unjudged)) == found


def test_a_passage_whose_second_page_is_relevant_is_judged():
    across = FixedChunker(100, 0, "characters", across_pages=True)
    assert not has_unjudged(trees(0, across, cover=["A page"]))
    assert has_unjudged(trees(14, across, cover=["A page"]))


def test_judgments_are_missing_only_if_an_encoder_agrees():
    """Without one, both rankings are by words or their letters, and agree on what only looks alike."""
    without = complete(trees(14), retriever=SPARSE)
    assert "unjudged" not in {each.kind for each in without.findings}
    assert without.not_checked == ("unjudged: not looked for: that needs a retriever with an encoder.",)
    assert complete(trees(14), retriever=STATIC).not_checked == ()


def test_judgments_that_are_missing_are_kept(store, monkeypatch):
    items = trees(14)
    assert has_unjudged(items, store=store)
    monkeypatch.setattr("ragsweep_audit.findings.unjudged.unlike_rankings", None)
    assert has_unjudged(items, store=store)
    with pytest.raises(TypeError):
        has_unjudged(trees(4), store=store)


def test_what_is_known_of_queries_is_kept_for_any_chunker(manual, store, monkeypatch):
    pages, passages = (Dataset.from_collection(manual, each) for each in (PageChunker(), RecursiveChunker(500, 50)))
    audited(pages, store)
    monkeypatch.setattr("ragsweep_audit.findings.duplicates.near_copies", None)
    audited(passages, store)
    with pytest.raises(TypeError):
        audited(Dataset.from_collection(replace(manual, judgments=manual.judgments[1:]), PageChunker()), store)


def test_what_a_limit_leaves_out_is_said(monkeypatch):
    items, findings = trees(14), "ragsweep_audit.findings"
    monkeypatch.setattr(f"{findings}.unit_ranks.MOST_AUDITED_QUERIES", 10)
    monkeypatch.setattr(f"{findings}.duplicates.MOST_COMPARED", 50)
    found = complete(items, retriever=STATIC)
    assert found.not_checked == (
        "shifted_pages, swapped_judgments, unjudged: only looked for in 10 of 30 queries.",
        "duplicate_passages: only looked for by exact copies, as there are 60 passages.",
    )
    assert found.findings == ()  # 14 of 30 are clearly more than a quarter, but 5 of 10 are not
    assert found.sentences == [
        " ".join(("The audit found nothing wrong with the dataset.", *found.not_checked, *found.undetectable))
    ]
    assert json.loads(as_json(items, found))["not_checked"] == [*found.not_checked]
    monkeypatch.setattr(f"{findings}.unjudged.MOST_PASSAGES", 50)
    assert (
        "unjudged: not looked for: there are 60 passages, more than 50."
        in complete(items, retriever=STATIC).not_checked
    )


NO_WORDS = (["!!!", "the of"], "What of iron?", 1, "no passage has a word that is not a stop word")
NO_GRADE = (["iron", "tea"], "What of iron?", 0, "nothing is judged relevant")


@pytest.mark.parametrize(("pages", "query", "grade", "reason"), [NO_WORDS, NO_GRADE])
@pytest.mark.parametrize("retriever", [SPARSE, DENSE])
def test_without_words_or_relevant_pages_nothing_is_checked_by_ranks(pages, query, grade, reason, retriever):
    document = Document.from_pages("a", [(str(n), f"a#{n}", text) for n, text in enumerate(pages, start=1)])
    judged = Collection("small", "page", (document,), (Query("1", query),), (Judgment("1", "a#1", grade),))
    found = complete(Dataset.from_collection(judged, PageChunker()), retriever=retriever)
    assert f"shifted_pages, swapped_judgments{', unjudged' * (retriever is DENSE)}: not looked for: {reason}." in (
        found.not_checked
    )


def test_queries_of_stop_words_are_audited():
    document = Document.from_pages("a", [("1", "a#1", "iron"), ("2", "a#2", "tea")])
    judged = Collection("small", "page", (document,), (Query("1", "what of the"),), (Judgment("1", "a#1", 1),))
    found = complete(Dataset.from_collection(judged, PageChunker()), retriever=DENSE)
    assert found.findings == ()


@pytest.mark.parametrize("offsets", [True, False])
def test_the_digest_by_which_results_are_kept_follows_the_judgments_of_references_without_offsets(offsets):
    """The first page has two of three words of the reference, so that the threshold decides whether it is relevant."""
    document = Document.from_pages("a", [("1", "a#1", "iron tea milk"), ("2", "a#2", "salt")])
    place = (0, 4, "") if offsets else (0, 0, "iron tea rice")
    made = Collection(
        "spans", "passage", (document,), (Query("1", "iron?"),), (), references=(Reference("1", "a", *place),)
    )
    loose, strict = (Dataset.from_collection(made, PAGES, fuzzy_threshold=each) for each in (0.6, 0.9))
    assert (loose.digest_of_all == strict.digest_of_all) == offsets
    assert loose.digest_of_all == Dataset.from_collection(made, PAGES, fuzzy_threshold=0.5).digest_of_all
