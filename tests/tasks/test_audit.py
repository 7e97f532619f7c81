"""The audit as a task composes it: ranks of units, settings, what is kept, and encoders that do not read everything."""

import json
from dataclasses import replace

import numpy as np
import pytest
import small
from rank_bm25 import BM25Okapi

from ragsweep.core.errors import AuditError
from ragsweep.core.store import NO_STORE
from ragsweep.datasets import Collection, Dataset, Document, Judgment, PageChunker, PdfDataset, Query, RecursiveChunker
from ragsweep.evaluation import recall
from ragsweep.retrieval import DenseRetriever, ExactIndex, SentenceTransformerEncoder, SparseRetriever
from ragsweep.retrieval.tokens import Tokenizer
from ragsweep.tasks.ranking.audit import as_json, audit, refuse, unit_ranks
from ragsweep.tasks.ranking.audit_settings import AuditSettings
from ragsweep.tasks.ranking.settings import EvaluationSettings
from ragsweep.tasks.ranking.task import RankingTask

SPARSE = SparseRetriever(NO_STORE)
IRON = "Iron tablets are taken daily with lemon water and not with tea, since tea binds the iron in the gut of a woman"


def audited(items, store=NO_STORE, retriever=SPARSE, **settings):
    return audit(items, AuditSettings(**settings), 1, store, retriever)


@pytest.fixture(scope="module")
def faulty(manual):
    """The manual with a fault of every kind that a setting is about."""
    moved = [
        each._replace(unit=f"{each.unit.partition('#')[0]}#{int(each.unit.partition('#')[2]) + 1}")
        if number % 4 == 0 and int(each.unit.partition("#")[2]) < 140
        else each
        for number, each in enumerate(manual.judgments)
    ]
    text = (
        f"{IRON}, says the book.\f{IRON}, says the book again.\fW a s h y o u r h a n d s before you eat or cook "
        "a meal at home, and let your children wash their hands, too, when they come home from school or from play."
    )
    extra = Document.from_pages(
        "more.pdf", [(str(n), f"more.pdf#{n}", page) for n, page in enumerate(text.split("\f"), 1)]
    )
    queries = (
        Query("x1", "Iron tablets are taken daily with lemon water and not with coffee?"),
        Query("x2", "Iron tablets are taken daily with lemon water and not with coffee at home?"),
        Query("x3", "How is it treated?"),
    )
    judgments = tuple(Judgment(query.query_id, "more.pdf#1", 1) for query in queries)
    documents, judged = (*manual.documents, extra), (*dict.fromkeys(moved), *judgments)
    collection = Collection("faulty", "page", documents, (*manual.queries, *queries), judged)
    return Dataset.from_collection(collection, RecursiveChunker(500, 50))


CHANGED = {  # a setting, a stricter and a laxer value, and the kind that it decides
    "level": (1e-12, 0.2, "shifted_pages"),
    "near_queries": (1.0, 0.8, "duplicate_queries"),
    "near_passages": (1.0, 0.7, "duplicate_passages"),
    "copied": (1.0, 0.6, "copied_queries"),
    "garbled": (0.9, 0.05, "garbled_text"),
}


@pytest.mark.parametrize("setting", CHANGED)
def test_a_setting_decides_what_is_found(faulty, setting):
    strict, lax, kind = CHANGED[setting]
    counts = [
        sum(each.count for each in audited(faulty, **{setting: value}) if each.kind == kind) for value in (strict, lax)
    ]
    assert counts[0] < counts[1]


def test_unread_text_is_a_finding_if_it_is_enough(manual_pages):
    dense = DenseRetriever(encoder=SentenceTransformerEncoder(), index=ExactIndex(), store=NO_STORE)
    [finding] = audited(manual_pages, retriever=dense)
    assert (finding.kind, finding.details["window"]) == ("unread_text", 254)
    assert 0.01 < finding.details["unread_share"] < 0.9
    assert not audited(manual_pages, retriever=dense, unread=0.9)
    assert not audited(manual_pages)


def test_only_kinds_that_are_not_accepted_stop_a_run(faulty):
    findings = audited(faulty)
    refuse("faulty", findings, ["skipped_documents"])
    with pytest.raises(AuditError, match=r"faulty: audit.fail_on does not accept dependent_queries \(1\)"):
        refuse("faulty", findings, ["dependent_queries", "skipped_documents"])


