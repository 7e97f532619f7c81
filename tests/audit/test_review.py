"""The table of what nobody judged: written, filled in by people, and read back."""

import csv
import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.core.errors import DatasetError
from ragsweep.datasets import Collection, Dataset, Document, FixedChunker, Judgment, PageChunker, Query
from ragsweep_audit.review_table import COLUMNS, ToReview, judged_also, read_review, to_review, write_table

HOSTILE = '=HYPERLINK("http://x")</script><script>alert(1)</script>'
VISIBLE = st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"])
PAGES = [("1", "a b#1", "Iron."), ("2", "a b#2", HOSTILE), ("3", "a b#3", "Tea\nand lemon.")]
COLLECTION = Collection(
    "made",
    "page",
    (Document.from_pages("a b", PAGES),),
    (Query("-1", "@SUM(A1)?"), Query("q2", "What\nis it?"), Query("q3", "unjudged")),
    (Judgment("-1", "a b#1", 1), Judgment("q2", "a b#3", 2)),
)
ITEMS = Dataset.from_collection(COLLECTION, PageChunker())
RANKINGS = {"words": np.array([[1, 0, 2]] * 3), "meaning": np.array([[0, 1, -1]] * 3)}


@pytest.fixture
def listed():
    return to_review(ITEMS, RANKINGS)


def filled(path, *rows, columns="query_id,unit,relevant", encoding="utf-8"):
    """A table as a spreadsheet may save it."""
    path.write_text("\n".join([columns, *rows]), encoding=encoding)
    return path


def test_what_all_retrievers_rank_at_the_top_is_listed_with_text_and_ranks(listed):
    assert [row[:5] for row in listed.rows] == [
        ("-1", "@SUM(A1)?", "a b#2", HOSTILE, "words 1, meaning 2"),
        ("q2", "What is it?", "a b#2", HOSTILE, "words 1, meaning 2"),
        ("q2", "What is it?", "a b#1", "Iron.", "words 2, meaning 1"),
    ]
    assert listed.judgments[0] == Judgment("-1", "a b#2", 1)
    assert listed.sentence == (
        "Not judged, although all of 2 unlike retrievers rank them among the first 3: 3 pages for 2 queries."
    )


def test_the_depth_and_the_relevance_level_change_what_is_listed():
    assert len(to_review(ITEMS, RANKINGS, depth=1).rows) == 0
    assert to_review(ITEMS, RANKINGS, relevance_level=2).judgments[0].grade == 2


def test_the_best_passage_of_a_unit_is_shown():
    pages = [("1", "a", "first"), ("2", "a", "second"), ("3", "b", "other")]
    document = Document.from_pages("a", pages)
    made = Collection("made", "document", (document,), (Query("1", "?"),), (Judgment("1", "b", 1),))
    rankings = {"words": np.array([[0, 1, 2]]), "meaning": np.array([[2, 1, 0]]), "letters": np.array([[1, 0, 2]])}
    assert [row.text for row in to_review(Dataset.from_collection(made, PageChunker()), rankings).rows] == ["first"]


def test_a_page_of_a_passage_of_several_is_listed_only_if_none_of_them_is_relevant():
    pages = [("1", "a#1", "A cover."), ("2", "a#2", "Iron."), ("3", "a#3", "x" * 30), ("4", "a#4", "Tea.")]
    queries, judgments = (Query("1", "?"), Query("2", "?")), (Judgment("1", "a#2", 1), Judgment("2", "a#4", 1))
    made = Collection("made", "page", (Document.from_pages("a", pages),), queries, judgments)
    items = Dataset.from_collection(made, FixedChunker(15, 0, "characters", across_pages=True))
    assert items.units_of([0]) == {0, 1}
    rankings = dict.fromkeys(("words", "meaning"), np.array([[0], [0]]))
    assert [(row.query_id, row.unit) for row in to_review(items, rankings).rows] == [("2", "a#1")]


def test_a_table_is_safe_for_spreadsheets_and_read_back_as_it_was(listed, tmp_path):
    listed.write(tmp_path / "review.csv")
    raw = (tmp_path / "review.csv").read_text(encoding="utf-8-sig")
    head, *rows = csv.reader(raw.splitlines(keepends=True))
    assert tuple(head) == COLUMNS == ("query_id", "query", "unit", "text", "ranks", "relevant")
    assert not any(cell.startswith(("=", "@", "-")) for row in rows for cell in row)
    write_table(tmp_path / "filled.csv", [row._replace(relevant="yes") for row in listed.rows])
    verdicts = read_review(tmp_path / "filled.csv", COLLECTION, 1)
    assert verdicts.judgments == tuple(listed.judgments)
    assert read_review(tmp_path / "review.csv", COLLECTION, 1).open == 3


NAMES = st.builds(
    "{}{}.".format, st.sampled_from(["=", "+", "-", "@", "'", "''=", "\uff1d", "0", '"']), st.text(VISIBLE)
)


@given(st.lists(NAMES, min_size=1, max_size=3, unique=True))
def test_any_id_is_read_back(tmp_path_factory, names):
    documents = tuple(Document.from_pages(name, [("1", name, "x")]) for name in names)
    queries = tuple(Query(name, "?") for name in names)
    made = Collection("made", "document", documents, queries, (Judgment(names[0], names[0], 1),))
    items = Dataset.from_collection(made, PageChunker())
    found = to_review(items, {"a": np.array([[*range(len(names))]] * len(names))})
    path = tmp_path_factory.mktemp("table") / "review.csv"
    write_table(path, [row._replace(relevant="no") for row in found.rows])
    assert [each[:2] for each in read_review(path, made, 1).judgments] == [each[:2] for each in found.judgments]


