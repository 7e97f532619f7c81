"""PDF files and the questions about their pages."""

import json
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import hydra.utils  # noqa: F401 - loaded before a process loses its permissions, and may not read the folder of Python itself
import pytest
from font_pdfs import without_font
from read_strictly import all_misses, expect_refusal, misses, refusal

from ragsweep.core.errors import ConfigError
from ragsweep.datasets import Dataset, PageChunker, PdfDocuments, pdf_dataset
from ragsweep.datasets.formats import pdf_documents


@pytest.fixture
def load(tmp_path, write_pdf):
    """Load a corpus of `{name: page texts}` with questions that name `keys`; without either, as they are written."""

    def load(documents=None, keys=None, *, labels=(), **settings):
        for name, pages in (documents or {}).items():
            write_pdf(tmp_path / "pdf" / name, *pages, labels=labels)
        asked = tmp_path / "queries.json"
        if documents or keys:
            named = [{"query": f"about {key}", "relevant_docs": [key]} for key in keys or ["1"]]
            asked.write_text(json.dumps(named), encoding="utf-8")
        return pdf_dataset("small", str(tmp_path / "pdf"), str(asked), **settings).load()

    return load


def units(collection):
    return [judgment.unit for judgment in collection.judgments]


def sources(collection):
    return [document.source for document in collection.documents]


HYPHENS = [  # pages, and the text of the first one
    (["signs of preg-\nnancy"], "signs of pregnancy"),
    (["one\ntwo"], "one\ntwo"),
    # nothing is hyphenated before a digit, nor before a capital, unless all is in capitals
    (["per E-\nMail oder"], "per E-Mail oder"),
    (["die CT-\nUntersuchung"], "die CT-Untersuchung"),
    (["Vitamin-\nC und"], "Vitamin-C und"),
    (["nach COVID-\n19 im"], "nach COVID-19 im"),
    (["THE PRO-\nGRAM IS"], "THE PROGRAM IS"),
    (["ein Arbeits-\nplatz"], "ein Arbeitsplatz"),
    # the hyphen stays where the document writes it within a line
    (["its right-\nhand limit", "the right-hand side"], "its right-hand limit"),
    (["its right-\nhand limit", "Right-hand rule"], "its right-hand limit"),
    (["its right-\nhand limit", "the right hand"], "its righthand limit"),
    (["its right-\nhand limit", "a right-handed and bright-hand"], "its righthand limit"),
    (["its right-\nhand limit", "right-hand, righthand, righthand"], "its righthand limit"),
    (["a CD-\nROM", "the CD-ROM"], "a CD-ROM"),
]


def test_the_text_of_a_page_is_read_and_a_word_that_a_line_end_breaks_is_joined(tmp_path, write_pdf):
    texts = []
    for row, (pages, _) in enumerate(HYPHENS):
        [document] = PdfDocuments(str(write_pdf(tmp_path / f"{row}.pdf", *pages))).read()
        texts.append(document.text[: document.pages[0].end].rstrip())
    assert texts == [expected for _, expected in HYPHENS]


def test_text_is_read_once_until_the_file_changes_and_keeps_its_kind_of_page_numbers(load, store):
    pages = {name: ["Iron tablets", "", "Fièvre: 38 °C"] for name in ("a.pdf", "c/b.pdf")}
    read, kept = (load(pages, ["a.pdf#1"], store=store) for _ in range(2))
    assert read == kept == load(pages, ["a.pdf#1"])
    assert [entry.stage for entry in store.entries()] == ["pages"]
    settings = {"labels": ROMAN_THEN_ARABIC, "store": store}
    assert load({"a.pdf": ["preface"]}, ["a.pdf#1"], **settings).documents[0].text == "preface"
    labelled = load({"a.pdf": ["preface"]}, ["a.pdf#i"], page_numbers="label", **settings).documents[0]
    assert labelled.pages[0].page_number == "i"


def test_the_text_of_a_file_without_its_fonts_belongs_to_the_fonts_of_the_machine(tmp_path, store, monkeypatch):
    without_font(tmp_path / "a.pdf")
    monkeypatch.setattr(pdf_documents, "FONT_FOLDERS", (str(tmp_path / "fonts"), str(tmp_path / "none")))
    (tmp_path / "fonts/below").mkdir(parents=True)
    documents, stored = PdfDocuments(str(tmp_path / "a.pdf"), store=store), []
    for fonts in ((), ("Iron.ttf",), ("below/Iron.ttf",), ()):
        for file in tmp_path.glob("fonts/**/*.ttf"):
            file.unlink()
        for name in fonts:
            (tmp_path / "fonts" / name).write_bytes(b"x")
        pdf_documents._fonts.cache_clear()
        documents.read()
        stored.append(len([*store.entries()]))
    pdf_documents._fonts.cache_clear()
    assert stored == [1, 2, 3, 3]


