"""Judgments in a file of their own, as `dataset.qrels`; and questions without any, which a sweep refuses."""

import json
from dataclasses import replace

import pandas as pd
import pytest
from read_strictly import expect_refusal, span_questions

from ragsweep.datasets import (
    Dataset,
    Document,
    Judgment,
    OwnDataset,
    PageChunker,
    TableQuestions,
    TextCorpus,
    beir_dataset,
    pdf_dataset,
)
from ragsweep.testing.datasets import AsIs

TWO = (
    Document.from_pages("m", [("1", "m#1", "Iron."), ("2", "m#2", "Birth."), ("3", "m#3", "Worms.")]),
    Document.from_pages("a b", [("1", "a b#1", "Fever."), ("7", "a b#7", "Tea.")]),
)


@pytest.fixture
def qrels(tmp_path):
    """Writes judgments as `ragsweep judge --out` does."""

    def write(*lines):
        (tmp_path / "qrels.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *lines, ""]))
        return str(tmp_path / "qrels.tsv")

    return write


@pytest.fixture
def own(tmp_path):
    """Two questions about two documents; the second one has no judgments."""
    rows = [{"query": "Who?", "relevant_docs": ["m#2"]}, {"query": "What?", "relevant_docs": []}]
    (tmp_path / "q.json").write_text(json.dumps(rows))
    return OwnDataset("mine", AsIs(TWO), TableQuestions(str(tmp_path / "q.json")))


def test_judgments_are_added_to_those_of_a_table_and_replace_them(own, qrels):
    collection = replace(own, qrels=qrels("1\tm#2\t0", "2\ta b#7\t1")).load()
    assert collection.judgments == (Judgment("1", "m#2", 0), Judgment("2", "a b#7", 1))
    assert collection.digest != own.load().digest


def test_judgments_are_added_before_questions_are_selected(own, qrels):
    collection = replace(own, qrels=qrels("1\tm#1\t1", "2\tm#3\t1"), ids=["2"]).load()
    assert collection.judgments == (Judgment("2", "m#3", 1),)


def test_judgments_are_added_to_questions_about_pdfs(tmp_path, write_pdf, qrels):
    write_pdf(tmp_path / "pdfs" / "a.pdf", "one", "two")
    (tmp_path / "q.json").write_text(json.dumps([{"query": "Who?", "relevant_docs": ["1"]}]))
    dataset = pdf_dataset("small", str(tmp_path / "pdfs"), str(tmp_path / "q.json"), qrels=qrels("1\ta.pdf#2\t2"))
    assert dataset.load().judgments == (Judgment("1", "a.pdf#1", 1), Judgment("1", "a.pdf#2", 2))


@pytest.mark.parametrize("has_qrels", [False, True])
def test_judgments_are_added_to_a_folder_of_beir(tmp_path, qrels, has_qrels):
    (tmp_path / "corpus.jsonl").write_text('{"_id": "m", "text": "Iron."}\n{"_id": "n", "text": "Tea."}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "Who?"}\n')
    if has_qrels:
        (tmp_path / "qrels").mkdir()
        (tmp_path / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tm\t2\n")
    collection = beir_dataset("small", str(tmp_path), qrels=qrels("q1\tn\t0")).load()
    assert collection.judgments == (*[Judgment("q1", "m", 2)] * has_qrels, Judgment("q1", "n", 0))
    assert collection.unjudged == ""


def test_judgments_of_what_is_not_there_are_refused(own, qrels):
    expect_refusal(replace(own, qrels=qrels("3\tm#1\t1")).load, "qrels.tsv: mine has no query '3'; it has '1', '2'")
    expect_refusal(replace(own, qrels=qrels("1\tm#9\t1")).load, "qrels.tsv: mine has no page 'm#9'")


def test_spans_take_no_judgments_of_pages(tmp_path, qrels):
    rows = [{"question": "Who?", "references": [{"content": "Iron."}], "corpus_id": "m"}]
    (tmp_path / "q.json").write_text(json.dumps(rows))
    dataset = OwnDataset("mine", AsIs(TWO), span_questions(str(tmp_path / "q.json")), qrels=qrels("1\tm#1\t1"))
    expect_refusal(dataset.load, "dataset.qrels: mine judges spans of text")


# Questions without judgments

TEXTS = ["How is iron kept?", "Where is the tea, the milk and the salt?"]
ASKED = [{"query": text} for text in TEXTS]
FILES = {  # as people have them
    "objects.json": json.dumps(ASKED, indent=1),
    "questions.jsonl": "".join(f"{json.dumps(row)}\n" for row in ASKED),
    "column.csv": f'query\n{TEXTS[0]}\n"{TEXTS[1]}"\n',
    "excel.tsv": f"query\tquery_type\n{TEXTS[0]}\twhat\n{TEXTS[1]}\twhere\n",
    "null.jsonl": "".join(json.dumps({"query": text, "relevant_docs": None}) + "\n" for text in TEXTS),
}
GIVEN = [Judgment("1", "iron.txt", 1), Judgment("1", "tea.txt", 0), Judgment("2", "tea.txt", 1)]


@pytest.fixture
def texts(tmp_path):
    """A corpus of two text files."""
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "iron.txt").write_text("Iron is kept dry.")
    (folder / "tea.txt").write_text("Tea and milk.")
    return TextCorpus(str(folder))


def asked_in(path, texts):
    return OwnDataset(name="own", corpus=texts, questions=TableQuestions(str(path), unit="document"))


@pytest.mark.parametrize("name", [*FILES, "questions.parquet"])
def test_questions_without_judgments_are_ranked_and_measured_once_these_are_added(tmp_path, texts, name):
    path = tmp_path / name
    if name in FILES:
        path.write_text(FILES[name])
    else:
        pd.DataFrame(ASKED).to_parquet(path)
    dataset = asked_in(path, texts)
    items = Dataset.from_collection(dataset.load(), PageChunker(), may_lack_judgments=True)
    assert [query.text for query in items.queries] == TEXTS
    assert not len(items.qrels.grade)
    expect_refusal(lambda: Dataset.from_collection(dataset.load(), PageChunker()), "; ragsweep judge")
    (tmp_path / "qrels.tsv").write_text("".join("\t".join(map(str, judgment)) + "\n" for judgment in GIVEN))
    judged = replace(dataset, qrels=str(tmp_path / "qrels.tsv")).load()
    assert (sorted(judged.judgments), judged.unjudged) == (sorted(GIVEN), "")


def test_a_table_that_may_have_judgments_after_all_is_refused(tmp_path, texts):
    (tmp_path / "gold.csv").write_text("query,gold_ids\nWhat?,iron.txt\n")
    gold = asked_in(tmp_path / "gold.csv", texts).load()
    facts = "line 2: ", "'gold_ids'", "questions.relevant=COLUMN"
    expect_refusal(lambda: Dataset.from_collection(gold, PageChunker()), *facts)
    (tmp_path / "some.jsonl").write_text('{"query": "a"}\n{"query": "b", "relevant_docs": ["iron.txt"]}\n')
    expect_refusal(asked_in(tmp_path / "some.jsonl", texts).load, "line 1: the field 'relevant_docs' is missing")


@pytest.fixture(params=["no qrels", "", "query-id\tcorpus-id\tscore\n", "\n\n"])
def beir(tmp_path, request):
    """A folder of BEIR without qrels, or with an empty file of them."""
    for name in ("corpus", "queries"):
        rows = ({"_id": f"{name[0]}{number}", "text": text} for number, text in enumerate(TEXTS))
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (tmp_path / "qrels").mkdir()
    if request.param != "no qrels":
        (tmp_path / "qrels" / "test.tsv").write_text(request.param)
    return tmp_path


def test_a_folder_of_beir_without_qrels_has_all_its_queries(beir):
    dataset = beir_dataset(name="beir", path=str(beir))
    collection = dataset.load()
    assert [query.query_id for query in collection.queries] == ["q0", "q1"]
    expect_refusal(lambda: Dataset.from_collection(collection, PageChunker()), "qrels/test.tsv", "; ragsweep judge")
    (beir / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tc0\t1\n")
    assert dataset.load().judgments == (Judgment("q1", "c0", 1),)
