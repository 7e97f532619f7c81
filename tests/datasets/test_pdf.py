"""PDF files and the questions about their pages."""

import json
import os
import shutil
import tempfile
from pathlib import Path

import hydra.utils  # noqa: F401 - loaded before `unprivileged`, who may not read the folder of Python itself
import pytest

from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.datasets import Dataset, PageChunker, pdf_dataset

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


def test_a_query_need_not_have_a_type(dataset):
    entries = [{"query": "p", "relevant_docs": ["1"]}, {**ENTRY, "query": "r", "query_type": None}, ENTRY]
    queries = dataset({"a.pdf": ["one"]}, queries=json.dumps(entries)).queries
    assert [query.query_type for query in queries] == [None, None, "t"]


def units(collection):
    return [judgment.unit for judgment in collection.judgments]


def test_documents_that_are_no_pdf_are_said_to_be_left(dataset, tmp_path, capsys):
    (tmp_path / "pdf" / "more").mkdir(parents=True)
    (tmp_path / "pdf" / "more" / "visitors.md").write_text("From nine to ten.")
    (tmp_path / "pdf" / "table.csv").write_text("1,2")
    assert [each.source for each in dataset({"a.pdf": ["Iron tablets"]}).documents] == ["a.pdf"]
    assert "1 document that is no PDF, not read: 'more/visitors.md'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("pages", "read"),
    [
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
        (["its right-\nhand limit", "a far-right-hand-side"], "its right-hand limit"),
        (["its right-\nhand limit", "the right hand"], "its righthand limit"),
        (["its right-\nhand limit", "a right-handed and bright-hand"], "its righthand limit"),
        (["its right-\nhand limit", "right-hand, righthand, righthand"], "its righthand limit"),
        (["a CD-\nROM", "the CD-ROM"], "a CD-ROM"),
    ],
)
def test_the_text_of_a_page_is_read_and_a_word_that_a_line_end_breaks_is_joined(dataset, pages, read):
    [document] = dataset({"a.pdf": pages}).documents
    assert document.text[: document.pages[0].end].rstrip() == read


def test_text_is_read_once_until_the_file_changes(dataset, store):
    pages = {"a.pdf": ["Iron tablets", "", "Fièvre: 38 °C"], "c/b.pdf": ["Iron tablets", "", "Fièvre: 38 °C"]}
    read, kept = dataset(pages, ["a.pdf#1"], store=store), dataset(pages, ["a.pdf#1"], store=store)
    assert read == kept == dataset(pages, ["a.pdf#1"])
    assert sorted(entry.stage for entry in store.entries()) == ["pages"]
    assert dataset({"a.pdf": ["Birth plan"]}, ["a.pdf#1"], store=store).documents[0].text == "Birth plan"


def test_cached_text_keeps_its_kind_of_page_numbers(dataset, store):
    settings = {"labels": ROMAN_THEN_ARABIC, "store": store}
    dataset({"a.pdf": ["preface"]}, **settings)
    assert (
        dataset({"a.pdf": ["preface"]}, ["i"], page_numbers="label", **settings).documents[0].pages[0].page_number
        == "i"
    )


def test_a_file_in_a_subfolder_is_named_by_its_relative_path(dataset):
    documents = dataset({"b.pdf": ["b"], "a/z.PDF": ["z"]}, ["b.pdf#1"]).documents
    assert [document.source for document in documents] == ["a/z.PDF", "b.pdf"]


def test_a_single_file_is_a_corpus(tmp_path, write_pdf):
    file = write_pdf(tmp_path / "only.pdf", "text")
    queries = tmp_path / "queries.json"
    queries.write_text('[{"query": "q", "relevant_docs": ["1"], "query_type": "t"}]')
    assert units(pdf_dataset("small", str(file), str(queries)).load()) == ["only.pdf#1"]


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


@pytest.mark.parametrize(
    ("key", "settings", "said"),
    [
        ("01", {}, r"entry 1: page '01' is not in the documents"),
        ("d.pdf#9", {}, r"\(d\.pdf has pages 1 to 2\)"),
        ("d.pdf", {}, r"\(d\.pdf has pages 1 to 2\)"),
        ("dd.pdf#1", {}, r"\(did you mean 'd\.pdf'"),
        ("zebra#1", {}, r"\(there are 'a\.pdf', 'b\.pdf', 'c\.pdf', 'd\.pdf'\)"),
        ("9", {}, r"\(a\.pdf has pages 1 to 1, .*c\.pdf has pages 1 to 1 and 1 more documents\)"),
        ("2", {}, r"page '2' is in 2 documents \('b\.pdf#2', 'd\.pdf#2'\).*set dataset\.match=page_number"),
        ("e.pdf", {"unit": "document"}, r"document 'e\.pdf' is not in the documents \(did you mean 'd\.pdf' or"),
        ("b.pdf#1", {"unit": "document"}, r"'b\.pdf#1' is not .*\(documents are judged, not their pages\)"),
    ],
)
def test_an_unknown_or_ambiguous_page_is_refused_with_those_that_exist(dataset, key, settings, said):
    with pytest.raises(DatasetError, match=said):
        dataset(MANY, [key], **settings)


