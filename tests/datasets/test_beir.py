"""Benchmarks in the layout of BEIR."""

import gzip
import json
import os

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from read_strictly import all_misses, expect_refusal, refusal

from ragsweep.datasets import Dataset, Judgment, PageChunker, beir_dataset

FILES = {
    "corpus.jsonl": b'{"_id": "d1", "title": "Malaria", "text": "Fever with chills."}\n'
    b'{"_id": "d2", "title": "", "text": "Rest."}\n',
    "queries.jsonl": b'{"_id": "q1", "text": "what causes chills"}\n{"_id": "q2", "text": "unjudged"}\n',
    "qrels/test.tsv": b"query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n",
}


def written(folder, files=None):
    """A folder with these files in place of some; those that are None are left out."""
    (folder / "qrels").mkdir(exist_ok=True)
    for name, content in {**FILES, **(files or {})}.items():
        (folder / name).unlink(missing_ok=True)
        if content is not None:
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def load(folder, **settings):
    return beir_dataset("small", str(folder), **settings).load()


def test_judged_queries_documents_and_grades_are_read_and_the_split_names_the_qrels(tmp_path):
    collection = load(written(tmp_path))
    assert [document.text for document in collection.documents] == ["Malaria Fever with chills.", "Rest."]
    assert [page.unit for document in collection.documents for page in document.pages] == ["d1", "d2"]
    assert [query.query_id for query in collection.queries] == ["q1"]
    assert collection.judgments == (Judgment("q1", "d1", 2), Judgment("q1", "d2", 0))
    (tmp_path / "qrels/dev.tsv").write_text("q2\td2\t1\n")
    assert load(tmp_path, split="dev").judgments == (Judgment("q2", "d2", 1),)
    numbered = {"corpus.jsonl": '{"_id": 1, "text": "Fever."}\n', "queries.jsonl": '{"_id": 7, "text": "what"}\n'}
    assert load(written(tmp_path, {**numbered, "qrels/test.tsv": "7\t1\t1\n"})).judgments == (Judgment("7", "1", 1),)


WAYS = [(b"", b""), (b"\n", b"\r\n"), (b"\n", b"\n\n"), (b"\t2\n", b"\t2.0\n"), (b"\td1\t", b"\t d1 \t"),
        (b"query-id\tcorpus-id\tscore\n", b""), (b"\t2\n", b"\t2\nq1\td1\t2\n")]  # fmt: skip


def test_how_a_file_is_written_changes_nothing(tmp_path):
    """Zipped, with lines of Windows or empty lines, grades of pandas, spaces, no header, a line twice."""

    def read():
        dataset = Dataset.from_collection(load(tmp_path), PageChunker())
        return dataset.texts, dataset.queries, dataset.qrels.unit.tolist(), dataset.qrels.grade.tolist()

    written(tmp_path)
    plain, wrong = read(), []
    for name, content in FILES.items():
        for old, new in WAYS:
            changed = content.replace(old, new)
            written(tmp_path, {name: changed})
            wrong += [(name, old, new)] if read() != plain else []
            written(tmp_path, {name: None, f"{name}.gz": gzip.compress(changed)})
            wrong += [(f"{name}.gz", old, new)] if read() != plain else []
            (tmp_path / f"{name}.gz").unlink()
    assert wrong == []


def test_what_else_is_in_a_query_becomes_further_fields_and_a_field_can_be_the_type(tmp_path):
    lines = [
        '{"_id": "q1", "text": "iron?", "kind": "short", "metadata": {"n": 1}}',
        '{"_id": "q2", "text": "tea?", "metadata": {}}',  # as most datasets of BEIR have it
    ]
    written(tmp_path, {"queries.jsonl": "\n".join(lines), "qrels/test.tsv": "q1\td1\t1\nq2\td1\t1\n"})
    first, second = load(tmp_path).queries
    assert first.fields == (("kind", "short"), ("metadata", '{"n": 1}'))
    assert (first.query_type, second.fields) == (None, ())
    first, second = load(tmp_path, type="kind").queries
    assert (first.query_type, first.fields, second.query_type) == ("short", (("metadata", '{"n": 1}'),), None)
    expect_refusal(lambda: load(tmp_path, type="sort"), "queries.jsonl: no judged query has the field 'sort' (type)")


