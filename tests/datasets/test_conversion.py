"""Datasets written in the layout of BEIR and read back: the same texts, queries, grades, and numbers."""

from dataclasses import replace

import pytest
from application import in_this_process, printed_arguments
from conversions import converted, metrics
from hypothesis import given
from hypothesis import strategies as st
from read_strictly import all_misses, expect_refusal, refusal

from ragsweep.datasets import (
    Collection,
    Document,
    Judgment,
    PageChunker,
    Query,
    RecursiveChunker,
    Reference,
    beir_dataset,
)
from ragsweep.datasets.formats.conversion import convert
from ragsweep.datasets.model.collection_checks import check
from ragsweep.datasets.model.pages import with_keys

PAGES = ("Iron tablets, daily.", "", "Birth plan; worms.")


def small(unit="document", **changed):
    """Two documents, two questions with types and fields, and judgments with grades."""
    paged = Document.from_pages("a b.pdf", [(str(n), f"a b.pdf#{n}", text) for n, text in enumerate(PAGES, start=1)])
    documents = with_keys([paged, Document.from_pages("c", [("1", "c#1", "Zinc for {} days.\nCafé.")])], unit)
    first, second = {"document": ("a b.pdf", "c"), "page": ("a b.pdf#3", "c#1"), "page_number": ("3", "1")}[unit]
    queries = (Query("q1", "What of\n iron?", "fact", (("author", "Zoë"), ("id", "x"))), Query("q 2", "Zinc"))
    judgments = (Judgment("q1", first, 2), Judgment("q 2", second, 1))
    return replace(Collection("small", unit.removesuffix("_number"), documents, queries, judgments), **changed)


def texts(collection):
    """The texts of the units, without the white space around them."""
    if collection.unit == "document":
        return {document.source: document.text.strip() for document in collection.documents}
    pages = [(page, document) for document in collection.documents for page in document.pages]
    return {page.unit: document.text[page.start : page.end].strip() for page, document in pages}


def test_texts_queries_and_grades_are_read_back_and_what_is_lost_is_said(tmp_path):
    lost_of = {
        "document": "the pages of 1 document",
        "page": "which document each of 4 pages is of: each is a document now",
    }
    absent = Judgment("q1", "absent", 1)
    for unit, lost in lost_of.items():
        collection = small(unit)
        losses, again = converted(tmp_path / unit, small(unit, judgments=(*collection.judgments, absent)))
        assert lost in losses
        assert texts(again) == texts(collection)
        assert again.queries == collection.queries
        assert set(again.judgments) == {*collection.judgments, absent}
    judgment, queries = Judgment("q1", "c", 1), (*small().queries, Query("q3", "Tea"))
    losses, again = converted(tmp_path / "unjudged", small(judgments=(judgment,), queries=queries))
    assert "2 queries without a judgment: they are written, but not read again" in losses
    assert [query.query_id for query in again.queries] == ["q1"]


SPANS = (Reference("q1", "c", 0, 4),)
BLANK = (Query("q 2", "a"), Query("q1 ", "c"))
REFUSED = [
    (
        replace(small(), unit="passage", judgments=(), references=SPANS),
        "small: judges spans of text, which beir cannot express",
    ),
    (small("page_number"), "small: judges page numbers of any document, which beir cannot express"),
    (small(documents=()), "small: has no documents"),
    (small(judgments=()), "small: has no judgments"),
    (small(queries=BLANK), "small: the id 'q1 ' has white space around it"),
]


def test_of_a_conversion_that_is_refused_or_fails_in_the_middle_nothing_is_left(tmp_path):
    out = tmp_path / "out"
    assert all_misses((refusal(lambda c=collection: convert(c, out)), fact) for collection, fact in REFUSED) == []
    broken = small(documents=(*small().documents, Document.from_pages("d", [("1", "d", "\ud800")])))
    with pytest.raises(UnicodeEncodeError):
        convert(broken, out)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mine").write_text("mine")
    for out in (tmp_path, tmp_path / "mine"):
        expect_refusal(lambda out=out: convert(small(), out), "--out: ", " exists")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


NAMES = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=8).filter(str.strip)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@st.composite
def collections(draw):
    unit = draw(st.sampled_from(["document", "page", "page_number"]))
    sources = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    texts = draw(st.lists(st.lists(TEXTS, min_size=1, max_size=3), min_size=len(sources), max_size=len(sources)))
    pages = zip(sources, texts, strict=True)
    documents = with_keys(
        (Document.from_pages(name, ((str(n), "", text) for n, text in enumerate(of, 1))) for name, of in pages),
        unit,
    )
    ids = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    fields = st.dictionaries(NAMES, TEXTS, max_size=2).map(lambda values: tuple(values.items()))
    queries = tuple(Query(name, draw(TEXTS.filter(str.strip)), draw(st.none() | NAMES), draw(fields)) for name in ids)
    judgments = []
    units = [page.unit for document in documents for page in document.pages]
    for query in ids:
        grades = draw(st.dictionaries(st.sampled_from(units), st.integers(-2, 3), max_size=3))
        judgments += [Judgment(query, name, grade) for name, grade in grades.items()]
    of = "page" if unit == "page_number" else unit
    return Collection("any", of, documents, queries, tuple(judgments))


