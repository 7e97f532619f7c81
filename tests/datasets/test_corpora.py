"""Documents in the formats that people have."""

import gzip
import json
from typing import ClassVar

import docx
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small import write_pdf

from ragsweep.core.errors import ConfigError
from ragsweep.datasets import NoCorpus, PdfDocuments, TableCorpus, TextCorpus
from ragsweep.testing import ComponentContract, CorpusContract

ROWS = [{"id": "a", "text": "Iron tablets"}, {"id": "b", "text": "Birth plan"}]


def texts(corpus):
    return {document.source: document.text for document in corpus.read()}


def table(path, rows):
    """Write rows in the format that the name says."""
    frame = pd.DataFrame(rows)
    if path.name.endswith(".parquet"):
        frame.to_parquet(path)
    elif path.name.endswith(".json"):
        path.write_text(json.dumps(rows))
    elif ".jsonl" in path.name:
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False, sep="\t" if ".tsv" in path.name else ",")
    return str(path)


def test_a_table_is_read_in_each_format(tmp_path):
    for kind in ("csv", "csv.gz", "tsv", "tsv.gz", "json", "jsonl", "jsonl.gz", "parquet"):
        corpus = TableCorpus(table(tmp_path / f"docs.{kind}", ROWS))
        assert texts(corpus) == {"a": "Iron tablets", "b": "Birth plan"}, kind


@pytest.mark.parametrize(("name", "is_part"), [("a-00000-of-00003.jsonl", True), ("a-00000-of-00001.jsonl", False)])
def test_a_part_of_a_table_is_said_to_be_one(tmp_path, capsys, name, is_part):
    """As the Hugging Face hub names the files of a table."""
    TableCorpus(table(tmp_path / name, ROWS)).read()
    assert ("one of 3 files of a table" in capsys.readouterr().err) is is_part


def test_the_columns_of_a_table_have_any_name_and_ids_may_be_numbers(tmp_path):
    path = table(tmp_path / "docs.parquet", [{"key": 7, "body": "tablets", "head": "Iron"}])
    assert texts(TableCorpus(path, id="key", text="body", title="head")) == {"7": "Iron tablets"}


def test_each_row_may_be_a_page(tmp_path):
    rows = [("m", "i", "Preface"), ("n", "1", "Other"), ("m", "1", ""), ("m", "2", "Iron")]
    path = table(tmp_path / "docs.csv", [dict(zip(("id", "page", "text"), row, strict=True)) for row in rows])
    manual, other = TableCorpus(path, page="page").read()
    pages = [(page.page_number, manual.text[page.start : page.end]) for page in manual.pages]
    assert pages == [("i", "Preface"), ("1", ""), ("2", "Iron")]
    assert other.source == "n"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).map(str.strip), min_size=1))
def test_every_text_survives_each_format(tmp_path_factory, written):
    rows = [{"id": f"d{number}", "text": text} for number, text in enumerate(written)]
    for name in ("docs.csv", "docs.parquet", "docs.jsonl"):
        corpus = TableCorpus(table(tmp_path_factory.mktemp("any") / name, rows))
        assert list(texts(corpus).values()) == [text.strip() for text in written]


def test_text_is_taken_as_it_is(tmp_path):
    text = "# Iron\r\n\r\nTablets 💊.\r\n"
    (tmp_path / "iron.md").write_bytes(text.encode())
    (tmp_path / "plan.txt.gz").write_bytes(gzip.compress(b"Birth\fplan"))  # a form feed begins a page
    assert texts(TextCorpus(str(tmp_path))) == {"iron.md": text, "plan.txt.gz": "Birth\fplan"}
    [document] = TextCorpus(str(tmp_path / "plan.txt.gz")).read()
    pages = [(page.page_number, document.text[page.start : page.end]) for page in document.pages]
    assert pages == [("1", "Birth"), ("2", "plan")]


