"""Names and quotes meet in whatever normal form each file has them: macOS writes file names decomposed."""

import json
from dataclasses import replace
from functools import partial
from unicodedata import normalize

import arguments
import pytest
import small
from read_strictly import expect_refusal, read_strictly, span_questions

import ragsweep
from ragsweep.datasets import (
    Collection,
    Dataset,
    Document,
    Judgment,
    OwnDataset,
    PageChunker,
    Query,
    Reference,
    TableQuestions,
    beir_dataset,
    pdf_dataset,
)
from ragsweep.retrieval import RunFileRetriever, Search
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.ranking.ranking_explanation import find
from ragsweep.tasks.search import search_of
from ragsweep.testing.datasets import AsIs

NAME = "Gebühr.pdf"
TEXT = "Die Gebühr beträgt fünf Euro"
forms = pytest.mark.parametrize(("ours", "theirs"), [("NFC", "NFD"), ("NFD", "NFC")])


def document(form):
    name, label = normalize(form, NAME), normalize(form, "Übersicht")
    return Document.from_pages(name, [(label, f"{name}#{label}", normalize(form, TEXT))])


@forms
def test_judgments_of_any_format_name_what_the_corpus_has(ours, theirs):
    documents, queries = (document(ours),), (Query(normalize(ours, "fünf"), "?"),)
    judgment = Judgment(normalize(theirs, "fünf"), normalize(theirs, f"{NAME}#Übersicht"), 1)
    collection = Collection("c", "page", documents, queries, (judgment,))
    assert collection.judgments == (Judgment(queries[0].query_id, documents[0].pages[0].unit, 1),)
    reference = Reference(normalize(theirs, "fünf"), normalize(theirs, NAME), 0, 3)
    [reference] = Collection("c", "passage", documents, queries, (), references=(reference,)).references
    assert reference[:2] == (queries[0].query_id, documents[0].source)


@forms
def test_what_is_the_same_in_nfc_counts_once_also_where_the_corpus_lacks_it(ours, theirs):
    """A unit counted twice would halve the recall. Its two grades may not differ either."""
    twice = [normalize(form, "Übersicht.pdf#1") for form in (ours, theirs)]
    judgments = [Judgment("q", document("NFC").pages[0].unit, 1), *(Judgment("q", unit, 1) for unit in twice)]
    collection = Collection("c", "page", (document("NFC"),), (Query("q", "?"),), tuple(judgments))
    assert len(Dataset.from_collection(collection, PageChunker()).qrels.grade) == 2
    differing = replace(collection, judgments=(*judgments[:2], judgments[2]._replace(grade=0)))
    expect_refusal(lambda: Dataset.from_collection(differing, PageChunker()), "found the grades 1 and 0")
    two_queries = replace(collection, queries=tuple(Query(normalize(form, "é"), "?") for form in (ours, theirs)))
    expect_refusal(lambda: Dataset.from_collection(two_queries, PageChunker()), "the query id 'é' occurs 2 times")


# A dataset of each format, whose documents and questions are in one form, and whose judgments are in the other


def of_beir(folder, ours, theirs, *, is_selected=False):
    corpus, queries = {normalize(ours, "dö"): "Tee"}, [{"_id": normalize(ours, "qö"), "text": "Tee"}]
    written = arguments.written(folder, corpus, queries, {normalize(theirs, "qö"): normalize(theirs, "dö")})
    return beir_dataset("b", str(written), ids=[normalize(theirs, "qö")] if is_selected else None)


def of_added_judgments(folder, ours, theirs):
    (folder / "q.csv").write_text(normalize(ours, "id,query\nqö,Tee?\n"))
    (folder / "qrels.txt").write_text(normalize(theirs, f"qö 0 {NAME} 1\n"))
    questions = TableQuestions(str(folder / "q.csv"), "document", id="id")
    return OwnDataset("t", AsIs((document(ours),)), questions, qrels=str(folder / "qrels.txt"))


