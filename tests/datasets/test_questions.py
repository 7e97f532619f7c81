"""Questions of a table, references as spans or texts, generated questions, and datasets of the catalogue."""

import gzip
import json
from typing import ClassVar

import pandas as pd
import pytest
from application import PROJECT
from hypothesis import given
from hypothesis import strategies as st
from read_strictly import all_misses, expect_refusal, read_strictly, refusal, span_questions

from ragsweep.datasets import (
    BeirQuestions,
    Collection,
    Dataset,
    Document,
    IrDatasetsDataset,
    Judgment,
    OwnDataset,
    PageChunker,
    Query,
    RecursiveChunker,
    Reference,
    TableQuestions,
    TextCorpus,
    beir_dataset,
)
from ragsweep.datasets.formats.generated_questions import caution_of_generated
from ragsweep.datasets.readers.qrels_files import read_qrels
from ragsweep.testing import DatasetContract, QuestionsContract

PAGES = [("1", "m#1", "Iron tablets."), ("2", "m#2", "Birth plan.")]
DOCUMENTS = (Document.from_pages("m", PAGES), Document.from_pages("n.txt", [("7", "n.txt#7", "Worms. Worms.")]))


def written(tmp_path, rows, name="questions.json", **settings):
    """Questions in a table of these rows."""
    path = tmp_path / name
    if name.endswith(".parquet"):
        pd.DataFrame(rows).to_parquet(path)
    elif name.endswith(".csv"):
        pd.DataFrame(rows).to_csv(path, index=False)
    elif name.endswith(".jsonl"):
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    else:
        path.write_text(json.dumps(rows))
    return TableQuestions(str(path), **settings)


def asked_in(tmp_path, *rows, **settings):
    return read_strictly(written(tmp_path, [*rows], **settings), DOCUMENTS)


ROW = {"query": "q", "relevant_docs": ["7"]}


def test_further_fields_are_kept_as_texts_and_any_can_be_the_type(tmp_path):
    further = {"author": "Zoë", "year": 1990, "tags": ["a"], "none": None, "metadata": {}}
    [query] = asked_in(tmp_path, ROW | further).queries
    assert query.fields == (("author", "Zoë"), ("year", "1990"), ("tags", '["a"]'))
    asked = asked_in(tmp_path, ROW | {"author": "Zoë"}, ROW | {"query": "r"}, type="author")
    assert [query.query_type for query in asked.queries] == ["Zoë", None]
    assert asked.queries[0].fields == ()


def test_ids_are_taken_from_a_column_and_differ(tmp_path):
    row = ROW | {"key": 3}
    assert asked_in(tmp_path, row, id="key").queries[0].query_id == "3"
    expect_refusal(lambda: asked_in(tmp_path, row, row | {"query": "r"}, id="key"), "the id '3' is that of ", "entry 1")


def references(*places, question="q", corpus="n", extra=""):
    text = DOCUMENTS[1].text
    spans = [{"content": text[start:end] + extra, "start_index": start, "end_index": end} for start, end in places]
    return {"question": question, "references": json.dumps(spans), "corpus_id": corpus}


def spans(tmp_path, *rows):
    pd.DataFrame(rows).to_csv(tmp_path / "spans.csv", index=False)
    return span_questions(str(tmp_path / "spans.csv"))


def test_references_are_spans_of_the_document_with_or_without_its_ending(tmp_path):
    rows = references((7, 13), (0, 6)), references((0, 6), question="r", corpus="n.txt")
    asked = read_strictly(spans(tmp_path, *rows), DOCUMENTS)
    expected = [("1", "n.txt", 0, 6), ("1", "n.txt", 7, 13), ("2", "n.txt", 0, 6)]
    assert asked.references == tuple(Reference(*fields) for fields in expected)
    assert asked.unit == "passage"
    for name in (".", "..", "a/."):  # as the name of a folder
        documents = (Document.from_pages(name, [("1", name, DOCUMENTS[1].text)]),)
        asked = read_strictly(spans(tmp_path, references((0, 6), corpus=name)), documents)
        assert asked.references == (Reference("1", name, 0, 6),)


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ({"content": "Worms. Worms."}, Reference("1", "n.txt", 0, 13)),
        ({"content": "Worms.", "start_index": "7", "end_index": 13.0}, Reference("1", "n.txt", 7, 13)),
        ("Worms. Worms.", Reference("1", "n.txt", 0, 13)),
        ({"content": "Worms."}, Reference("1", "n.txt", 0, 0, "Worms.")),
        ("worms worms", Reference("1", "n.txt", 0, 0, "worms worms")),
    ],
    ids=["once", "offsets", "plain text", "twice", "never"],
)
def test_a_reference_gets_the_offsets_of_its_only_place_or_keeps_its_text(tmp_path, reference, expected):
    for text in (json.dumps([reference]), str([reference])):  # as JSON, or as Python prints it
        row = {"question": "q", "corpus_id": "n", "references": text}
        assert read_strictly(spans(tmp_path, row), DOCUMENTS).references == (expected,)


