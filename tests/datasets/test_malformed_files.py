"""Malformed PDF, Word and Parquet files and datasets of the catalogue."""

import datetime
import decimal
import gzip
import io
import json
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


def parquet(**columns):
    file = io.BytesIO()
    pd.DataFrame(columns).to_parquet(file)
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


def zipped(content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("word/document.xml", content)
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
    (PdfDocuments, "a.pdf", zipped("x"), "(it begins with 'PK\\x03\\x04"),
    (PdfDocuments, "a.pdf", b"", "(it is empty; expected %PDF)"),
    (PdfDocuments, "a.pdf", b"<html>", "(it begins with '<html>'; expected %PDF)"),
    (PdfDocuments, "a.pdf", gzip.compress(pdf()), "(it begins with '\\x1f"),
    (PdfDocuments, "a.pdf", pdf(encrypt="secret"), "(it is encrypted; expected one without a password)"),
    (PdfDocuments, "a.pdf", pdf()[:300], "cannot be read as a PDF ("),
    (TextCorpus, "a.docx", b"", "cannot be read as a Word document"),
    (TextCorpus, "a.docx", pdf(), "cannot be read as a Word document"),
    (TextCorpus, "a.docx", word()[:-100], "cannot be read as a Word document"),
    (TextCorpus, "a.docx", zipped(BOMB), "cannot be read as a Word document"),
    (TextCorpus, "a.docx", zipped("<a>" * 10_000), "cannot be read as a Word document"),
    (TextCorpus, "a.docx", replaced(ENTITY), "(word/document.xml has a DOCTYPE; expected none)"),
    (TextCorpus, "a.docx", replaced(ENTITY.encode("utf-16")), "(word/document.xml has a DOCTYPE; expected none)"),
    (TextCorpus, "a.docx", replaced(f"{OPEN}{'<w:p/>' * 3_000_000}{CLOSE}"), "contains 19 MB of XML with 3,0"),
    (TextCorpus, "a.docx", replaced(f"{OPEN}{' ' * 21_000_000}{CLOSE}"), "contains 22 MB of XML with"),
    (TextCorpus, "a.html", f"<ol start='{'9' * 5000}'><li>x</ol>".encode(), "cannot be read as a web page (Exceeds"),
    (TextCorpus, "a.html", b"<![foo[<p>x</p>]]>", "cannot be read as a web page (unknown status keyword 'foo'"),
    (TextCorpus, "a.html", b"<p>x</p> <![ ", "cannot be read as a web page (expected name token"),
    (TextCorpus, "a.txt", "ü".encode("utf-16"), "line 1: not UTF-8"),
    (TableCorpus, "a.parquet", b"\x80\x04\x95.", "not a Parquet file"),
    (TableCorpus, "a.parquet", parquet(id=["a"], text=["x"])[:-20], "not a Parquet file"),
    (TableCorpus, "a.parquet", parquet(id=["a"], text=[b"x"]), "row 1: the field 'text' is of type bytes"),
    (TableCorpus, "a.parquet", parquet(id=["a", None], text=["x", "y"]), "row 2: the field 'id' is of type NoneType"),
    (TableCorpus, "a.parquet", parquet(id=["a", "a"], text=["x", "y"]), "row 2: the document 'a' is in the file twice"),
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
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DatasetError) as refused:
        reader(str(path)).read()
    assert said in str(refused.value)
    assert str(path) in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


def test_an_entity_of_a_word_document_reads_no_other_file(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    body = '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>'
    entity = f'<!DOCTYPE a [<!ENTITY e SYSTEM "{secret.as_uri()}">]>'
    (tmp_path / "a.docx").write_bytes(zipped(f"{entity}{body}&e;</w:t></w:r></w:p></w:body></w:document>"))
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
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
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
    "a.parquet": (TableCorpus, parquet(id=["a", "b"], text=["x", "y"])),
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
    said = ""
    try:
        reader(str(path)).read()
    except DatasetError as error:
        said = str(error)
    assert len(said.splitlines()) <= 1


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
    "questions": lambda path: read_strictly(TableQuestions(path), DOCUMENTS),
    "documents": lambda path: read_strictly(TableQuestions(path, "document", id="id"), DOCUMENTS),
    "spans": lambda path: read_strictly(span_questions(path), DOCUMENTS),
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
    said = ""
    try:
        LOADERS[name](str(path))
    except DatasetError as error:
        said = str(error)
    assert len(said.splitlines()) <= 1


WORDS = st.sampled_from(["1", "q", "0", "m", "absent", "nan", "-1", "9" * 30, "\t", " ", "\n", "é", "#"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(WORDS).map(" ".join))
def test_odd_qrels_are_read_or_refused_in_one_line(tmp_path, qrels):
    (tmp_path / "qrels").write_text(f"1 0 m 1\n{qrels}")
    said = ""
    try:
        assert [*read_qrels(tmp_path / "qrels", "dataset.qrels")]
    except DatasetError as error:
        said = str(error)
    assert len(said.splitlines()) <= 1
