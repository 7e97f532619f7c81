"""Documents in the formats that people have; and the suites of what reads them and the questions about them."""

import gzip
from pathlib import Path
from typing import ClassVar

import docx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from read_strictly import write_table
from small import write_pdf

from ragsweep.core.errors import ConfigError
from ragsweep.datasets import (
    BeirQuestions,
    Document,
    NoCorpus,
    OwnDataset,
    PdfDocuments,
    TableCorpus,
    TableQuestions,
    TextCorpus,
)
from ragsweep.testing import ComponentContract, CorpusContract, DatasetContract, QuestionsContract

ROWS = [{"id": "a", "text": "Iron tablets"}, {"id": "b", "text": "Birth plan"}]


def texts(corpus):
    return {document.source: document.text for document in corpus.read()}


def pages(document):
    return [(page.page_number, document.text[page.start : page.end]) for page in document.pages]


def test_a_table_is_read_in_each_format_and_a_part_of_one_is_said_to_be_one(tmp_path, capsys):
    for kind in ("csv", "csv.gz", "tsv", "tsv.gz", "json", "jsonl", "jsonl.gz", "parquet"):
        corpus = TableCorpus(write_table(tmp_path / f"docs.{kind}", ROWS))
        assert texts(corpus) == {"a": "Iron tablets", "b": "Birth plan"}, kind
    for parts in (1, 3):  # as the Hugging Face hub names the files of a table
        TableCorpus(write_table(tmp_path / f"a-00000-of-0000{parts}.jsonl", ROWS)).read()
        assert ("one of 3 files of a table" in capsys.readouterr().err) is (parts == 3)


def test_the_columns_of_a_table_have_any_name_ids_may_be_numbers_and_each_row_may_be_a_page(tmp_path):
    (tmp_path / "odd.jsonl").write_bytes(b'\xef\xbb\xbf{"id": "a b", "text": "x", "n": 1e999}\r\n')
    assert texts(TableCorpus(str(tmp_path / "odd.jsonl"))) == {"a b": "x"}  # what is odd in it is clear, or not read
    path = write_table(tmp_path / "docs.parquet", [{"key": 7, "body": "tablets", "head": "Iron"}])
    assert texts(TableCorpus(path, id="key", text="body", title="head")) == {"7": "Iron tablets"}
    rows = [("m", "i", "Preface"), ("n", "1", "Other"), ("m", "1", ""), ("m", "2", "Iron")]
    path = write_table(tmp_path / "docs.csv", [dict(zip(("id", "page", "text"), row, strict=True)) for row in rows])
    manual, other = TableCorpus(path, page="page").read()
    assert pages(manual) == [("i", "Preface"), ("1", ""), ("2", "Iron")]
    assert other.source == "n"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).map(str.strip), min_size=1))
def test_every_text_survives_each_format(tmp_path_factory, written):
    rows = [{"id": f"d{number}", "text": text} for number, text in enumerate(written)]
    for name in ("docs.csv", "docs.parquet", "docs.jsonl"):
        corpus = TableCorpus(write_table(tmp_path_factory.mktemp("any") / name, rows))
        assert list(texts(corpus).values()) == [text.strip() for text in written]


def test_text_is_taken_as_it_is_and_other_files_are_counted_and_left_out(tmp_path, capsys):
    text = "# Iron\r\n\r\nTablets 💊.\r\n"
    (tmp_path / "iron.md").write_bytes(text.encode())
    (tmp_path / "plan.txt.gz").write_bytes(gzip.compress(b"Birth\fplan"))  # a form feed begins a page
    (tmp_path / "image.png").write_bytes(b"png")
    (tmp_path / "a.py").write_text("x = 1")
    (tmp_path / "__MACOSX").mkdir()
    for name in ("__MACOSX/._iron.txt", "~$iron.docx"):  # of macOS and of Word, no documents
        (tmp_path / name).write_bytes(b"\0\5\x16\7\xff")
    expected = {"iron.md": text, "plan.txt.gz": "Birth\fplan"}
    assert texts(TextCorpus(str(tmp_path))) == expected
    assert "files of other kinds, left out: 2 (a.py" in capsys.readouterr().err
    [document] = TextCorpus(str(tmp_path / "plan.txt.gz")).read()
    assert pages(document) == [("1", "Birth"), ("2", "plan")]
    assert texts(TextCorpus(str(tmp_path), plain=[".PY"])) == {"a.py": "x = 1", **expected}
    with pytest.raises(ConfigError, match=r"corpus\.plain: found .*, expected a list of endings"):
        TextCorpus(str(tmp_path), plain=["py"])


