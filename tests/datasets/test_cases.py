"""Multiple-choice cases of any dataset format: what is accepted, and what they change in a dataset."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from read_strictly import all_misses, refusal

from ragsweep.core.errors import DatasetError
from ragsweep.datasets import Case, Collection, Dataset, Document, Judgment, Option, PageChunker, Query

OPTIONS = (Option("A", "Iron"), Option("B", "Rest"))
CASE = Case("q1", "A tired woman.", "What helps?", OPTIONS, "A", "Obstetrics", "easy", "anaemia", ("anaemia", None))
PAGE = Document.from_pages("a.pdf", [("1", "a.pdf#1", "Iron tablets")])
ANSWERED = Collection("small", "page", (PAGE,), (Query.of(CASE),), (Judgment("q1", "a.pdf#1", 1),), cases=(CASE,))


def chunked(**changes):
    return Dataset.from_collection(replace(ANSWERED, **changes), PageChunker())


def test_a_dataset_with_cases_needs_neither_judgments_nor_documents():
    dataset = chunked(judgments=())
    assert (len(dataset.passages), len(dataset.qrels.grade), dataset.cases) == (1, 0, (CASE,))
    dataset = chunked(documents=(), judgments=())
    assert dataset.profile == {"passages": 0, "units": 0, "queries": 1, "judgments": 0}
    assert (dataset.passage_units.tolist(), dataset.coverage().share) == ([], 0)
    blank = Document.from_pages("a.pdf", [("1", "a.pdf#1", "")])
    with pytest.raises(DatasetError, match="small: the documents contain no text, so nothing can be retrieved"):
        chunked(documents=(blank,))


@pytest.mark.parametrize("changes", [{"judgments": ()}, {"documents": (), "judgments": ()}])
def test_a_dataset_without_cases_needs_judgments(changes):
    with pytest.raises(DatasetError, match="small: no query has a judgment"):
        chunked(cases=(), **changes)


@pytest.mark.parametrize("cases", [(replace(CASE, query_id="q2"),), (CASE, CASE)])
def test_every_query_of_a_dataset_with_cases_has_one(cases):
    with pytest.raises(DatasetError, match="small: the cases and the queries have different ids; expected a query for"):
        chunked(cases=cases)


REFUSED = [
    ({"options": ()}, "expected 2 to 26 options with the letters A, B, C, ...; found none"),
    ({"options": OPTIONS[:1]}, "; found 'A'"),
    ({"options": OPTIONS[::-1]}, "; found 'BA'"),
    ({"options": (Option("AB", "x"), Option("", "y"))}, "; found 'AB'"),
    ({"options": (Option("A", "x"), Option("B", " "))}, "option B is blank"),
    ({"options": (Option("A", "x"), Option("B", 3))}, "option B is of type int"),
    ({"options": (Option("A", "x"), Option("B", "x "))}, "options A and B have the same text"),
    ({"correct": "C"}, "the correct answer 'C' is not an option (AB)"),
    ({"correct": "AB"}, "the correct answer 'AB' is not an option (AB)"),
    ({"conditions": ("anaemia",)}, "1 conditions for 2 options"),
    ({"conditions": ("anaemia", "\ud83e")}, "the condition of an option "),
    ({"case": "\ud83e"}, "the case contains an invalid surrogate"),
    ({"question": " "}, "the question is blank"),
    ({"question": "\ud83e"}, "the question contains an invalid surrogate"),
    ({"specialty": ""}, "the specialty '' is blank"),
    ({"difficulty": "a\nb"}, r"the difficulty 'a\nb' contains a control character"),
    ({"condition": "\ud83e"}, r"the condition '\ud83e' contains an invalid surrogate"),
]


def test_a_case_that_cannot_be_asked_or_judged_is_refused():
    lines = [(refusal(lambda c=changes: chunked(cases=(replace(CASE, **c),))), fact) for changes, fact in REFUSED]
    assert all_misses([*lines, *((line, "small: case 'q1': ") for line, _ in lines)]) == []


WORDS = st.sampled_from(["", "a", "b", "ab"])
NAMES = st.none() | WORDS
CASES = st.builds(
    Case,
    query_id=WORDS,
    case=WORDS,
    question=WORDS,
    options=st.lists(st.builds(Option, WORDS, WORDS), max_size=2).map(tuple),
    correct=WORDS,
    specialty=NAMES,
    difficulty=NAMES,
    condition=NAMES,
    conditions=st.lists(NAMES, max_size=2).map(tuple),
)


@given(CASES, CASES, st.sampled_from(Case.__slots__))
def test_two_datasets_share_a_digest_only_if_their_cases_are_equal(one, other, changed):
    other = replace(one, **{changed: getattr(other, changed)})
    digests = [replace(ANSWERED, cases=(case,)).digest for case in (one, other)]
    assert (digests[0] == digests[1]) == (one == other)