def test_a_web_page_becomes_markdown_without_scripts_and_links(tmp_path):
    page = "<html><head><title>t</title><style>p {}</style></head><body><h2>Iron</h2><script>alert(1)</script>"
    page += "<p>With <b>lemon</b>&nbsp;<a href='http://example.org/x'>water</a>.<img src='x.png'></p></body></html>"
    (tmp_path / "iron.html").write_text(page)
    assert texts(TextCorpus(str(tmp_path / "iron.html"))) == {"iron.html": "## Iron\n\nWith lemon\xa0water."}


def test_the_words_of_a_web_page_stay_whole_and_a_merged_cell_is_one(tmp_path):
    pages = {
        "<?xml version='1.0' encoding='utf-8'?><!DOCTYPE html><html><body><p>Iron</p></body></html>": "Iron",
        "<p>set max_dose to 2*3</p>": "set max_dose to 2*3",
        "<p><ruby>鉄<rp>(</rp><rt>てつ</rt><rp>)</rp>分<rt>ぶん</rt></ruby></p>": "鉄分",
    }
    for columns in ("2", "100%", "\u00b2", "-3", "1000000000"):
        cells = f"<tr><td colspan='{columns}' rowspan=2>a</td><td>b</td></tr><tr><td>c</td></tr>"
        pages[f"<table>{cells}</table>"] = "abc"
    for page, expected in pages.items():
        (tmp_path / "page.xhtml").write_text(page)
        [text] = texts(TextCorpus(str(tmp_path))).values()
        assert text == expected or "".join(text.split()).replace("-", "").replace("|", "") == expected, page


@pytest.mark.usefixtures("long_work")
def test_a_word_document_becomes_markdown_with_its_headings_and_tables(tmp_path):
    word = docx.Document()
    word.add_heading("Iron", 1)
    word.add_paragraph("Take it daily.")
    table = word.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "dose", "60 mg"
    inner = table.cell(0, 1).add_table(1, 2)  # a table in a cell keeps its text
    inner.cell(0, 0).text, inner.cell(0, 1).text = "one", "two"
    word.save(str(tmp_path / "iron.docx"))
    [document] = TextCorpus(str(tmp_path / "iron.docx")).read()
    assert document.text.startswith("# Iron\n\nTake it daily.")
    assert "| dose | 60 mg one two |" in document.text


def test_files_of_other_kinds_are_counted_and_left_out(tmp_path, capsys):
    (tmp_path / "iron.txt").write_text("Iron")
    (tmp_path / "image.png").write_bytes(b"png")
    (tmp_path / "__MACOSX").mkdir()
    for name in ("__MACOSX/._iron.txt", "~$iron.docx"):  # of macOS and of Word, no documents
        (tmp_path / name).write_bytes(b"\0\5\x16\7\xff")
    assert list(texts(TextCorpus(str(tmp_path)))) == ["iron.txt"]
    assert "files of other kinds, left out: 1 (image.png" in capsys.readouterr().err


class TestTable(CorpusContract):
    component = TableCorpus

    @pytest.fixture(autouse=True)
    def corpus(self, tmp_path):
        rows = [{**row, "page": page} for row in ROWS for page in "12"]
        type(self).settings = {"path": table(tmp_path / "docs.csv", rows), "page": "page"}


class TestText(CorpusContract):
    component = TextCorpus
    settings: ClassVar = {}

    @pytest.fixture(autouse=True)
    def corpus(self, tmp_path):
        (tmp_path / "iron.txt").write_text("Iron\f\ftablets")
        (tmp_path / "plan.html").write_text("<p>Plan</p>")
        type(self).settings = {"path": str(tmp_path)}


class TestPdfs(CorpusContract):
    component = PdfDocuments

    @pytest.fixture(autouse=True)
    def corpus(self, tmp_path):
        write_pdf(tmp_path / "iron.pdf", ["Iron", "", "tablets"])
        type(self).settings = {"path": str(tmp_path)}


