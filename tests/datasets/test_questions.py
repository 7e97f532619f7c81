"""References as spans or texts, the recipes for files of other programs, the catalogue, and the data of others."""

import json

import pandas as pd
import pytest
from application import PROJECT
from read_strictly import all_misses, in_catalogue, read_strictly, refusal, span_questions, write_table

from ragsweep.datasets import (
    Dataset,
    Document,
    IrDatasetsDataset,
    Judgment,
    OwnDataset,
    PageChunker,
    Query,
    RecursiveChunker,
    Reference,
    TableCorpus,
    TableQuestions,
    TextCorpus,
    beir_dataset,
)
from ragsweep.datasets.formats.generated_questions import caution_of_generated
from ragsweep.testing import DatasetContract
from ragsweep.testing.datasets import AsIs

WORMS = "Worms. Worms."
DOCUMENTS = (Document.from_pages("m", [("1", "m#1", "Iron.")]), Document.from_pages("n.txt", [("7", "n.txt#7", WORMS)]))


def written(tmp_path, *rows, name="spans.csv", document="corpus_id"):
    """Questions with references, in a table of these rows."""
    return span_questions(write_table(tmp_path / name, rows), document)


def asked(tmp_path, *rows, documents=DOCUMENTS, **table):
    return read_strictly(written(tmp_path, *rows, **table), documents)


def row(*references, question="q", corpus_id="n", **fields):
    """A question with these references, each a value of JSON, or the place of one in `WORMS`."""
    of_places = [
        {"content": WORMS[slice(*one)], "start_index": one[0], "end_index": one[1]} if isinstance(one, tuple) else one
        for one in references
    ]
    return {"question": question, "references": json.dumps(of_places), "corpus_id": corpus_id, **fields}


def test_references_are_spans_of_the_document_with_or_without_its_ending(tmp_path):
    collection = asked(tmp_path, row((7, 13), (0, 6)), row((0, 6), question="r", corpus_id="n.txt"))
    expected = [("1", "n.txt", 0, 6), ("1", "n.txt", 7, 13), ("2", "n.txt", 0, 6)]
    assert collection.references == tuple(Reference(*fields) for fields in expected)
    assert collection.unit == "passage"
    for name in (".", "..", "a/."):  # as the name of a folder
        documents = (Document.from_pages(name, [("1", name, WORMS)]),)
        assert asked(tmp_path, row((0, 6), corpus_id=name), documents=documents).references == (
            Reference("1", name, 0, 6),
        )


PLACED = [  # a reference, and what is read: the offsets of its only place, or its text
    ({"content": WORMS}, Reference("1", "n.txt", 0, 13)),
    ({"content": "Worms.", "start_index": "7", "end_index": 13.0}, Reference("1", "n.txt", 7, 13)),
    (WORMS, Reference("1", "n.txt", 0, 13)),
    ({"content": "Worms."}, Reference("1", "n.txt", 0, 0, "Worms.")),  # it is there twice
    ("worms worms", Reference("1", "n.txt", 0, 0, "worms worms")),  # it is not there as it is written
]


def test_a_reference_gets_the_offsets_of_its_only_place_or_keeps_its_text(tmp_path):
    wrong = []
    for reference, expected in PLACED:
        for text in (json.dumps([reference]), str([reference])):  # as JSON, or as Python prints it
            collection = asked(tmp_path, {"question": "q", "corpus_id": "n", "references": text})
            wrong += [] if collection.references == (expected,) else [(text, collection.references)]
    assert wrong == []


def test_a_question_that_the_documents_do_not_answer_has_no_references(tmp_path):
    """In a table its value is a text."""
    for yes, no in ((True, False), ("true", "false"), ("", "false")):
        collection = asked(tmp_path, row((0, 6), answerable=yes), row(question="r", answerable=no))
        assert {reference.query_id for reference in collection.references} == {"1"}
        assert [(query.query_id, query.answerable) for query in collection.queries] == [("1", True), ("2", False)]


def test_further_columns_of_spans_are_kept_and_the_type_is_that_of_the_query_or_its_document(tmp_path):
    [query] = asked(tmp_path, row((0, 6), query_type="factual", easy=True)).queries
    assert (query.query_type, query.fields) == ("factual", (("easy", "True"),))
    [query] = asked(tmp_path, row((0, 6))).queries
    assert query.query_type == "n"


