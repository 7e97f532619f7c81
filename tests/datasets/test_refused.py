"""Malformed files of every format: one line with the file, the place, and what was found."""

import datetime
import decimal
import gzip
import io
import json
import os
import shlex
import zipfile

import docx
import pyarrow
import pytest
from composed_here import composed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow.parquet import write_table
from read_strictly import all_misses, expect_refusal, in_catalogue, read_strictly, refusal, span_questions
from reportlab.pdfgen.canvas import Canvas

from ragsweep import datasets
from ragsweep.datasets.model.collection_checks import check
from ragsweep.datasets.readers.qrels_files import read_qrels
from ragsweep.experiment import Experiment

DOCUMENTS = (datasets.Document.from_pages("m", [("1", "m#1", "Iron tablets.")]),)
READERS = {
    "table": lambda path: datasets.TableCorpus(path).read(),
    "text": lambda path: datasets.TextCorpus(path).read(),
    "pdf": lambda path: datasets.PdfDocuments(path).read(),
    "questions": lambda path: read_strictly(datasets.TableQuestions(path), DOCUMENTS),
    "spans": lambda path: read_strictly(span_questions(path), DOCUMENTS),
    "beir": lambda path: read_strictly(datasets.BeirQuestions(path), DOCUMENTS),
}
SINGLE = [name for name in READERS if name not in ("beir", "text", "pdf")]  # the others also read folders
MAIN = "word/document.xml"
OPEN = '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
CLOSE = "</w:body></w:document>"


def written(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def parquet(table):
    """A Parquet file of a table, or of rows."""
    file = io.BytesIO()
    write_table(table if isinstance(table, pyarrow.Table) else pyarrow.Table.from_pylist(table), file)
    return file.getvalue()


def zipped(**parts):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def pdf(**options):
    file = io.BytesIO()
    canvas = Canvas(file, invariant=1, **options)
    canvas.drawString(20, 700, "Iron tablets")
    canvas.save()
    return file.getvalue()


def word(content=None):
    """A Word document, or one that has this XML instead of its own."""
    file, document = io.BytesIO(), docx.Document()
    document.add_paragraph("Iron tablets")
    document.save(file)
    if content is None:
        return file.getvalue()
    with zipfile.ZipFile(file) as archive:
        return zipped(**{part: archive.read(part) for part in archive.namelist()} | {MAIN: content})


def with_column(value, kind):
    """A Parquet file whose second row has this value in a column that nothing reads."""
    return parquet(pyarrow.table({"id": ["a", "b"], "text": ["x", "y"], "z": pyarrow.array([None, value], kind)}))


def span(content, start="0", end="4", corpus="m"):
    reference = f'[{{""content"": ""{content}"", ""start_index"": {start}, ""end_index"": {end}}}]'
    return f'question,references,corpus_id\nq,"{reference}",{corpus}\n'


def asked(**fields):
    return json.dumps({"query": "q", "relevant_docs": ["1"], **fields})


GZ = gzip.compress(b"".join(b'{"id": "%d", "text": "Iron"}\n' % number for number in range(50)))
ENTITIES = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 20}">' for n in range(1, 9))
BOMB = f'<!DOCTYPE a [<!ENTITY e0 "iron">{ENTITIES}]><a>&e8;</a>'
ENTITY = f'<!DOCTYPE a [<!ENTITY e "iron">]>{OPEN}<w:p><w:r><w:t>&e;</w:t></w:r></w:p>{CLOSE}'
TWICE = pyarrow.Table.from_arrays([pyarrow.array(["x"])] * 3, names=["id", "text", "text"])
HEAD, SPANS = "query,relevant_docs\n", "question,references,corpus_id\n"


