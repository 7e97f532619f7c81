"""Malformed files of every format: one line with the place, what was found and what was expected."""

import gzip
import io
import os
import zipfile

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from read_strictly import read_strictly, span_questions

from ragsweep.core.errors import DatasetError
from ragsweep.datasets import (
    BeirQuestions,
    Document,
    PdfDocuments,
    TableCorpus,
    TableQuestions,
    TextCorpus,
)

DOCUMENTS = (Document.from_pages("m", [("1", "m#1", "Iron tablets.")]),)


def parquet(rows):
    file = io.BytesIO()
    pd.DataFrame(rows).to_parquet(file)
    return file.getvalue()


def zipped(**parts):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def line(content, start="0", end="4", question="q", corpus="m"):
    reference = f'[{{""content"": ""{content}"", ""start_index"": {start}, ""end_index"": {end}}}]'
    return f'question,references,corpus_id\n{question},"{reference}",{corpus}\n'


NESTED = "[" * 60 + "]" * 60
GZ = gzip.compress(b"".join(b'{"id": "%d", "text": "Iron"}\n' % number for number in range(50)))

CORPORA = [  # file, content, what is said
    ("docs.jsonl", "", "contains no documents"),
    ("docs.jsonl", "{", "is one object over several lines; expected a list of objects, or an object on each line"),
    ("docs.jsonl", '{"id"', "line 1: not JSON"),
    ("docs.jsonl", '{"id": "a", "text": "x"}\n7\n', "line 2: expected an object, found 7"),
    ("docs.jsonl", '{"id": "a"}', "line 1: has no column 'text'; found 'id'"),
    ("docs.jsonl", '{"text": "x"}', "line 1: has no column 'id'; found 'text'"),
    ("docs.jsonl", '{"id": "a", "text": 5}', "line 1: the field 'text' is of type int; expected a string"),
    ("docs.jsonl", '{"id": " ", "text": "x"}', "line 1: the field 'id' is blank"),
    ("docs.jsonl", '{"id": "a\\nb", "text": "x"}', "line 1: the field 'id' contains a control character"),
    ("docs.jsonl", '{"id": ["a"], "text": "x"}', "line 1: the field 'id' is of type list"),
    ("docs.jsonl", '{"id": true, "text": "x"}', "line 1: the field 'id' is of type bool"),
    ("docs.jsonl", '{"id": "a", "text": "x"}\n' * 2, "line 2: the document 'a' is in the file twice"),
    ("docs.jsonl", '{"id": "a", "id": "b", "text": "x"}', "line 1: an object has the field 'id' twice"),
    ("docs.jsonl", '{"id": "a", "text": "\\ud800"}', "line 1: the field 'text' contains an invalid surrogate"),
    ("docs.jsonl", '{"id": "a", "text": NaN}', "line 1: the field 'text' is of type float"),
    ("docs.jsonl", '{"id": "a", "text": "x", "n": 1e999}', None),  # a field that nothing reads
    ("docs.jsonl", f'{{"id": "a", "text": {NESTED}}}', "line 1: nested more than 50 deep"),
    ("docs.jsonl", b'{"id": "a", "text": "caf\xe9"}', "not UTF-8 (line 1)"),
    ("docs.jsonl", b'\xef\xbb\xbf{"id": "a", "text": "x"}\r\n', None),  # a byte order mark, and lines of Windows
    ("docs.json", '[{"id": "a", "text": "x"},]', "line 1: not JSON"),
    ("docs.json", '[["a", "x"]]', 'entry 1: expected an object, found ["a", "x"]'),
    ("docs.jsonl.gz", GZ[:-9], "cannot be unzipped to its end"),
    ("docs.jsonl.gz", b"not gzip", "cannot be unzipped to its end"),
    ("docs.csv", "id,text\na\n", "line 2: found 1 cells, expected 2 as in the first line"),
    ("docs.csv", "id,text\na,b,c\n", "line 2: found 3 cells, expected 2"),
    ("docs.csv", 'id,text\na,"b\n', "line 2: not CSV (unexpected end of data)"),
    ("docs.csv", "id,id\na,b\n", "line 1: several columns have the name 'id'"),
    ("docs.csv", "key,text\na,b\n", "line 2: has no column 'id'; found 'key', 'text'"),
    ("docs.csv", "id,text\n", "contains no documents"),
    ("docs.csv", "id,text\r\na b,x\r\n", None),  # an id with a space
    (
        "docs.tsv",
        "id\ttext\na\tb\tc\n",
        "line 2: found 3 cells, expected 2 as in the first line; put a text that contains",
    ),
    ("docs.parquet", b"PAR1 and then nothing", "not a Parquet file"),
    ("docs.parquet", b"", "not a Parquet file"),
    ("docs.parquet", parquet([{"key": "a", "text": "x"}]), "row 1: has no column 'id'; found 'key', 'text'"),
    ("docs.parquet", parquet([{"id": "a", "text": 1.5}]), "row 1: the field 'text' is of type float"),
    ("docs.parquet", parquet([{"id": 1.5, "text": "x"}]), "row 1: the field 'id' is of type float"),
]
TEXTS = [
    ("a.txt", b"caf\xe9", "line 1: not UTF-8"),
    ("a.md", b"ok\nok\n\xff", "line 3: not UTF-8"),
    ("a.docx", b"no zip", "cannot be read as a Word document"),
    ("a.docx", zipped(other="x"), "cannot be read as a Word document"),
    ("a.docx", zipped(**{"word/document.xml": "<a><b></a>"}), "cannot be read as a Word document"),
    ("a.html", "<b>" * 50_000, "elements are nested too deeply"),
    ("a.txt.gz", gzip.compress(b"iron")[:-4], "cannot be unzipped to its end"),
    ("a.png", b"png", "has no file of .txt"),
]
QUESTIONS = [
    ("q.csv", "query,relevant_docs\n,1\n", "line 2: the field 'query' is empty"),
    ("q.csv", "query,relevant_docs\nwhat,9\n", "line 2: page '9' is not in the documents (m has pages 1 to 1)"),
    ("q.csv", "query,relevant_docs\nwhat,[1\n", "line 2: the field 'relevant_docs': not JSON"),
    ("q.csv", "query,relevant_docs\nwhat,[1.5]\n", "line 2: the field 'relevant_docs' is [1.5]; expected a list like"),
    ("q.jsonl", '{"query": "q", "relevant_docs": {"1": 1.5}}', "'relevant_docs', key '1': the grade is 1.5"),
    ("q.jsonl", '{"query": "q", "relevant_docs": {"1": "ja"}}', "'relevant_docs', key '1': the grade is \"ja\""),
    ("q.jsonl", '{"query": "q", "relevant_docs": {"": "x"}}', "key '': the grade is \"x\"; expected a whole number"),
    ("q.csv", "query,relevant_docs\ncafé,1\n".encode("latin-1"), "not UTF-8 (line 2); expected a JSON, CSV"),
    ("q.csv", 'query,relevant_docs\nq,"1, m#1"\n', "(there are 'm'; write a number alone, and semicolons"),
    ("q.csv", 'query,relevant_docs\nq,"8, 9"\n', "(m has pages 1 to 1; write a number alone"),
    ("q.csv", "query,relevant_docs,,\nq,1,,lost\n", "line 2: column 4 has no name, but the text 'lost'"),
    ("q.csv", "query;relevant_docs\nq;r;1\n", "questions.delimiter="),
    ("q.json", '[\n{"query": }]', "q.json, line 2: not JSON (Expecting value, column 11)"),
    ("q.json", "[" * 2_000, "q.json: nested more than"),
    ("q.json", "[NaN]", "q.json: holds NaN"),
    ("q.json", "[[]]", "entry 1: expected an object, found an empty list"),
    ("q.json", f'[["{"a" * 90}"]]', f'entry 1: expected an object, found ["{"a" * 75}...'),
    ("q.json", "9" * 5_000, "line 1: a number has thousands of digits"),
    (
        "q.jsonl",
        '{"query": "q", "relevant_docs": ["1"]}\n{"query": "r"}',
        "line 2: the field 'relevant_docs' is missing",
    ),
    ("q.jsonl", '{"query": "q", "relevant_docs": ["1"], "query_type": "a\\nb"}', "'query_type' contains a control"),
    (
        "q.jsonl",
        '{"query": "q", "relevant_docs": ["1"], "query_type": 3}',
        "'query_type' is of type int; expected a string",
    ),
    ("q.jsonl", '{"query": "\\ud83e", "relevant_docs": ["1"]}', "the field 'query' contains an invalid surrogate"),
    ("q.jsonl", '{"query": "q", "relevant_docs": [[]]}', "line 1: the field 'relevant_docs' is [[]]"),
    ("q.jsonl", f'{{"query": "q", "relevant_docs": {{"1": {10**10}}}}}', "key '1': the grade is 10000000000"),
    ("q.jsonl", '{"query": "q", "relevant_docs": ["1"], "a\\tb": 1}', "the field 'a\\tb' contains a control character"),
    ("q.jsonl", '{"query": "q", "relevant_docs": ["1"], "x": "\\udfff"}', "line 1: the field 'x' contains an invalid"),
]
SPANS = [
    ("s.csv", line("Rust"), "line 2: characters 0 to 4 of m are 'Iron', expected 'Rust'"),
    ("s.csv", line("Iron", end="99"), "line 2: found characters 0 to 99 of m, expected them within 0 to 13"),
    ("s.csv", line("Iron", start="-1"), "line 2: found characters -1 to 4 of m"),
    ("s.csv", line("Iron", start="4", end="0"), "line 2: found characters 4 to 0 of m"),
    ("s.csv", line("Iron", start="0.5"), "line 2: a reference starts at 0.5 and ends at 4; expected whole numbers"),
    ("s.csv", line("Iron", end="null"), "line 2: a reference starts at 0 and ends at null"),
    ("s.csv", line("Iron", corpus="n"), "line 2: the document 'n' is not known (the corpus has 'm')"),
    ("s.csv", line("Iron", question=""), "line 2: the field 'question' is empty"),
    (
        "s.csv",
        line(" "),
        "line 2: found the reference an object; expected a list of texts, or of {document, start, end, text}",
    ),
    ("s.csv", "question,references,corpus_id\nq,[],m\n", "line 2: the field 'references' is an empty list"),
    ("s.csv", "question,references,corpus_id\nq,{},m\n", "line 2: the field 'references' is an object"),
    ("s.csv", "question,references,corpus_id\nq,Iron,m\n", "line 2: the field 'references': not JSON"),
    (
        "s.csv",
        "question,references,corpus_id\nq,Iron,m\n",
        "; expected a list of texts, or of {document, start, end, text}",
    ),
    ("s.csv", "question,references\nq,[]\n", "line 2: has no column 'corpus_id'"),
    (
        "s.csv",
        "question,contexts\nq,['Iron']\n",
        "line 2: has no column 'corpus_id', 'references'; found 'question', 'contexts'",
    ),
    ("s.csv", 'question,references\nq,"[{""content"": ""Iron""}]"\n', "questions.document=null"),
]
QRELS = [  # qrels, what is said
    ("1 m\n", "test.tsv, line 1: found 2 columns, expected query-id, corpus-id and score, or the four columns"),
    ("1 0 m nan\n", 'test.tsv, line 1: the grade is "nan"; expected a whole number'),
    ("1 0 m 1\n1 0 m 2\n", "line 2: 'm' has the grade 2 for query '1', but 1 in line 1; expected one"),
    ("1 0 absent 1\n", "none of the documents in qrels/test.tsv is in the corpus"),
    ("2 0 m 1\n", "has no query '2', which is judged"),
]


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def expect(read, path, said):
    """One line that names the file; or no error where the fault is tolerated."""
    if said is None:
        assert read()
        return
    with pytest.raises(DatasetError) as refused:
        read()
    text = str(refused.value)
    assert said in text
    assert str(path) in text
    assert len(text.splitlines()) == 1


