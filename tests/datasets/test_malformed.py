"""Malformed files of every format: one line with the place, what was found and what was expected."""

import datetime
import decimal
import gzip
import io
import json
import os
import zipfile

import docx
import pandas as pd
import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow.parquet import write_table
from read_strictly import read_strictly, span_questions
from reportlab.pdfgen.canvas import Canvas

from ragsweep.core.errors import DatasetError
from ragsweep.datasets import (
    BeirQuestions,
    Dataset,
    Document,
    IrDatasetsDataset,
    PageChunker,
    PdfDocuments,
    TableCorpus,
    TableQuestions,
    TextCorpus,
)
from ragsweep.datasets.readers.qrels_files import read_qrels

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
    ("q.jsonl", '{"query": "q", "relevant_docs": {"1": "ja"}}', "'relevant_docs', key '1': the grade is \"ja\""),
    ("q.jsonl", '{"query": "q", "relevant_docs": {"": "x"}}', "key '': the grade is \"x\"; expected a whole number"),
    ("q.csv", 'query,relevant_docs\nq,"8, 9"\n', "(m has pages 1 to 1; write a number alone"),
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


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def expect_one_line(read):
    """Whatever is read, or a refusal in one line."""
    said = ""
    try:
        read()
    except DatasetError as error:
        said = str(error)
    assert len(said.splitlines()) <= 1


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
    expect_one_line(lambda: READERS[name](str(path)))
    path.unlink()


# Binary files

MAIN = "word/document.xml"


def pdf(**options):
    file = io.BytesIO()
    canvas = Canvas(file, invariant=1, **options)
    canvas.drawString(20, 700, "Iron tablets")
    canvas.save()
    return file.getvalue()


def word():
    file, document = io.BytesIO(), docx.Document()
    document.add_paragraph("Iron tablets")
    document.save(file)
    return file.getvalue()


def with_column(value, kind):
    """A Parquet file whose second row has this value in a column that nothing reads."""
    file = io.BytesIO()
    write_table(pyarrow.table({"id": ["a", "b"], "text": ["x", "y"], "z": pyarrow.array([None, value], kind)}), file)
    return file.getvalue()


def with_names(*names):
    file = io.BytesIO()
    write_table(pyarrow.Table.from_arrays([pyarrow.array(["x"])] * len(names), names=names), file)
    return file.getvalue()


def replaced(content):
    """A Word document that has this XML instead of its own."""
    file = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(word())) as old,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new,
    ):
        for part in old.infolist():
            new.writestr(part.filename, content if part.filename == "word/document.xml" else old.read(part))
    return file.getvalue()


ENTITIES = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 20}">' for n in range(1, 9))
BOMB = f'<!DOCTYPE a [<!ENTITY e0 "iron">{ENTITIES}]><a>&e8;</a>'
OPEN, CLOSE = (
    '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>',
    "</w:body></w:document>",
)
ENTITY = f'<!DOCTYPE a [<!ENTITY e "iron">]>{OPEN}<w:p><w:r><w:t>&e;</w:t></w:r></w:p>{CLOSE}'
BINARY = [  # reader, file, content, what is said
    (PdfDocuments, "a.pdf", zipped(**{MAIN: "x"}), "(it begins with 'PK\\x03\\x04"),
    (PdfDocuments, "a.pdf", b"", "(it is empty; expected %PDF)"),
    (PdfDocuments, "a.pdf", b"<html>", "(it begins with '<html>'; expected %PDF)"),
    (PdfDocuments, "a.pdf", gzip.compress(pdf()), "(it begins with '\\x1f"),
    (PdfDocuments, "a.pdf", pdf(encrypt="secret"), "(it is encrypted; expected one without a password)"),
    (PdfDocuments, "a.pdf", pdf()[:300], "cannot be read as a PDF ("),
    (TextCorpus, "a.docx", pdf(), "cannot be read as a Word document"),
    (TextCorpus, "a.docx", word()[:-100], "cannot be read as a Word document"),
    (TextCorpus, "a.docx", zipped(**{MAIN: BOMB}), "cannot be read as a Word document"),
    (TextCorpus, "a.docx", zipped(**{MAIN: "<a>" * 10_000}), "cannot be read as a Word document"),
    (TextCorpus, "a.docx", replaced(ENTITY), "(word/document.xml has a DOCTYPE; expected none)"),
    (TextCorpus, "a.docx", replaced(ENTITY.encode("utf-16")), "(word/document.xml has a DOCTYPE; expected none)"),
    (TextCorpus, "a.docx", replaced(f"{OPEN}{'<w:p/>' * 3_000_000}{CLOSE}"), "contains 19 MB of XML with 3,0"),
    (TextCorpus, "a.docx", replaced(f"{OPEN}{' ' * 21_000_000}{CLOSE}"), "contains 22 MB of XML with"),
    (TextCorpus, "a.html", f"<ol start='{'9' * 5000}'><li>x</ol>".encode(), "cannot be read as a web page (Exceeds"),
    (TextCorpus, "a.html", b"<![foo[<p>x</p>]]>", "cannot be read as a web page (unknown status keyword 'foo'"),
    (TextCorpus, "a.html", b"<p>x</p> <![ ", "cannot be read as a web page (expected name token"),
    (TableCorpus, "a.parquet", parquet([{"id": "a", "text": "x"}])[:-20], "not a Parquet file"),
    (TableCorpus, "a.parquet", parquet([{"id": "a", "text": b"x"}]), "row 1: the field 'text' is of type bytes"),
    (TableCorpus, "a.parquet", parquet([{"id": "a", "text": "x"}, {"text": "y"}]), "row 2: the field 'id' is"),
    (
        TableCorpus,
        "a.parquet",
        with_column(2**62, pyarrow.timestamp("us")),
        "rows 1 to 2: the field 'z' has an invalid value of type timestamp[us]",
    ),
    (
        TableCorpus,
        "a.parquet",
        with_column(2**30, pyarrow.date32()),
        "rows 1 to 2: the field 'z' has an invalid value of",
    ),
    (TableCorpus, "a.parquet", with_column(2**62, pyarrow.duration("s")), "invalid value of type duration[s]"),
    (TableCorpus, "a.parquet", with_column(0, pyarrow.timestamp("us", "Mars/Base")), "timestamp[us, tz=Mars/Base]"),
    (TableCorpus, "a.parquet", with_names("id", "text", "text"), "several columns have the name 'text'"),
]


