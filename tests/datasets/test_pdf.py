"""PDF files and the questions about their pages."""

import json
import os
import shutil
import tempfile
from pathlib import Path

import hydra.utils  # noqa: F401 - loaded before `unprivileged`, who may not read the folder of Python itself
import pytest
from font_pdfs import without_font
from read_strictly import all_misses, expect_refusal, misses, refusal

from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.datasets import Dataset, PageChunker, PdfDocuments, pdf_dataset
from ragsweep.datasets.formats import pdf_documents

ENTRY = {"query": "q", "relevant_docs": ["1"], "query_type": "t"}


@pytest.fixture
def dataset(tmp_path, write_pdf):
    """Load a corpus of `{name: page texts}` with questions that name `keys`, or with any text as the query file."""

    def load(documents, keys=("1",), *, queries=None, labels=(), **settings):
        for name, pages in documents.items():
            write_pdf(tmp_path / "pdf" / name, *pages, labels=labels)
        entries = [{"query": f"about {key}", "relevant_docs": [key], "query_type": "factual"} for key in keys]
        file = tmp_path / "queries.json"
        file.write_text(json.dumps(entries) if queries is None else queries, encoding="utf-8")
        return pdf_dataset("small", str(tmp_path / "pdf"), str(file), **settings).load()

    return load


def units(collection):
    return [judgment.unit for judgment in collection.judgments]


def sources(collection):
    return [document.source for document in collection.documents]


def test_documents_that_are_no_pdf_are_said_to_be_left(dataset, tmp_path, capsys):
    (tmp_path / "pdf" / "more").mkdir(parents=True)
    (tmp_path / "pdf" / "more" / "visitors.md").write_text("From nine to ten.")
    (tmp_path / "pdf" / "table.csv").write_text("1,2")
    assert sources(dataset({"a.pdf": ["Iron tablets"]})) == ["a.pdf"]
    assert "1 document that is no PDF, not read: 'more/visitors.md'" in capsys.readouterr().err


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


def test_text_is_read_once_until_the_file_changes(dataset, store):
    pages = {"a.pdf": ["Iron tablets", "", "Fièvre: 38 °C"], "c/b.pdf": ["Iron tablets", "", "Fièvre: 38 °C"]}
    read, kept = dataset(pages, ["a.pdf#1"], store=store), dataset(pages, ["a.pdf#1"], store=store)
    assert read == kept == dataset(pages, ["a.pdf#1"])
    assert sorted(entry.stage for entry in store.entries()) == ["pages"]
    assert dataset({"a.pdf": ["Birth plan"]}, ["a.pdf#1"], store=store).documents[0].text == "Birth plan"


def test_stored_text_keeps_its_kind_of_page_numbers(dataset, store):
    settings = {"labels": ROMAN_THEN_ARABIC, "store": store}
    dataset({"a.pdf": ["preface"]}, **settings)
    [document] = dataset({"a.pdf": ["preface"]}, ["i"], page_numbers="label", **settings).documents
    assert document.pages[0].page_number == "i"


@pytest.mark.parametrize("name", ["Iron.ttf", "below/Iron.ttf"])
def test_the_text_of_a_file_without_its_fonts_belongs_to_the_fonts_of_the_machine(tmp_path, store, monkeypatch, name):
    without_font(tmp_path / "a.pdf")
    font = tmp_path / "fonts" / name
    font.parent.mkdir(parents=True)
    monkeypatch.setattr(pdf_documents, "FONT_FOLDERS", (str(tmp_path / "fonts"), str(tmp_path / "none")))
    documents, stored = PdfDocuments(str(tmp_path / "a.pdf"), store=store), []
    for has_font in (False, True, False):
        font.write_bytes(b"x") if has_font else font.unlink(missing_ok=True)
        pdf_documents._fonts.cache_clear()
        documents.read()
        stored.append(len([*store.entries()]))
    pdf_documents._fonts.cache_clear()
    assert stored == [1, 2, 2]


def test_a_file_in_a_subfolder_is_named_by_its_relative_path_and_a_single_file_is_a_corpus(dataset, tmp_path):
    assert sources(dataset({"b.pdf": ["b"], "a/z.PDF": ["z"]}, ["b.pdf#1"])) == ["a/z.PDF", "b.pdf"]
    single = pdf_dataset("small", str(tmp_path / "pdf/b.pdf"), str(tmp_path / "queries.json")).load()
    assert units(single) == ["b.pdf#1"]


