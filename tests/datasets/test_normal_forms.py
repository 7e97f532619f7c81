"""Names and quotes meet in whatever normal form each file has them: macOS writes file names decomposed."""

import json
from dataclasses import replace
from unicodedata import normalize

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
FORMS = [("NFC", "NFD"), ("NFD", "NFC")]
forms = pytest.mark.parametrize(("ours", "theirs"), FORMS)


def document(form, text="Die Gebühr beträgt fünf Euro"):
    name = normalize(form, NAME)
    label = normalize(form, "Übersicht")
    return Document.from_pages(name, [(label, f"{name}#{label}", normalize(form, text))])


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
def test_a_unit_that_is_judged_twice_counts_once_also_where_the_corpus_lacks_it(ours, theirs):
    """Counted twice, it would halve the recall. Its two grades may not differ either."""
    twice = [normalize(form, "Übersicht.pdf#1") for form in (ours, theirs)]
    judgments = [Judgment("q", document("NFC").pages[0].unit, 1), *(Judgment("q", unit, 1) for unit in twice)]
    collection = Collection("c", "page", (document("NFC"),), (Query("q", "?"),), tuple(judgments))
    assert len(Dataset.from_collection(collection, PageChunker()).qrels.grade) == 2
    differing = replace(collection, judgments=(*judgments[:2], judgments[2]._replace(grade=0)))
    expect_refusal(lambda: Dataset.from_collection(differing, PageChunker()), "found the grades 1 and 0")


def test_ids_that_are_the_same_in_nfc_are_refused_as_one_that_occurs_twice():
    queries = (Query("é", "?"), Query("e\u0301", "?"))
    collection = Collection("c", "page", (document("NFC"),), queries, (Judgment("é", "x", 1),))
    expect_refusal(lambda: Dataset.from_collection(collection, PageChunker()), "the query id 'é' occurs 2 times")


def write_beir(folder, corpus, queries, qrels):
    (folder / "qrels").mkdir()
    for name, ids in (("corpus", corpus), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(f'{{"_id": "{key}", "text": "Tee"}}\n' for key in ids))
    (folder / "qrels" / "test.tsv").write_text(qrels)


@forms
def test_beir(tmp_path, ours, theirs):
    write_beir(tmp_path, [normalize(ours, "dö")], [normalize(ours, "qö")], normalize(theirs, "qö\tdö\t1\n"))
    items = Dataset.from_collection(beir_dataset("b", str(tmp_path)).load(), PageChunker())
    assert (len(items.queries), items.coverage().share) == (1, 1.0)
    chosen = beir_dataset("b", str(tmp_path), ids=[normalize(theirs, "qö")]).load()
    assert (len(chosen.queries), len(chosen.judgments)) == (1, 1)


@forms
def test_a_document_that_has_the_id_of_a_query_is_left_out(tmp_path, ours, theirs):
    write_beir(tmp_path, [normalize(ours, "qö"), "d"], [normalize(theirs, "qö")], normalize(ours, "qö\td\t1\n"))
    items = Dataset.from_collection(beir_dataset("b", str(tmp_path)).load(), PageChunker())
    assert search_of(items).unranked.tolist() == [[0, 0]]


@forms
def test_added_judgments(tmp_path, ours, theirs):
    (tmp_path / "q.csv").write_text(normalize(ours, "id,query\nqö,Tee?\n"))
    (tmp_path / "qrels.txt").write_text(normalize(theirs, f"qö 0 {NAME} 1\n"))
    questions = TableQuestions(str(tmp_path / "q.csv"), "document", id="id")
    corpus = AsIs((document(ours),))
    collection = OwnDataset("t", corpus, questions, qrels=str(tmp_path / "qrels.txt")).load()
    assert collection.judgments[0].query_id == collection.queries[0].query_id
    assert Dataset.from_collection(collection, PageChunker()).coverage().share == 1.0