def test_faults_say_which_column_may_be_the_document(tmp_path, write_pdf):
    for name in "ab":
        write_pdf(tmp_path / f"{name}.pdf", "one", "two")
    (tmp_path / "q.csv").write_text("query,relevant_docs,Book\nWho?,1,b.pdf\nWhy?,2,b.pdf\nHow?,1,a.pdf\n")
    said = "3 of 3 questions .*questions.document=Book questions.page=relevant_docs .*line 3: page '2'.*line 4: page"
    with pytest.raises(DatasetError, match=said):
        pdf_dataset("pdf", str(tmp_path), str(tmp_path / "q.csv")).load()


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


@pytest.mark.parametrize(("page_numbers", "said"), [("label", True), ("physical", False)])
def test_a_page_without_a_label_has_its_physical_number_which_is_said(dataset, capsys, page_numbers, said):
    assert units(dataset({"a.pdf": ["one", "two"]}, ["2"], page_numbers=page_numbers)) == ["a.pdf#2"]
    assert ("1 document has no page labels other than 1, 2, 3, ...: 'a.pdf'" in capsys.readouterr().err) == said


def test_every_passage_has_its_own_id_where_labels_repeat(dataset):
    restarts = [(0, "ARABIC", 1), (1, "ARABIC", 7), (2, "ARABIC", 7)]
    collection = dataset({"a.pdf": ["x", "y", "z"]}, labels=restarts, page_numbers="label")
    passages = Dataset.from_collection(collection, PageChunker()).passages
    assert len({passage.chunk_id for passage in passages}) == len(passages)


@pytest.mark.parametrize("key", ["1", "a.pdf#1"])
def test_a_label_that_several_pages_have_is_refused(dataset, key):
    restarts = [(0, "ARABIC", 1), (1, "ARABIC", 1)]
    with pytest.raises(DatasetError, match=r"entry 1: 2 pages of that document have the page number in 'a\.pdf#1'"):
        dataset({"a.pdf": ["x", "y"]}, [key], labels=restarts, page_numbers="label")


# Pages without text


def test_a_page_without_text_is_a_unit_that_is_named_and_never_retrieved(dataset):
    small = Dataset.from_collection(dataset({"a.pdf": ["one", "", "three"]}, ["2"]), PageChunker())
    assert small.units == ("a.pdf#1", "a.pdf#2", "a.pdf#3")
    assert [passage.page_number for passage in small.passages] == ["1", "3"]
    assert small.empty_pages == ("a.pdf#2",)


# Documents that cannot be read


@pytest.mark.parametrize(
    ("documents", "said"),
    [
        ("nowhere", r"dataset\.documents: .*nowhere does not exist; expected a PDF file or a folder"),
        ("empty", r"dataset\.documents: no PDF file in "),
        ("full", r"dataset\.queries: .*none\.json does not exist; expected a JSON, CSV, TSV or"),
    ],
)
def test_what_is_missing_names_its_setting(tmp_path, write_pdf, documents, said):
    (tmp_path / "empty").mkdir()
    write_pdf(tmp_path / "full/a.pdf", "one")
    with pytest.raises(DatasetError, match=said):
        pdf_dataset("small", str(tmp_path / documents), str(tmp_path / "none.json")).load()


def test_a_pdf_with_a_damaged_page_is_named(tmp_path):
    (tmp_path / "damaged.pdf").write_bytes(
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        b"2 0 obj<</Type/Pages/Kids[3 0 R 4 0 R]/Count 2>>endobj\n"  # object 4 is lost
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 100 100]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF"
    )
    with pytest.raises(DatasetError, match=r"damaged\.pdf"):
        pdf_dataset("small", str(tmp_path), "queries.json").load()


@pytest.fixture
def folder(tmp_path, write_pdf):
    """A folder with a PDF in it, and one in a subfolder."""
    write_pdf(tmp_path / "pdf" / "a.pdf", "one")
    write_pdf(tmp_path / "pdf" / "more" / "b.pdf", "two")
    (tmp_path / "queries.json").write_text(json.dumps([{**ENTRY, "relevant_docs": ["a.pdf#1"]}]))
    return tmp_path / "pdf"


def load(folder, **settings):
    return pdf_dataset("small", str(folder), str(folder.parent / "queries.json"), **settings).load()


