"""Benchmarks in BEIR's layout."""

import gzip

import pytest

from ragsweep.datasets import BeirDataset, Judgment
from ragsweep.errors import DatasetError

CORPUS = (
    '{"_id": "d1", "title": "Malaria", "text": "Fever with chills."}\n{"_id": "d2", "title": "", "text": "Rest."}\n'
)
QUERIES = '{"_id": "q1", "text": "what causes chills"}\n{"_id": "q2", "text": "unjudged"}\n'
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text(CORPUS)
    (tmp_path / "queries.jsonl").write_text(QUERIES)
    (tmp_path / "qrels" / "test.tsv").write_text(QRELS)
    return tmp_path


def load(folder, **settings):
    return BeirDataset("small", str(folder), **settings).load()


def test_a_document_is_its_title_a_space_and_its_text(folder):
    assert [document.text for document in load(folder).documents] == ["Malaria Fever with chills.", "Rest."]


def test_the_unit_is_the_document(folder):
    assert [page.unit for document in load(folder).documents for page in document.pages] == ["d1", "d2"]


def test_only_the_judged_queries_are_asked(folder):
    assert [query.query_id for query in load(folder).queries] == ["q1"]


def test_grades_are_kept_as_they_are(folder):
    assert load(folder).judgments == (Judgment("q1", "d1", 2), Judgment("q1", "d2", 0))


def test_qrels_without_a_header_lose_no_judgment(folder):
    (folder / "qrels" / "test.tsv").write_text("q1\td1\t1\n")
    assert load(folder).judgments == (Judgment("q1", "d1", 1),)


def test_the_split_names_the_qrels(folder):
    (folder / "qrels" / "dev.tsv").write_text("q2\td2\t1\n")
    assert load(folder, split="dev").judgments == (Judgment("q2", "d2", 1),)


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"])
def test_a_gzipped_file_reads_as_the_plain_one(folder, name):
    plain = load(folder)
    content = (folder / name).read_bytes()
    (folder / name).unlink()
    (folder / f"{name}.gz").write_bytes(gzip.compress(content))
    assert load(folder) == plain


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"])
def test_windows_line_ends_change_nothing(folder, name):
    plain = load(folder)
    (folder / name).write_bytes((folder / name).read_bytes().replace(b"\n", b"\r\n"))
    assert load(folder) == plain


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"])
def test_empty_lines_change_nothing(folder, name):
    plain = load(folder)
    (folder / name).write_bytes((folder / name).read_bytes() + b"\n\n")
    assert load(folder) == plain


def test_white_space_around_an_id_changes_nothing(folder):
    plain = load(folder).judgments
    (folder / "qrels" / "test.tsv").write_text(QRELS.replace("d1", " d1 "))
    assert load(folder).judgments == plain


# Bad inputs


def test_a_missing_folder_names_the_setting(tmp_path):
    with pytest.raises(DatasetError, match=r"dataset\.path: .*nowhere does not exist; expected a folder with corpus"):
        load(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(DatasetError, match=rf"{name} does not exist, nor does .*\.gz"):
        load(folder)


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("corpus.jsonl", '{"_id": "d3", "text"', r"corpus\.jsonl, line 3: not JSON"),
        ("corpus.jsonl", '["d3"]', r"corpus\.jsonl, line 3: expected an object with _id and text"),
        ("corpus.jsonl", '{"_id": "d3"}', r"corpus\.jsonl, line 3: the field 'text' is missing or not a text"),
        ("corpus.jsonl", '{"_id": 3, "text": ""}', r"corpus\.jsonl, line 3: the field '_id' is missing or not a text"),
        (
            "corpus.jsonl",
            '{"_id": "d1", "text": ""}',
            r"corpus\.jsonl, line 3: the _id 'd1' stands in the file twice",
        ),
        ("corpus.jsonl", r'{"_id": "d3", "text": "hot \ud83e"}', r"corpus\.jsonl, line 3: "),
        ("queries.jsonl", "{}", r"queries\.jsonl, line 3: the field '_id' is missing"),
        ("qrels/test.tsv", "q1 0 d1 1", r"test\.tsv, line 4: expected query-id, corpus-id and score between tabs"),
        ("qrels/test.tsv", "q1\td1\thigh", r"test\.tsv, line 4: the score 'high' is not a whole number"),
        ("qrels/test.tsv", "q9\td1\t1", r"test\.tsv: judges query 'q9', which is not in queries\.jsonl"),
    ],
)
def test_a_bad_line_is_named_with_file_and_number(folder, name, line, message):
    with (folder / name).open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(DatasetError, match=message):
        load(folder)


def test_qrels_of_another_corpus_are_bad_input(folder):
    (folder / "qrels" / "test.tsv").write_text("q1\tx1\t1\n")
    with pytest.raises(DatasetError, match=r"no document that qrels/test\.tsv judges is in corpus\.jsonl"):
        load(folder)


def test_a_title_that_is_no_text_is_bad_input(folder):
    (folder / "corpus.jsonl").write_text('{"_id": "d1", "title": ["Malaria"], "text": "Fever."}\n')
    with pytest.raises(DatasetError, match=r"line 1: .*'title'"):
        load(folder)


def test_a_query_that_stands_in_the_file_twice_is_bad_input(folder):
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "one"}\n{"_id": "q1", "text": "two"}\n')
    with pytest.raises(DatasetError, match=r"queries\.jsonl, line 2: .*'q1'"):
        load(folder)


def test_a_gzip_file_that_was_cut_short_is_named(folder):
    (folder / "corpus.jsonl").unlink()
    (folder / "corpus.jsonl.gz").write_bytes(gzip.compress(CORPUS.encode())[:-12])
    with pytest.raises(DatasetError, match=r"corpus\.jsonl\.gz: cannot be read to its end"):
        load(folder)


def test_a_file_in_another_encoding_is_named(folder):
    (folder / "queries.jsonl").write_bytes('{"_id": "q1", "text": "fièvre"}\n'.encode("latin-1"))
    with pytest.raises(DatasetError, match=r"queries\.jsonl: cannot be read to its end"):
        load(folder)