def words(queries):
    return sorted(query.text.split() for query in queries)


@pytest.mark.usefixtures("long_work")
@given(collections())
def test_any_judgments_are_read_back_or_refused_in_one_line(tmp_path_factory, collection):
    conversions = []
    if refusal(lambda: check(collection)) or refusal(
        lambda: conversions.append(converted(tmp_path_factory.mktemp("any"), collection))
    ):
        return
    [(_, again)] = conversions
    judged = {judgment.query_id for judgment in collection.judgments}
    assert words(again.queries) == words(query for query in collection.queries if query.query_id in judged)
    assert sorted(grade for *_, grade in again.judgments) == sorted(grade for *_, grade in collection.judgments)
    solid = [sorted("".join(text.split()) for text in texts(read).values()) for read in (again, collection)]
    assert solid[0] == solid[1]


@pytest.mark.usefixtures("long_work")
def test_the_manual_gives_the_same_numbers(tmp_path, manual):
    _, again = converted(tmp_path, manual)
    for chunker in (PageChunker(), RecursiveChunker()):
        assert metrics(again, chunker) == metrics(manual, chunker)


@pytest.mark.soak
@pytest.mark.real_data
def test_scifact_gives_the_same_numbers(tmp_path, real_data):
    collection = beir_dataset("scifact", str(real_data / "scifact")).load()
    lost, again = converted(tmp_path, collection)
    assert [sentence for sentence in lost if not sentence.startswith("types and fields of ")] == []
    assert texts(again) == texts(collection)
    assert metrics(again, PageChunker()) == metrics(collection, PageChunker())


@pytest.mark.usefixtures("long_work")
def test_the_command_writes_what_it_says_and_the_settings_that_it_shows_read_it(tmp_path, dataset):
    process = in_this_process(tmp_path, "convert", *dataset, "--to", "beir", "--out", "it's {a}, $b")
    assert process.returncode == 0, process.stderr
    [lost] = [line for line in process.stderr.splitlines() if line.startswith("lost: ")]
    assert lost == "lost: which document each of 7 pages is of: each is a document now"
    made, command = process.stdout.splitlines()
    assert made.startswith("it's {a}, $b: 2 documents, 5 queries, ")
    assert command.endswith(" chunker=recursive")
    assert sorted(path.name for path in (tmp_path / "it's {a}, $b").iterdir()) == [
        "corpus.jsonl",
        "qrels",
        "queries.jsonl",
    ]
    _, *shown = printed_arguments(command)
    again = in_this_process(tmp_path, "convert", *shown, "--to", "beir", "--out", "again")
    assert again.stdout.splitlines()[0].startswith("again: 7 documents, 5 queries, "), again.stderr


@pytest.mark.usefixtures("long_work")
def test_the_printed_command_has_the_settings_of_the_chunker_from_wherever_they_came(tmp_path, dataset):
    (tmp_path / "conf/chunker").mkdir(parents=True)
    mine = "_target_: ragsweep.datasets.FixedChunker\nsize: 77\noverlap: 0\nunit: characters\n"
    (tmp_path / "conf/chunker/mine.yaml").write_text(f"{mine}across_pages: true\ntokenizer: null\n")
    chosen = "chunker=sentence chunker.size=300 chunker.across_pages=true"
    for out, chunker in (("a", chosen), ("b", "chunker=mine")):
        process = in_this_process(tmp_path, "convert", *dataset, *chunker.split(), "--to", "beir", "--out", out)
        assert process.stdout.splitlines()[1].endswith(f" {chunker}"), process.stderr


@pytest.mark.usefixtures("long_work")
def test_the_command_refuses_in_one_line(tmp_path):
    for arguments, fact in (
        (["dataset=beir", "dataset.path=nowhere"], "dataset.path: nowhere does not exist"),
        (["dataset=cho_manual", "--to", "spans"], "--to: invalid choice: 'spans'"),
    ):
        process = in_this_process(tmp_path, "convert", *arguments, "--to", "beir", "--out", "made")
        assert process.returncode == 2
        assert fact in process.stderr.splitlines()[-1]
        assert "Traceback" not in process.stderr
        assert not (tmp_path / "made").exists()