def test_a_question_that_the_documents_do_not_answer_has_no_references(tmp_path):
    """In a table its value is a text."""
    for yes, no in ((True, False), ("true", "false"), ("", "false")):
        rows = {**references((0, 6)), "answerable": yes}, {**references(question="r"), "answerable": no}
        asked = read_strictly(spans(tmp_path, *rows), DOCUMENTS)
        assert {reference.query_id for reference in asked.references} == {"1"}
        assert [(query.query_id, query.answerable) for query in asked.queries] == [("1", True), ("2", False)]


@pytest.mark.parametrize("nothing", [{"relevant_docs": ""}, {}], ids=["an empty field", "no field"])
@pytest.mark.parametrize(("name", "no"), [("q.json", False), ("q.json", 0), ("q.csv", "FALSE"), ("q.csv", "no")])
def test_a_question_of_a_table_can_be_one_that_the_documents_do_not_answer(tmp_path, name, no, nothing):
    rows = [{"query": "How tall?", "relevant_docs": "m#1", "answerable": ""}, {"query": "How old?", "answerable": no}]
    rows[1] |= nothing
    asked = asked_in(tmp_path, *rows, name=name)
    assert [(query.text, query.answerable) for query in asked.queries] == [("How tall?", True), ("How old?", False)]
    assert asked.judgments == (Judgment("1", "m#1", 1),)
    rows[1]["relevant_docs"] = "m#1"
    expect_refusal(lambda: asked_in(tmp_path, *rows, name=name), "answerable is false, but there is something relevant")


DISAGREEING = [
    (references(), "'references' is an empty list"),
    (references((0, 6)) | {"answerable": False}, "expected an empty list, as answerable is false"),
    (references((0, 6)) | {"answerable": "maybe"}, "'answerable' is \"maybe\""),
]


def test_references_and_answerable_must_agree(tmp_path):
    lines = [
        (refusal(lambda row=row: read_strictly(spans(tmp_path, row), DOCUMENTS)), fact) for row, fact in DISAGREEING
    ]
    assert all_misses(lines) == []


def test_further_columns_of_spans_are_kept_and_the_type_is_that_of_the_query(tmp_path):
    row = {**references((0, 6)), "query_type": "factual", "easy": True}
    [query] = read_strictly(spans(tmp_path, row), DOCUMENTS).queries
    assert (query.query_type, query.fields) == ("factual", (("easy", "True"),))
    [query] = read_strictly(spans(tmp_path, references((0, 6))), DOCUMENTS).queries
    assert query.query_type == "n"  # the document


# References without a document

ANAEMIA = "Iron tablets treat anaemia. Take one a day, with food.\nTea keeps iron from being absorbed."
FEVER = "A fever above 38 °C needs a\nvisit. Drink enough. Take one a day."
TWO = (
    Document.from_pages("anaemia.txt", [("1", "anaemia.txt#1", ANAEMIA)]),
    Document.from_pages("fever.txt", [("1", "fever.txt#1", FEVER)]),
)
ONE_TEXT = {"question": "What treats anaemia?", "references": ["Iron tablets treat anaemia."], "reference": "Iron."}
TWO_TEXTS = {
    "question": "What goes with iron, and what with fever?",
    "references": ["Tea keeps iron from being absorbed.", "Drink enough."],
    "reference": "No tea, and much to drink.",
}


def texts_of(asked):
    """The query, the document and the text of each reference."""
    texts = {document.source: document.text for document in TWO}
    return {(query_id, source, texts[source][start:end]) for query_id, source, start, end, _ in asked.references}


@pytest.mark.parametrize("name", ["testset.csv", "testset.jsonl", "testset.parquet"])
def test_texts_are_looked_for_in_all_documents(tmp_path, name):
    questions = written(tmp_path, [ONE_TEXT, TWO_TEXTS], name, query="question", document=None, relevant=None)
    asked = read_strictly(questions, TWO)
    assert texts_of(asked) == {
        ("1", "anaemia.txt", "Iron tablets treat anaemia."),
        ("2", "anaemia.txt", "Tea keeps iron from being absorbed."),
        ("2", "fever.txt", "Drink enough."),
    }
    assert [query.text for query in asked.queries] == [ONE_TEXT["question"], TWO_TEXTS["question"]]
    assert [query.query_type for query in asked.queries] == ["anaemia.txt", None]  # the second is about both
    assert dict(asked.queries[0].fields)["reference"] == "Iron."