def test_a_file_is_named_by_its_relative_path_a_single_one_is_a_corpus_and_what_is_no_pdf_is_left(
    load, tmp_path, capsys
):
    (tmp_path / "pdf/more").mkdir(parents=True)
    (tmp_path / "pdf/more/visitors.md").write_text("From nine to ten.")
    (tmp_path / "pdf/table.csv").write_text("1,2")
    assert sources(load({"b.pdf": ["b"], "a/z.PDF": ["z"]}, ["b.pdf#1"])) == ["a/z.PDF", "b.pdf"]
    assert "1 document that is no PDF, not read: 'more/visitors.md'" in capsys.readouterr().err
    single = pdf_dataset("small", str(tmp_path / "pdf/b.pdf"), str(tmp_path / "queries.json")).load()
    assert units(single) == ["b.pdf#1"]


@pytest.fixture
def folder(tmp_path, load):
    """A folder with a PDF in it, and one in a subfolder; and a question about the first."""
    load({"a.pdf": ["one"], "more/b.pdf": ["two"]}, ["a.pdf#1"])
    return tmp_path / "pdf"


def test_a_link_adds_a_folder_but_no_document_twice(load, folder, tmp_path, write_pdf):
    (folder / "other").mkdir()
    write_pdf(tmp_path / "elsewhere" / "c.pdf", "three")
    cross = {"more/x": "../other", "other/y": "../more"}
    elsewhere = {"link": tmp_path / "elsewhere"}
    for links in ({"more/loop": ".."}, {"more/loop": "."}, {"latest": "more"}, cross, {"self": "self"}, elsewhere):
        for link, target in links.items():
            (folder / link).symlink_to(target)
        assert sources(load()) == ["a.pdf", *["link/c.pdf"] * (links is elsewhere), "more/b.pdf"], links
        for link in links:
            (folder / link).unlink()


def test_files_that_cannot_be_read_are_left_out_by_the_setting_that_the_refusal_shows(load, folder):
    (folder / "more" / "not a pdf.pdf").write_text("Dear reader")
    expect_refusal(load, "'dataset.skip=[\"more/not a pdf.pdf\"]'")
    (folder / "worse.pdf").write_text("Dear reader")
    both = "'dataset.skip=[\"more/not a pdf.pdf\",worse.pdf]'"
    expect_refusal(load, "1 more cannot be read", both)
    expect_refusal(lambda: load(skip=["more/not a pdf.pdf"]), both)
    collection = load(skip=["more/not a pdf.pdf", "worse.pdf"])
    assert sources(collection) == ["a.pdf", "more/b.pdf"]
    assert collection.skipped == ("more/not a pdf.pdf", "worse.pdf")


def test_skip_is_a_list_of_files_that_exist_and_are_not_all_and_changes_nothing_else(load, folder):
    unknown, every = (["more/c.pdf"], ["a.pdf", "more/b.pdf"])
    expect_refusal(lambda: load(skip=unknown), "dataset.skip: ", "did you mean 'more/b.pdf'")
    expect_refusal(lambda: load(skip=every), "dataset.skip: ", "expected to keep at least one")
    for skip in ("a.pdf", [1]):
        with pytest.raises(ConfigError, match=r"dataset\.skip: found .*, expected a list of file names"):
            load(skip=skip)
    without = load(skip=["more/b.pdf"])
    (folder / "more" / "b.pdf").unlink()
    assert without.digest == load().digest


DAMAGED = b"""%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R 4 0 R]/Count 2>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 100 100]>>endobj
trailer<</Root 1 0 R>>
%%EOF"""  # object 4 is lost


