"""The audit as a task composes it: ranks of units, settings, what is kept, and encoders that do not read everything."""

import json
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
import rankings
import small
from rank_bm25 import BM25Okapi
from rankings import SPARSE, dataset_of, paged

from ragsweep.core.errors import NotAcceptedError
from ragsweep.datasets import (
    Dataset,
    FixedChunker,
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
    WordLlamaEncoder,
)
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.search import Retrieval
from ragsweep.text.tokens import Tokenizer
from ragsweep_audit.audit_check import DatasetAudit
from ragsweep_audit.dataset_audit import as_json, audit, finders
from ragsweep_audit.findings.finding import Audited
from ragsweep_audit.findings.unit_ranks import unit_ranks
from ragsweep_audit.findings.unread_text import UnknownTokens, UnreadTexts

pytestmark = pytest.mark.usefixtures("models")

PAGES = PageChunker()
DENSE = DenseRetriever(encoder=SentenceTransformerEncoder(), index=ExactIndex(), store=NO_STORE)
STATIC = DenseRetriever(encoder=WordLlamaEncoder(), index=ExactIndex(), store=NO_STORE)  # another encoder, and fast
RANKING_TASK = partial(rankings.ranking_task, metrics={"recall": recall}, resamples=100)


def audited(items, store=NO_STORE, retriever=SPARSE, **settings):
    return audit(Audited(items, store=store, retriever=retriever, **settings))


def findings_of(items, *given, **settings):
    return audited(items, *given, **settings).findings


def kinds_of(items, *given, **settings):
    return {finding.kind for finding in findings_of(items, *given, **settings)}


def collection_of(texts, queries, grades=(1,), **fields):
    """A document of these pages, and queries, the first of which has its answer on the first page, and so on."""
    asked = {str(n): text for n, text in enumerate(queries, start=1)}
    judgments = {(str(n), f"a#{n}"): grade for n, grade in enumerate(grades, start=1)}
    return rankings.collection_of([paged("a", *texts)], asked, judgments, **fields)


def findings_by_tokens(items, retriever):
    """What is found without embeddings."""
    return audit(Audited(items, retriever=retriever), [one for one in finders() if one.kind != "unjudged"]).findings


def in_pages(*given):
    return Dataset.from_collection(collection_of(*given), PAGES)


@pytest.fixture(scope="module")
def with_a_long_page():
    return in_pages(["tea", "iron " * 300, "salt"], ["What of tea?"])


def test_unread_text_is_a_finding_if_it_is_enough(with_a_long_page):
    for retriever in (DENSE, FusedRetriever({"words": SPARSE, "meaning": DENSE})):
        [finding] = findings_by_tokens(with_a_long_page, retriever)
        assert (finding.kind, finding.details["window"]) == ("unread_text", 254)
        assert finding.details["unread_share"] == pytest.approx(46 / 302)
    assert not [*UnreadTexts(0.9).find(Audited(with_a_long_page, retriever=DENSE))]
    assert not findings_of(with_a_long_page)


@pytest.fixture(scope="module")
def chinese():
    texts = ["图书馆周一至周五上午九点开门。周末不开放。", "借书证丢失后请到服务台补办。费用为十元。", "打印机在二楼。"]
    return collection_of(texts, ["图书馆几点开门", "借书证丢失怎么办", "打印一页多少钱"], (1, 1, 1))


def test_an_encoder_that_does_not_know_the_language_is_named_and_the_run_says_it_first(chinese, with_a_long_page):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(DENSE.encoder.folder)
    items = Dataset.from_collection(chinese, PAGES)
    texts = [*items.texts, *(query.text for query in items.queries)]
    ids = [token for text in texts for token in tokenizer(text, add_special_tokens=False)["input_ids"]]
    [finding] = [one for one in findings_by_tokens(items, DENSE) if one.kind == "unknown_tokens"]
    assert (finding.count, finding.out_of) == (ids.count(tokenizer.unk_token_id), len(ids))
    assert f"{DENSE.encoder.model} does not know {finding.count / len(ids):.0%} of the tokens" in finding.problem
    assert not [*UnknownTokens(0.99).find(Audited(items, retriever=DENSE))]
    assert "unknown_tokens" not in kinds_of(items)  # BM25 has no encoder
    assert not [*UnknownTokens(0).find(Audited(with_a_long_page, retriever=DENSE))]
    task = RANKING_TASK(k=1, collection=chinese)
    reranked = replace(task, reranker=EncoderReranker(DENSE.encoder, NO_STORE))  # whose encoder must know it, too
    measured = DatasetAudit().examine(reranked, items).added_to(task.measure(items))
    [notice] = [notice for notice in measured.notices if "does not know" in notice]
    assert notice in measured.caution
    assert [notice] in measured.sections.values()
    assert notice in measured.findings