@pytest.mark.parametrize(("reader", "name", "content", "said"), BINARY, ids=range(len(BINARY)))
def test_a_malformed_file_is_refused_in_one_line(tmp_path, reader, name, content, said):
    path = write(tmp_path, name, content)
    expect(reader(str(path)).read, path, said)


def test_an_entity_of_a_word_document_reads_no_other_file(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    body = '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>'
    entity = f'<!DOCTYPE a [<!ENTITY e SYSTEM "{secret.as_uri()}">]>'
    (tmp_path / "a.docx").write_bytes(zipped(**{MAIN: f"{entity}{body}&e;</w:t></w:r></w:p></w:body></w:document>"}))
    said = ""
    try:
        said = TextCorpus(str(tmp_path / "a.docx")).read()[0].text
    except DatasetError as error:
        said = str(error)
    assert "the secret" not in said


CATALOGUE = [  # docs, queries, qrels, what is said
    ("d\tx\n", "q\ty\n", "q 0 d x\n", "small cannot be read (invalid literal for int"),
    ("d x\n", "q\ty\n", "q 0 d 1\n", "small cannot be read (expected 2 fields, got 1)"),
    ("d\tx\n", "q\ty\n", "q 0 d\n", "small cannot be read (expected 4 columns, got 3)"),
    ("d\tx\nd\ty\n", "q\ty\n", "q 0 d 1\n", "the document 'd' occurs 2 times; expected once"),
    ("d\tx\n", "q\ty\n", "z 0 d 1\n", "judgment of 'd' for query 'z': the query does not exist"),
    ("d\tx\n", "q\ty\n", "", "no query has a judgment"),
    ("", "q\ty\n", "q 0 d 1\n", "has no documents"),
    ("d\tx\n", "q\ty\n", "q 0 d 99999999999\n", "found the grade 99999999999, expected a whole number"),
    (b"d\t\xe9\n", "q\ty\n", "q 0 d 1\n", "small cannot be read ('utf-8' codec can't decode"),
    ("d\tx\n", "q\t \n", "q 0 d 1\n", "the text of query 'q' is blank"),
]


@pytest.mark.extra("ir_datasets")
@pytest.mark.parametrize(("docs", "queries", "qrels", "said"), CATALOGUE, ids=range(len(CATALOGUE)))
def test_a_malformed_dataset_of_the_catalogue(tmp_path, docs, queries, qrels, said):
    import ir_datasets

    for name, content in (("docs.tsv", docs), ("queries.tsv", queries), ("qrels", qrels)):
        write(tmp_path, name, content)
    places = {"docs_tsv": "docs.tsv", "queries_tsv": "queries.tsv", "qrels_trec": "qrels"}
    dataset = ir_datasets.create_dataset(**{kind: str(tmp_path / name) for kind, name in places.items()})
    ir_datasets.registry.register(name := f"{tmp_path.name}-small", dataset)
    with pytest.raises(DatasetError) as refused:
        Dataset.from_collection(IrDatasetsDataset("small", name).load(), PageChunker())
    assert said in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


# Fuzzing: a valid file with some of its bytes or values changed

FILES = {
    "a.pdf": (PdfDocuments, pdf()),
    "a.docx": (TextCorpus, word()),
    "a.parquet": (TableCorpus, parquet([{"id": "a", "text": "x"}, {"id": "b", "text": "y"}])),
    "a.jsonl.gz": (TableCorpus, gzip.compress(b'{"id": "a", "text": "x"}\n' * 3)),
    "a.html": (TextCorpus, b"<html><body><h1>Iron</h1><table><tr><td>x</td></tr></table></body></html>"),
}
CHANGES = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=8)