def test_a_web_page_becomes_markdown_without_scripts_and_links_and_its_words_stay_whole(tmp_path):
    head = "<head><title>t</title><style>p {}</style></head>"
    body = "<h2>Iron</h2><script>alert(1)</script><p>With <b>lemon</b>&nbsp;"
    page = f"<html>{head}<body>{body}<a href='http://example.org/x'>water</a>.<img src='x.png'></p></body></html>"
    web_pages = {
        page: "## Iron\n\nWith lemon\xa0water.",
        "<?xml version='1.0' encoding='utf-8'?><!DOCTYPE html><html><body><p>Iron</p></body></html>": "Iron",
        "<p>set max_dose to 2*3</p>": "set max_dose to 2*3",
        "<p><ruby>鉄<rp>(</rp><rt>てつ</rt><rp>)</rp>分<rt>ぶん</rt></ruby></p>": "鉄分",
    }
    for columns in ("2", "100%", "\u00b2", "-3", "1000000000"):  # a merged cell is one
        cells = f"<tr><td colspan='{columns}' rowspan=2>a</td><td>b</td></tr><tr><td>c</td></tr>"
        web_pages[f"<table>{cells}</table>"] = "abc"
    wrong = []
    for page, expected in web_pages.items():
        (tmp_path / "page.xhtml").write_text(page)
        [text] = texts(TextCorpus(str(tmp_path))).values()
        cells = "".join(text.split()).replace("-", "").replace("|", "")
        wrong += [] if expected == (cells if "<table>" in page else text) else [(page, text)]
    assert wrong == []


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


@pytest.mark.usefixtures("long_work")
@pytest.mark.extra("documents")
def test_a_word_document_becomes_markdown_and_its_text_is_read_once_whatever_is_around_it(tmp_path):
    from docx.oxml import parse_xml

    word = docx.Document()
    word.add_heading("Iron", 1)
    word.add_paragraph("Take it daily.")
    table = word.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "dose", "60 mg"
    inner = table.cell(0, 1).add_table(1, 2)  # a table in a cell keeps its text
    inner.cell(0, 0).text, inner.cell(0, 1).text = "one", "two"
    for inside, _ in WORD_PARTS:
        word.add_paragraph("Before ")._p.append(parse_xml(f"<w:p {SPACES}>{inside}</w:p>")[0])
    word.save(str(tmp_path / "iron.docx"))
    [text] = texts(TextCorpus(str(tmp_path / "iron.docx"))).values()
    assert text.startswith("# Iron\n\nTake it daily.")
    assert "| dose | 60 mg one two |" in text
    lines = [" ".join(part.split()) for part in text.replace("\\", "").split("Before")[1:]]
    assert lines == [text for _, text in WORD_PARTS]


# The suites

WORMS = "Worms. Worms."
REFERENCES = '[{"question": "q", "corpus_id": "n", "references": [{"content": "Worms.", "start": 0, "end": 6}]}]'
OF_SPANS = {"path": "q.json", "query": "question", "document": "corpus_id", "relevant": None}


class InAFolder:
    """A suite of what reads files, which lie in its folder."""

    files: ClassVar = {}
    documents = (
        Document.from_pages("m", [("1", "m#1", "Iron.")]),
        Document.from_pages("n.txt", [("7", "n.txt#7", WORMS)]),
    )

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        for path, content in self.files.items():
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_text(content)


class TestTable(InAFolder, CorpusContract):
    component = TableCorpus
    settings: ClassVar = {"path": "docs.csv", "page": "page"}
    files: ClassVar = {"docs.csv": "id,text,page\na,Iron,1\na,tablets,2\nb,Birth plan,1\n"}


class TestText(InAFolder, CorpusContract):
    component = TextCorpus
    settings: ClassVar = {"path": "texts"}
    files: ClassVar = {"texts/iron.txt": "Iron\f\ftablets", "texts/plan.html": "<p>Plan</p>"}


class TestPdfs(InAFolder, CorpusContract):
    component = PdfDocuments
    settings: ClassVar = {"path": "iron.pdf"}

    @pytest.fixture(autouse=True)
    def pdf(self, folder):
        write_pdf(Path("iron.pdf"), ["Iron", "", "tablets"])


class TestNoCorpus(ComponentContract):
    component = NoCorpus

    def test_it_has_no_documents(self, made):
        assert made.read() == ()


class TestTableQuestions(InAFolder, QuestionsContract):
    component = TableQuestions
    settings: ClassVar = {"path": "q.json"}
    files: ClassVar = {"q.json": '[{"query": "q", "relevant_docs": {"m#1": 2}, "more": 1}]'}


class TestSpans(InAFolder, QuestionsContract):
    component = TableQuestions
    settings = OF_SPANS
    files: ClassVar = {"q.json": REFERENCES}


class TestBeirQuestions(InAFolder, QuestionsContract):
    component = BeirQuestions
    settings: ClassVar = {"path": "."}
    files: ClassVar = {"queries.jsonl": '{"_id": "1", "text": "What of iron?"}', "qrels/test.tsv": "1\tm\t1\n"}


class TestOwn(InAFolder, DatasetContract):
    component = OwnDataset
    settings: ClassVar = {"name": "small", "corpus": TextCorpus("texts"), "questions": TableQuestions(**OF_SPANS)}
    files: ClassVar = {"texts/n.txt": WORMS, "q.json": REFERENCES}

    def test_the_name_is_the_users(self, made):
        assert made.load().name == "small"