@pytest.mark.parametrize("header", ["Frage;Seite", "Frage,Seite"])
def test_settings_to_paste_choose_the_same_documents(tmp_path, write_pdf, header):
    (tmp_path / "pdf").mkdir()
    write_pdf(tmp_path / "pdf/a.pdf", ["Iron."])
    (tmp_path / "q.csv").write_text(f"{header}\nwhat{header[5]}1\n")
    with pytest.raises(DatasetError) as refused:
        pdf_dataset("small", str(tmp_path / "pdf"), str(tmp_path / "q.csv"), page_numbers="label").load()
    chosen = [f"corpus.path={tmp_path}/pdf", "questions=table", f"questions.path={tmp_path}/q.csv"]
    assert " ".join(["corpus=pdf", *chosen, "corpus.page_numbers=label"]) in str(refused.value)


# Matching


MANY = {"a.pdf": ["one"], "b.pdf": ["one", "two"], "c.pdf": ["one"], "d.pdf": ["one", "two"]}
TWO = {"a.pdf": ["one"], "b.pdf": ["one", "two"]}


@pytest.mark.parametrize(
    ("documents", "key", "settings", "expected"),
    [
        ({"a.pdf": ["one", "two"]}, "2", {}, "a.pdf#2"),
        ({"a.pdf": ["one", "two"]}, " 2 ", {}, "a.pdf#2"),
        ({"a.pdf": ["one", "two"]}, "a.pdf#2", {}, "a.pdf#2"),
        ({"a.pdf": ["text"] * 340}, "34", {}, "a.pdf#34"),  # never 340 or 134
        (TWO, "b.pdf#1", {}, "b.pdf#1"),
        (TWO, "1", {"match": "page_number"}, "1"),
        (TWO, "b.pdf#1", {"match": "page_number"}, "1"),
        (TWO, "a.pdf", {"unit": "document"}, "a.pdf"),
    ],
)
def test_a_page_is_named_by_its_number_or_with_its_document(dataset, documents, key, settings, expected):
    assert units(dataset(documents, [key], **settings)) == [expected]


def test_a_page_named_twice_by_a_query_is_judged_once(dataset):
    queries = json.dumps([{"query": "q", "relevant_docs": ["1", "a.pdf#1", " 1"]}])
    assert units(dataset({"a.pdf": ["one"]}, queries=queries)) == ["a.pdf#1"]


@pytest.mark.parametrize(
    ("settings", "expected"), [({"match": "page_number"}, ["1", "1", "2"]), ({"unit": "document"}, [*TWO, "b.pdf"])]
)
def test_passages_have_the_unit_that_is_judged(dataset, settings, expected):
    small = Dataset.from_collection(dataset(TWO, [expected[0]], **settings), PageChunker())
    assert [small.units[unit] for unit in small.passage_units] == expected


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


def test_an_unknown_or_ambiguous_page_is_refused_with_those_that_exist(dataset):
    assert (
        all_misses((refusal(lambda k=key, s=given: dataset(MANY, [k], **s)), fact) for key, given, fact in UNKNOWN)
        == []
    )


def test_faults_say_which_column_may_be_the_document(tmp_path, write_pdf):
    for name in "ab":
        write_pdf(tmp_path / f"{name}.pdf", "one", "two")
    (tmp_path / "q.csv").write_text("query,relevant_docs,Book\nWho?,1,b.pdf\nWhy?,2,b.pdf\nHow?,1,a.pdf\n")
    line = refusal(pdf_dataset("pdf", str(tmp_path), str(tmp_path / "q.csv")).load)
    facts = "3 of 3 questions ", "questions.document=Book questions.page=relevant_docs", "line 3: page '2'"
    assert misses(line, *facts) == []


# Page labels

ROMAN_THEN_ARABIC = [(0, "ROMAN_LOWER", 1), (2, "ARABIC", 1)]