@pytest.mark.parametrize("name", FILES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20, deadline=None)
@given(changes=CHANGES, cut=st.just(1.0) | st.floats(0, 1))
def test_a_damaged_file_is_read_or_refused_in_one_line(tmp_path, name, changes, cut):
    reader, content = FILES[name]
    damaged = bytearray(content)
    for place, byte in changes:
        damaged[int(place * len(damaged))] = byte
    path = tmp_path / name
    path.write_bytes(damaged[: int(cut * len(damaged))])
    expect_one_line(reader(str(path)).read)


ODD = st.sampled_from(
    ["", " ", "m", "1", "m#1", "Iron", "a\nb", "\ud83e", 0, 4, -1, 1.5, 10**400, True, None, [], {}, [[]], {"1": 1}]
)
REFERENCES = st.lists(st.dictionaries(st.sampled_from(["content", "start_index", "end_index"]), ODD) | ODD, max_size=2)
FIELDS = st.sampled_from(["id", "text", "page", "title", "query", "relevant_docs", "question", "corpus_id", "other"])
ENTRIES = st.dictionaries(FIELDS, ODD | st.lists(ODD, max_size=2) | st.dictionaries(st.sampled_from(["1", "9"]), ODD))
ASKED = st.builds(
    lambda entry, references: {"question": "q", "corpus_id": "m", "references": references, **entry},
    ENTRIES,
    REFERENCES,
)
LOADERS = {
    "table": lambda path: TableCorpus(path, title="title", page="page").read(),
    "questions": READERS["questions"],
    "documents": lambda path: read_strictly(TableQuestions(path, "document", id="id"), DOCUMENTS),
    "spans": READERS["spans"],
}


NO_JSON = [b"x", [b"x"], datetime.date(2020, 1, 1), datetime.timedelta(1), decimal.Decimal("1.5"), float("nan")]


@pytest.mark.parametrize("field", ["relevant_docs", "references", "answerable", "start_index"])
@pytest.mark.parametrize("value", NO_JSON, ids=range(len(NO_JSON)))
def test_values_that_json_lacks_are_refused(tmp_path, field, value):
    row = {"query": "q", "question": "q", "corpus_id": "m", "references": ["Iron"], "relevant_docs": ["1"]}
    if field == "start_index":
        row["references"] = [{"content": "Iron", "start_index": value, "end_index": 4}]
    else:
        row[field] = value
    write_table(pyarrow.Table.from_pylist([row]), tmp_path / "a.parquet")
    reader = TableQuestions if field == "relevant_docs" else span_questions
    with pytest.raises(DatasetError, match=rf"a\.parquet, row 1: .*({field}|reference)") as refused:
        read_strictly(reader(str(tmp_path / "a.parquet")), DOCUMENTS)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("name", LOADERS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ASKED | ENTRIES | ODD, max_size=3), st.booleans())
def test_odd_values_are_read_or_refused_in_one_line(tmp_path, name, entries, in_lines):
    path = tmp_path / "any.jsonl"
    path.write_text("\n".join(map(json.dumps, entries)) if in_lines else json.dumps(entries))
    expect_one_line(lambda: LOADERS[name](str(path)))


WORDS = st.sampled_from(["1", "q", "0", "m", "absent", "nan", "-1", "9" * 30, "\t", " ", "\n", "é", "#"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(WORDS).map(" ".join))
def test_odd_qrels_are_read_or_refused_in_one_line(tmp_path, qrels):
    (tmp_path / "qrels").write_text(f"1 0 m 1\n{qrels}")
    expect_one_line(lambda: [*read_qrels(tmp_path / "qrels", "dataset.qrels")])
