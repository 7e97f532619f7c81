"""Reading rankings and judgments in the forms of other programs."""

import os

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.core.errors import DatasetError
from ragsweep.tasks.ranking.reading import read


def rows(source, kind="rankings", listed=0):
    entries = read(source, kind, listed)
    return list(zip(entries.queries, entries.documents, entries.numbers, strict=True))


def test_a_query_without_documents_is_named():
    assert read({"q1": [], "q2": ["a"]}, "rankings", 0).named == ["q1", "q2"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([["a"]], "rankings: found a list, expected a dict, a pandas DataFrame or the path of a TREC file"),
        (
            {"q": "a"},
            "rankings, query 'q': found a str, expected a list of document ids, best first, or a dict "
            "{document id: score}",
        ),
        ({"q": {"a": None}}, "rankings, query 'q', document 'a': found the score None, expected a finite number"),
        ({"q": ["a", 2.0]}, "rankings, query 'q': found the id 2.0, a float; expected a string or a whole number"),
        (
            {"q": [("a", 0.3)]},
            "rankings, query 'q': found the id ('a', 0.3), a tuple; expected a string or a whole number",
        ),
        (
            pd.DataFrame(columns=["query_id", "doc_id", "rank"]),
            "rankings: found the columns query_id, doc_id, rank, expected query_id, doc_id, score, each once; "
            "name yours with .rename(columns={... : 'score'})",
        ),
        (
            {"q": {"a": 10**5000}},
            "rankings, query 'q', document 'a': found the score of thousands of digits, expected a finite number",
        ),
        (
            {10**5000: ["a"]},
            "rankings: found the id of thousands of digits, a int; expected a string or a whole number",
        ),
    ],
    ids=range(8),
)
def test_unreadable_input_is_refused_in_one_line(source, message):
    with pytest.raises(DatasetError) as error:
        read(source, "rankings", 0)
    assert str(error.value) == message


def test_a_line_with_other_columns_is_named(tmp_path):
    file = tmp_path / "run.trec"
    file.write_text("q1 Q0 a 1 0.1 me\n\nq1 Q0 b 2\n")
    with pytest.raises(DatasetError) as error:
        read(file, "rankings", 0)
    assert str(error.value) == f"{file}, line 3: found 4 columns, expected 'query Q0 document rank score tag'"


@pytest.mark.parametrize(("name", "text"), [("run.json", '{"q": {"a": 1.0}}'), ("run.csv", "qid,docno,score\nq,a,1\n")])
def test_a_file_of_another_format_is_refused_with_what_to_give_instead(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(DatasetError, match=r"; read other formats into a dict or a DataFrame$"):
        read(tmp_path / name, "rankings", listed=0)


def test_a_score_that_is_not_a_number_is_named(tmp_path):
    file = tmp_path / "run.trec"
    file.write_text("q1 Q0 a 1 high me\n")
    with pytest.raises(DatasetError) as error:
        read(file, "rankings", 0)
    assert (
        str(error.value)
        == f"{file}, line 1, query 'q1', document 'a': found the score 'high', expected a finite number"
    )


def test_a_line_of_a_run_that_begins_with_a_hash_is_refused(tmp_path):
    file = tmp_path / "run.trec"
    file.write_text("q1 Q0 a 1 2 tag\n#q2 Q0 a 1 1 tag\n")
    with pytest.raises(DatasetError, match=r"run\.trec, line 2: found '#.*', expected no comments; write %23"):
        read(file, "rankings")


BEIR = "query-id\tcorpus-id\tscore\nq1\tdoc a\t2\nq1\tb\t0.0\n"


def test_qrels_of_beir_are_read_as_a_file(tmp_path):
    file = tmp_path / "test.tsv"
    file.write_text(BEIR)
    assert rows(file, "qrels") == [("q1", "doc a", 2), ("q1", "b", 0)]


def test_a_pipe_is_refused_instead_of_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DatasetError, match=r"pipe.*not a file"):
        read(tmp_path / "pipe", "qrels", 1)


LINES = st.lists(
    st.sampled_from(["q1", "0", "Q0", "a", "1", "1e999", "nan", "high", "#", "#a", "query-id", "corpus-id", "score"])
).map(lambda fields: " ".join(fields).encode())


@pytest.mark.parametrize("kind", ["rankings", "qrels"], ids=["rankings", "qrels"])
@given(content=st.binary(max_size=30) | st.lists(LINES, max_size=3).map(b"\n".join))
def test_any_file_is_read_or_refused_in_one_line(tmp_path_factory, kind, content):
    file = tmp_path_factory.getbasetemp() / "any.trec"
    file.write_bytes(content)
    message = "one line"
    try:
        read(file, kind, 1)
    except DatasetError as error:
        message = str(error)
    assert len(message.splitlines()) == 1


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"], ids=["absent", "binary"])
def test_a_file_that_cannot_be_read_is_named(tmp_path, content):
    file = tmp_path / "qrels.trec"
    if content:
        file.write_bytes(content)
    with pytest.raises(DatasetError, match=rf"^[^\n]*{file}[^\n]*$"):
        read(file, "qrels", 1)