def sources(collection):
    return [document.source for document in collection.documents]


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
    ("name", "said"),
    [
        ("pdf/more", r"pdf/more: cannot be listed \(Permission denied\)"),
        ("pdf/a.pdf", r"a\.pdf: cannot be read \(Permission denied\); 'dataset.skip=\[a\.pdf\]"),
        ("pdf/more/b.pdf", r"b\.pdf: cannot be read \(Permission denied\); 'dataset.skip=\[more/b\.pdf\]"),
        ("queries.json", r"queries\.json' cannot be read \(Permission denied\)"),
        (".", r"cannot be read \(Permission denied\)"),
    ],
)
def test_what_may_not_be_read_is_named(open_folder, name, said, request):
    (open_folder.parent / name).chmod(0)
    request.getfixturevalue("unprivileged")
    with pytest.raises(DatasetError, match=said):
        load(open_folder)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: path.symlink_to("gone.pdf"), r"x\.pdf: does not exist, or is a broken link; 'dataset\.skip=\[x"),
        (lambda path: path.symlink_to("x.pdf"), r"x\.pdf': cannot be read \(Too many levels of symbolic links\)"),
        (os.mkfifo, r"x\.pdf: is neither a file nor a folder; 'dataset\.skip=\[x\.pdf\]"),
    ],
)
def test_what_is_no_file_is_refused_and_not_waited_for(folder, make, said):
    make(folder / "x.pdf")
    with pytest.raises(DatasetError, match=said):
        load(folder)


def test_a_linked_folder_is_part_of_the_corpus(folder, tmp_path, write_pdf):
    write_pdf(tmp_path / "elsewhere" / "c.pdf", "three")
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    assert sources(load(folder)) == ["a.pdf", "link/c.pdf", "more/b.pdf"]


@pytest.mark.parametrize(
    "links",
    [
        {"more/loop": ".."},
        {"more/loop": "."},
        {"latest": "more"},
        {"more/x": "../other", "other/y": "../more"},
        {"self": "self"},
    ],
    ids=range(5),
)
def test_a_link_does_not_add_a_document_twice(folder, links):
    (folder / "other").mkdir()
    for link, target in links.items():
        (folder / link).symlink_to(target)
    assert sources(load(folder)) == ["a.pdf", "more/b.pdf"]


@pytest.mark.parametrize("name", [b"caf\xe9.pdf", b"a\nb.pdf"])
def test_a_file_name_that_cannot_be_written_is_refused(folder, name):
    shutil.copy(folder / "a.pdf", os.fsencode(folder) + b"/" + name)
    with pytest.raises(
        DatasetError, match=r"pdf: the file name '(caf\\udce9|a\\nb)\.pdf' contains .*; rename the file"
    ):
        load(folder)


def test_all_files_that_cannot_be_read_are_named_at_once(tmp_path, write_pdf):
    write_pdf(tmp_path / "b.pdf", "good")
    for name in ("a.pdf", "c d.pdf"):
        (tmp_path / name).write_text("no PDF")
    expected = r".*; 1 more cannot be read; 'dataset\.skip=\[a\.pdf,\"c d\.pdf\"\]' leaves them out"
    with pytest.raises(DatasetError, match=expected):
        pdf_dataset("small", str(tmp_path), "queries.json").load()


def test_a_file_that_cannot_be_read_can_be_left_out_by_name(folder):
    (folder / "more" / "not a pdf.pdf").write_text("Dear reader")
    with pytest.raises(DatasetError, match=r"'dataset\.skip=\[\"more/not a pdf\.pdf\"\]' leaves it out"):
        load(folder)
    (folder / "worse.pdf").write_text("Dear reader")
    with pytest.raises(DatasetError, match=r"'dataset\.skip=\[\"more/not a pdf\.pdf\",worse\.pdf\]' leaves it out"):
        load(folder, skip=["more/not a pdf.pdf"])
    collection = load(folder, skip=["more/not a pdf.pdf", "worse.pdf"])
    assert sources(collection) == ["a.pdf", "more/b.pdf"]
    assert collection.skipped == ("more/not a pdf.pdf", "worse.pdf")


def test_skipped_files_do_not_change_the_dataset(folder):
    without = load(folder, skip=["more/b.pdf"])
    (folder / "more" / "b.pdf").unlink()
    assert without.digest == load(folder).digest


@pytest.mark.parametrize(
    ("skip", "error", "said"),
    [
        (["more/c.pdf"], DatasetError, r"has no PDF file 'more/c\.pdf'; did you mean 'more/b\.pdf'"),
        (["a.pdf", "more/b.pdf"], DatasetError, r"leaves out every PDF file in .*pdf; expected to keep at least one"),
        ("a.pdf", ConfigError, r"found .*, expected a list of file names"),
        ([1], ConfigError, r"found .*, expected a list of file names"),
    ],
)
def test_skip_is_a_list_of_files_that_exist_and_are_not_all(folder, skip, error, said):
    with pytest.raises(error, match=rf"dataset\.skip: .*{said}"):
        load(folder, skip=skip)