@pytest.mark.parametrize(("name", "content", "said"), CORPORA, ids=range(len(CORPORA)))
def test_a_malformed_table_of_documents(tmp_path, name, content, said):
    path = write(tmp_path, name, content)
    expect(TableCorpus(str(path)).read, path, said)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(("name", "content", "said"), TEXTS, ids=range(len(TEXTS)))
def test_a_malformed_text(tmp_path, name, content, said):
    path = write(tmp_path, name, content)
    expect(TextCorpus(str(path)).read, path, said)


@pytest.mark.parametrize(("name", "content", "said"), QUESTIONS, ids=range(len(QUESTIONS)))
def test_a_malformed_table_of_questions(tmp_path, name, content, said):
    path = write(tmp_path, name, content)
    expect(lambda: read_strictly(TableQuestions(str(path)), DOCUMENTS), path, said)


@pytest.mark.parametrize(("name", "content", "said"), SPANS, ids=range(len(SPANS)))
def test_malformed_spans(tmp_path, name, content, said):
    path = write(tmp_path, name, content)
    expect(lambda: read_strictly(span_questions(str(path)), DOCUMENTS), path, said)


@pytest.mark.parametrize(("qrels", "said"), QRELS, ids=range(len(QRELS)))
def test_malformed_qrels(tmp_path, qrels, said):
    (tmp_path / "qrels").mkdir()
    write(tmp_path, "queries.jsonl", '{"_id": "1", "text": "q"}\n')
    write(tmp_path, "qrels/test.tsv", qrels)
    expect(lambda: read_strictly(BeirQuestions(str(tmp_path)), DOCUMENTS), tmp_path, said)


