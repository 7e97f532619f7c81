"""Datasets written in another format and read back: the same texts, queries, grades, and numbers."""

import shlex

import pytest
from application import Application, in_this_process
from conversions import converted, metrics
from hypothesis import given, settings
from hypothesis import strategies as st

from ragsweep.app.commands.convert import MLFLOW, TO
from ragsweep.core.errors import DatasetError
from ragsweep.datasets import (
    BeirDataset,
    Collection,
    Document,
    Judgment,
    OwnDataset,
    PageChunker,
    Query,
    RecursiveChunker,
    Reference,
    SpanQuestions,
    TextCorpus,
    TrecCorpus,
    TrecQuestions,
)
from ragsweep.datasets.formats.conversion import FORMATS, convert
from ragsweep.datasets.model.collection_checks import check
from ragsweep.datasets.model.pages import with_keys

PAGES = ("Iron tablets, daily.", "", "Birth plan; worms.")


def small(unit="document", **changed):
    """Two documents, two questions with types and fields, and judgments with grades."""
    documents = with_keys(
        [
            Document.from_pages("a b.pdf", [(str(n), f"a b.pdf#{n}", text) for n, text in enumerate(PAGES, start=1)]),
            Document.from_pages("c", [("1", "c#1", "Zinc for {} days.\nCafé.")]),
        ],
        unit if unit != "passage" else "page",
    )
    units = {"document": ("a b.pdf", "c"), "page": ("a b.pdf#3", "c#1"), "page_number": ("3", "1")}
    queries = (Query("q1", "What of\n iron?", "fact", (("author", "Zoë"), ("id", "x"))), Query("q 2", "Zinc"))
    judgments, references = (), ()
    if unit == "passage":
        references = (Reference("q1", "c", 0, 4), Reference("q1", "c", 9, 16), Reference("q 2", "a b.pdf", 0, 4))
    else:
        judgments = (Judgment("q1", units[unit][0], 2), Judgment("q 2", units[unit][1], 1))
    of = "page" if unit == "page_number" else unit
    fields = {"name": "small", "unit": of, "documents": documents, "queries": queries, "judgments": judgments}
    return Collection(**{**fields, "references": references, **changed})


def texts(collection):
    """The texts of the units, without the white space around them."""
    if collection.unit == "document":
        return {document.source: document.text.strip() for document in collection.documents}
    pages = [(page, document) for document in collection.documents for page in document.pages]
    return {page.unit: document.text[page.start : page.end].strip() for page, document in pages}


@pytest.mark.parametrize("to", ["beir", "trec", "table"])
@pytest.mark.parametrize("unit", ["document", "page"])
def test_texts_queries_and_grades_are_read_back(tmp_path, unit, to):
    collection = small(unit)
    _, again = converted(tmp_path, collection, to)
    plain = {name: name.replace(" ", "%20") if to == "trec" else name for name in [*texts(collection), "q1", "q 2"]}
    assert {plain[name]: text for name, text in texts(collection).items()} == texts(again)
    assert [query.text.split() for query in again.queries] == [query.text.split() for query in collection.queries]
    assert [query.query_id for query in again.queries] == [plain[query.query_id] for query in collection.queries]
    judged = {(plain[each.query_id], plain[each.unit], each.grade) for each in collection.judgments}
    assert set(again.judgments) == judged


def test_page_numbers_of_any_document_are_read_back_from_a_table(tmp_path):
    _, again = converted(tmp_path, small("page_number"), "table")
    assert set(again.judgments) == set(small("page_number").judgments)
    assert {page.unit for document in again.documents for page in document.pages} == {"1", "2", "3"}


def test_a_table_keeps_types_fields_and_pages(tmp_path):
    lost, again = converted(tmp_path, small("page"), "table")
    assert lost == ["1 field with the name of another column (id)"]
    assert again.documents == small("page").documents
    assert again.queries[0] == Query("q1", "What of\n iron?", "fact", (("author", "Zoë"),))


def test_beir_keeps_types_and_fields(tmp_path):
    _, again = converted(tmp_path, small(), "beir")
    assert again.queries == small().queries