def of_pages(folder, ours, theirs, key="Übersicht"):
    (folder / "q.json").write_text(json.dumps([{"query": "?", "relevant_docs": [normalize(theirs, key)]}]))
    return OwnDataset("t", AsIs((document(ours),)), TableQuestions(str(folder / "q.json")))


def of_pdfs(folder, ours, theirs):
    """A folder with a file that is skipped."""
    (folder / "pdfs").mkdir()
    for name in ("Gebühr.pdf", "Prüfung.pdf"):
        small.write_pdf(folder / "pdfs" / normalize(ours, name), ["Tee und Kaffee"])
    asked = [{"query": "Tee?", "relevant_docs": [normalize(theirs, "Gebühr.pdf#1")]}]
    (folder / "q.json").write_text(json.dumps(asked))
    skip = [normalize(theirs, "Prüfung.pdf")]
    return pdf_dataset("p", str(folder / "pdfs"), str(folder / "q.json"), skip=skip, store=NO_STORE)


DATASETS = {
    **{"added": of_added_judgments, "pdfs": of_pdfs, "pages": of_pages, "beir": of_beir},
    "pages of documents": partial(of_pages, key=f"{NAME}#Übersicht"),
    "a selected query": partial(of_beir, is_selected=True),
}


@forms
@pytest.mark.parametrize("dataset", DATASETS.values(), ids=DATASETS)
def test_what_is_judged_is_what_the_corpus_has(tmp_path, ours, theirs, dataset):
    collection = dataset(tmp_path, ours, theirs).load()
    [query], [judgment], [document] = collection.queries, collection.judgments, collection.documents
    assert document.source == normalize(ours, document.source)
    assert judgment == (query.query_id, document.pages[0].unit, 1)
    assert Dataset.from_collection(collection, PageChunker()).coverage().share == 1.0


@forms
def test_a_document_that_has_the_id_of_a_query_is_left_out_and_a_run_file_names_it(tmp_path, ours, theirs):
    corpus, queries = {normalize(ours, "qö"): "Tee", "d": "Tee"}, [{"_id": normalize(theirs, "qö"), "text": "Tee"}]
    folder = arguments.written(tmp_path, corpus, queries, {normalize(ours, "qö"): "d"})
    search: Search = search_of(Dataset.from_collection(beir_dataset("b", str(folder)).load(), PageChunker()))
    assert search.unranked.tolist() == [[0, 0]]
    (tmp_path / "run.trec").write_text(f"{normalize(ours, 'qö')} Q0 {normalize(theirs, 'qö')} 1 2.5 tag\n")
    retriever = RunFileRetriever(str(tmp_path / "run.trec"))
    search = replace(search, unranked=search.unranked[:0])
    retriever.check(search)
    assert retriever.rank(search, 1).passages.tolist() == [[0]]


@forms
def test_quotes_are_found_in_the_document_with_offsets_in_either_form(tmp_path, ours, theirs):
    own, quote = document(ours), "beträgt fünf"
    for form in (None, ours, theirs):
        start = normalize(form, TEXT).index("betr") if form else None
        offsets = {"start_index": start, "end_index": start + len(normalize(form, quote))} if form else {}
        references = [{"content": normalize(theirs, quote), **offsets}]
        row = {"question": "?", "corpus_id": normalize(theirs, NAME.removesuffix(".pdf")), "references": references}
        (tmp_path / "q.json").write_text(json.dumps([row]))
        [reference] = read_strictly(span_questions(str(tmp_path / "q.json")), (own,)).references
        assert own.text[reference.start : reference.end] == normalize(ours, quote)


@forms
def test_rankings_of_other_programs_and_explained_queries(ours, theirs):
    run, qrels = ({normalize(form, "qö"): [normalize(form, "dö")]} for form in (ours, theirs))
    result = ragsweep.evaluate(run, qrels)
    assert result.means["mrr"] == 1.0
    assert result.query_ids == (normalize(theirs, "qö"),)
    queries = [Query("1", "other"), Query(normalize(ours, "qö"), normalize(ours, "Größe?"))]
    assert find(normalize(theirs, "qö"), queries) == find(normalize(theirs, "größe"), queries) == 1
