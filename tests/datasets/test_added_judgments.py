"""Judgments in a file of their own, which any dataset takes as `dataset.qrels`."""

import json
from dataclasses import replace

import pytest
from read_strictly import span_questions

from ragsweep.core.errors import DatasetError
from ragsweep.datasets import Document, Judgment, OwnDataset, TableQuestions, beir_dataset, pdf_dataset
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
    with pytest.raises(DatasetError, match=r"qrels.tsv: mine has no query '3'; it has '1', '2'"):
        replace(own, qrels=qrels("3\tm#1\t1")).load()
    with pytest.raises(DatasetError, match=r"qrels.tsv: mine has no page 'm#9', which is judged"):
        replace(own, qrels=qrels("1\tm#9\t1")).load()


def test_spans_take_no_judgments_of_pages(tmp_path, qrels):
    rows = [{"question": "Who?", "references": [{"content": "Iron."}], "corpus_id": "m"}]
    (tmp_path / "q.json").write_text(json.dumps(rows))
    dataset = OwnDataset("mine", AsIs(TWO), span_questions(str(tmp_path / "q.json")), qrels=qrels("1\tm#1\t1"))
    with pytest.raises(DatasetError, match=r"dataset\.qrels: mine judges spans of text"):
        dataset.load()