def test_spans_keep_every_character_and_offset(tmp_path):
    odd = Document.from_pages("../etc/ü", [("1", "../etc/ü#1", "\ufeff a\r\nb\tc\x0b "), ("2", "../etc/ü#2", "\n\n")])
    collection = small("passage")
    references = (*collection.references[:2], Reference("q 2", "../etc/ü", 1, 5))
    collection = small("passage", documents=(*collection.documents, odd), references=references)
    lost, again = converted(tmp_path, collection, "spans")
    assert sorted(document.text for document in again.documents) == sorted(each.text for each in collection.documents)
    by_name = {document.source: document.text for document in again.documents}
    found = {(query, by_name[source][start:end], start) for query, source, start, end, _ in again.references}
    assert found == {("1", "Zinc", 0), ("1", "{} days", 9), ("2", " a\r\n", 1)}
    assert lost == [
        "the names of 3 documents, such as 'a b.pdf', which is 'a b.pdf.txt' now",
        "the ids of 2 queries, which are numbered from 1 now",
        "types and fields of 1 query",
    ]


LOSSES = [
    ("beir", "document", "the pages of 1 document"),
    ("beir", "page", "which document each of 4 pages is of: each is a document now"),
    ("trec", "page", "types and fields of 1 query"),
    ("trec", "document", "the names of 1 document, such as 'a b.pdf', which is 'a%20b.pdf' now"),
    ("trec", "document", "texts of 1 query in which line ends are spaces now"),
]


@pytest.mark.parametrize(("to", "unit", "sentence"), LOSSES)
def test_what_a_format_cannot_express_is_said_and_counted(tmp_path, to, unit, sentence):
    assert sentence in converted(tmp_path, small(unit), to)[0]


def test_judgments_of_what_is_not_in_the_corpus_are_lost_in_a_table_alone(tmp_path):
    absent = small(judgments=(*small().judgments, Judgment("q1", "absent", 1)))
    lost, _ = converted(tmp_path, absent, "table")
    assert "1 judgment of what is not in the corpus" in lost
    _, again = converted(tmp_path, absent, "beir")
    assert Judgment("q1", "absent", 1) in again.judgments


REFUSED = [
    ("beir", small("passage"), "small: judges spans of text, which beir cannot express; expected --to spans"),
    ("trec", small("passage"), "small: judges spans of text, which trec cannot express; expected --to spans"),
    ("table", small("passage"), "small: judges spans of text, which table cannot express; expected --to spans"),
    ("spans", small("page"), "small: judges pages and has no references, spans of text; expected references, or"),
    ("beir", small("page_number"), "small: judges page numbers of any document; expected --to table"),
    ("beir", small(documents=()), "small: has no documents; expected some to convert"),
    ("beir", small(judgments=()), "small: has no judgments; expected some to convert"),
    (
        "trec",
        small(queries=(Query("q 2", "a"), Query("q%202", "b"), Query("q1", "c"))),
        "the query ids 'q 2' and 'q%202' would both be 'q%202'; expected different ones",
    ),
    (
        "table",
        small(documents=(Document.from_pages("c", [("i", "c", "x"), ("i", "c", "y")]),)),
        "small: c has several pages 'i'; expected each number once, as with page_numbers=physical",
    ),
    (
        "spans",
        small("passage", references=(Reference("q1", "c", 0, 4), Reference("q1", "a b.pdf", 0, 4))),
        "small: query 'q1' has references in several documents; expected one document for a question",
    ),
]