def test_what_is_missing_or_no_file_is_named_and_not_waited_for(tmp_path, load, folder):
    (tmp_path / "empty").mkdir()
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged/damaged.pdf").write_bytes(DAMAGED)
    places = {"nowhere": "dataset.documents: ", "empty": "dataset.documents: ", "pdf": "dataset.queries: "}
    lines = [
        (refusal(pdf_dataset("small", str(tmp_path / name), str(tmp_path / "none.json")).load), fact)
        for name, fact in {**places, "damaged": "damaged.pdf"}.items()
    ]
    for make, fact in (
        (lambda path: path.symlink_to("gone.pdf"), "x.pdf: does not exist, or is a broken link; 'dataset.skip=[x"),
        (lambda path: path.symlink_to("x.pdf"), "x.pdf': cannot be read (Too many levels of symbolic links)"),
        (os.mkfifo, "x.pdf: is neither a file nor a folder; 'dataset.skip=[x.pdf]"),
    ):
        make(folder / "x.pdf")
        lines.append((refusal(load), fact))
        (folder / "x.pdf").unlink()
    for name, shown in ((b"caf\xe9.pdf", "caf\\udce9.pdf"), (b"a\nb.pdf", "a\\nb.pdf")):
        path = Path(os.fsdecode(os.fsencode(folder) + b"/" + name))
        shutil.copy(folder / "a.pdf", path)
        line = refusal(load)
        lines += [(line, f"pdf: the file name '{shown}'"), (line, "rename the file")]
        path.unlink()
    assert all_misses(lines) == []


@contextmanager
def forbidden(folder, name):
    """A copy of a folder with a file that may not be read, by a process without the permissions of root."""
    before = os.geteuid()
    with tempfile.TemporaryDirectory() as root:
        Path(root).chmod(0o755)
        copy = shutil.copytree(folder, Path(root) / "data")
        copy.chmod(0o755)
        (copy / name).chmod(0)
        if before == 0:
            os.seteuid(65534)
        try:
            yield copy
        finally:
            os.seteuid(before)


FORBIDDEN = {
    "pdf/more": "pdf/more: cannot be listed",
    "pdf/a.pdf": "'dataset.skip=[a.pdf]",
    "pdf/more/b.pdf": "'dataset.skip=[more/b.pdf]",
    "queries.json": "queries.json' cannot be read",
    ".": "cannot be read",
}


def test_what_may_not_be_read_is_named(folder):
    lines = []
    for name, place in FORBIDDEN.items():
        with forbidden(folder.parent, name) as data:
            line = refusal(pdf_dataset("small", str(data / "pdf"), str(data / "queries.json")).load)
        lines += [(line, place), (line, "(Permission denied)")]
    assert all_misses(lines) == []


TWO, BOTH = {"a.pdf": ["one"], "b.pdf": ["one", "two"]}, {"a.pdf": ["one", "two"]}
MANY = {**TWO, "c.pdf": ["one"], "d.pdf": ["one", "two"]}
NAMED = [  # documents, a key, the settings, and the unit
    (BOTH, "2", {}, "a.pdf#2"),
    (BOTH, " 2 ", {}, "a.pdf#2"),
    (BOTH, "a.pdf#2", {}, "a.pdf#2"),
    ({"a.pdf": ["text"] * 340}, "34", {}, "a.pdf#34"),  # never 340 or 134
    (TWO, "b.pdf#1", {}, "b.pdf#1"),
    (TWO, "1", {"match": "page_number"}, "1"),
    (TWO, "b.pdf#1", {"match": "page_number"}, "1"),
    (TWO, "a.pdf", {"unit": "document"}, "a.pdf"),
]
UNKNOWN = [  # a key, the settings, and what exists instead
    ("01", {}, "entry 1: page '01' is not in the documents"),
    ("d.pdf#9", {}, "(d.pdf has pages 1 to 2)"),
    ("d.pdf", {}, "(d.pdf has pages 1 to 2)"),
    ("dd.pdf#1", {}, "(did you mean 'd.pdf'"),
    ("zebra#1", {}, "(there are 'a.pdf', 'b.pdf', 'c.pdf', 'd.pdf')"),
    ("9", {}, "c.pdf has pages 1 to 1 and 1 more documents)"),
    ("2", {}, "page '2' is in 2 documents ('b.pdf#2', 'd.pdf#2')"),
    ("2", {}, "set dataset.match=page_number"),
    ("e.pdf", {"unit": "document"}, "document 'e.pdf' is not in the documents (did you mean 'd.pdf' or"),
    ("b.pdf#1", {"unit": "document"}, "(documents are judged, not their pages)"),
]


