"""Benchmarks in the layout of BEIR."""

import gzip
import json
import os

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragsweep.core.errors import DatasetError
from ragsweep.datasets import Dataset, Judgment, PageChunker, beir_dataset

CORPUS = (
    '{"_id": "d1", "title": "Malaria", "text": "Fever with chills."}\n{"_id": "d2", "title": "", "text": "Rest."}\n'
)
QUERIES = '{"_id": "q1", "text": "what causes chills"}\n{"_id": "q2", "text": "unjudged"}\n'
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text(CORPUS)
    (tmp_path / "queries.jsonl").write_text(QUERIES)
    (tmp_path / "qrels" / "test.tsv").write_text(QRELS)
    return tmp_path


def load(folder, **settings):
    return beir_dataset("small", str(folder), **settings).load()


FILES = ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv")


def test_judged_queries_documents_and_grades_are_read(folder):
    found = load(folder)
    assert [document.text for document in found.documents] == ["Malaria Fever with chills.", "Rest."]
    assert [page.unit for document in found.documents for page in document.pages] == ["d1", "d2"]
    assert [query.query_id for query in found.queries] == ["q1"]
    assert found.judgments == (Judgment("q1", "d1", 2), Judgment("q1", "d2", 0))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    ("old", "new"), [(b"", b""), (b"\n", b"\r\n"), (b"\n", b"\n\n"), (b"\t2\n", b"\t2.0\n"), (b"\td1\t", b"\t d1 \t"),
                     (b"query-id\tcorpus-id\tscore\n", b""), (b"\t2\n", b"\t2\nq1\td1\t2\n")]
)  # fmt: skip
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_how_a_file_is_written_changes_nothing(folder, name, old, new, ending):
    """Zipped, with lines of Windows or empty lines, grades of pandas, spaces, no header, a line twice."""

    def read():
        dataset = Dataset.from_collection(load(folder), PageChunker())
        return dataset.texts, dataset.queries, dataset.qrels.unit.tolist(), dataset.qrels.grade.tolist()

    plain = read()
    content = (folder / name).read_bytes().replace(old, new)
    (folder / name).unlink()
    (folder / f"{name}{ending}").write_bytes(gzip.compress(content) if ending else content)
    assert read() == plain


def test_what_else_is_known_of_a_query_becomes_further_fields(folder):
    lines = [
        '{"_id": "q1", "text": "iron?", "kind": "short", "metadata": {"n": 1}}',
        '{"_id": "q2", "text": "tea?", "metadata": {}}',  # as most datasets of BEIR have it
    ]
    (folder / "queries.jsonl").write_text("\n".join(lines))
    (folder / "qrels" / "test.tsv").write_text("q1\td1\t1\nq2\td1\t1\n")
    queries = {query.query_id: query for query in load(folder).queries}
    assert queries["q1"].fields == (("kind", "short"), ("metadata", '{"n": 1}'))
    assert (queries["q1"].query_type, queries["q2"].fields) == (None, ())


def test_a_field_can_be_the_type(folder):
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "iron?", "kind": "short"}')
    (folder / "qrels" / "test.tsv").write_text("q1\td1\t1\n")
    [query] = beir_dataset("small", str(folder), type="kind").load().queries
    assert (query.query_type, query.fields) == ("short", ())
    with pytest.raises(DatasetError, match=r"queries\.jsonl: no judged query has the field 'sort' \(type\)"):
        beir_dataset("small", str(folder), type="sort").load()


def test_the_split_names_the_qrels(folder):
    (folder / "qrels" / "dev.tsv").write_text("q2\td2\t1\n")
    assert load(folder, split="dev").judgments == (Judgment("q2", "d2", 1),)


def test_an_id_may_be_a_whole_number_as_pandas_writes_it(folder):
    (folder / "corpus.jsonl").write_text('{"_id": 1, "text": "Fever."}\n')
    (folder / "queries.jsonl").write_text('{"_id": 7, "text": "what causes chills"}\n')
    (folder / "qrels" / "test.tsv").write_text("7\t1\t1\n")
    collection = load(folder)
    assert collection.documents[0].source == "1"
    assert collection.judgments == (Judgment("7", "1", 1),)


# Bad inputs


@pytest.mark.parametrize(
    ("place", "missing", "said"),
    [
        ("nowhere", "", r"dataset\.path: .*nowhere does not exist; expected a folder with corpus"),
        ("corpus.jsonl", "", r"dataset\.path: .*corpus\.jsonl is a file; expected a folder"),
        ("", "corpus.jsonl", r"corpus\.jsonl does not exist, nor does .*\.gz.*docs/recipes\.md"),
        ("", "queries.jsonl", r"queries\.jsonl does not exist, nor does .*\.gz"),
    ],
)
def test_what_is_missing_is_named(folder, place, missing, said):
    if missing:
        (folder / missing).unlink()
    with pytest.raises(DatasetError, match=said):
        load(folder / place)


