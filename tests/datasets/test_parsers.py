"""The libraries that read PDF files, and the bundled manual: it has the documented properties."""

import re
import sys
from collections import Counter
from importlib import metadata
from itertools import chain, combinations

import docx
import pytest
import Stemmer
from application import PROJECT
from read_strictly import expect_refusal

from ragsweep.core.errors import ConfigError
from ragsweep.datasets import Document, PdfDocuments, pdf_dataset
from ragsweep.datasets.formats import pdf_documents
from ragsweep.datasets.formats.pdf_parsers import PARSERS, PageHeading, placed
from ragsweep.text.stop_words import LUCENE_STOP_WORDS
from ragsweep.text.tokens import words

STEM = Stemmer.Stemmer("english").stemWord
CODE_DOSE_OR_ABBREVIATION = re.compile(r"\b[A-Z]{2,}|\b[A-Z]-\d|\d (?:mg|mcg|g|ml|IU)\b")
PARSERS_INSTALLED = ["pdfium", pytest.param("pypdf", marks=pytest.mark.extra("parsers"))]
LEFT = ["Anaemia is common in pregnancy.", "Measure Hb at each contact.", "Refer below 7 g/dl at once."]
RIGHT = ["Give one tablet a day.", "Advise green leaves.", "Follow up in four weeks."]
TABLE = [["Age", "Dose", "Route"], ["6 weeks", "0.5 ml", "thigh"], ["9 months", "0.5 ml", "arm"]]


def pages(parser, path, **settings):
    [document] = PdfDocuments(str(path), parser=parser, **settings).read()
    return [document.text[page.start : page.end] for page in document.pages]


@pytest.fixture
def columns(tmp_path):
    """A PDF with two columns on a page, the left one first, and a table on the next one."""
    from reportlab.lib.pagesizes import A4
    from reportlab.pdfgen.canvas import Canvas
    from reportlab.platypus import Table

    canvas = Canvas(str(tmp_path / "columns.pdf"), pagesize=A4, invariant=1)
    for at, lines in ((72, LEFT), (320, RIGHT)):
        for row, line in enumerate(lines):
            canvas.drawString(at, 700 - 20 * row, line)
    canvas.showPage()
    table = Table(TABLE)
    table.wrapOn(canvas, 400, 400)
    table.drawOn(canvas, 72, 600)
    canvas.save()
    return tmp_path / "columns.pdf"


def test_what_is_entered_into_a_form_is_read(tmp_path):
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(tmp_path / "form.pdf"), invariant=1)
    canvas.drawString(72, 750, "Warranty")
    form = canvas.acroForm
    form.textfield(name="a", x=72, y=700, width=300, height=20, value="seventeen months", relative=False)
    form.choice(name="b", x=72, y=600, options=["car", "bicycle"], value="bicycle")
    form.textfield(name="c", x=72, y=500, width=300, height=20, value="unseen", annotationFlags="hidden")
    canvas.showPage()
    canvas.drawString(72, 750, "Signatures")
    canvas.save()
    assert pages("pdfium", tmp_path / "form.pdf") == ["Warranty\nseventeen months\nbicycle", "Signatures"]


@pytest.mark.parametrize("parser", PARSERS_INSTALLED)
def test_each_parser_reads_what_was_drawn(parser, columns):
    both, table = pages(parser, columns)
    assert Counter(both.split()) == Counter(" ".join(LEFT + RIGHT).split())
    assert Counter(table.split()) == Counter(" ".join(cell for row in TABLE for cell in row).split())


@pytest.mark.extra("parsers")
def test_pypdf_reads_columns_in_the_order_of_the_file_and_the_bundled_manual_page_by_page(columns, manual):
    """The words of each page are those that the usual parser reads, but for hyphens at line ends."""
    assert pages("pypdf", columns)[0].split() == " ".join(LEFT + RIGHT).split()
    path = PROJECT / "data/cho_manual/documents"
    [document], [usual] = PdfDocuments(str(path), parser="pypdf").read(), manual.documents
    assert len(document.pages) == len(usual.pages) == 140
    for page, other in zip(document.pages, usual.pages, strict=True):
        words = Counter(document.text[page.start : page.end].split())
        expected = usual.text[other.start : other.end].split()
        assert (words & Counter(expected)).total() >= 0.95 * len(expected)
        assert page.page_number == other.page_number