def test_what_is_kept_is_what_was_found(faulty, store, monkeypatch):
    findings = audited(faulty, store)
    monkeypatch.setattr("ragsweep.tasks.ranking.audit.unit_ranks", None)  # nothing may be computed again
    assert (
        as_json(faulty, audited(faulty, store)) == as_json(faulty, findings) == as_json(faulty, audited(faulty, store))
    )
    with pytest.raises(TypeError):
        audited(faulty, store, garbled=0.9)  # other settings find something else
    assert {"shifted_pages", "duplicate_passages"} <= {each.kind for each in findings}


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


def test_only_judged_units_and_the_pages_beside_them_are_ranked(manual_pages):
    pages = unit_ranks(manual_pages, 1, NO_STORE)
    judged = unit_ranks(replace(manual_pages, unit="document"), 1, NO_STORE)
    assert {*judged.units.tolist()} == {*manual_pages.qrels.unit.tolist()} < {*pages.units.tolist()}


def test_many_queries_are_ranked_in_a_sample(manual_pages, monkeypatch):
    monkeypatch.setattr("ragsweep.tasks.ranking.audit.MOST_QUERIES", 10)
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
    pdf = PdfDataset("small", str(tmp_path / "a.pdf"), str(tmp_path / "q.json"), store=store)
    items = Dataset.from_collection(pdf.load(), PageChunker())
    assert items.empty_pages == ("a.pdf#2", "a.pdf#3")
    assert pdf.pictures(items.empty_pages) == ["a.pdf#2"]
    [finding] = audit(items, AuditSettings(), 1, NO_STORE, SPARSE, pictures=pdf.pictures(items.empty_pages))
    assert "2 pages without text (a.pdf#2, a.pdf#3); 1 with a picture (a.pdf#2)." in finding.text


def test_a_run_reports_its_findings_and_the_queries_that_can_be_answered(tmp_path):
    documents = dict(each.partition("=")[::2] for each in small.arguments(tmp_path))["dataset.documents"]
    asked = [("Which test finds malaria?", ["fever.pdf#2"], "factual"), ("What is blank?", ["fever.pdf#3"], "factual")]
    task = RankingTask(
        dataset=PdfDataset("small", documents, str(small.write_queries(tmp_path / "q.json", asked))),
        chunker=PageChunker(),
        retriever=SPARSE,
        evaluation=EvaluationSettings("after_cutoff", 1, "linear", 100, {"recall": recall}),
        k=3,
        seed=0,
        store=NO_STORE,
    )
    measured = task.measure(task.load())
    assert measured.findings[0].startswith("1 relevant page without a passage (fever.pdf#3), never found. Recall can ")
    assert measured.sections == {
        "Answerable queries": [
            "Something relevant can be found for 1 of 2 queries. On these (on all): Recall 1.000 (0.500)."
        ]
    }
    assert [each["kind"] for each in json.loads("".join(measured.files["audit.json"]))["findings"]] == [
        "absent_units",
        "pages_without_text",
    ]
    task.check(task.load())
    with pytest.raises(AuditError):
        replace(task, audit=AuditSettings(fail_on=["absent_units"])).check(task.load())


@pytest.mark.parametrize(("unjudged", "kinds"), [(14, ["unjudged"]), (4, [])])
def test_pages_that_unlike_retrievers_agree_on_and_nobody_judged_are_a_finding(unjudged, kinds):
    """The better of two pages is not judged for some of 30 queries: p = .008 of 14 or more, .963 of 4 or more."""
    words = [f"{first}{second}" for first in ("oak", "elm", "ash", "fir", "yew", "ivy") for second in ("bark", *"abcd")]
    texts = [text for word in words for text in (f"{word} {word}wood grows slowly", f"{word} is burnt here today")]
    documents = tuple(Document.from_pages(f"d{n}", [("1", f"d{n}#1", text)]) for n, text in enumerate(texts))
    queries = tuple(Query(str(n), f"where grows {word} {word}wood") for n, word in enumerate(words))
    judged = tuple(Judgment(query.query_id, f"d{2 * n + (n < unjudged)}#1", 1) for n, query in enumerate(queries))
    items = Dataset.from_collection(Collection("trees", "page", documents, queries, judged), PageChunker())
    assert [each.kind for each in audited(items) if each.kind == "unjudged"] == kinds