TREATED, ABSORBED = "Iron tablets treat anaemia.", "Tea keeps iron from being absorbed."
TWO = (
    Document.from_pages("anaemia.txt", [("1", "anaemia.txt#1", f"{TREATED} Take one a day, with food.\n{ABSORBED}")]),
    Document.from_pages("fever.txt", [("1", "f#1", "A fever of 39 °C needs a\nvisit. Drink enough. Take one a day.")]),
)


def texts_of(collection):
    """The query, the document and the text of each reference."""
    texts = {document.source: document.text for document in TWO}
    return {(query_id, source, texts[source][start:end]) for query_id, source, start, end, _ in collection.references}


def test_texts_are_looked_for_in_all_documents(tmp_path):
    rows = [{"question": "What treats anaemia?", "references": [TREATED], "reference": "Iron."}]
    rows += [{"question": "What goes with iron?", "references": [ABSORBED, "Drink enough."], "reference": "No tea."}]
    of_second = {("2", "anaemia.txt", ABSORBED), ("2", "fever.txt", "Drink enough.")}
    for name in ("testset.csv", "testset.jsonl", "testset.parquet"):
        collection = asked(tmp_path, *rows, documents=TWO, name=name, document=None)
        assert texts_of(collection) == {("1", "anaemia.txt", TREATED), *of_second}
        assert [query.text for query in collection.queries] == ["What treats anaemia?", "What goes with iron?"]
        assert [query.query_type for query in collection.queries] == ["anaemia.txt", None]  # the second is about both
        assert dict(collection.queries[0].fields)["reference"] == "Iron."
    pairs = [("fever", "Take one a day"), ("", TREATED)]  # only the first is in both documents
    rows = [{"question": text, "corpus_id": name, "references": [text]} for name, text in pairs]
    collection = asked(tmp_path, *rows, documents=TWO, name="t.json")
    named = {(query_id, source) for query_id, source, _ in texts_of(collection)}
    assert named == {("1", "fever.txt"), ("2", "anaemia.txt")}


UNCLEAR = [  # a row, and the column of the document
    (row(), "corpus_id", "'references' is an empty list"),
    (row((0, 6), answerable=False), "corpus_id", "expected an empty list, as answerable is false"),
    (row((0, 6), answerable="maybe"), "corpus_id", "'answerable' is \"maybe\""),
    (row("Take one a day"), None, "is in 2 documents ('anaemia.txt', 'fever.txt'); questions.document=COLUMN"),
    (row("A fever of 39 °C needs a visit."), None, "is in no document as it is written; questions.document=COLUMN"),
    (row(""), None, "found the reference "),
    (row(" \n"), None, "found the reference "),
    (row((0, 6)), None, "names no document"),
]


def test_references_agree_with_answerable_and_without_a_document_are_in_one_alone(tmp_path):
    lines = []
    for fields, document, fact in UNCLEAR:
        questions = written(tmp_path, fields, document=document)
        documents = DOCUMENTS if document else TWO
        lines.append((refusal(lambda asks=questions, about=documents: read_strictly(asks, about)), fact))
    assert all_misses(lines) == []


def test_generated_questions_are_recognised_by_their_columns_and_counted():
    def generated(easy, of=10):
        return [Query(str(at), "?", fields=(("easy", str(at < easy)), ("copied", "0.5"))) for at in range(of)]

    assert not caution_of_generated([Query("1", "?"), Query("2", "?", fields=(("copied", "0.5"),))])
    assert caution_of_generated([*generated(0, of=2), Query("3", "?")]).startswith("2 of 3 questions")
    for easy, is_named in ((8, False), (9, True)):  # nearly all are easy for BM25
        assert (f" {easy}0% of them first" in caution_of_generated(generated(easy))) is is_named


# The recipes of the documents

PAGE = (PROJECT / "docs/recipes.md").read_text(encoding="utf-8")
RECIPES = [text.removeprefix("python\n") for text in PAGE.split("```")[1::2]]