def refused():
    """For each reader: a file, its content, and what the refusal names."""
    return {
        "table": [
            ("docs.jsonl", "", "contains no documents"),
            ("docs.jsonl", '{"id"', "line 1: not JSON"),
            ("docs.jsonl", '{"id": "a", "text": "x"}\n7\n', "line 2: expected an object, found 7"),
            ("docs.jsonl", '{"id": "a"}', "line 1: has no column 'text'; found 'id'"),
            ("docs.jsonl", '{"id": "a", "text": 5}', "line 1: the field 'text' is of type int"),
            ("docs.jsonl", '{"id": " ", "text": "x"}', "line 1: the field 'id' is blank"),
            ("docs.jsonl", '{"id": ["a"], "text": "x"}', "line 1: the field 'id' is of type list"),
            ("docs.jsonl", '{"id": true, "text": "x"}', "line 1: the field 'id' is of type bool"),
            ("docs.jsonl", '{"id": "a", "text": "x"}\n' * 2, "line 2: the document 'a'"),
            ("docs.jsonl", '{"id": "a", "text": "\\ud800"}', "line 1: the field 'text' contains an invalid surrogate"),
            ("docs.jsonl", '{"id": "a", "text": NaN}', "line 1: the field 'text' is of type float"),
            ("docs.jsonl", b'{"id": "a", "text": "caf\xe9"}', "not UTF-8 (line 1)"),
            ("docs.jsonl", '{"doc_id": "a", "contents": "x"}', "corpus.id=doc_id corpus.text=contents"),
            ("docs.jsonl", '{"id": "a", "page_content": "x"}', "corpus.text=page_content"),
            ("docs.jsonl.gz", GZ[:-9], "cannot be unzipped to its end"),
            ("docs.jsonl.gz", gzip.compress(b"x" * 101_000_000, 1), "larger than 100 MB"),
            ("docs.csv", "id,text\na,b,c\n", "line 2: found 3 cells, expected 2"),
            ("docs.csv", 'id,text\na,"b\n', "line 2: not CSV"),
            ("docs.csv", "id,id\na,b\n", "line 1: several columns have the name 'id'"),
            ("docs.csv", "key,text\na,b\n", "line 2: has no column 'id'; found 'key', 'text'"),
            ("docs.parquet", b"PAR1 and then nothing", "not a Parquet file"),
            ("docs.parquet", parquet([{"id": "a", "text": "x"}])[:-20], "not a Parquet file"),
            ("docs.parquet", parquet([{"id": 1.5, "text": "x"}]), "row 1: the field 'id' is of type float"),
            ("docs.parquet", parquet([{"id": "a", "text": b"x"}]), "row 1: the field 'text' is of type bytes"),
            ("docs.parquet", parquet([{"id": "a", "text": "x"}, {"text": "y"}]), "row 2: the field 'id' is"),
            ("docs.parquet", with_column(2**62, pyarrow.timestamp("us")), "rows 1 to 2: the field 'z'"),
            ("docs.parquet", with_column(2**30, pyarrow.date32()), "rows 1 to 2: the field 'z'"),
            ("docs.parquet", with_column(2**62, pyarrow.duration("s")), "invalid value of type duration[s]"),
            ("docs.parquet", with_column(0, pyarrow.timestamp("us", "Mars/Base")), "timestamp[us, tz=Mars/Base]"),
            ("docs.parquet", parquet(TWICE), "several columns have the name 'text'"),
        ],
        "text": [
            ("a.txt", b"caf\xe9", "line 1: not UTF-8"),
            ("a.txt.gz", gzip.compress(b"iron")[:-4], "cannot be unzipped to its end"),
            ("a.png", b"png", "has no file of .txt"),
            ("a.html", "<b>" * 50_000, "elements are nested too deeply"),
            ("a.html", f"<ol start='{'9' * 5000}'><li>x</ol>", "cannot be read as a web page (Exceeds"),
            ("a.html", "<![foo[<p>x</p>]]>", "cannot be read as a web page"),
            ("a.html", "<p>x</p> <![ ", "cannot be read as a web page"),
            ("a.docx", b"no zip", "cannot be read as a Word document"),
            ("a.docx", pdf(), "cannot be read as a Word document"),
            ("a.docx", word()[:-100], "cannot be read as a Word document"),
            ("a.docx", zipped(other="x"), "cannot be read as a Word document"),
            ("a.docx", zipped(**{MAIN: "<a><b></a>"}), "cannot be read as a Word document"),
            ("a.docx", zipped(**{MAIN: BOMB}), "cannot be read as a Word document"),
            ("a.docx", zipped(**{MAIN: "<a>" * 10_000}), "cannot be read as a Word document"),
            ("a.docx", zipped(**{MAIN: b"0" * 101_000_000}), "larger than 100 MB when unzipped"),
            ("a.docx", word(ENTITY), "word/document.xml has a DOCTYPE"),
            ("a.docx", word(ENTITY.encode("utf-16")), "word/document.xml has a DOCTYPE"),
            ("a.docx", word(f"{OPEN}{'<w:p/>' * 3_000_000}{CLOSE}"), "contains 19 MB of XML with 3,0"),
            ("a.docx", word(f"{OPEN}{' ' * 21_000_000}{CLOSE}"), "contains 22 MB of XML with"),
        ],
        "pdf": [
            ("a.pdf", zipped(**{MAIN: "x"}), "(it begins with 'PK\\x03\\x04"),
            ("a.pdf", b"", "(it is empty; expected %PDF)"),
            ("a.pdf", b"<html>", "(it begins with '<html>'; expected %PDF)"),
            ("a.pdf", gzip.compress(pdf()), "(it begins with '\\x1f"),
            ("a.pdf", pdf(encrypt="secret"), "it is encrypted"),
            ("a.pdf", pdf()[:300], "cannot be read as a PDF ("),
        ],
        "questions": [
            ("q.csv", f"{HEAD},1\n", "line 2: the field 'query' is empty"),
            ("q.csv", f"{HEAD}what,9\n", "line 2: page '9' is not in the documents (m has pages 1 to 1)"),
            ("q.csv", f"{HEAD}what,2\n".replace("\n", "\r"), "not CSV"),
            ("q.csv", "query,relevant_docs,\nwhat,2,lost\n", "column 3 has no name, but the text 'lost'"),
            ("q.csv", ",query,relevant_docs\na,what,2\n", "column 1 has no name, but the text 'a'"),
            ("q.csv", b"PK\x03\x04\x14\0\6\0" + bytes(99), "contains no queries"),
            ("q.xlsx", b"PK\x03\x04\x14\x00\x00\x00", "ends in '.xlsx'"),
            ("q.txt", "query\trelevant_docs\nwhat\t2\n", "ends in '.txt'"),
            ("q.json", '{"queries": {"a": "when"}, "relevant_docs": {}}', "docs/recipes.md"),
            ("q.json", '{"data": [{"query": "q", "relevant_docs": []}]}', "docs/recipes.md"),
            ("q.json", '{"query": {"0": "q"}, "relevant_docs": {"0": []}}', "is of type dict"),
            ("q.json", '[\n{"query": }]', "q.json, line 2: not JSON (Expecting value, column 11)"),
            ("q.json", "[" * 2_000, "q.json: nested more than"),
            ("q.json", "[NaN]", "q.json: holds NaN"),
            ("q.json", "[[]]", "entry 1: expected an object, found an empty list"),
            ("q.json", f'[["{"a" * 90}"]]', f'entry 1: expected an object, found ["{"a" * 75}...'),
            ("q.jsonl", asked(relevant_docs={"": "x"}), "key '': the grade is \"x\""),
            ("q.jsonl", asked(query_type="a\nb"), "'query_type' contains a control"),
            ("q.jsonl", asked(query_type=3), "'query_type' is of type int"),
            ("q.jsonl", asked(query="\ud83e"), "the field 'query' contains an invalid surrogate"),
            ("q.jsonl", asked(**{"a\tb": 1}), "the field 'a\\tb' contains a control character"),
            ("q.jsonl", asked(x="\udfff"), "line 1: the field 'x' contains an invalid"),
        ],
        "spans": [
            ("s.csv", span("Rust"), "line 2: characters 0 to 4 of m are 'Iron', expected 'Rust'"),
            ("s.csv", span("Iron", end="99"), "line 2: found characters 0 to 99 of m, expected them within 0 to 13"),
            ("s.csv", span("Iron", start="-1"), "line 2: found characters -1 to 4 of m"),
            ("s.csv", span("Iron", start="0.5"), "line 2: a reference starts at 0.5 and ends at 4"),
            ("s.csv", span("Iron", end="null"), "line 2: a reference starts at 0 and ends at null"),
            ("s.csv", span("Iron", corpus="n"), "line 2: the document 'n' is not known (the corpus has 'm')"),
            ("s.csv", span(" "), "line 2: found the reference an object"),
            ("s.csv", f"{SPANS}q,{{}},m\n", "line 2: the field 'references' is an object"),
            ("s.csv", f"{SPANS}q,Iron,m\n", "line 2: the field 'references': not JSON"),
            ("s.csv", "question,contexts\nq,['Iron']\n", "line 2: has no column 'corpus_id', 'references'"),
            ("s.csv", 'question,references\nq,"[{""content"": ""Iron""}]"\n', "questions.document=null"),
        ],
    }


