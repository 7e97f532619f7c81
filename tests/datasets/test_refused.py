"""Invalid datasets are refused with one line and exit status 2, and nothing is recorded."""

import pytest
from application import assert_refused
from small import write_pdf, write_queries

CORPUS = b'{"_id": "d1", "text": "Fever."}\n{"_id": "d2", "text": "Rest."}\n{"_id": "d3", "text": "Tea."}\n'
QUERIES = b'{"_id": "q1", "text": "what is a fever"}\n{"_id": "q2", "text": "what helps"}\n'
FILES = {"corpus.jsonl": CORPUS, "queries.jsonl": QUERIES, "qrels/test.tsv": b"q1\td1\t1\nq2\td2\t1\n"}


@pytest.fixture
def beir(tmp_path):
    """Writes a small benchmark with some files changed, and returns the overrides that select it."""

    def write(**changed):
        (tmp_path / "beir" / "qrels").mkdir(parents=True)
        for name, content in {**FILES, **changed}.items():
            (tmp_path / "beir" / name).write_bytes(content)
        return ["dataset=beir", f"dataset.path={tmp_path}/beir", "dataset.name=small", "retriever=sparse"]

    return write


@pytest.mark.parametrize("mode", [[], ["-m", "k=1,2"]], ids=["run", "sweep"])
def test_a_relevance_level_above_every_grade_is_refused(beir, application, mode):
    expected = "found no grade above 1, expected some of at least 2 (evaluation.relevance_level)"
    assert_refused(application.run(*mode, *beir(), "evaluation.relevance_level=2"), application, expected)


def test_a_query_without_a_relevant_document_is_named_and_scores_0(beir, application):
    process = application.run(*beir(**{"qrels/test.tsv": b"q1\td1\t1\nq2\td2\t0\n"}))
    assert process.returncode == 0
    assert "queries without a document of grade 1 or more, scoring 0: 1 (what helps)" in process.stderr
    [run] = application.runs()
    assert run.data.metrics["recall"] == 0.5


@pytest.fixture
def folder(tmp_path):
    """A PDF file with a question about it, and a second file that is not a valid PDF."""
    (tmp_path / "pdfs").mkdir()
    write_pdf(tmp_path / "pdfs" / "a.pdf", ["Fever in a child."])
    (tmp_path / "pdfs" / "b c.pdf").write_text("Dear reader")
    write_queries(tmp_path / "queries.json", [("What is a fever?", ["a.pdf#1"], "factual")])
    return tmp_path


def overrides(folder, **settings):
    places = {"documents": folder / "pdfs", "queries": folder / "queries.json", "name": "small", **settings}
    return [
        "dataset=pdf",
        "retriever=sparse",
        "retriever.backend=bm25s",
        *(f"dataset.{name}={value}" for name, value in places.items()),
    ]


def test_the_error_for_an_unreadable_file_says_how_to_skip_it(folder, application):
    process = application.run(*overrides(folder))
    assert_refused(
        process,
        application,
        "b c.pdf: cannot be read as a PDF (it begins with 'Dear rea'; expected %PDF); 'dataset.skip=[\"b c.pdf\"]'",
    )
    process = application.run(*overrides(folder, skip="['b c.pdf']"))
    assert process.returncode == 0, process.stderr
    assert "documents left out by dataset.skip: 1 (b c.pdf)" in process.stderr
    [run] = application.runs()
    assert "b c.pdf" in run.data.params["dataset.skip"]