@pytest.mark.parametrize(("page_numbers", "index"), [("physical", 0), ("label", 2)])
def test_page_numbers_decide_which_page_a_number_names(dataset, page_numbers, index):
    collection = dataset({"a.pdf": ["i", "ii", "1"]}, ["1"], labels=ROMAN_THEN_ARABIC, page_numbers=page_numbers)
    assert [page.page for page in collection.documents[0].pages if page.page_number == "1"] == [index]


def test_a_label_need_not_be_a_number(dataset, capsys):
    collection = dataset({"a.pdf": ["i", "ii", "1"]}, ["ii"], labels=ROMAN_THEN_ARABIC, page_numbers="label")
    assert units(collection) == ["a.pdf#ii"]
    assert "labels" not in capsys.readouterr().err


@pytest.mark.parametrize("page_numbers", ["label", "physical"])
def test_a_page_without_a_label_has_its_physical_number_which_is_said(dataset, capsys, page_numbers):
    assert units(dataset({"a.pdf": ["one", "two"]}, ["2"], page_numbers=page_numbers)) == ["a.pdf#2"]
    assert ("1 document has no page labels" in capsys.readouterr().err) == (page_numbers == "label")


def test_every_passage_has_its_own_id_where_labels_repeat(dataset):
    restarts = [(0, "ARABIC", 1), (1, "ARABIC", 7), (2, "ARABIC", 7)]
    collection = dataset({"a.pdf": ["x", "y", "z"]}, labels=restarts, page_numbers="label")
    passages = Dataset.from_collection(collection, PageChunker()).passages
    assert len({passage.chunk_id for passage in passages}) == len(passages)


@pytest.mark.parametrize("key", ["1", "a.pdf#1"])
def test_a_label_that_several_pages_have_is_refused(dataset, key):
    restarts = [(0, "ARABIC", 1), (1, "ARABIC", 1)]
    settings = {"labels": restarts, "page_numbers": "label"}
    expect_refusal(lambda: dataset({"a.pdf": ["x", "y"]}, [key], **settings), "entry 1: 2 pages ", "'a.pdf#1'")


# Pages without text


def test_a_page_without_text_is_a_unit_that_is_named_and_never_retrieved(dataset):
    small = Dataset.from_collection(dataset({"a.pdf": ["one", "", "three"]}, ["2"]), PageChunker())
    assert small.units == ("a.pdf#1", "a.pdf#2", "a.pdf#3")
    assert [passage.page_number for passage in small.passages] == ["1", "3"]
    assert small.empty_pages == ("a.pdf#2",)


# Documents that cannot be read


def test_what_is_missing_names_its_setting(tmp_path, write_pdf):
    (tmp_path / "empty").mkdir()
    write_pdf(tmp_path / "full/a.pdf", "one")
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged/damaged.pdf").write_bytes(
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        b"2 0 obj<</Type/Pages/Kids[3 0 R 4 0 R]/Count 2>>endobj\n"  # object 4 is lost
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 100 100]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF"
    )
    places = {"nowhere": "dataset.documents: ", "empty": "dataset.documents: ", "full": "dataset.queries: "}
    lines = [
        (refusal(pdf_dataset("small", str(tmp_path / name), str(tmp_path / "none.json")).load), fact)
        for name, fact in {**places, "damaged": "damaged.pdf"}.items()
    ]
    assert all_misses(lines) == []


@pytest.fixture
def folder(tmp_path, write_pdf):
    """A folder with a PDF in it, and one in a subfolder."""
    write_pdf(tmp_path / "pdf" / "a.pdf", "one")
    write_pdf(tmp_path / "pdf" / "more" / "b.pdf", "two")
    (tmp_path / "queries.json").write_text(json.dumps([{**ENTRY, "relevant_docs": ["a.pdf#1"]}]))
    return tmp_path / "pdf"


def load(folder, **settings):
    return pdf_dataset("small", str(folder), str(folder.parent / "queries.json"), **settings).load()


