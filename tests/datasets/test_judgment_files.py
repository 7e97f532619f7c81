"""Judgments that are added to the files of a dataset, in the format of each."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from ragsweep.core.errors import DatasetError
from ragsweep.datasets import (
    BeirDataset,
    BeirQuestions,
    Document,
    Judgment,
    OwnDataset,
    PdfDataset,
    SpanQuestions,
    TableQuestions,
    TrecQuestions,
)

TWO = (
    Document.from_pages("m", [("1", "m#1", "Iron."), ("2", "m#2", "Birth."), ("3", "m#3", "Worms.")]),
    Document.from_pages("n", [("1", "n#1", "Fever."), ("7", "n#7", "Tea.")]),
)
ADDED = [Judgment("1", "m#1", 0), Judgment("2", "n#7", 1), Judgment("2", "m#3", 2)]


class AsIs:
    """A corpus of these documents."""

    def __init__(self, documents):
        self.documents = documents

    def read(self):
        return self.documents


def judgments(questions, documents):
    return {(query, unit): grade for query, unit, grade in questions.read(documents).judgments}


def assert_added(questions, field, added, documents=TWO):
    """The new file, in place of the old one, has the old and the new judgments."""
    made = questions.with_judgments(added, documents)
    assert made.path == Path(getattr(questions, field))
    new = made.path.with_name(f"new_{made.path.name}")
    new.write_bytes(gzip.compress(made.text.encode()) if new.suffix == ".gz" else made.text.encode())
    expected = judgments(questions, documents) | {(each.query_id, each.unit): each.grade for each in added}
    again = replace(questions, **{field: str(new)})
    assert judgments(again, documents) == expected
    assert again.read(documents).queries == questions.read(documents).queries
    assert made.use.format(path=new, name="new") == f"questions.{field}={new}"
    return made.text


JSON = [
    {"query": "Who?", "relevant_docs": ["m#2"], "query_type": "a", "answer": 1.5},
    {"query": "Ärger?", "relevant_docs": {"m#1": 3}, "query_type": "b", "answer": None},
]
CSV = 'query,relevant_docs,note\n"Who, when?",m#2; n#7,"a ""b""\nc"\nWhat?,"[""m#1""]",=1\n'
TABLES = {
    "list.json": json.dumps(JSON),
    "lines.jsonl": "\n".join(map(json.dumps, JSON)),
    "zipped.json.gz": json.dumps(JSON),
    "empty.json": json.dumps([{**JSON[0], "relevant_docs": None}, JSON[1]]),
    "pages.json": json.dumps([{**JSON[0], "relevant_docs": [{"page": "m#2", "reason": "it says so"}]}, JSON[1]]),
    "table.csv": CSV,
    "table.tsv": 'query\trelevant_docs\tnote\nWho?\tm#2\t"\nWhat?\t{"m#1": 2}\tx\n',
    "spelled.csv": "QUERY,Relevant docs,Note\nWho?,m#2,x\nWhat?,m#1,y\n",
    "no_bare_text.csv": "query,relevant_docs\nWho?,\nWhat?,m#1\n",
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("added", [ADDED, ADDED[1:2]], ids=["graded", "relevant"])
def test_a_table_keeps_its_rows_and_gets_the_judgments(tmp_path, name, added):
    content = TABLES[name].encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert_added(TableQuestions(str(tmp_path / name)), "path", added)


def test_a_list_stays_a_list_as_long_as_all_grades_are_1(tmp_path):
    (tmp_path / "q.json").write_text(json.dumps(JSON[:1]))
    questions = TableQuestions(str(tmp_path / "q.json"))
    [relevant] = json.loads(questions.with_judgments([Judgment("1", "n#7", 1)], TWO).text)
    [graded] = json.loads(questions.with_judgments([Judgment("1", "n#7", 0)], TWO).text)
    assert relevant == {**JSON[0], "relevant_docs": ["m#2", "n#7"]}
    assert graded == {**JSON[0], "relevant_docs": {"m#2": 1, "n#7": 0}}


def test_ids_of_the_table_say_which_row_gets_a_judgment(tmp_path):
    (tmp_path / "q.csv").write_text("Number,query,relevant_docs\nx,Who?,m#2\n1,What?,m#2\n")
    questions = TableQuestions(str(tmp_path / "q.csv"), id="number")
    text = assert_added(questions, "path", [Judgment("1", "n#7", 1)])
    assert text == "Number,query,relevant_docs\nx,Who?,m#2\n1,What?,m#2; n#7\n"


@pytest.mark.parametrize("ending", ["csv", "tsv"])
@pytest.mark.parametrize("name", ["a;b.txt", "[a.txt", '{"a": 1}', '"a,b'])
def test_a_cell_names_any_document(tmp_path, name, ending):
    documents = tuple(Document.from_pages(each, [("1", each, "Iron.")]) for each in ("m", name))
    mark = "\t" if ending == "tsv" else ","
    path = tmp_path / f"q.{ending}"
    path.write_text(f"query{mark}relevant_docs\nWho?{mark}\nWhat?{mark}m\n")
    assert_added(TableQuestions(str(path), unit="document"), "path", [Judgment("1", name, 1)], documents)


def test_a_file_that_would_be_read_as_something_else_is_refused(tmp_path):
    (tmp_path / "q.json").write_text('[{"query": "Who?", "relevant_docs": ["m#2"], "size": 1e400}]')
    with pytest.raises(DatasetError, match=r"q.json: cannot hold these judgments \(then: holds Infinity"):
        TableQuestions(str(tmp_path / "q.json")).with_judgments([Judgment("1", "n#7", 1)], TWO)
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("q1\tm\t2\n")
    with pytest.raises(DatasetError, match=r"test.tsv: cannot hold these judgments: they would be read as others"):
        BeirQuestions(str(tmp_path)).with_judgments([Judgment("q1", " n", 1)], TWO)


def test_in_a_single_document_the_page_number_is_enough(tmp_path):
    (tmp_path / "q.json").write_text(json.dumps([{"query": "Who?", "relevant_docs": ["2"]}]))
    text = assert_added(TableQuestions(str(tmp_path / "q.json")), "path", [Judgment("1", "m#3", 1)], TWO[:1])
    assert json.loads(text)[0]["relevant_docs"] == ["2", "3"]


@pytest.mark.parametrize(("unit", "added"), [("document", "n"), ("page_number", "7")])
def test_other_units_are_named_as_they_are(tmp_path, unit, added):
    (tmp_path / "q.json").write_text(json.dumps([{"query": "Who?", "relevant_docs": ["m" if added == "n" else "1"]}]))
    assert_added(TableQuestions(str(tmp_path / "q.json"), unit=unit), "path", [Judgment("1", added, 0)])


def test_qrels_of_trec_get_lines_of_four_columns(tmp_path):
    (tmp_path / "topics.txt").write_text("1\tWho?\n2\tWhat?\n")
    (tmp_path / "qrels.txt").write_text("1 Q0 m 2\n2 0 absent 1")
    questions = TrecQuestions(str(tmp_path / "topics.txt"), str(tmp_path / "qrels.txt"))
    text = assert_added(questions, "qrels", [Judgment("1", "n", 0), Judgment("2", "n", 1)])
    assert text == "1 Q0 m 2\n2 0 absent 1\n1 0 n 0\n2 0 n 1\n"
    for added in (Judgment("1", "my file", 1), Judgment("my file", "n", 1)):
        with pytest.raises(DatasetError, match=r"qrels.txt: 'my file' has white space"):
            questions.with_judgments([added], TWO)


@pytest.mark.parametrize("zipped", [False, True])
def test_qrels_of_beir_become_a_split_of_their_own(tmp_path, zipped):
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text('{"_id": "m", "text": "Iron."}\n{"_id": "n", "text": "Tea."}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "Who?"}\n')
    content = b"query-id\tcorpus-id\tscore\nq1\tm\t2\n"
    name = "test.tsv.gz" if zipped else "test.tsv"
    (tmp_path / "qrels" / name).write_bytes(gzip.compress(content) if zipped else content)
    dataset = BeirDataset("small", str(tmp_path))
    made = dataset.with_judgments([Judgment("q1", "n", 0)], dataset.load().documents)
    assert made.path.name == name
    (tmp_path / "qrels" / "reviewed.tsv").write_text(made.text)
    assert made.use.format(path="x", name="reviewed") == f"dataset.split=reviewed, once it is in {tmp_path / 'qrels'}"
    assert replace(dataset, split="reviewed").load().judgments == (Judgment("q1", "m", 2), Judgment("q1", "n", 0))
    assert BeirQuestions(str(tmp_path)).with_judgments([], ()).use.startswith("questions.split=")


def test_questions_about_pdfs_get_judgments(tmp_path, write_pdf):
    write_pdf(tmp_path / "pdfs" / "a.pdf", "one", "two")
    (tmp_path / "q.json").write_text(json.dumps([{"query": "Who?", "relevant_docs": ["1"]}]))
    dataset = PdfDataset("small", str(tmp_path / "pdfs"), str(tmp_path / "q.json"))
    made = dataset.with_judgments([Judgment("1", "a.pdf#2", 0)], dataset.load().documents)
    (tmp_path / "new.json").write_text(made.text)
    again = replace(dataset, queries=str(tmp_path / "new.json"))
    assert again.load().judgments == (Judgment("1", "a.pdf#1", 1), Judgment("1", "a.pdf#2", 0))
    assert made.use == "dataset.queries={path}"


def test_questions_of_ones_own_corpus_get_judgments(tmp_path):
    (tmp_path / "q.json").write_text(json.dumps(JSON))
    dataset = OwnDataset("mine", AsIs(TWO), TableQuestions(str(tmp_path / "q.json")))
    assert dataset.with_judgments(ADDED, TWO) == dataset.questions.with_judgments(ADDED, TWO)


def test_questions_that_cannot_take_judgments_say_so(tmp_path):
    dataset = OwnDataset("mine", AsIs(TWO), SpanQuestions("spans.csv"))
    with pytest.raises(DatasetError, match=r"questions: .*SpanQuestions cannot add judgments"):
        dataset.with_judgments(ADDED, TWO)
    with pytest.raises(DatasetError, match=r"q.parquet: judgments cannot be added to a Parquet file"):
        TableQuestions(str(tmp_path / "q.parquet")).with_judgments(ADDED, TWO)
