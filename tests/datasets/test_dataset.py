"""The corpus, its queries, its judgments and its cases: what is accepted, and what is made of it."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from read_strictly import all_misses, expect_refusal, refusal

from ragsweep.datasets import (
    Case,
    Chunker,
    Collection,
    Dataset,
    Document,
    Judgment,
    Option,
    Page,
    PageChunker,
    Query,
    RecursiveChunker,
    Reference,
)
from ragsweep.datasets.model.dataset import Passage
from ragsweep.datasets.model.span_judgments import relevant_passages
from ragsweep.tasks.ranking.coverage import say_unusual, without_relevant
from ragsweep.text.tokens import plain_words


def documents(*texts):
    return (Document.from_pages("a.pdf", [(str(n), f"a.pdf#{n}", text) for n, text in enumerate(texts, start=1)]),)


FIRST, SECOND = Judgment("q1", "a.pdf#1", 1), Judgment("q2", "a.pdf#2", 2)
QUERIES = (Query("q1", "iron", "factual"), Query("q2", "plan", "factual"))
SMALL = Collection("small", "page", documents("Iron tablets", "Birth plan"), QUERIES, (FIRST, SECOND))
OPTIONS = (Option("A", "Iron"), Option("B", "Rest"))
CASE = Case("q1", "A tired woman.", "What helps?", OPTIONS, "A", "Obstetrics", "easy", "anaemia", ("anaemia", None))
ANSWERED = replace(SMALL, queries=(Query.of(CASE),), judgments=(FIRST,), cases=(CASE,))


def chunked(collection=SMALL, chunker=None, **changes):
    return Dataset.from_collection(replace(collection, **changes), chunker or PageChunker())


def units_of(dataset):
    return [dataset.units[unit] for unit in dataset.passage_units]


@given(
    st.lists(st.text(st.sampled_from("ab é🙂\n\f. "), max_size=60), min_size=1, max_size=4),
    st.integers(1, 30).flatmap(
        lambda size: st.builds(RecursiveChunker, size=st.just(size), overlap=st.integers(0, size - 1))
    ),
)
def test_a_passage_is_its_span_of_the_documents_text(texts, chunker):
    document = documents(*texts, "so that there is a passage")[0]
    passages = chunked(documents=(document,), chunker=chunker).passages
    assert all(passage.text == document.text[passage.start : passage.end] for passage in passages)


class Cutting(Chunker):
    """A user chunker that returns the same spans for every page."""

    def __init__(self, spans):
        self.spans = spans

    def split(self, text):
        return self.spans


def test_cached_passages_equal_those_that_were_split_and_those_of_a_user_chunker_are_not_cached(store):
    collection = replace(SMALL, documents=documents("one two three", "", "four five six"))
    chunkers = [RecursiveChunker(10, 5), RecursiveChunker(10, 0), PageChunker()]
    cut = [Dataset.from_collection(collection, chunker).passages for chunker in chunkers]
    for _ in range(2):
        assert [Dataset.from_collection(collection, chunker, store).passages for chunker in chunkers] == cut
        assert len(Dataset.from_collection(SMALL, Cutting([(0, 5), (5, 10)]), store).passages) == 4
    assert len(list(store.entries())) == len(chunkers)


def test_every_passage_belongs_to_the_unit_of_its_page_or_is_one():
    texts = documents("one two", "three")
    assert units_of(chunked(documents=texts, chunker=RecursiveChunker(5, 0))) == ["a.pdf#1", "a.pdf#1", "a.pdf#2"]
    of_passages = chunked(unit="passage", judgments=(Judgment("q1", "a.pdf#2/0", 1),))
    assert units_of(of_passages) == ["a.pdf#1/0", "a.pdf#2/0"]


def test_a_judged_unit_that_is_not_in_the_corpus_is_kept_and_coverage_is_the_share_of_those_with_a_passage():
    absent = Judgment("q1", "b.pdf#7", 1)
    dataset = chunked(judgments=(FIRST, absent, Judgment("q1", "b.pdf#8", 0)))
    assert [dataset.units[unit] for unit in dataset.qrels.unit] == ["a.pdf#1", "b.pdf#7", "b.pdf#8"]
    assert dataset.coverage().share == 0.5
    assert chunked(judgments=(FIRST._replace(grade=2), absent)).coverage(relevance_level=2).share == 1


def test_spans_are_within_their_page_and_may_be_numpy_arrays():
    for spans in (np.array([[0, 2], [1, 4]]), [*np.array([[0, 2], [1, 4]])]):
        assert chunked(documents=documents("apples", "pies"), chunker=Cutting(spans)).texts == (
            "ap",
            "ppl",
            "pi",
            "ies",
        )
    beyond = [(0, 3), (3, 60)]  # behind the end stands the next page
    for spans in (beyond, [(-2, 3)], [(2, 2)], [(0.0, 3.5)], [(0, 1, 2)], [3], ["ab"], None):
        wrong = f"Cutting.split: found {spans[-1] if spans else None!r}"
        expect_refusal(lambda spans=spans: chunked(chunker=Cutting(spans)), "chunker: ", wrong)


NUMBERS, UNITS, TEXTS = (
    st.sampled_from(words) for words in (["1", "i"], ["1", "a#1"], ["", "a", "a\fb", "a\f", "\fb"])
)
IDS = st.sampled_from(["1", "2", "None"])
PLACES = st.integers(0, 1)
PAGE = st.builds(Page, PLACES, NUMBERS, UNITS, PLACES, PLACES)
COLLECTIONS = st.builds(
    Collection,
    st.sampled_from(["one", "other"]),
    st.sampled_from(["page", "document"]),
    st.lists(st.builds(Document, IDS, TEXTS, st.lists(PAGE, max_size=2).map(tuple)), max_size=2).map(tuple),
    st.lists(st.builds(Query, IDS, TEXTS, st.none() | IDS), max_size=2).map(tuple),
    st.lists(st.builds(Judgment, IDS, UNITS, PLACES), max_size=2).map(tuple),
)
WORDS = st.sampled_from(["", "a", "b", "ab"])
NAMES, OF_OPTIONS = st.none() | WORDS, st.lists(st.builds(Option, WORDS, WORDS), max_size=2).map(tuple)
CONDITIONS = st.lists(NAMES, max_size=2).map(tuple)
CASES = st.builds(Case, WORDS, WORDS, WORDS, OF_OPTIONS, WORDS, NAMES, NAMES, NAMES, CONDITIONS)


@given(COLLECTIONS, COLLECTIONS, st.sampled_from(["unit", "documents", "queries", "judgments"]))
def test_two_collections_share_a_digest_only_if_all_but_their_names_is_equal(one, other, changed):
    other = replace(one, **{"name": other.name, changed: getattr(other, changed)})
    assert (one.digest == other.digest) == (replace(one, name="") == replace(other, name=""))


@given(st.lists(PAGE, max_size=2), st.lists(PAGE, max_size=2))
def test_every_field_of_a_page_changes_the_digest(one, other):
    of_one, of_other = (
        replace(SMALL, documents=(Document("a.pdf", "text", tuple(pages)),)).digest for pages in (one, other)
    )
    assert (of_one == of_other) == (one == other)


@given(CASES, CASES, st.sampled_from(Case.__slots__))
def test_two_datasets_share_a_digest_only_if_their_cases_are_equal(one, other, changed):
    other = replace(one, **{changed: getattr(other, changed)})
    digests = [replace(ANSWERED, cases=(case,)).digest for case in (one, other)]
    assert (digests[0] == digests[1]) == (one == other)


def test_references_and_fields_are_part_of_the_digest_and_other_chunks_only_of_that_of_the_passages():
    plain = spans(Reference("q1", "a.pdf", 0, 4))
    more = replace(plain, queries=(replace(QUERIES[0], fields=(("author", "x"),)), QUERIES[1]))
    assert len({SMALL.digest, plain.digest, spans(Reference("q1", "a.pdf", 0, 5)).digest, more.digest}) == 4
    coarse, fine = chunked(), chunked(chunker=RecursiveChunker(6, 0))
    assert coarse.digest == fine.digest
    assert coarse.digest_of_passages != fine.digest_of_passages


LEFT, RIGHT = SMALL.documents[0].pages
SPAN = Reference("q1", "a.pdf", 0, 4)


def spans(*references, **changes):
    return replace(SMALL, unit="passage", judgments=(), references=references, **changes)


def paged(*pages):
    return {"documents": (replace(SMALL.documents[0], pages=pages),)}


INVALID = [  # what is changed in `SMALL`, and the fact that is named
    ({"judgments": (FIRST, SECOND, FIRST._replace(grade=2))}, "found the grades 1 and 2, expected one"),
    ({"judgments": (FIRST._replace(grade=10**30),)}, f"the grade {10**30}"),
    ({"judgments": (FIRST._replace(grade=0.5),)}, "found the grade 0.5"),
    ({"judgments": (FIRST._replace(query_id="q3"),)}, "'a.pdf#1' for query 'q3': the query does not exist"),
    ({"judgments": (Judgment("q1", " ", 1),)}, "the judged unit ' ' is blank"),
    ({"judgments": ()}, "no query has a judgment, so nothing can be measured"),
    ({"documents": (), "judgments": ()}, "no query has a judgment"),
    ({"queries": QUERIES * 2}, "the query id 'q1' occurs 2 times; expected once"),
    ({"documents": SMALL.documents * 2}, "the document 'a.pdf' occurs 2 times; expected once"),
    ({"queries": (Query("", "iron"),)}, "the query id '' is blank"),
    ({"queries": (Query(7, "iron"),)}, "the query id 7 is of type int; expected a string"),
    ({"queries": (Query("q\n1", "iron"),)}, r"the query id 'q\n1' contains a control character or a line end"),
    ({"queries": (Query("q1", "iron", "\x1b[2J"),)}, r"the query type '\x1b[2J' contains a control character"),
    ({"queries": (Query("q1", "\ud83e"),)}, "the text of query 'q1' contains an invalid surrogate"),
    ({"queries": (Query("q1", None),)}, "the text of query 'q1' is of type NoneType; expected a string"),
    ({"queries": (Query("q1", " "),)}, "the text of query 'q1' is blank"),
    (paged(LEFT, replace(RIGHT, start=2)), "found characters 2 to 23, expected"),
    (paged(LEFT, replace(RIGHT, end=200)), "expected them within 12 to 23"),
    ({"documents": documents("iron \ud83e")}, "the text of document 'a.pdf' contains an invalid surrogate"),
    ({"documents": documents("", "  \n")}, "the documents contain no text, so nothing can be retrieved"),
    ({"unit": "page", "references": (SPAN,)}, "expected the unit passage and no other judgments"),
]
INVALID_REFERENCES = [  # what is changed in a dataset of spans
    ({"references": (SPAN._replace(query_id="q3"),)}, "for query 'q3': the query does not exist"),
    ({"references": (SPAN._replace(source="b.pdf"),)}, "in 'b.pdf' for query 'q1': the document does not exist"),
    ({"references": (SPAN._replace(start=20, end=40),)}, "found characters 20 to 40, expected them within 0 to 23"),
    ({"references": (SPAN._replace(start=4),)}, "found characters 4 to 4"),
    ({"references": (SPAN._replace(start=0.0, end=2.0),)}, "found characters 0.0 to 2.0, expected whole numbers"),
    ({"unit": "page"}, "expected the unit passage and no other judgments"),
    ({"judgments": SMALL.judgments}, "expected the unit passage and no other judgments"),
]
INVALID_CASES = [  # what is changed in a case
    ({"options": ()}, "expected 2 to 26 options with the letters A, B, C, ...; found none"),
    ({"options": OPTIONS[:1]}, "; found 'A'"),
    ({"options": OPTIONS[::-1]}, "; found 'BA'"),
    ({"options": (Option("AB", "x"), Option("", "y"))}, "; found 'AB'"),
    ({"options": (Option("A", "x"), Option("B", " "))}, "option B is blank"),
    ({"options": (Option("A", "x"), Option("B", 3))}, "option B is of type int"),
    ({"options": (Option("A", "x"), Option("B", "x "))}, "options A and B have the same text"),
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
DIFFERENT = "the cases and the queries have different ids; expected a query for"


def test_an_invalid_collection_is_refused_in_one_line():
    changes = [(SMALL, *row) for row in INVALID] + [(spans(SPAN), *row) for row in INVALID_REFERENCES]
    changes += [(ANSWERED, {"cases": cases}, DIFFERENT) for cases in ((replace(CASE, query_id="q2"),), (CASE, CASE))]
    changes += [(ANSWERED, {"documents": documents("")}, "the documents contain no text")]
    lines = [(refusal(lambda of=collection, to=to: chunked(of, **to)), fact) for collection, to, fact in changes]
    for changed, fact in INVALID_CASES:
        line = refusal(lambda to=changed: chunked(ANSWERED, cases=(replace(CASE, **to),)))
        lines += [(line, fact), (line, "small: case 'q1': ")]
    assert all_misses(lines) == []
    assert {line.partition(" ")[0] for line, _ in lines} == {"small:"}


def test_a_dataset_with_cases_needs_neither_judgments_nor_documents():
    dataset = chunked(ANSWERED, judgments=())
    assert (len(dataset.passages), len(dataset.qrels.grade), dataset.cases) == (2, 0, (CASE,))
    dataset = chunked(ANSWERED, documents=(), judgments=())
    assert dataset.profile == {"passages": 0, "units": 0, "queries": 1, "judgments": 0}
    assert (dataset.passage_units.tolist(), dataset.coverage().share) == ([], 0)


def graded(first, second):
    return chunked(judgments=(FIRST._replace(grade=first), Judgment("q2", "a.pdf#1", second)))


def test_queries_without_a_relevant_unit_are_listed_and_a_dataset_of_such_queries_is_refused():
    assert without_relevant(graded(2, 1), 2) == [1]
    for grades, level in (((0, 0), 1), ((-1, 0), 1), ((1, 2), 3)):
        facts = f"no grade above {max(grades)}", f"at least {level} (evaluation.relevance_level)"
        expect_refusal(lambda grades=grades, level=level: without_relevant(graded(*grades), level), *facts)


def test_a_scale_that_begins_at_1_is_said_to_have_no_grade_for_what_is_not_relevant(capsys):
    """As people rate from 1 to 5, where 1 is the worst."""
    unusual = []
    for low, high, level in ((1, 5, 1), (1, 4, 1), (1, 3, 1), (0, 5, 1), (2, 5, 1), (1, 5, 4)):
        say_unusual(graded(low, high), level, brings_passages=False)
        unusual += [(low, high, level)] * (f"grades from 1 to {high}, none of 0" in capsys.readouterr().err)
    assert unusual == [(1, 5, 1), (1, 4, 1)]


@given(st.data())
def test_a_passage_is_relevant_if_it_shares_a_character_with_a_reference(data):
    document = documents("aa bb cc dd ee ff", "gg hh ii jj kk")[0]
    ends = st.tuples(st.integers(0, len(document.text) - 1), st.integers(1, len(document.text))).filter(
        lambda pair: pair[0] < pair[1] and document.text[slice(*pair)].strip()
    )
    references = [Reference(data.draw(IDS), "a.pdf", *pair) for pair in data.draw(st.lists(ends, min_size=1))]
    queries = tuple(Query(name, "what") for name in ("1", "2", "None"))
    collection = spans(*references, documents=(document,), queries=queries)
    dataset = chunked(collection, chunker=RecursiveChunker(5, 2))
    pairs = zip(dataset.qrels.query, dataset.qrels.unit, strict=True)
    relevant = {(queries[query].query_id, dataset.units[unit]) for query, unit in pairs}
    expected = {
        (query_id, passage.chunk_id)
        for query_id, _, start, end, _ in references
        for passage in dataset.passages
        if set(range(start, end)) & set(range(passage.start, passage.end))
    }
    assert relevant == expected
    assert set(dataset.qrels.grade.tolist()) <= {1}


def test_a_passage_is_relevant_if_it_holds_enough_plain_words_of_a_reference_without_offsets():
    texts = documents("Give iron, daily: with water!", "Iron with tea.")
    collection = spans(Reference("q1", "a.pdf", 0, 0, "iron daily with WATER yes"), documents=texts)
    for threshold, relevant in ((0.8, ["a.pdf#1/0"]), (0.4, ["a.pdf#1/0", "a.pdf#2/0"]), (1, [])):
        judgments = relevant_passages(collection.references, chunked(collection).passages, threshold)
        assert [judgment.unit for judgment in judgments if judgment.grade] == relevant
        assert judgments  # a query without a relevant passage is judged, too, so that it counts


SENTENCES = st.lists(st.sampled_from(["iron", "Daily,", "tea", "with!"]), max_size=4).map(" ".join)


@given(
    st.lists(st.tuples(st.sampled_from("abc"), SENTENCES), min_size=1),
    st.lists(st.tuples(st.sampled_from("ab"), SENTENCES)),
)
def test_references_without_offsets_are_looked_for_in_each_passage_of_their_document(texts, wanted):
    passages = [Passage(text, name, 0, "1", str(place), 0, 9) for place, (name, text) in enumerate(texts)]
    references = [Reference(str(row), name, 0, 0, text) for row, (name, text) in enumerate(wanted)]
    references += [reference._replace(start=2, end=4) for reference in references[::2]]
    expected = []
    for reference in sorted(references, key=lambda reference: not reference.has_offsets):
        for passage in passages:
            words = plain_words(reference.text)
            held = sum(word in plain_words(passage.text) for word in words) / max(1, len(words))
            if passage.source == reference.source and (reference.has_offsets or held >= 0.5):
                expected.append(Judgment(reference.query_id, passage.chunk_id, 1))
    missed = {reference.query_id for reference in references} - {judgment.query_id for judgment in expected}
    expected += [Judgment(query_id, "0", 0) for query_id in sorted(missed)]
    assert relevant_passages(references, passages, 0.5) == expected