SPACES = 'xmlns:v="urn:schemas-microsoft-com:vml" ' + " ".join(
    f'xmlns:{prefix}="http://schemas.{address}"'
    for prefix, address in {
        "w": "openxmlformats.org/wordprocessingml/2006/main",
        "m": "openxmlformats.org/officeDocument/2006/math",
        "mc": "openxmlformats.org/markup-compatibility/2006",
        "wps": "microsoft.com/office/word/2010/wordprocessingShape",
    }.items()
)
IRON, BOX = "<w:r><w:t>Iron</w:t></w:r>", "<w:txbxContent><w:p><w:r><w:t>Iron</w:t></w:r></w:p></w:txbxContent>"
DRAWN = f"<mc:Choice><w:drawing><wps:txbx>{BOX}</wps:txbx></w:drawing></mc:Choice>"
OLD = f"<mc:Fallback><w:pict><v:textbox>{BOX}</v:textbox></w:pict></mc:Fallback>"


def math(text):
    """A text of an equation, or an equation of elements."""
    return text if text.startswith("<") else f"<m:r><m:t>{text}</m:t></m:r>"


def part(name, **parts):
    return f"<m:{name}>{''.join(f'<m:{key}>{math(text)}</m:{key}>' for key, text in parts.items())}</m:{name}>"


SUM = f'<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr>{part("x", sub="i=1", sup="n", e="i")[5:-6]}</m:nary>'
WORD_PARTS = [  # what stands in a paragraph, and its text
    (f'<w:dir w:val="rtl"><w:bdo w:val="rtl">{IRON}</w:bdo></w:dir>', "Iron"),
    (f"<w:fldSimple>{IRON}</w:fldSimple>", "Iron"),
    (f"<w:r><w:ruby><w:rt>{IRON.replace('Iron', 'Fe')}</w:rt><w:rubyBase>{IRON}</w:rubyBase></w:ruby></w:r>", "Iron"),
    (f"<w:r><mc:AlternateContent>{DRAWN}{OLD}</mc:AlternateContent></w:r>", "Iron"),  # a box, also as older Word has it
    ("<w:r><w:t>Iron</w:t><w:cr/><w:t>tablets</w:t></w:r>", "Iron tablets"),
    (f"<m:oMath>{math('E=m')}{part('sSup', e='c', sup='2')}</m:oMath>", "E=mc^2"),
    (f"<m:oMath>{part('f', num='a+b', den='c')}</m:oMath>", "(a+b)/c"),
    (f"<m:oMath>{part('f', num='(a)+(b)', den='c')}</m:oMath>", "((a)+(b))/c"),
    (f"<m:oMathPara><m:oMath>{part('rad', deg='', e='x')}</m:oMath></m:oMathPara>", "√x"),
    (f"<m:oMath>{SUM}</m:oMath>", "∑_(i=1)^n i"),
    (f"<m:oMath><m:d><m:e>{math('a')}</m:e><m:e>{math('b')}</m:e></m:d></m:oMath>", "(a, b)"),
]


@pytest.mark.extra("documents")
def test_the_text_of_a_word_document_is_read_once_whatever_is_around_it(tmp_path):
    from docx.oxml import parse_xml

    document = docx.Document()
    for inside, _ in WORD_PARTS:
        document.add_paragraph("Before ")._p.append(parse_xml(f"<w:p {SPACES}>{inside}</w:p>")[0])
    document.save(tmp_path / "a.docx")
    [read] = texts(TextCorpus(str(tmp_path / "a.docx"))).values()
    lines = [" ".join(part.split()) for part in read.replace("\\", "").split("Before")[1:]]
    assert lines == [text for _, text in WORD_PARTS]


def test_further_endings_are_read_as_plain_text(tmp_path):
    for name in ("a.py", "b.md", "c.png"):
        (tmp_path / name).write_text("x = 1")
    assert [*texts(TextCorpus(str(tmp_path)))] == ["b.md"]
    assert [*texts(TextCorpus(str(tmp_path), plain=[".PY"]))] == ["a.py", "b.md"]
    with pytest.raises(ConfigError, match=r"corpus\.plain: found .*, expected a list of endings"):
        TextCorpus(str(tmp_path), plain=["py"])


class TestNoCorpus(ComponentContract):
    component = NoCorpus

    def test_it_has_no_documents(self, made):
        assert made.read() == ()