BAD_LINES = [
    ("corpus.jsonl", '{"_id": "d3", "text"', "line 3: not JSON"),
    ("queries.jsonl", '{"_id": " ", "text": "a"}', "line 3: the field '_id' is blank"),
    ("queries.jsonl", "{}", "line 3: the field '_id' is missing"),
    ("queries.jsonl", '{"_id": "q1", "text": "two"}', "line 3: "),
    ("qrels/test.tsv", "q1\td1\thigh", 'line 4: the grade is "high"'),
    ("qrels/test.tsv", f"q1\td1\t{10**30}", f'line 4: the grade is "{10**30}"'),
    ("qrels/test.tsv", f"q1\td1\t{'9' * 5_000}", f'line 4: the grade is "{"9" * 76}...'),
    ("qrels/test.tsv", "q1\t \t1", "line 4: the document '' is blank"),
    ("qrels/test.tsv", "q1\td1\t1", "line 4: 'd1' has the grade 1 for query 'q1', but 2 in line 2"),
]
OF_OTHER_DATA = [
    ({"corpus.jsonl": None}, "corpus.jsonl does not exist"),
    ({"corpus.jsonl": None}, "docs/recipes.md"),
    ({"queries.jsonl": None}, "queries.jsonl does not exist"),
    ({"queries.jsonl": None}, "nor does "),
    ({"qrels/test.tsv": "q1\tx1\t1\n"}, "none of the documents in qrels/test.tsv"),
    ({"qrels/test.tsv": "q9\td1\t1"}, "no query 'q9'"),
    ({"queries.jsonl": '{"_id": "q1", "text": ""}\n'}, "queries.jsonl, line 1: the field 'text' is blank"),
]


def test_what_is_missing_bad_or_of_other_data_is_named_with_file_and_line(tmp_path):
    changes = [({name: FILES[name] + bad.encode()}, f"{name}, {fact}") for name, bad, fact in BAD_LINES]
    lines = [(refusal(lambda to=to: load(written(tmp_path, to))), fact) for to, fact in [*changes, *OF_OTHER_DATA]]
    for name in FILES:
        os.mkfifo(written(tmp_path, {name: None}) / name)  # not waited for
        lines.append((refusal(lambda: load(tmp_path)), f"{name}: not a file"))
    lines.append((refusal(lambda: load(tmp_path / "nowhere")), "nowhere does not exist; expected a folder with corpus"))
    lines.append(
        (refusal(lambda: load(written(tmp_path) / "corpus.jsonl")), "corpus.jsonl is a file; expected a folder")
    )
    (tmp_path / "scifact").mkdir()  # the folder that an archive has within
    (tmp_path / "corpus.jsonl").rename(tmp_path / "scifact/corpus.jsonl")
    lines.append((refusal(lambda: load(tmp_path)), "scifact has it"))
    assert all_misses(lines) == []
    blank = FILES["queries.jsonl"] + b'{"_id": "q3", "text": ""}\n'
    assert len(load(written(tmp_path, {"queries.jsonl": blank})).queries) == 1  # it is not judged


ODD = st.sampled_from(
    ["", " ", "q1", "d1", "\ud83e", "a\nb", "1", "1.0", "-1", 7, 7.5, True, None, [], {}, [[]], 10**400]
)
OBJECTS = st.dictionaries(st.sampled_from(["_id", "text", "title"]), ODD).map(lambda row: json.dumps(row).encode())
ROWS = st.lists(ODD, max_size=4).map(lambda fields: "\t".join(map(str, fields)).encode(errors="surrogatepass"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("written")


@pytest.mark.parametrize("name", FILES)
@given(line=st.binary(max_size=30) | OBJECTS | ROWS)
@example(line=b"\xff")
def test_any_line_loads_or_is_refused_in_one_line(folder, name, line):
    written(folder, {name: FILES[name] + line})
    refusal(lambda: Dataset.from_collection(load(folder), PageChunker()))