@pytest.mark.extra("parsers")
def test_the_version_of_another_parser_is_a_setting_and_part_of_the_key(columns, store, monkeypatch):
    documents = PdfDocuments(str(columns), parser="pypdf", store=store)
    assert documents.fingerprint == f"pypdf {metadata.version('pypdf')}"
    assert "parser" not in documents.without_effect
    for _ in range(2):
        documents.read()
    assert [entry.stage for entry in store.entries()] == ["pages"]
    monkeypatch.setattr(pdf_documents, "version", lambda name: "0")
    documents.read()
    assert [entry.stage for entry in store.entries()] == ["pages", "pages"]


@pytest.mark.extra("parsers")
def test_labels_are_those_of_the_file_and_what_pdfium_cannot_open_has_none_and_no_headings(
    tmp_path, write_pdf, monkeypatch
):
    path = write_pdf(tmp_path / "a.pdf", "preface", "one", labels=[(0, "ROMAN_LOWER", 1), (1, "ARABIC", 1)])
    [document] = PdfDocuments(str(path), "label", parser="pypdf").read()
    assert [page.page_number for page in document.pages] == ["i", "1"]
    monkeypatch.setitem(PARSERS, "pypdf", lambda path: iter(["One tablet a day."]))
    path.write_bytes(b"x" * 5000 + b"\n" + path.read_bytes())  # PDFium looks for the mark in the first 1,024
    corpus = PdfDocuments(str(path), parser="pypdf")
    [document] = corpus.with_headings(corpus.read())
    assert (document.text, document.headings) == ("One tablet a day.", ())
    expect_refusal(lambda: pages("pypdf", path, page_numbers="label"), "by pdfium, which reads the labels")


def test_headings_of_pages_that_another_parser_lacks_are_left_out():
    document = Document.from_pages("a.pdf", [("1", "a.pdf#1", "Dose\nOne tablet a day.")])
    headings = placed(document, [PageHeading(0, 1, "Dose"), PageHeading(1, 1, "Route")])
    assert [heading.text for heading in headings] == ["Dose"]


@pytest.mark.extra("parsers")
def test_a_parser_that_fails_or_loses_a_page_names_itself_and_the_file(tmp_path, write_pdf):
    for content in ("no PDF at all", "<html>no PDF"):
        (tmp_path / "broken.pdf").write_text(content)
        facts = "broken.pdf: ", "by pypdf", f"begins with '{content[:6]}"
        expect_refusal(lambda: pages("pypdf", tmp_path / "broken.pdf"), *facts)
    locked = write_pdf(tmp_path / "locked.pdf", "secret", password="x")
    expect_refusal(lambda: pages("pypdf", locked), "locked.pdf: ", "by pypdf (it is encrypted")
    path = write_pdf(tmp_path / "damaged.pdf", "Kangaroo", "Koala", "Wombat")
    content = path.read_bytes()
    second = [*re.finditer(rb"/Contents", content)][1].start()  # of the second page of three
    start, end = content.rindex(b" obj", 0, second) + len(" obj"), content.index(b"endobj", second)
    path.write_bytes(content[:start] + b" " * (end - start) + content[end:])
    expect_refusal(lambda: pages("pypdf", path), "damaged.pdf: ", "it finds 2 pages, PDFium 3")


def test_a_parser_that_is_not_installed_says_what_to_install_and_the_usual_one_is_no_setting(monkeypatch):
    usual = PdfDocuments("a")
    assert ("parser" in usual.without_effect, usual.fingerprint) == (True, None)
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(ConfigError, match=r"corpus\.parser: pypdf .*'ragsweep\[parsers\]'"):
        PdfDocuments("a", parser="pypdf")
    with pytest.raises(ConfigError, match=r"dataset\.parser: pypdf .*'ragsweep\[parsers\]'"):
        pdf_dataset("n", "a", "b", parser="pypdf")


IRON = "Iron tablets are given to every pregnant woman, once a day, for at least one hundred and eighty days. " * 3
PAGE = f"<html><body><nav>Home | Imprint</nav><article><h1>Iron</h1><p>{IRON}</p></article></body></html>"