@pytest.fixture
def cook(tmp_path, monkeypatch):
    """Runs the recipe that contains a text, in a folder with these tables: in most the text is the name of one."""
    monkeypatch.chdir(tmp_path)

    def cook(marker, files):
        for name, content in files.items():
            write_table(tmp_path / name, content)
        [code] = [code for code in RECIPES if marker in code]
        exec(compile(code, marker, "exec"), {})

    return cook


LLAMA_INDEX = {"queries": {"a": "what"}, "corpus": {"d1": "x", "d2": "y"}, "relevant_docs": {"a": ["d1"]}}
AUTORAG = [{"qid": "a", "query": "what", "retrieval_gt": [["d1", "d2"], ["d3"]]}]
OF_AUTORAG = {"corpus.parquet": [{"doc_id": name, "contents": "x"} for name in ("d1", "d2", "d3")]}
AUTORAG_CORPUS = TableCorpus("corpus.parquet", id="doc_id", text="contents")
LANGCHAIN = [{"question": "what", "relevant": [{"source": "m", "page": 0}]}]  # it counts from 0
CONTEXTS = ["<1-hop>\n\nIron.", f"<2-hop>\n\n{WORMS}"]
RAGAS = [{"user_input": "what", "reference_contexts": CONTEXTS, "reference": "x"}]
SQUAD = {"data": [{"title": "Normans", "paragraphs": [{"context": " Normandy is a region of France.", "qas": [
    {"id": "q1", "question": "what", "answers": [{"text": "region of France", "answer_start": 15}]},
    {"id": "q2", "question": "Whose is it?", "answers": [], "is_impossible": True}]}]}]}  # fmt: skip
COOKED = [  # the file of another program, and others beside it; the corpus; the unit; and what is judged
    ({"qa_dataset.json": LLAMA_INDEX}, TableCorpus("documents.jsonl"), "document", [("a", "d1")]),
    ({"qa.parquet": AUTORAG, **OF_AUTORAG}, AUTORAG_CORPUS, "document", [("a", "d1"), ("a", "d2"), ("a", "d3")]),
    ({"golden.json": LANGCHAIN}, AsIs(DOCUMENTS), "page", [("1", "m#1")]),
    ({"testset.csv": RAGAS}, AsIs(DOCUMENTS), "page", [("1", "Iron."), ("1", WORMS)]),
    ({"dev-v2.0.json": SQUAD}, TableCorpus("documents.jsonl"), "page", [("q1", "region of France")]),
]


@pytest.mark.parametrize(("files", "corpus", "unit", "judged"), COOKED)
def test_a_recipe_makes_a_table_of_the_file_of_another_program(cook, files, corpus, unit, judged):
    cook(next(iter(files)), files)
    documents = corpus.read()
    collection = read_strictly(TableQuestions("questions.jsonl", unit=unit), documents)
    texts = {document.source: document.text for document in documents}
    quoted = [(query_id, texts[source][start:end]) for query_id, source, start, end, _ in collection.references]
    assert [judgment[:2] for judgment in collection.judgments if judgment.grade == 1] + quoted == judged
    assert collection.queries[0].text == "what"
    unanswerable = [query.query_id for query in collection.queries if not query.answerable]
    assert unanswerable == ["q2"] * (SQUAD in files.values())


def test_the_files_of_the_notebook_about_spans_are_read_with_settings(tmp_path):
    """Its documents have their name in an object, and its references a text and the chunks of its own database."""
    documents = [{"content": "Ice melts. Rivers rise.", "metadata": {"file_path": "papers/ice.md", "n": 1}},
                 {"content": "Soil dries.", "metadata": {"file_path": "papers/soil.md", "n": 2}}]  # fmt: skip
    (tmp_path / "documents.jsonl").write_text("".join(f"{json.dumps(document)}\n" for document in documents))
    question = {"question": "What rises?", "file_path": "papers/ice.md"}
    question |= {"references": [{"text": "Rivers rise.", "chunk_numbers": [0, 3]}], "refs_generated": 2}
    question |= {"source_document": "Ice melts. Rivers rise.", "refs_valid": 1, "refs_removed": 1}
    corpus = TableCorpus(str(tmp_path / "documents.jsonl"), id="metadata.file_path", text="content").read()
    assert [document.source for document in corpus] == ["papers/ice.md", "papers/soil.md"]
    collection = asked(tmp_path, question, documents=corpus, name="qa.json", document="file_path")
    assert collection.references == (Reference("1", "papers/ice.md", 11, 23),)
    assert "corpus.id=metadata.file_path corpus.text=content" in PAGE
    assert "questions=spans questions.path=qa_evaluation_dataset.json questions.document=file_path" in PAGE
    [of_the_hub] = [code for code in RECIPES if "load_dataset" in code]
    compile(of_the_hub, "load_dataset", "exec")