@dataclass(frozen=True)
class Answering:
    """A task that retrieves, but does not measure rankings."""

    retrieval: Retrieval


MEASURING, ANSWERING = (
    Answering(Retrieval(pdf_dataset("", "", ""), SPARSE, SPARSE, 1, NO_STORE, is_measured=is_measured))
    for is_measured in (True, False)
)


def test_where_rankings_are_not_measured_queries_without_judgments_are_no_fault_and_documents_are_audited(
    with_a_long_page,
):
    check = DatasetAudit(fail_on=["dependent_queries"])
    dependent = Query("unjudged", "What does this passage recommend?")
    items = replace(with_a_long_page, queries=(*with_a_long_page.queries, dependent))
    kinds = [{one.kind for one in check.of(task.retrieval, items).findings} for task in (MEASURING, ANSWERING)]
    assert kinds[0] - kinds[1] == {"queries_without_judgments"}
    assert kinds[1]
    report = check.examine(ANSWERING, items)
    assert len(report.findings) == len(json.loads("".join(report.files["audit.json"]))["findings"])
    with pytest.raises(NotAcceptedError, match="dependent_queries"):
        check.accept(ANSWERING, items)
    # Such as manuals beside MedQA, whose questions name no pages: scans among them are never found.
    nothing = Qrels(*np.empty((3, 0), dtype=np.int64))
    unjudged = replace(with_a_long_page, qrels=nothing, empty_pages=("a#4", "a#5"))
    [finding] = DatasetAudit().of(ANSWERING.retrieval, unjudged).findings
    assert (finding.kind, finding.count, finding.out_of) == ("pages_without_text", 2, 5)
    without_documents = DatasetAudit().of(ANSWERING.retrieval, replace(unjudged, passages=(), empty_pages=()))
    assert (len(without_documents.findings), len(without_documents.not_checked)) == (0, 1)


def test_questions_that_a_setting_leaves_out_are_found(tmp_path):
    (tmp_path / "d.csv").write_text("id,text\n1,iron\n2,zinc\n")
    (tmp_path / "q.csv").write_text("query,relevant_docs\nwhat,1\nwho,9\nwhy,8\n")
    corpus, questions = TableCorpus(str(tmp_path / "d.csv")), TableQuestions(str(tmp_path / "q.csv"), unit="document")
    items = Dataset.from_collection(OwnDataset("own", corpus, questions, on_error="skip").load(), PAGES)
    [finding] = [finding for finding in findings_of(items) if finding.kind == "questions_left_out"]
    assert (finding.count, finding.out_of, len(finding.examples)) == (2, 3, 2)
    assert "measured: 1 of 3 questions" in finding.problem


def test_what_is_kept_is_what_was_found(manual_pages, store, monkeypatch):
    assert has_unjudged(trees(14), store=store)
    moved = np.maximum(manual_pages.qrels.unit - 1, 0)
    items = replace(manual_pages, qrels=replace(manual_pages.qrels, unit=moved))
    first = audited(items, store)
    monkeypatch.setattr("ragsweep_audit.findings.unjudged.unlike_rankings", None)  # nothing may be computed again
    assert has_unjudged(trees(14), store=store)
    with pytest.raises(TypeError):
        has_unjudged(trees(4), store=store)
    monkeypatch.setattr("ragsweep_audit.findings.finding.unit_ranks", None)
    assert as_json(items, audited(items, store)) == as_json(items, first)
    with pytest.raises(TypeError):
        audited(items, store, level=0.2)  # another level finds something else
    assert {finding.kind for finding in first.findings} == {"shifted_pages"}