@pytest.fixture
def unprivileged():
    """Opens files without the permissions of root."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    yield
    os.seteuid(before)


@pytest.fixture
def open_folder(folder):
    """The same folder, readable for everybody."""
    with tempfile.TemporaryDirectory() as root:
        Path(root).chmod(0o755)
        shutil.copytree(folder.parent, Path(root) / "data").chmod(0o755)
        yield Path(root) / "data" / "pdf"


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("pdf/more", "pdf/more: cannot be listed"),
        ("pdf/a.pdf", "'dataset.skip=[a.pdf]"),
        ("pdf/more/b.pdf", "'dataset.skip=[more/b.pdf]"),
        ("queries.json", "queries.json' cannot be read"),
        (".", "cannot be read"),
    ],
)
def test_what_may_not_be_read_is_named(open_folder, name, place, request):
    (open_folder.parent / name).chmod(0)
    request.getfixturevalue("unprivileged")
    expect_refusal(lambda: load(open_folder), place, "(Permission denied)")


def test_what_is_no_file_is_refused_and_not_waited_for(folder):
    lines = []
    for make, fact in (
        (lambda path: path.symlink_to("gone.pdf"), "x.pdf: does not exist, or is a broken link; 'dataset.skip=[x"),
        (lambda path: path.symlink_to("x.pdf"), "x.pdf': cannot be read (Too many levels of symbolic links)"),
        (os.mkfifo, "x.pdf: is neither a file nor a folder; 'dataset.skip=[x.pdf]"),
    ):
        make(folder / "x.pdf")
        lines.append((refusal(lambda: load(folder)), fact))
        (folder / "x.pdf").unlink()
    assert all_misses(lines) == []


def test_a_linked_folder_is_part_of_the_corpus(folder, tmp_path, write_pdf):
    write_pdf(tmp_path / "elsewhere" / "c.pdf", "three")
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    assert sources(load(folder)) == ["a.pdf", "link/c.pdf", "more/b.pdf"]


def test_a_link_does_not_add_a_document_twice(folder):
    (folder / "other").mkdir()
    cross = {"more/x": "../other", "other/y": "../more"}
    for links in ({"more/loop": ".."}, {"more/loop": "."}, {"latest": "more"}, cross, {"self": "self"}):
        for link, target in links.items():
            (folder / link).symlink_to(target)
        assert sources(load(folder)) == ["a.pdf", "more/b.pdf"], links
        for link in links:
            (folder / link).unlink()


@pytest.mark.parametrize(("name", "shown"), [(b"caf\xe9.pdf", "caf\\udce9.pdf"), (b"a\nb.pdf", "a\\nb.pdf")])
def test_a_file_name_that_cannot_be_written_is_refused(folder, name, shown):
    shutil.copy(folder / "a.pdf", os.fsencode(folder) + b"/" + name)
    expect_refusal(lambda: load(folder), f"pdf: the file name '{shown}'", "rename the file")


def test_files_that_cannot_be_read_are_left_out_by_the_setting_that_the_refusal_shows(folder):
    (folder / "more" / "not a pdf.pdf").write_text("Dear reader")
    expect_refusal(lambda: load(folder), "'dataset.skip=[\"more/not a pdf.pdf\"]'")
    (folder / "worse.pdf").write_text("Dear reader")
    both = "'dataset.skip=[\"more/not a pdf.pdf\",worse.pdf]'"
    expect_refusal(lambda: load(folder), "1 more cannot be read", both)
    expect_refusal(lambda: load(folder, skip=["more/not a pdf.pdf"]), both)
    collection = load(folder, skip=["more/not a pdf.pdf", "worse.pdf"])
    assert sources(collection) == ["a.pdf", "more/b.pdf"]
    assert collection.skipped == ("more/not a pdf.pdf", "worse.pdf")


def test_skipped_files_do_not_change_the_dataset(folder):
    without = load(folder, skip=["more/b.pdf"])
    (folder / "more" / "b.pdf").unlink()
    assert without.digest == load(folder).digest


def test_skip_is_a_list_of_files_that_exist_and_are_not_all(folder):
    unknown, every = ({"skip": skip} for skip in (["more/c.pdf"], ["a.pdf", "more/b.pdf"]))
    expect_refusal(lambda: load(folder, **unknown), "dataset.skip: ", "did you mean 'more/b.pdf'")
    expect_refusal(lambda: load(folder, **every), "dataset.skip: ", "expected to keep at least one")
    for skip in ("a.pdf", [1]):
        with pytest.raises(ConfigError, match=r"dataset\.skip: found .*, expected a list of file names"):
            load(folder, skip=skip)