@pytest.mark.parametrize(("to", "collection", "said"), REFUSED, ids=range(len(REFUSED)))
def test_what_a_format_cannot_express_at_all_is_refused_and_nothing_is_left(tmp_path, to, collection, said):
    with pytest.raises(DatasetError) as refused:
        convert(collection, to, tmp_path / "out")
    assert said in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_something_in_it_is_never_written_to(tmp_path):
    (tmp_path / "mine").write_text("mine")
    for out in (tmp_path, tmp_path / "mine"):
        with pytest.raises(DatasetError, match=r"--out: .* exists; expected a new folder, or an empty one"):
            convert(small(), "beir", out)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_nothing_is_left_of_a_conversion_that_fails_in_the_middle(tmp_path):
    broken = small(documents=(*small().documents, Document.from_pages("d", [("1", "d", "\ud800")])))
    with pytest.raises(UnicodeEncodeError):
        convert(broken, "beir", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


NAMES = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=8).filter(str.strip)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@st.composite
def collections(draw, *units):
    unit = draw(st.sampled_from(units or ["document", "page", "page_number"]))
    sources = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    texts = draw(st.lists(st.lists(TEXTS, min_size=1, max_size=3), min_size=len(sources), max_size=len(sources)))
    pages = zip(sources, texts, strict=True)
    documents = with_keys(
        (Document.from_pages(name, ((str(n), "", text) for n, text in enumerate(each, 1))) for name, each in pages),
        "page" if unit == "passage" else unit,
    )
    ids = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    fields = st.dictionaries(NAMES, TEXTS, max_size=2).map(lambda each: tuple(each.items()))
    queries = tuple(Query(each, draw(TEXTS.filter(str.strip)), draw(st.none() | NAMES), draw(fields)) for each in ids)
    judgments, references = [], []
    if unit == "passage":
        for query in ids:
            document = draw(st.sampled_from(documents))
            start = draw(st.integers(0, len(document.text)))
            end = draw(st.integers(0, len(document.text)))
            references += [Reference(query, document.source, start, end)] if start < end else []
    else:
        units = [page.unit for document in documents for page in document.pages]
        for query in ids:
            grades = draw(st.dictionaries(st.sampled_from(units), st.integers(-2, 3), max_size=3))
            judgments += [Judgment(query, name, grade) for name, grade in grades.items()]
    of = "page" if unit == "page_number" else unit
    return Collection("any", of, documents, queries, tuple(judgments), references=tuple(references))


def words(queries):
    return sorted(query.text.split() for query in queries)


@pytest.mark.usefixtures("long_work")
@given(collections(), st.sampled_from(["beir", "trec", "table"]))
def test_any_judgments_are_read_back_or_refused_in_one_line(tmp_path_factory, collection, to):
    said = ""
    try:
        check(collection)
        _, again = converted(tmp_path_factory.mktemp("any"), collection, to)
    except DatasetError as error:
        said = str(error)
    if not said:
        judged = {judgment.query_id for judgment in collection.judgments}
        asked = [query for query in collection.queries if to != "beir" or query.query_id in judged]
        assert words(again.queries) == words(asked)
        assert sorted(grade for *_, grade in again.judgments) == sorted(grade for *_, grade in collection.judgments)
        solid = [sorted("".join(text.split()) for text in texts(each).values()) for each in (again, collection)]
        assert solid[0] == solid[1]
    assert len(said.splitlines()) <= 1


@pytest.mark.usefixtures("long_work")
@settings(max_examples=30)
@given(collections("passage"))
def test_any_spans_are_read_back_or_refused_in_one_line(tmp_path_factory, collection):
    said = ""
    try:
        check(collection)
        _, again = converted(tmp_path_factory.mktemp("any"), collection, "spans")
    except DatasetError as error:
        said = str(error)
    if not said:
        assert sorted(each.text for each in again.documents) == sorted(each.text for each in collection.documents)
        before, after = ({each.source: each.text for each in made.documents} for made in (collection, again))
        kept = sorted(text for _, name, a, b, _ in collection.references if (text := before[name][a:b]).strip())
        assert sorted(after[name][a:b] for _, name, a, b, _ in again.references) == kept
    assert len(said.splitlines()) <= 1


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("to", ["beir", "trec", "table"])
def test_the_manual_gives_the_same_numbers_in_every_format(tmp_path, manual, to):
    lost, again = converted(tmp_path, manual, to)
    for chunker in (PageChunker(), RecursiveChunker()):
        assert metrics(again, chunker) == metrics(manual, chunker)
    assert to != "table" or lost == []


def test_queries_that_the_layout_of_beir_does_not_give_back_are_counted(tmp_path):
    collection = small(judgments=(Judgment("q1", "c", 1),))
    lost, again = converted(tmp_path, collection, "beir")
    assert "1 query without a judgment: they are written, but not read again" in lost
    assert [query.query_id for query in again.queries] == ["q1"]
    for to in ("trec", "table"):
        (tmp_path / "in").mkdir(exist_ok=True)
        assert len(converted(tmp_path / "in", collection, to)[1].queries) == 2


@pytest.mark.soak
@pytest.mark.real_data
@pytest.mark.parametrize("to", ["beir", "trec", "table"])
def test_scifact_gives_the_same_numbers_in_every_format(tmp_path, real_data, to):
    collection = BeirDataset("scifact", str(real_data / "scifact")).load()
    lost, again = converted(tmp_path, collection, to)
    assert [sentence for sentence in lost if not sentence.startswith("types and fields of ")] == []
    assert {document.source: document.text.strip() for document in again.documents} == {
        document.source: document.text.strip() for document in collection.documents
    }
    assert metrics(again, PageChunker()) == metrics(collection, PageChunker())


