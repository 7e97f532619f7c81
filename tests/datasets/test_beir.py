"""Benchmarks in the layout of BEIR."""

import gzip
import json
import os

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from read_strictly import all_misses, expect_refusal, refusal

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
    collection = load(folder)
    assert [document.text for document in collection.documents] == ["Malaria Fever with chills.", "Rest."]
    assert [page.unit for document in collection.documents for page in document.pages] == ["d1", "d2"]
    assert [query.query_id for query in collection.queries] == ["q1"]
    assert collection.judgments == (Judgment("q1", "d1", 2), Judgment("q1", "d2", 0))


WAYS = [(b"", b""), (b"\n", b"\r\n"), (b"\n", b"\n\n"), (b"\t2\n", b"\t2.0\n"), (b"\td1\t", b"\t d1 \t"),
        (b"query-id\tcorpus-id\tscore\n", b""), (b"\t2\n", b"\t2\nq1\td1\t2\n")]  # fmt: skip


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_how_a_file_is_written_changes_nothing(folder, name, ending):
    """Zipped, with lines of Windows or empty lines, grades of pandas, spaces, no header, a line twice."""

    def read():
        dataset = Dataset.from_collection(load(folder), PageChunker())
        return dataset.texts, dataset.queries, dataset.qrels.unit.tolist(), dataset.qrels.grade.tolist()

    plain, content = read(), (folder / name).read_bytes()
    (folder / name).unlink()
    for old, new in WAYS:
        changed = content.replace(old, new)
        (folder / f"{name}{ending}").write_bytes(gzip.compress(changed) if ending else changed)
        assert read() == plain, (old, new)


def test_what_else_is_in_a_query_becomes_further_fields_and_a_field_can_be_the_type(folder):
    lines = [
        '{"_id": "q1", "text": "iron?", "kind": "short", "metadata": {"n": 1}}',
        '{"_id": "q2", "text": "tea?", "metadata": {}}',  # as most datasets of BEIR have it
    ]
    (folder / "queries.jsonl").write_text("\n".join(lines))
    (folder / "qrels" / "test.tsv").write_text("q1\td1\t1\nq2\td1\t1\n")
    first, second = load(folder).queries
    assert first.fields == (("kind", "short"), ("metadata", '{"n": 1}'))
    assert (first.query_type, second.fields) == (None, ())
    first, second = load(folder, type="kind").queries
    assert (first.query_type, first.fields, second.query_type) == ("short", (("metadata", '{"n": 1}'),), None)
    expect_refusal(lambda: load(folder, type="sort"), "queries.jsonl: no judged query has the field 'sort' (type)")


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


def test_what_is_missing_is_named(folder):
    lines = [
        (refusal(lambda: load(folder / "nowhere")), "nowhere does not exist; expected a folder with corpus"),
        (refusal(lambda: load(folder / "corpus.jsonl")), "corpus.jsonl is a file; expected a folder"),
    ]
    for name, fact in (("corpus.jsonl", "docs/recipes.md"), ("queries.jsonl", "nor does ")):
        (folder / name).rename(folder / "kept")
        line = refusal(lambda: load(folder))
        lines += [(line, f"{name} does not exist"), (line, fact)]
        (folder / "kept").rename(folder / name)
    (folder / "scifact").mkdir()  # the folder that an archive has within
    (folder / "corpus.jsonl").rename(folder / "scifact/corpus.jsonl")
    lines.append((refusal(lambda: load(folder)), "scifact has it"))
    assert all_misses(lines) == []


def test_a_pipe_is_refused_instead_of_waited_for(folder):
    lines = []
    for name in FILES:
        (folder / name).rename(folder / "kept")
        os.mkfifo(folder / name)
        lines.append((refusal(lambda: load(folder)), f"{name}: not a file"))
        (folder / name).unlink()
        (folder / "kept").rename(folder / name)
    assert all_misses(lines) == []


BAD_LINES = [
    ("corpus.jsonl", '{"_id": "d3", "text"', "line 3: not JSON"),
    ("queries.jsonl", '{"_id": " ", "text": "a"}', "line 3: the field '_id' is blank"),
    ("queries.jsonl", "{}", "line 3: the field '_id' is missing"),
    ("queries.jsonl", '{"_id": "q1", "text": "two"}', "line 3: "),
    ("qrels/test.tsv", "q1 0 d1 1", "line 4: found 4 columns, expected 3"),
    ("qrels/test.tsv", "q1\td1\thigh", 'line 4: the grade is "high"'),
    ("qrels/test.tsv", "q1\td1\t1.5", 'line 4: the grade is "1.5"'),
    ("qrels/test.tsv", f"q1\td1\t{10**30}", f'line 4: the grade is "{10**30}"'),
    ("qrels/test.tsv", f"q1\td1\t{'9' * 5_000}", f'line 4: the grade is "{"9" * 76}...'),
    ("qrels/test.tsv", "q1\t \t1", "line 4: the document '' is blank"),
    ("qrels/test.tsv", "q1\td1\t1", "line 4: 'd1' has the grade 1 for query 'q1', but 2 in line 2"),
]


def test_a_bad_line_is_named_with_file_and_number(folder):
    lines = []
    for name, bad, fact in BAD_LINES:
        kept = (folder / name).read_text()
        (folder / name).write_text(f"{kept}{bad}\n")
        lines.append((refusal(lambda: load(folder)), f"{name}, {fact}"))
        (folder / name).write_text(kept)
    assert all_misses(lines) == []


def test_qrels_of_other_data_are_refused(folder):
    lines = []
    for qrels, fact in (("q1\tx1\t1\n", "none of the documents in qrels/test.tsv"), ("q9\td1\t1", "no query 'q9'")):
        (folder / "qrels" / "test.tsv").write_text(qrels)
        lines.append((refusal(lambda: load(folder)), fact))
    assert all_misses(lines) == []


def test_a_query_without_text_is_refused_only_if_it_is_judged(folder):
    (folder / "queries.jsonl").write_text(QUERIES + '{"_id": "q3", "text": ""}\n')
    load(folder)
    (folder / "qrels" / "test.tsv").write_text(f"{QRELS}q3\td1\t2\n")
    expect_refusal(lambda: load(folder), "queries.jsonl, line 3: the field 'text' is blank")


# Whatever a line holds

ODD = st.sampled_from(
    ["", " ", "q1", "d1", "\ud83e", "a\nb", "1", "1.0", "-1", 7, 7.5, True, None, [], {}, [[]], 10**400]
)
OBJECTS = st.dictionaries(st.sampled_from(["_id", "text", "title"]), ODD).map(lambda row: json.dumps(row).encode())
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
    for file, content in zip(FILES, (CORPUS, QUERIES, QRELS), strict=True):
        (written / file).write_bytes(content.encode() + (line if file == name else b""))
    refusal(lambda: Dataset.from_collection(load(written), PageChunker()))