READERS = {
    "table": lambda path: TableCorpus(path).read(),
    "text": lambda path: TextCorpus(path).read(),
    "pdf": lambda path: PdfDocuments(path).read(),
    "questions": lambda path: read_strictly(TableQuestions(path), DOCUMENTS),
    "spans": lambda path: read_strictly(span_questions(path), DOCUMENTS),
    "beir": lambda path: read_strictly(BeirQuestions(path), DOCUMENTS),
}
SINGLE = [name for name in READERS if name not in ("beir", "text", "pdf")]  # the others also read folders


@pytest.mark.parametrize("name", READERS)
def test_a_file_that_does_not_exist_is_named(tmp_path, name):
    expect(lambda: READERS[name](str(tmp_path / "none")), tmp_path / "none", "does not exist")


@pytest.mark.parametrize("ending", [".json", ".csv", ".parquet"])
def test_the_formats_that_a_missing_table_could_have_are_named(tmp_path, ending):
    path = tmp_path / f"none{ending}"
    expect(TableCorpus(str(path)).read, path, "expected a JSON, CSV, TSV or Parquet file of documents")


@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_a_folder_or_a_pipe_is_no_file(tmp_path, name, make):
    make(tmp_path / "place")
    expect(lambda: READERS[name](str(tmp_path / "place")), tmp_path / "place", "not a file")