@pytest.mark.real_data
def test_the_references_of_chroma_give_the_same_numbers(tmp_path, real_data):
    folder = real_data / "chunking_evaluation"
    corpus, asked = TextCorpus(str(folder / "corpora")), SpanQuestions(str(folder / "questions_df.csv"))
    collection = OwnDataset("chroma", corpus, asked).load()
    lost, again = converted(tmp_path, collection, "spans")
    assert (lost, again.digest) == ([], collection.digest)


# Through the command


def test_the_command_offers_every_format():
    assert {*TO} == {*FORMATS, MLFLOW}


@pytest.mark.usefixtures("long_work")
def test_the_printed_command_has_the_settings_of_the_chunker_from_wherever_they_came(tmp_path, dataset):
    (tmp_path / "conf/chunker").mkdir(parents=True)
    mine = "_target_: ragsweep.datasets.FixedChunker\nsize: 77\noverlap: 0\nunit: characters\n"
    (tmp_path / "conf/chunker/mine.yaml").write_text(f"{mine}across_pages: true\ntokenizer: null\n")
    chosen = ["chunker=sentence", "chunker.size=300", "chunker.across_pages=true"]
    process = in_this_process(tmp_path, "convert", *dataset, *chosen, "--to", "trec", "--out", "a")
    assert process.stdout.splitlines()[1].endswith(" chunker=sentence chunker.size=300 chunker.across_pages=True")
    process = in_this_process(tmp_path, "convert", *dataset, "chunker=mine", "--to", "trec", "--out", "b")
    assert process.stdout.splitlines()[1].endswith(" chunker=mine"), process.stderr


@pytest.mark.usefixtures("processes")
def test_the_command_writes_what_it_says(tmp_path, cache):
    arguments = ["dataset=cho_manual", f"store.path={cache}", "--to", "trec", "--out", "made/here"]
    process = Application(tmp_path, cache).start_script("convert", *arguments)
    assert process.returncode == 0, process.stderr
    assert process.stderr == (
        "lost: which document each of 140 pages is of: each is a document now\nlost: types and fields of 133 queries\n"
    )
    assert process.stdout.splitlines()[0].startswith("made/here: 1 document, 133 queries, ")
    assert process.stdout.splitlines()[1].endswith(" chunker=recursive")
    assert sorted(path.name for path in (tmp_path / "made/here").iterdir()) == [
        "corpus.jsonl",
        "qrels.txt",
        "topics.tsv",
    ]
    asked = TrecQuestions(str(tmp_path / "made/here/topics.tsv"), str(tmp_path / "made/here/qrels.txt"))
    assert len(asked.read(TrecCorpus(str(tmp_path / "made/here/corpus.jsonl")).read()).queries) == 133


@pytest.mark.usefixtures("long_work")
def test_the_settings_that_it_shows_read_the_files_of_an_odd_folder(tmp_path, dataset):
    process = in_this_process(tmp_path, "convert", *dataset, "--to", "trec", "--out", "it's {a}, $b")
    assert process.returncode == 0, process.stderr
    shown = process.stdout.splitlines()[-1].removeprefix("read it with: ragsweep run ")
    again = in_this_process(tmp_path, "convert", *shlex.split(shown), "--to", "beir", "--out", "again")
    assert again.stdout.splitlines()[0].startswith("again: 7 documents, 5 queries, "), again.stderr


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["dataset=beir"], "dataset.path: no value; set it with dataset.path=VALUE"),
        (["dataset=bier"], "dataset=bier: expected one of"),
        (["dataset=beir", "dataset.path=nowhere"], "dataset.path: nowhere does not exist"),
        (["dataset=cho_manual", "dataset.pages=3"], "dataset.pages: no such setting"),
        ([], "small: judges pages and has no references"),
    ],
)
def test_the_command_says_in_one_line_what_is_wrong(tmp_path, dataset, arguments, said):
    process = in_this_process(tmp_path, "convert", *(arguments or dataset), "--to", "spans", "--out", "made")
    assert process.returncode == 2
    assert said in process.stderr.splitlines()[-1]
    assert "Traceback" not in process.stderr
    assert not (tmp_path / "made").exists()