@forms
@pytest.mark.parametrize("key", ["Übersicht", f"{NAME}#Übersicht"])
def test_pages_and_their_labels_in_a_table(tmp_path, ours, theirs, key):
    (tmp_path / "q.json").write_text(json.dumps([{"query": "?", "relevant_docs": [normalize(theirs, key)]}]))
    asked = read_strictly(TableQuestions(str(tmp_path / "q.json")), (document(ours),))
    assert asked.judgments[0].unit == asked.documents[0].pages[0].unit


@forms
@pytest.mark.parametrize("offsets", [None, "ours", "theirs"])
def test_quotes_have_offsets_that_are_true_in_the_document(tmp_path, ours, theirs, offsets):
    text = normalize(ours, "Die Gebühr beträgt fünf Euro")
    quote = {"content": normalize(theirs, "beträgt fünf")}
    if offsets:
        form = {"ours": ours, "theirs": theirs}[offsets]
        start = normalize(form, text).index(normalize(form, "beträgt"))
        quote |= {"start_index": start, "end_index": start + len(normalize(form, "beträgt fünf"))}
    row = {"question": "?", "corpus_id": normalize(theirs, NAME.removesuffix(".pdf")), "references": [quote]}
    (tmp_path / "q.json").write_text(json.dumps([row]))
    [reference] = read_strictly(span_questions(str(tmp_path / "q.json")), (document(ours, text),)).references
    assert text[reference.start : reference.end] == normalize(ours, "beträgt fünf")


def test_a_quote_beside_its_offsets_is_still_refused(tmp_path):
    quote = {"content": "Gebühr", "start_index": 5, "end_index": 11}
    row = {"question": "?", "corpus_id": NAME, "references": [quote]}
    (tmp_path / "q.json").write_text(json.dumps([row]))
    questions = span_questions(str(tmp_path / "q.json"))
    expect_refusal(lambda: read_strictly(questions, (document("NFD"),)), "characters 5 to 11")


@forms
def test_a_run_file(tmp_path, ours, theirs):
    items = Dataset.from_collection(
        Collection(
            "r", "document", (Document.from_pages("dö", [("1", normalize(ours, "dö"), "Tee")]),),
            (Query(normalize(ours, "qö"), "?"),), (Judgment(normalize(ours, "qö"), normalize(ours, "dö"), 1),),
        ),
        PageChunker(),
    )  # fmt: skip
    (tmp_path / "run.trec").write_text(normalize(theirs, "qö Q0 dö 1 2.5 tag\n"))
    retriever = RunFileRetriever(str(tmp_path / "run.trec"))
    search: Search = search_of(items)
    retriever.check(search)
    assert retriever.rank(search, 1).passages.tolist() == [[0]]


@forms
def test_files_of_a_folder_are_skipped_and_judged_by_their_names(tmp_path, ours, theirs):
    folder = tmp_path / "pdfs"
    folder.mkdir()
    for name in ("Gebühr.pdf", "Prüfung.pdf"):
        small.write_pdf(folder / normalize(ours, name), ["Tee und Kaffee"])
    asked = [{"query": "Tee?", "relevant_docs": [normalize(theirs, "Gebühr.pdf#1")]}]
    (tmp_path / "q.json").write_text(json.dumps(asked))
    skip = [normalize(theirs, "Prüfung.pdf")]
    loaded = pdf_dataset("p", str(folder), str(tmp_path / "q.json"), skip=skip, store=NO_STORE).load()
    assert [document.source for document in loaded.documents] == [normalize(ours, "Gebühr.pdf")]
    assert Dataset.from_collection(loaded, PageChunker()).coverage().share == 1.0


@forms
def test_rankings_of_other_programs(ours, theirs):
    run, qrels = ({normalize(form, "qö"): [normalize(form, "dö")]} for form in (ours, theirs))
    result = ragsweep.evaluate(run, qrels)
    assert result.means["mrr"] == 1.0
    assert result.query_ids == (normalize(theirs, "qö"),)


@forms
def test_a_query_is_explained_by_its_id_or_text(ours, theirs):
    queries = [Query("1", "other"), Query(normalize(ours, "qö"), normalize(ours, "Größe?"))]
    assert find(normalize(theirs, "qö"), queries) == find(normalize(theirs, "größe"), queries) == 1