UNCLEAR = [
    ("Take one a day", "is in 2 documents ('anaemia.txt', 'fever.txt'); questions.document=COLUMN"),
    ("A fever above 38 °C needs a visit.", "is in no document as it is written; questions.document=COLUMN"),
    ("", "found the reference "),
    (" \n", "found the reference "),
    ({"content": "Iron", "start_index": 0, "end_index": 4}, "names no document"),
]


def test_a_reference_without_a_document_is_in_one_alone(tmp_path):
    lines = []
    for reference, fact in UNCLEAR:
        (tmp_path / "t.json").write_text(json.dumps([{"question": "What?", "references": [reference]}]))
        questions = span_questions(str(tmp_path / "t.json"), document=None)
        lines.append((refusal(lambda questions=questions: read_strictly(questions, TWO)), fact))
    assert all_misses(lines) == []


def test_only_a_row_whose_text_several_documents_have_needs_its_document(tmp_path):
    pairs = [("fever", "Take one a day"), ("", "Iron tablets treat anaemia.")]
    rows = [{"question": text, "corpus_id": name, "references": [text]} for name, text in pairs]
    (tmp_path / "t.json").write_text(json.dumps(rows))
    asked = read_strictly(span_questions(str(tmp_path / "t.json")), TWO)
    assert {(query_id, source) for query_id, source, _ in texts_of(asked)} == {("1", "fever.txt"), ("2", "anaemia.txt")}


# Generated questions


def generated(easy, of=10):
    return [Query(str(row), "?", fields=tuple({"easy": str(row < easy), "copied": "0.5"}.items())) for row in range(of)]


def test_generated_questions_are_recognised_by_their_columns_and_counted():
    assert not caution_of_generated([Query("1", "?"), Query("2", "?", fields=(("copied", "0.5"),))])
    assert caution_of_generated([*generated(0, of=2), Query("3", "?")]).startswith("2 of 3 questions")
    for easy, is_named in ((8, False), (9, True)):  # nearly all are easy for BM25
        assert (f" {easy}0% of them first" in caution_of_generated(generated(easy))) is is_named


# Data of others


@pytest.mark.real_data
def test_chromas_references_are_what_its_corpora_contain(real_data):
    folder = real_data / "chunking_evaluation"
    dataset = OwnDataset(
        "chroma", TextCorpus(str(folder / "corpora")), span_questions(str(folder / "questions_df.csv"))
    )
    collection = dataset.load()
    table = pd.read_csv(folder / "questions_df.csv")
    texts = {document.source: document.text for document in collection.documents}
    quoted = {}
    for query_id, source, start, end, _ in collection.references:
        quoted.setdefault(query_id, set()).add(texts[source][start:end])
    assert len(collection.queries) == len(table) == 220
    for row, expected in enumerate(table.references, start=1):
        assert quoted[str(row)] == {reference["content"] for reference in json.loads(expected)}
    undivided = Dataset.from_collection(collection, PageChunker())
    assert len(undivided.passages) == 2
    assert undivided.coverage().share == 1
    small = Dataset.from_collection(collection, RecursiveChunker(200, 0))
    assert {query for query, *_ in collection.references} == {small.queries[row].query_id for row in small.qrels.query}


@pytest.mark.real_data
def test_the_questions_of_financebench_have_their_answers_as_a_field(real_data):
    path = real_data / "financebench" / "test_queries.json"
    asked = read_strictly(TableQuestions(str(path), unit="document"), ())  # its pages are read by tests of the audit
    assert len(asked.queries) == 28
    assert all([name for name, _ in query.fields] == ["answer"] for query in asked.queries)


@given(st.dictionaries(st.text(st.characters(categories=["L"]), min_size=1), st.integers(-5, 5), min_size=1))
def test_written_qrels_are_read_back(tmp_path_factory, grades):
    path = tmp_path_factory.mktemp("any") / "qrels.txt"
    path.write_text("".join(f"1\t0\t{name}\t{grade}\n" for name, grade in grades.items()))
    assert {judgment.unit: judgment.grade for _, judgment in read_qrels(path, "dataset.qrels")} == grades