def test_a_page_is_named_by_its_number_or_with_its_document_and_judged_once(load, tmp_path):
    wrong = []
    for documents, key, settings, expected in NAMED:
        shutil.rmtree(tmp_path / "pdf", ignore_errors=True)
        named = units(load(documents, [key], **settings))
        wrong += [] if named == [expected] else [(key, settings, named)]
    assert wrong == []
    (tmp_path / "queries.json").write_text('[{"query": "q", "relevant_docs": ["b.pdf#1", " b.pdf#1"]}]')
    assert units(load()) == ["b.pdf#1"]


def test_an_unknown_or_ambiguous_page_is_refused_with_those_that_exist(load):
    load(MANY, ["a.pdf#1"])
    lines = [(refusal(lambda k=key, s=given: load(keys=[k], **s)), fact) for key, given, fact in UNKNOWN]
    assert all_misses(lines) == []


def test_passages_have_the_unit_that_is_judged_and_a_page_without_text_none(load):
    for settings, expected in (({"match": "page_number"}, ["1", "1", "2"]), ({"unit": "document"}, [*TWO, "b.pdf"])):
        dataset = Dataset.from_collection(load(TWO, [expected[0]], **settings), PageChunker())
        assert [dataset.units[unit] for unit in dataset.passage_units] == expected
    dataset = Dataset.from_collection(load({"b.pdf": ["one", "", "three"]}, ["2"]), PageChunker())
    assert dataset.units == ("a.pdf#1", "b.pdf#1", "b.pdf#2", "b.pdf#3")
    assert [passage.page_number for passage in dataset.passages] == ["1", "1", "3"]
    assert dataset.empty_pages == ("b.pdf#2",)


def test_settings_to_paste_choose_the_same_documents_or_the_column_of_the_document(tmp_path, load, folder):
    asked = tmp_path / "q.csv"
    chosen = [f"corpus.path={folder}", "questions=table", f"questions.path={asked}"]
    for delimiter in ";,":
        asked.write_text(f"Frage{delimiter}Seite\nwhat{delimiter}1\n")
        line = refusal(pdf_dataset("small", str(folder), str(asked), page_numbers="label").load)
        assert " ".join(["corpus=pdf", *chosen, "corpus.page_numbers=label"]) in line
    load({"a.pdf": ["one", "two"], "more/b.pdf": ["one", "two"]}, ["a.pdf#1"])
    asked.write_text("query,relevant_docs,Book\nWho?,1,more/b.pdf\nWhy?,2,more/b.pdf\nHow?,1,a.pdf\n")
    line = refusal(pdf_dataset("pdf", str(folder), str(asked)).load)
    facts = "3 of 3 questions ", "questions.document=Book questions.page=relevant_docs", "line 3: page '2'"
    assert misses(line, *facts) == []


ROMAN_THEN_ARABIC = [(0, "ROMAN_LOWER", 1), (2, "ARABIC", 1)]


def test_page_numbers_decide_which_page_a_number_names(load, capsys):
    pages = {"a.pdf": ["i", "ii", "1"]}
    for page_numbers, key, index in (("physical", "1", 0), ("label", "1", 2), ("label", "ii", 1)):
        collection = load(pages, [key], labels=ROMAN_THEN_ARABIC, page_numbers=page_numbers)
        assert [page.page for page in collection.documents[0].pages if page.page_number == key] == [index]
        assert units(collection) == [f"a.pdf#{key}"]
        assert "labels" not in capsys.readouterr().err
    for page_numbers in ("label", "physical"):  # without a label, a page has its physical number
        assert units(load({"a.pdf": ["one", "two"]}, ["2"], page_numbers=page_numbers)) == ["a.pdf#2"]
        assert ("1 document has no page labels" in capsys.readouterr().err) == (page_numbers == "label")


def test_a_label_that_several_pages_have_is_refused_where_it_is_named_and_every_passage_has_its_own_id(load):
    labels = [(0, "ARABIC", 1), (1, "ARABIC", 7), (2, "ARABIC", 7)]
    pages = {"a.pdf": ["x", "y", "z"]}
    collection = load(pages, labels=labels, page_numbers="label")
    passages = Dataset.from_collection(collection, PageChunker()).passages
    assert len({passage.chunk_id for passage in passages}) == len(passages) == 3
    for key in ("7", "a.pdf#7"):
        line = refusal(lambda key=key: load(pages, [key], labels=labels, page_numbers="label"))
        assert misses(line, "entry 1: 2 pages ", "'a.pdf#7'") == []