def test_ranks_of_units_are_those_of_their_best_passages_for_a_sample_of_many_queries(
    manual, manual_pages, monkeypatch
):
    items = Dataset.from_collection(manual, RecursiveChunker(500, 50))
    ranks = unit_ranks(items, 1, NO_STORE)
    tokens = Tokenizer("english", "english")
    bm25 = BM25Okapi([tokens(text) for text in items.texts])
    for row, query in list(enumerate(ranks.queries))[::20]:
        scores, best = bm25.get_scores(tokens(items.queries[query].text)), {}
        for unit, score in zip(items.passage_units.tolist(), scores, strict=True):
            best[unit] = max(score, best.get(unit, 0))
        expected = [sum(other > best.get(unit, 0) + 1e-9 for other in best.values()) for unit in ranks.units.tolist()]
        assert np.array_equal(ranks.ranks[row], expected)
    monkeypatch.setattr("ragsweep_audit.findings.unit_ranks.MOST_AUDITED_QUERIES", 10)
    sample = unit_ranks(manual_pages, 1, NO_STORE)
    assert len(sample.queries) == 10
    assert {*sample.queries[[0, -1]].tolist()} == {0, 132}


def test_pages_that_are_pictures_are_told_from_blank_ones(tmp_path, store):
    from PIL import Image
    from reportlab.pdfgen.canvas import Canvas

    Image.new("RGB", (20, 20), "red").save(tmp_path / "scan.png")
    canvas = Canvas(str(tmp_path / "a.pdf"))
    canvas.drawString(72, 700, "Iron tablets are taken daily.")
    canvas.showPage()
    canvas.drawImage(str(tmp_path / "scan.png"), 72, 600)
    canvas.showPage()
    canvas.showPage()  # a blank one
    canvas.save()
    (tmp_path / "q.json").write_text('[{"query": "What of iron?", "relevant_docs": ["1"]}]')
    pdf = pdf_dataset("small", str(tmp_path / "a.pdf"), str(tmp_path / "q.json"), store=store)
    items = Dataset.from_collection(pdf.load(), PAGES)
    assert items.empty_pages == ("a.pdf#2", "a.pdf#3")
    assert pdf.corpus.pictures(items.empty_pages) == ["a.pdf#2"]
    [finding] = audit(Audited(items, dataset=pdf)).findings
    assert "2 pages without text (a.pdf#2, a.pdf#3); 1 with a picture (a.pdf#2)." in finding.text


def test_a_run_reports_its_findings_and_the_queries_that_can_be_answered(tmp_path):
    documents = dict(setting.partition("=")[::2] for setting in small.arguments(tmp_path))["dataset.documents"]
    asked = [("Which test finds malaria?", ["fever.pdf#2"], "factual"), ("What is blank?", ["fever.pdf#3"], "factual")]
    task = replace(
        RANKING_TASK(), dataset=pdf_dataset("small", documents, str(small.write_queries(tmp_path / "q.json", asked)))
    )
    items = task.load()
    measured = DatasetAudit().examine(task, items).added_to(task.measure(items))
    assert measured.findings[0].startswith("1 relevant page has no passage (fever.pdf#3)")
    assert {*measured.sections} == {"Answerable queries", "Coverage", "Query types"}
    assert "1 of 2 queries. On these (on all): Recall 1.000 (0.500)." in measured.sections["Answerable queries"][0]
    assert "1 present, 1 missing (fever.pdf#3)" in measured.sections["Coverage"][0]
    findings = json.loads("".join(measured.files["audit.json"]))["findings"]
    assert [finding["kind"] for finding in findings] == ["absent_units", "pages_without_text"]
    DatasetAudit().accept(task, items)
    with pytest.raises(NotAcceptedError):
        DatasetAudit(fail_on=["absent_units"]).accept(task, items)


WORDS = [f"{first}{second}" for first in ("oak", "elm", "ash", "fir", "yew", "ivy") for second in ("bark", *"abcd")]


def trees(unjudged, chunker=PAGES, cover=()):
    """30 queries, each with two documents; the last page of the better one is not judged for some of them."""
    texts = [text for word in WORDS for text in (f"{word} {word}wood grows slowly", f"{word} is burnt here today")]
    documents = [paged(f"d{n}", *cover, text) for n, text in enumerate(texts)]
    queries = {str(n): f"where grows {word} {word}wood" for n, word in enumerate(WORDS)}
    judged = {(str(n), f"d{2 * n + (n < unjudged)}#{len(cover) + 1}"): 1 for n in range(len(WORDS))}
    return dataset_of(documents, queries, judged, chunker=chunker)