@pytest.mark.parametrize("name", READERS)
def test_a_path_with_a_null_character_is_refused(name):
    with pytest.raises(DatasetError, match="cannot be read"):
        READERS[name]("a\0b")


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("name", ["table", "questions", "spans"])
def test_a_line_of_more_than_100_mb_is_refused(tmp_path, name):
    path = tmp_path / "long.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(101):
            file.write(b"x" * 10**6)
    expect(lambda: READERS[name](str(path)), path, "larger than 100 MB")


PIECES = st.sampled_from(
    [b"\n", b"\t", b"1 0 m 1", b'"', b'{"id": "a", "text": "x"}', b'{"query": "q", "relevant_docs": ["1"]}',
     b"[", b"]", b"{", b"}", b",", b"\r\n", b"id,text", b"query,relevant_docs", b"question,references,corpus_id",
     b"\xff", b"\xef\xbb\xbf", b"PAR1", b"PK\x03\x04", b"\x1f\x8b", b"%PDF-1.4", b"<p>", b"&#0;", b"\x00"]
)  # fmt: skip
CONTENTS = st.binary(max_size=200) | st.lists(PIECES, max_size=20).map(b"".join)
ENDINGS = [".json", ".jsonl", ".jsonl.gz", ".csv", ".tsv", ".parquet", ".txt", ".html", ".docx", ".pdf"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CONTENTS, st.sampled_from(ENDINGS), st.sampled_from([*READERS]))
def test_whatever_a_file_contains_it_is_read_or_refused_in_one_line(tmp_path, content, ending, name):
    path = write(tmp_path, f"any{ending}", content)
    said = ""
    try:
        READERS[name](str(path))
    except DatasetError as error:
        said = str(error)
    path.unlink()
    assert len(said.splitlines()) <= 1