@pytest.fixture
def recipe():
    """The class of the recipe, with the line of the table that reads the texts by a library."""
    page = (PROJECT / "docs/recipes.md").read_text(encoding="utf-8")
    [code] = [text for text in page.split("```")[1::2] if text.startswith("python\n# plumber.py")]
    lines = dict(re.findall(r"^\| (\w+) \| `(\[.*?\])` \|", page, re.MULTILINE))

    def build(library, path):
        names = {}
        text = code.removeprefix("python\n")
        if library != "pdfplumber":
            text = text[: text.index("        import pdfplumber")]
            text += f"        import {library}\n        return {lines[library]}\n"
        exec(compile(text, "plumber.py", "exec"), names)
        return names["MyDocuments"](str(path))

    return build


@pytest.mark.extra("recipes")
def test_the_recipe_reads_pdfs_what_a_web_page_is_about_and_the_header_of_a_word_document(recipe, columns, tmp_path):
    (tmp_path / "pdfs").mkdir()
    columns.rename(tmp_path / "pdfs" / "columns.pdf")
    for library in ("pdfplumber", "pymupdf"):
        [document] = recipe(library, tmp_path / "pdfs").read()
        assert [page.unit for page in document.pages] == ["columns.pdf#1", "columns.pdf#2"]
        assert Counter(document.text.split()) == Counter(" ".join([*LEFT, *RIGHT, *chain(*TABLE)]).split())
        is_by_lines = "pregnancy. Give one tablet a day." in document.text
        assert is_by_lines == (library == "pdfplumber")
    (tmp_path / "iron.html").write_text(PAGE)
    [document] = recipe("trafilatura", tmp_path).read()
    assert "one hundred and eighty days" in document.text
    assert "Imprint" not in document.text
    (tmp_path / "iron.html").unlink()
    word = docx.Document()
    word.add_paragraph("One tablet a day.")
    word.sections[0].header.paragraphs[0].text = "Draft of May"
    word.save(str(tmp_path / "iron.docx"))
    [document] = recipe("docx2python", tmp_path).read()
    assert "Draft of May" in document.text
    assert "One tablet a day." in document.text


@pytest.fixture(scope="module")
def relevant(manual):
    """Indices of the pages that answer each question."""
    pages = {page.unit: page.page for page in manual.documents[0].pages}
    pages_of = {query.query_id: [] for query in manual.queries}
    for judgment in manual.judgments:
        pages_of[judgment.query_id].append(pages[judgment.unit])
    return pages_of


def test_the_manual_and_its_questions_have_the_documented_numbers(manual, manual_pages, relevant):
    assert len(manual.documents[0].pages) >= 120
    assert manual_pages.empty_pages == ()
    assert len(manual.queries) == len({query.text.lower() for query in manual.queries}) == 133
    types = Counter(query.query_type for query in manual.queries)
    assert types.keys() == {"factual", "procedural", "diagnostic", "conceptual"}
    assert min(types.values()) >= 25
    pages = Counter(map(len, relevant.values()))
    assert {*pages} <= {1, 2, 3, 4}
    assert pages.total() - pages[1] >= 35
    assert sum(bool(CODE_DOSE_OR_ABBREVIATION.search(query.text)) for query in manual.queries) >= 20


@pytest.mark.usefixtures("long_work")
def test_no_two_pages_share_a_third_of_their_word_5_grams(manual_pages):
    of_pages = [words(text) for text in manual_pages.texts]
    grams = [set(zip(*(page[n:] for n in range(5)), strict=False)) for page in of_pages]
    assert all(len(one & other) <= min(len(one), len(other)) / 3 for one, other in combinations(grams, 2))


def content_words(text):
    return {STEM(word) for word in words(text) if word not in LUCENE_STOP_WORDS}


@pytest.mark.usefixtures("drawing")
def test_the_pdf_is_what_its_sources_give_and_30_questions_share_no_word_with_the_headings_of_their_pages(
    manual, relevant, tmp_path
):
    import build_manual

    pages = build_manual.manual_pages()
    build_manual.build(pages, tmp_path / "cho_training_manual.pdf")
    queries = PROJECT / "data" / "cho_manual" / "test_queries.json"
    assert pdf_dataset("rebuilt", str(tmp_path), str(queries)).load().documents == manual.documents
    headings = [content_words(page.heading) for page in pages]
    of_query = {key: set().union(*(headings[page] for page in places)) for key, places in relevant.items()}
    strangers = [query for query in manual.queries if content_words(query.text).isdisjoint(of_query[query.query_id])]
    assert len(strangers) >= 30