@pytest.mark.parametrize(
    ("cell", "grade"),
    [("yes", 1), (" YES ", 1), ("y", 1), ("no", 0), ("N", 0), ("2", 2), ("3.0", 3), ("0", 0), ("'-1", -1), ("-1", -1)],
)
def test_yes_no_and_grades_become_judgments(tmp_path, cell, grade):
    path = filled(tmp_path / "t.csv", f"q2,a b#1,{cell}", "q2,a b#2,")
    verdicts = read_review(path, COLLECTION, 1)
    assert verdicts.judgments == (Judgment("q2", "a b#1", grade),)
    assert (verdicts.relevant, verdicts.irrelevant, verdicts.open) == (int(grade > 0), int(grade < 1), 1)


def test_yes_reaches_the_relevance_level(tmp_path):
    path = filled(tmp_path / "t.csv", "q2,a b#1,yes")
    assert read_review(path, COLLECTION, 3).judgments == (Judgment("q2", "a b#1", 3),)


def test_semicolons_and_the_marks_of_spreadsheets_are_read(tmp_path):
    path = filled(tmp_path / "t.csv", "q2;a b#1;yes\r", columns="query_id;unit;relevant\r", encoding="utf-8-sig")
    assert read_review(path, COLLECTION, 1).judgments == (Judgment("q2", "a b#1", 1),)


def test_judgments_that_are_there_already_are_not_added_again(tmp_path):
    path = filled(tmp_path / "t.csv", "q2,a b#3,2", "q2,a b#1,no", "q2,a b#1,0")
    assert read_review(path, COLLECTION, 1).judgments == (Judgment("q2", "a b#1", 0),)


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (["q2,a b#1,maybe"], "line 2, column relevant: found 'maybe', expected yes, no, a grade such as 2, or nothing"),
        (["q2,a b#1,", "q2,a b#1,1.5"], "line 3, column relevant: found '1.5'"),
        (["q2,a b#1,nan"], "line 2, column relevant: found 'nan'"),
        (["q9,a b#1,yes"], "line 2, column query_id: 'q9' is not in made"),
        (["q2,a b#9,yes"], "line 2, column unit: 'a b#9' is not in made"),
        (["q2,a b#1"], "line 2: found 2 cells, expected 3"),
        (["q2,a b#1,yes", "q2,a b#1,no"], "line 3, column relevant: found grade 0, but 1 in"),
        (["q2,a b#3,no"], "line 2: 'a b#3' has the grade 2 for query 'q2' already; found 0"),
        (['q2,"a b#1,yes'], "not CSV"),
    ],
)
def test_a_malformed_table_is_refused_with_row_and_column(tmp_path, rows, problem):
    path = filled(tmp_path / "t.csv", *rows)
    with pytest.raises(DatasetError, match=re.escape(problem)) as caught:
        read_review(path, COLLECTION, 1)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_such_table_is_refused(tmp_path):
    with pytest.raises(DatasetError, match=r"t.csv: the column 'relevant' is missing; found 'query_id', 'unit', 'x'"):
        read_review(filled(tmp_path / "t.csv", "1,2,3", columns="query_id,unit,x"), COLLECTION, 1)
    with pytest.raises(DatasetError, match=r"--apply: .*absent.csv does not exist"):
        read_review(tmp_path / "absent.csv", COLLECTION, 1)
    (tmp_path / "t.xlsx").write_bytes(b"PK\x03\x04\xff\xfe")
    with pytest.raises(DatasetError, match="not UTF-8"):
        read_review(tmp_path / "t.xlsx", COLLECTION, 1)


@pytest.mark.parametrize(
    ("content", "found"),
    [("", "none"), ("\n\n", "none"), ("<html>\n", "'<html>'"), ("unit,relevant\n", "'unit', 'relevant'")],
)
def test_a_file_without_the_columns_is_refused_even_if_it_has_no_rows(tmp_path, content, found):
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(DatasetError, match=rf"t.csv: the column 'query_id' is missing; found {found}$"):
        read_review(tmp_path / "t.csv", COLLECTION, 1)


def test_a_table_without_rows_says_nothing(tmp_path):
    assert read_review(filled(tmp_path / "t.csv"), COLLECTION, 1) == ((), 0, 0, 0)


def triples(dataset):
    return set(zip(*(column.tolist() for column in vars(dataset.qrels).values()), strict=True))


def test_further_judgments_give_the_dataset_that_has_them():
    added = [Judgment("-1", "a b#2", 3), Judgment("q2", "a b#1", 0)]
    expected = Dataset.from_collection(
        Collection("made", "page", COLLECTION.documents, COLLECTION.queries, (*COLLECTION.judgments, *added)),
        PageChunker(),
    )
    found = judged_also(ITEMS, [*added, Judgment("q3", "a b#1", 1)])  # a query without judgments stays without
    triples = [
        set(zip(*(each.tolist() for each in vars(one.qrels).values()), strict=True)) for one in (found, expected)
    ]
    assert triples[0] == triples[1]
    assert found.digest != ITEMS.digest


def test_a_page_has_the_rows_as_data_that_cannot_end_its_script(listed, tmp_path):
    listed.write(tmp_path / "review.html")
    page = (tmp_path / "review.html").read_text(encoding="utf-8")
    assert page.count("<script") == page.count("</script") == 1
    [rows] = re.findall(r"^const rows = (.*);$", page, re.MULTILINE)
    assert json.loads(rows) == [row._asdict() for row in listed.rows]


def test_nothing_is_overwritten(listed, tmp_path):
    for name in ("review.csv", "review.html"):
        (tmp_path / name).write_text("filled in")
        with pytest.raises(FileExistsError):
            listed.write(tmp_path / name)
    assert isinstance(listed, ToReview)