def test_a_folder_that_an_archive_has_within_is_named(folder):
    (folder / "scifact").mkdir()
    (folder / "corpus.jsonl").rename(folder / "scifact/corpus.jsonl")
    with pytest.raises(DatasetError, match="scifact has it"):
        load(folder)


@pytest.mark.parametrize("name", FILES)
def test_a_pipe_is_refused_instead_of_waited_for(folder, name):
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(DatasetError, match=f"{name}: not a file"):
        load(folder)


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("corpus.jsonl", '{"_id": "d3", "text"', r"corpus\.jsonl, line 3: not JSON"),
        ("queries.jsonl", '{"_id": " ", "text": "a"}', r"queries\.jsonl, line 3: the field '_id' is blank"),
        ("queries.jsonl", "{}", r"queries\.jsonl, line 3: the field '_id' is missing"),
        ("qrels/test.tsv", "q1 0 d1 1", r"test\.tsv, line 4: found 4 columns, expected 3 as in the first line"),
        ("qrels/test.tsv", "q1\td1\thigh", r"test\.tsv, line 4: the grade is \"high\"; expected a whole number"),
        ("qrels/test.tsv", "q1\td1\t1.5", r"test\.tsv, line 4: the grade is \"1\.5\"; expected a whole number"),
        (
            "qrels/test.tsv",
            f"q1\td1\t{10**30}",
            r"line 4: the grade is \"10*\"; expected a whole number from -1000000000 to 10",
        ),
        ("qrels/test.tsv", f"q1\td1\t{'9' * 5_000}", r"line 4: the grade is \"9{76}\.\.\.; expected a whole number"),
        ("qrels/test.tsv", "q1\t \t1", r"test\.tsv, line 4: the document '' is blank"),
        (
            "qrels/test.tsv",
            "q1\td1\t1",
            r"test\.tsv, line 4: 'd1' has the grade 1 for query 'q1', but 2 in line 2; expected one",
        ),
        ("qrels/test.tsv", "q9\td1\t1", r"queries\.jsonl: has no query 'q9', which is judged"),
        ("queries.jsonl", '{"_id": "q1", "text": "two"}', r"queries\.jsonl, line 3: .*'q1'"),
    ],
)
def test_a_bad_line_is_named_with_file_and_number(folder, name, line, message):
    with (folder / name).open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(DatasetError, match=message):
        load(folder)


def test_qrels_of_another_corpus_are_bad_input(folder):
    (folder / "qrels" / "test.tsv").write_text("q1\tx1\t1\n")
    with pytest.raises(DatasetError, match=r"none of the documents in qrels/test\.tsv is in the corpus"):
        load(folder)


def test_a_query_without_text_is_refused_only_if_it_is_judged(folder):
    (folder / "queries.jsonl").write_text(QUERIES + '{"_id": "q3", "text": ""}\n')
    load(folder)
    (folder / "qrels" / "test.tsv").write_text(f"{QRELS}q3\td1\t2\n")
    with pytest.raises(DatasetError, match=r"queries\.jsonl, line 3: the field 'text' is blank"):
        load(folder)


# Whatever a line holds

ODD = st.sampled_from(
    ["", " ", "q1", "d1", "\ud83e", "a\nb", "1", "1.0", "-1", 7, 7.5, True, None, [], {}, [[]], 10**400]
)
OBJECTS = st.dictionaries(st.sampled_from(["_id", "text", "title"]), ODD).map(lambda entry: json.dumps(entry).encode())
ROWS = st.lists(ODD, max_size=4).map(lambda fields: "\t".join(map(str, fields)).encode(errors="surrogatepass"))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    root = tmp_path_factory.mktemp("written")
    (root / "qrels").mkdir()
    return root


@pytest.mark.parametrize("name", FILES)
@given(line=st.binary(max_size=30) | OBJECTS | ROWS)
@example(line=b"\xff")
def test_any_line_loads_or_is_refused_in_one_line(written, name, line):
    for file, content in {"corpus.jsonl": CORPUS, "queries.jsonl": QUERIES, "qrels/test.tsv": QRELS}.items():
        (written / file).write_bytes(content.encode() + (line if file == name else b""))
    message = "one line"
    try:
        Dataset.from_collection(load(written), PageChunker())
    except DatasetError as error:
        message = str(error)
    assert len(message.splitlines()) == 1