def has_unjudged(items, retriever=STATIC, store=NO_STORE):
    return "unjudged" in kinds_of(items, store, retriever)


def test_pages_that_unlike_retrievers_agree_on_and_nobody_judged_are_a_finding_if_one_has_an_encoder():
    """The better of two pages is not judged for some of 30 queries: p = .008 of 14 or more, .963 of 4 or more."""
    assert has_unjudged(trees(14))
    assert not has_unjudged(trees(4))
    across = FixedChunker(100, 0, "characters", across_pages=True)  # a passage has two pages, the second is relevant
    assert not has_unjudged(trees(0, across, cover=["A page"]))
    assert has_unjudged(trees(14, across, cover=["A page"]))
    # Without one, both rankings are by words or their letters, and agree on what only looks alike.
    without = audited(trees(14), retriever=SPARSE)
    assert "unjudged" not in {finding.kind for finding in without.findings}
    assert without.not_checked == ("unjudged: not looked for: that needs a retriever with an encoder.",)
    assert audited(trees(14), retriever=STATIC).not_checked == ()


def test_what_is_known_of_queries_is_kept_for_any_chunker(manual, store, monkeypatch):
    pages, passages = (Dataset.from_collection(manual, chunker) for chunker in (PAGES, RecursiveChunker(500, 50)))
    audited(pages, store)
    monkeypatch.setattr("ragsweep_audit.findings.duplicates.near_copies", None)
    audited(passages, store)
    with pytest.raises(TypeError):
        audited(Dataset.from_collection(replace(manual, judgments=manual.judgments[1:]), PAGES), store)


def test_what_a_limit_leaves_out_is_said(monkeypatch):
    items, findings = trees(14), "ragsweep_audit.findings"
    monkeypatch.setattr(f"{findings}.unit_ranks.MOST_AUDITED_QUERIES", 10)
    monkeypatch.setattr(f"{findings}.duplicates.MOST_COMPARED", 50)
    limited = audited(items, retriever=STATIC)
    assert limited.not_checked == (
        "shifted_pages, swapped_judgments, unjudged: only looked for in 10 of 30 queries.",
        "duplicate_passages: only looked for by exact copies, as there are 60 passages.",
    )
    assert limited.findings == ()  # 14 of 30 are clearly more than a quarter, but 5 of 10 are not
    [sentence] = limited.sentences
    assert sentence.endswith(" ".join((*limited.not_checked, *limited.undetectable)))
    assert json.loads(as_json(items, limited))["not_checked"] == [*limited.not_checked]
    monkeypatch.setattr(f"{findings}.unjudged.MOST_PASSAGES", 50)
    too_many = "unjudged: not looked for: there are 60 passages, more than 50."
    assert too_many in audited(items, retriever=STATIC).not_checked


WITHOUT_RANKS = [  # pages, the grade of the first one, and why nothing is ranked
    (["!!!", "the of"], 1, "no passage has a word that is not a stop word"),
    (["iron", "tea"], 0, "nothing is judged relevant"),
]


def test_without_words_or_relevant_pages_nothing_is_checked_by_ranks():
    for pages, grade, reason in WITHOUT_RANKS:
        items = in_pages(pages, ["What of iron?"], [grade])
        for retriever, kinds in ((SPARSE, ""), (DENSE, ", unjudged")):
            not_checked = audited(items, retriever=retriever).not_checked
            assert f"shifted_pages, swapped_judgments{kinds}: not looked for: {reason}." in not_checked
    of_stop_words = in_pages(["iron", "tea"], ["what of the"])
    assert findings_of(of_stop_words, retriever=STATIC) == ()


def test_the_digest_by_which_results_are_kept_follows_the_judgments_of_references_without_offsets():
    """The first page has two of three words of the reference, so that the threshold decides whether it is relevant."""
    for place, has_offsets in (((0, 4, ""), True), ((0, 0, "iron tea rice"), False)):
        references = (Reference("1", "a", *place),)
        spans = collection_of(["iron tea milk", "salt"], ["iron?"], (), unit="passage", references=references)
        lowest, loose, strict = (
            Dataset.from_collection(spans, PAGES, fuzzy_threshold=least).digest_of_all for least in (0.5, 0.6, 0.9)
        )
        assert (loose == strict) == has_offsets
        assert loose == lowest