@pytest.mark.extra("ir_datasets")
def test_the_recipe_makes_a_folder_of_beir_from_files_of_trec(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "collection").mkdir()
    (tmp_path / "collection/ap.sgml").write_text(
        "<DOC>\n<DOCNO> AP-1 </DOCNO>\n<TEXT>\n<P>Tea &amp; iron</P>\n</TEXT>\n</DOC>\n"
        "<DOC>\n<DOCNO>AP-2</DOCNO>\n<TEXT>\nA plan.\n</TEXT>\n</DOC>\n"
    )
    (tmp_path / "topics.txt").write_text(
        "<top>\n<num> Number: 1\n<title> Topic: Iron &amp; tea\n<desc> Description:\nd\n<narr> Narrative:\nn\n</top>\n"
    )
    (tmp_path / "qrels.txt").write_text("1 0 AP-1 2\n1 0 AP-2 0\n")
    page = (PROJECT / "docs/recipes.md").read_text(encoding="utf-8")
    [recipe] = [text for text in page.split("```")[1::2] if "TrecDocs" in text]
    exec(compile(recipe.removeprefix("python\n"), "recipe", "exec"), {})
    mine = beir_dataset("mine", "mine").load()
    assert {document.source: document.text for document in mine.documents} == {"AP-1": "Tea & iron", "AP-2": "A plan."}
    assert [(query.query_id, query.text) for query in mine.queries] == [("1", "Iron & tea")]
    assert mine.judgments == (Judgment("1", "AP-1", 2), Judgment("1", "AP-2", 0))


@pytest.fixture
def registered(tmp_path):
    """The id of a dataset of the catalogue that lies on this machine."""
    import ir_datasets

    docs, queries, qrels = tmp_path / "docs.tsv", tmp_path / "queries.tsv", tmp_path / "qrels"
    docs.write_text("d1\tIron tablets.\nd2\tBirth plan.\n")
    queries.write_text("q1\tWhat of iron?\n")
    qrels.write_text("q1 0 d1 2\nq1 0 d2 0\n")
    name = f"ragsweep-{tmp_path.name}"
    dataset = ir_datasets.create_dataset(docs_tsv=str(docs), queries_tsv=str(queries), qrels_trec=str(qrels))
    ir_datasets.registry.register(name, dataset)
    return name


@pytest.mark.extra("ir_datasets")
def test_a_dataset_of_the_catalogue_is_read(registered):
    collection = IrDatasetsDataset("small", registered).load()
    texts = {document.source: document.text for document in collection.documents}
    assert texts == {"d1": "Iron tablets.", "d2": "Birth plan."}
    assert [(query.query_id, query.text) for query in collection.queries] == [("q1", "What of iron?")]
    assert collection.judgments == (Judgment("q1", "d1", 2), Judgment("q1", "d2", 0))


class TestTable(QuestionsContract):
    component = TableQuestions
    documents = DOCUMENTS

    @pytest.fixture(autouse=True)
    def questions(self, tmp_path):
        written(tmp_path, [{"query": "q", "relevant_docs": {"m#1": 2}, "more": 1}])
        type(self).settings = {"path": str(tmp_path / "questions.json")}


class TestSpans(QuestionsContract):
    component = TableQuestions
    documents = DOCUMENTS

    @pytest.fixture(autouse=True)
    def questions(self, tmp_path):
        path = spans(tmp_path, references((0, 6))).path
        type(self).settings = {"path": path, "query": "question", "document": "corpus_id", "relevant": None}


class TestBeirQuestions(QuestionsContract):
    component = BeirQuestions
    documents = DOCUMENTS

    @pytest.fixture(autouse=True)
    def questions(self, tmp_path):
        (tmp_path / "qrels").mkdir()
        (tmp_path / "qrels" / "test.tsv").write_text("1\tm\t1\n")
        (tmp_path / "queries.jsonl.gz").write_bytes(gzip.compress(b'{"_id": "1", "text": "What of iron?"}\n'))
        type(self).settings = {"path": str(tmp_path)}


class TestOwn(DatasetContract):
    component = OwnDataset
    settings: ClassVar = {}

    @pytest.fixture(autouse=True)
    def dataset(self, tmp_path):
        (tmp_path / "corpus").mkdir()
        (tmp_path / "corpus" / "n.txt").write_text("Worms. Worms.")
        questions = spans(tmp_path, references((0, 6)))
        type(self).settings = {"name": "small", "corpus": TextCorpus(str(tmp_path / "corpus")), "questions": questions}

    def test_the_name_is_the_users(self, made):
        assert isinstance(made.load(), Collection)
        assert made.load().name == "small"


@pytest.mark.extra("ir_datasets")
class TestIrDatasets(DatasetContract):
    component = IrDatasetsDataset

    @pytest.fixture(autouse=True)
    def dataset(self, registered):
        type(self).settings = {"name": "small", "id": registered}