@pytest.mark.extra("ir_datasets")
def test_the_recipe_makes_a_folder_of_beir_from_files_of_trec(tmp_path, cook):
    (tmp_path / "collection").mkdir()
    (tmp_path / "collection/ap.sgml").write_text(
        "<DOC>\n<DOCNO> AP-1 </DOCNO>\n<TEXT>\n<P>Tea &amp; iron</P>\n</TEXT>\n</DOC>\n"
        "<DOC>\n<DOCNO>AP-2</DOCNO>\n<TEXT>\nA plan.\n</TEXT>\n</DOC>\n"
    )
    (tmp_path / "topics.txt").write_text(
        "<top>\n<num> Number: 1\n<title> Topic: Iron &amp; tea\n<desc> Description:\nd\n<narr> Narrative:\nn\n</top>\n"
    )
    (tmp_path / "qrels.txt").write_text("1 0 AP-1 2\n1 0 AP-2 0\n")
    cook("TrecDocs", {})
    expect_read(beir_dataset("mine", "mine"), {"AP-1": "Tea & iron", "AP-2": "A plan."}, ("1", "Iron & tea"))


def expect_read(dataset, texts, query):
    """A dataset has these documents, the first of which has the grade 2 for its only query, and the other 0."""
    collection = dataset.load()
    assert {document.source: document.text for document in collection.documents} == texts
    assert [(query.query_id, query.text) for query in collection.queries] == [query]
    first, second = texts
    assert collection.judgments == (Judgment(query[0], first, 2), Judgment(query[0], second, 0))


@pytest.mark.real_data
def test_chromas_references_are_what_its_corpora_contain(real_data):
    folder = real_data / "chunking_evaluation"
    questions = span_questions(str(folder / "questions_df.csv"))
    collection = OwnDataset("chroma", TextCorpus(str(folder / "corpora")), questions).load()
    table = pd.read_csv(folder / "questions_df.csv")
    texts = {document.source: document.text for document in collection.documents}
    quoted = {}
    for query_id, source, start, end, _ in collection.references:
        quoted.setdefault(query_id, set()).add(texts[source][start:end])
    assert len(collection.queries) == len(table) == 220
    for number, expected in enumerate(table.references, start=1):
        assert quoted[str(number)] == {reference["content"] for reference in json.loads(expected)}
    undivided = Dataset.from_collection(collection, PageChunker())
    assert len(undivided.passages) == 2
    assert undivided.coverage().share == 1
    small = Dataset.from_collection(collection, RecursiveChunker(200, 0))
    assert {query for query, *_ in collection.references} == {small.queries[at].query_id for at in small.qrels.query}


@pytest.mark.real_data
def test_the_questions_of_financebench_have_their_answers_as_a_field(real_data):
    path = real_data / "financebench" / "test_queries.json"
    collection = read_strictly(TableQuestions(str(path), unit="document"), ())  # tests of the audit read its pages
    assert len(collection.queries) == 28
    assert all([name for name, _ in query.fields] == ["answer"] for query in collection.queries)


@pytest.mark.extra("ir_datasets")
class TestIrDatasets(DatasetContract):
    component = IrDatasetsDataset

    @pytest.fixture(autouse=True)
    def dataset(self, tmp_path):
        files = "d1\tIron tablets.\nd2\tBirth plan.\n", "q1\tWhat of iron?\n", "q1 0 d1 2\nq1 0 d2 0\n"
        type(self).settings = {"name": "small", "id": in_catalogue(tmp_path, *files)}

    def test_a_dataset_of_the_catalogue_is_read(self, made):
        expect_read(made, {"d1": "Iron tablets.", "d2": "Birth plan."}, ("q1", "What of iron?"))