@pytest.mark.usefixtures("long_work")
def test_a_malformed_file_is_refused_in_one_line_that_names_file_and_place(tmp_path):
    lines = []
    for name, rows in refused().items():
        for row, (file, content, place) in enumerate(rows):
            (tmp_path / f"{name}{row}").mkdir()
            path = written(tmp_path / f"{name}{row}", file, content)
            line = refusal(lambda read=READERS[name], path=path: read(str(path)))
            lines += [(line, place), (line, str(path))]
    assert all_misses(lines) == []


def test_what_is_no_file_is_named_and_not_waited_for(tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    lines = []
    for name, read in READERS.items():
        places = {"none": "does not exist", "a\0b": "cannot be read"}
        places |= {"folder": "not a file", "pipe": "not a file"} if name in SINGLE else {}
        for place, fact in places.items():
            path = str(tmp_path / place)
            line = refusal(lambda read=read, path=path: read(path))
            lines += [(line, fact)] if place == "a\0b" else [(line, fact), (line, path)]
    assert all_misses(lines) == []


def test_an_entity_of_a_word_document_reads_no_other_file(tmp_path):
    secret = written(tmp_path, "secret.txt", "the secret")
    entity = f'<!DOCTYPE a [<!ENTITY e SYSTEM "{secret.as_uri()}">]>'
    written(tmp_path, "a.docx", zipped(**{MAIN: f"{entity}{OPEN}<w:p><w:r><w:t>&e;</w:t></w:r></w:p>{CLOSE}"}))
    texts = []
    line = refusal(lambda: texts.extend(datasets.TextCorpus(str(tmp_path / "a.docx")).read()))
    assert "the secret" not in line + "".join(document.text for document in texts)


CATALOGUE = [  # docs, queries, qrels, what the refusal names
    ("d\tx\n", "q\ty\n", "q 0 d x\n", "invalid literal for int"),
    ("d x\n", "q\ty\n", "q 0 d 1\n", "expected 2 fields, got 1"),
    ("d\tx\n", "q\ty\n", "q 0 d\n", "expected 4 columns, got 3"),
    ("d\tx\n", "q\ty\n", "z 0 d 1\n", "judgment of 'd' for query 'z'"),
    ("", "q\ty\n", "q 0 d 1\n", "has no documents"),
    (b"d\t\xe9\n", "q\ty\n", "q 0 d 1\n", "'utf-8' codec can't decode"),
    ("d\tx\n", "q\t \n", "q 0 d 1\n", "the text of query 'q' is blank"),
]


@pytest.mark.extra("ir_datasets")
def test_a_malformed_dataset_of_the_catalogue(tmp_path):
    lines = []
    for row, (*files, fact) in enumerate(CATALOGUE):
        name = in_catalogue(tmp_path / str(row), *files)
        lines.append((refusal(lambda name=name: check(datasets.IrDatasetsDataset("small", name).load())), fact))
    assert all_misses(lines) == []


NO_JSON = [b"x", [b"x"], datetime.date(2020, 1, 1), datetime.timedelta(1), decimal.Decimal("1.5"), float("nan")]


def test_values_that_json_lacks_are_refused(tmp_path):
    lines, fields = [], ("relevant_docs", "references", "answerable", "start_index")
    names = {field: field for field in fields} | {"references": "reference", "start_index": "reference"}
    for value in NO_JSON:
        for field in fields:
            row = {"query": "q", "question": "q", "corpus_id": "m", "references": ["Iron"], "relevant_docs": ["1"]}
            of_reference = {"references": [{"content": "Iron", "start_index": value, "end_index": 4}]}
            row |= of_reference if field == "start_index" else {field: value}
            write_table(pyarrow.Table.from_pylist([row]), tmp_path / "a.parquet")
            read = READERS["questions" if field == "relevant_docs" else "spans"]
            line = refusal(lambda read=read: read(str(tmp_path / "a.parquet")))
            lines += [(line, "a.parquet, row 1: "), (line, names[field])]
    assert all_misses(lines) == []


PIECES = st.sampled_from(
    [b"\n", b"\t", b"1 0 m 1", b'"', b'{"id": "a", "text": "x"}', b'{"query": "q", "relevant_docs": ["1"]}',
     b"[", b"]", b"{", b"}", b",", b"\r\n", b"id,text", b"query,relevant_docs", b"question,references,corpus_id",
     b"\xff", b"\xef\xbb\xbf", b"PAR1", b"PK\x03\x04", b"\x1f\x8b", b"%PDF-1.4", b"<p>", b"&#0;", b"\x00"]
)  # fmt: skip
CONTENTS = st.binary(max_size=200) | st.lists(PIECES, max_size=20).map(b"".join)
ENDINGS = [".json", ".jsonl", ".jsonl.gz", ".csv", ".tsv", ".parquet", ".txt", ".html", ".docx", ".pdf"]
one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@one_folder
@given(CONTENTS, st.sampled_from(ENDINGS), st.sampled_from([*READERS]))
def test_whatever_a_file_contains_it_is_read_or_refused_in_one_line(tmp_path, content, ending, name):
    path = written(tmp_path, f"any{ending}", content)
    refusal(lambda: READERS[name](str(path)))
    path.unlink()


FILES = {
    "a.pdf": ("pdf", pdf()),
    "a.docx": ("text", word()),
    "a.parquet": ("table", parquet([{"id": "a", "text": "x"}, {"id": "b", "text": "y"}])),
    "a.jsonl.gz": ("table", gzip.compress(b'{"id": "a", "text": "x"}\n' * 3)),
    "a.html": ("text", b"<html><body><h1>Iron</h1><table><tr><td>x</td></tr></table></body></html>"),
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
    path = written(tmp_path, name, bytes(damaged[: int(cut * len(damaged))]))
    refusal(lambda: READERS[reader](str(path)))


ODD = st.sampled_from(
    ["", " ", "m", "1", "m#1", "Iron", "a\nb", "\ud83e", 0, 4, -1, 1.5, 10**400, True, None, [], {}, [[]], {"1": 1}]
)
REFERENCES = st.lists(st.dictionaries(st.sampled_from(["content", "start_index", "end_index"]), ODD) | ODD, max_size=2)
FIELDS = st.sampled_from(["id", "text", "page", "title", "query", "relevant_docs", "question", "corpus_id", "other"])
ROWS = st.dictionaries(FIELDS, ODD | st.lists(ODD, max_size=2) | st.dictionaries(st.sampled_from(["1", "9"]), ODD))
SPAN_ROWS = st.builds(
    lambda row, references: {"question": "q", "corpus_id": "m", "references": references, **row}, ROWS, REFERENCES
)
LOADERS = {
    "table": lambda path: datasets.TableCorpus(path, title="title", page="page").read(),
    "questions": READERS["questions"],
    "documents": lambda path: read_strictly(datasets.TableQuestions(path, "document", id="id"), DOCUMENTS),
    "spans": READERS["spans"],
}


@pytest.mark.parametrize("name", LOADERS)
@one_folder
@given(st.lists(SPAN_ROWS | ROWS | ODD, max_size=3), st.booleans())
def test_odd_values_are_read_or_refused_in_one_line(tmp_path, name, rows, in_lines):
    path = tmp_path / "any.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)) if in_lines else json.dumps(rows))
    refusal(lambda: LOADERS[name](str(path)))


WORDS = st.sampled_from(["1", "q", "0", "m", "absent", "nan", "-1", "9" * 30, "\t", " ", "\n", "é", "#"])


@one_folder
@given(st.lists(WORDS).map(" ".join))
def test_odd_qrels_are_read_or_refused_in_one_line(tmp_path, qrels):
    path = written(tmp_path, "qrels", f"1 0 m 1\n{qrels}")
    refusal(lambda: [*read_qrels(path, "dataset.qrels")])


@pytest.mark.usefixtures("long_work")
def test_a_file_that_cannot_be_read_is_left_out_by_the_setting_that_the_refusal_shows(tmp_path, write_pdf, capsys):
    write_pdf(tmp_path / "pdfs" / "a.pdf", "Fever in a child.", "")
    (tmp_path / "pdfs" / "b c.pdf").write_text("Dear reader")
    asked = [("What is a fever?", {"a.pdf#1": 1}), ("Who?", {"a.pdf#1": 0})]
    (tmp_path / "q.json").write_text(json.dumps([{"query": text, "relevant_docs": keys} for text, keys in asked]))
    given = ["dataset=pdf", "retriever=sparse", "retriever.backend=bm25s", "store.enabled=false", "dataset.name=small"]
    given += [f"dataset.documents={tmp_path}/pdfs", f"dataset.queries={tmp_path}/q.json"]
    line = refusal(lambda: Experiment.of(composed(*given)))
    assert "b c.pdf: cannot be read as a PDF (it begins with 'Dear rea'" in line
    [shown] = [word for word in shlex.split(line.partition("); ")[2]) if word.startswith("dataset.skip=")]
    given.append(shown)
    expect_refusal(
        lambda: Experiment.of(composed(*given, "evaluation.relevance_level=2")), "(evaluation.relevance_level)"
    )
    capsys.readouterr()
    experiment = Experiment.of(composed(*given))
    measured = experiment.measure()
    assert experiment.settings["dataset.skip"] == ["b c.pdf"]
    assert measured.values["recall"] == 0.5
    printed = capsys.readouterr().err
    assert "dataset.skip: 1 (b c.pdf)" in printed
    assert "scoring 0: 1 (Who?)" in printed  # nothing is relevant for it
