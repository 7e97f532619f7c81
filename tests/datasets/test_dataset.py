"""The corpus, its queries and its judgments."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from read_strictly import all_misses, expect_refusal, refusal

from ragsweep.datasets import (
    Chunker,
    Collection,
    Dataset,
    Document,
    Judgment,
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

PAGES = (("1", "a.pdf#1", "Iron tablets"), ("2", "a.pdf#2", "Birth plan"))
SMALL = Collection(
    "small",
    "page",
    (Document.from_pages("a.pdf", PAGES),),
    (Query("q1", "iron", "factual"), Query("q2", "plan", "factual")),
    (Judgment("q1", "a.pdf#1", 1), Judgment("q2", "a.pdf#2", 2)),
)


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


def chunked(collection=SMALL, chunker=None, **changes):
    return Dataset.from_collection(replace(collection, **changes), chunker or PageChunker())


def documents(*texts):
    return (Document.from_pages("a.pdf", [(str(n), f"a.pdf#{n}", text) for n, text in enumerate(texts, start=1)]),)


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


def test_cached_passages_equal_those_that_were_split(store):
    collection = replace(SMALL, documents=documents("one two three", "", "four five six"))
    chunkers = [RecursiveChunker(10, 5), RecursiveChunker(10, 0), PageChunker()]
    cut = [Dataset.from_collection(collection, chunker).passages for chunker in chunkers]
    for _ in range(2):
        assert [Dataset.from_collection(collection, chunker, store).passages for chunker in chunkers] == cut
    assert len(list(store.entries())) == len(chunkers)


def test_passages_of_a_user_chunker_are_not_cached(store):
    class Halves(Chunker):
        def split(self, text):
            return [(0, len(text) // 2), (len(text) // 2, len(text))]

    assert len(Dataset.from_collection(SMALL, Halves(), store).passages) == 4
    assert list(store.entries()) == []


def test_every_passage_belongs_to_the_unit_of_its_page():
    dataset = chunked(documents=documents("one two", "three"), chunker=RecursiveChunker(5, 0))
    assert [dataset.units[unit] for unit in dataset.passage_units] == ["a.pdf#1", "a.pdf#1", "a.pdf#2"]


def test_each_passage_is_a_unit_if_the_unit_is_the_passage():
    judgments = (Judgment("q1", "a.pdf#2/0", 1),)
    dataset = chunked(unit="passage", judgments=judgments)
    assert [dataset.units[unit] for unit in dataset.passage_units] == ["a.pdf#1/0", "a.pdf#2/0"]


def test_a_judged_unit_that_is_not_in_the_corpus_is_kept():
    dataset = chunked(judgments=(Judgment("q1", "b.pdf#7", 1),))
    assert dataset.units[dataset.qrels.unit[0]] == "b.pdf#7"


def test_coverage_is_the_share_of_relevant_units_with_a_passage():
    judgments = [Judgment("q1", "a.pdf#1", 1), Judgment("q1", "b.pdf#7", 1), Judgment("q1", "b.pdf#8", 0)]
    assert chunked(judgments=tuple(judgments)).coverage().share == 0.5
    judgments = [Judgment("q1", "a.pdf#1", 2), Judgment("q1", "b.pdf#7", 1)]
    assert chunked(judgments=tuple(judgments)).coverage(relevance_level=2).share == 1


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


PAGED = Document.from_pages("a.pdf", [("1", "a.pdf#1", "apples"), ("2", "a.pdf#2", "pies")])


class Cutting(Chunker):
    """A user chunker that returns the same spans for every page."""

    def __init__(self, spans):
        self.spans = spans

    def split(self, text):
        return self.spans


def test_spans_that_are_not_within_the_page_are_refused():
    beyond = [(0, 3), (3, 60)]  # behind the end stands the next page
    for spans in (beyond, [(-2, 3)], [(2, 2)], [(0.0, 3.5)], [(0, 1, 2)], [3], ["ab"], None):
        wrong = f"Cutting.split: found {spans[-1] if spans else None!r}"
        expect_refusal(lambda spans=spans: chunked(documents=(PAGED,), chunker=Cutting(spans)), "chunker: ", wrong)


@pytest.mark.parametrize("spans", [np.array([[0, 2], [1, 4]]), [*np.array([[0, 2], [1, 4]])]], ids=["array", "rows"])
def test_spans_may_be_numpy_arrays(spans):
    cut = Dataset.from_collection(replace(SMALL, documents=(PAGED,)), Cutting(spans))
    assert cut.texts == ("ap", "ppl", "pi", "ies")


FIRST, SECOND = PAGED.pages
INVALID = [
    ({"judgments": (*SMALL.judgments, Judgment("q1", "a.pdf#1", 2))}, "found the grades 1 and 2, expected one"),
    ({"judgments": (Judgment("q1", "a.pdf#1", 10**30),)}, f"the grade {10**30}"),
    ({"judgments": (Judgment("q1", "a.pdf#1", 0.5),)}, "found the grade 0.5"),
    ({"judgments": (Judgment("q3", "a.pdf#1", 1),)}, "'a.pdf#1' for query 'q3': the query does not exist"),
    ({"judgments": (Judgment("q1", " ", 1),)}, "the judged unit ' ' is blank"),
    ({"judgments": ()}, "no query has a judgment, so nothing can be measured"),
    ({"queries": SMALL.queries * 2}, "the query id 'q1' occurs 2 times; expected once"),
    ({"documents": SMALL.documents * 2}, "the document 'a.pdf' occurs 2 times; expected once"),
    ({"queries": (Query("", "iron"),)}, "the query id '' is blank"),
    ({"queries": (Query(7, "iron"),)}, "the query id 7 is of type int; expected a string"),
    ({"queries": (Query("q\n1", "iron"),)}, r"the query id 'q\n1' contains a control character or a line end"),
    ({"queries": (Query("q1", "iron", "\x1b[2J"),)}, r"the query type '\x1b[2J' contains a control character"),
    ({"queries": (Query("q1", "\ud83e"),)}, "the text of query 'q1' contains an invalid surrogate"),
    ({"queries": (Query("q1", None),)}, "the text of query 'q1' is of type NoneType; expected a string"),
    ({"queries": (Query("q1", " "),)}, "the text of query 'q1' is blank"),
    ({"documents": (replace(PAGED, pages=(FIRST, replace(SECOND, start=2))),)}, "found characters 2 to 11, expected"),
    ({"documents": (replace(PAGED, pages=(FIRST, replace(SECOND, end=200))),)}, "expected them within 6 to 11"),
    ({"documents": documents("iron \ud83e")}, "the text of document 'a.pdf' contains an invalid surrogate"),
    ({"documents": documents("", "  \n")}, "the documents contain no text, so nothing can be retrieved"),
]


def test_an_invalid_collection_is_refused_in_one_line():
    lines = [(refusal(lambda changes=changes: chunked(**changes)), fact) for changes, fact in INVALID]
    assert all_misses(lines) == []
    assert {line.partition(" ")[0] for line, _ in lines} == {"small:"}


def test_queries_without_a_relevant_unit_are_listed():
    judgments = (Judgment("q1", "a.pdf#1", 2), Judgment("q2", "a.pdf#1", 1))
    assert without_relevant(chunked(judgments=judgments), 2) == [1]


@pytest.mark.parametrize(("grades", "level"), [((0, 0), 1), ((-1, 0), 1), ((1, 2), 3)])
def test_a_dataset_without_relevant_units_is_refused(grades, level):
    judgments = tuple(
        Judgment(query.query_id, "a.pdf#1", grade) for query, grade in zip(SMALL.queries, grades, strict=True)
    )
    facts = f"no grade above {max(grades)}", f"at least {level} (evaluation.relevance_level)"
    expect_refusal(lambda: without_relevant(chunked(judgments=judgments), level), *facts)


def test_a_scale_that_begins_at_1_is_said_to_have_no_grade_for_what_is_not_relevant(capsys):
    """As people rate from 1 to 5, where 1 is the worst."""
    for low, high, level, is_unusual in (
        (1, 5, 1, 1),
        (1, 4, 1, 1),
        (1, 3, 1, 0),
        (0, 5, 1, 0),
        (2, 5, 1, 0),
        (1, 5, 4, 0),
    ):
        judgments = Judgment("q1", "a.pdf#1", low), Judgment("q1", "a.pdf#2", high)
        say_unusual(chunked(judgments=judgments), level, brings_passages=False)
        assert (f"grades from 1 to {high}, none of 0" in capsys.readouterr().err) == is_unusual, (low, high, level)


def test_other_chunks_change_only_the_digest_of_the_passages():
    coarse, fine = chunked(), chunked(chunker=RecursiveChunker(6, 0))
    assert coarse.digest == fine.digest
    assert coarse.digest_of_passages != fine.digest_of_passages


def spans(*references, **changes):
    return replace(SMALL, unit="passage", judgments=(), references=references, **changes)


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


@pytest.mark.parametrize(("threshold", "relevant"), [(0.8, ["a.pdf#1/0"]), (0.4, ["a.pdf#1/0", "a.pdf#2/0"]), (1, [])])
def test_a_passage_is_relevant_if_it_holds_enough_plain_words_a_reference_without_offsets(threshold, relevant):
    document = documents("Give iron, daily: with water!", "Iron with tea.")[0]
    collection = spans(Reference("q1", "a.pdf", 0, 0, "iron daily with WATER yes"), documents=(document,))
    judgments = relevant_passages(collection.references, chunked(collection).passages, threshold)
    assert [judgment.unit for judgment in judgments if judgment.grade] == relevant
    assert judgments  # a query without a relevant passage is judged, too, so that it counts


WORDS = st.lists(st.sampled_from(["iron", "Daily,", "tea", "with!"]), max_size=4).map(" ".join)


@given(
    st.lists(st.tuples(st.sampled_from("abc"), WORDS), min_size=1), st.lists(st.tuples(st.sampled_from("ab"), WORDS))
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


BROKEN = [
    ({"references": (Reference("q3", "a.pdf", 0, 4),)}, "for query 'q3': the query does not exist"),
    ({"references": (Reference("q1", "b.pdf", 0, 4),)}, "in 'b.pdf' for query 'q1': the document does not exist"),
    ({"references": (Reference("q1", "a.pdf", 20, 40),)}, "found characters 20 to 40, expected them within 0 to 23"),
    ({"references": (Reference("q1", "a.pdf", 4, 4),)}, "found characters 4 to 4"),
    ({"references": (Reference("q1", "a.pdf", 0.0, 2.0),)}, "found characters 0.0 to 2.0, expected whole numbers"),
    ({"unit": "page"}, "expected the unit passage and no other judgments"),
    ({"judgments": SMALL.judgments}, "expected the unit passage and no other judgments"),
]


def test_broken_references_are_refused():
    collection = spans(Reference("q1", "a.pdf", 0, 4))
    assert all_misses((refusal(lambda c=changes: chunked(collection, **c)), fact) for changes, fact in BROKEN) == []


def test_references_and_fields_are_part_of_the_digest():
    plain = spans(Reference("q1", "a.pdf", 0, 4))
    more = replace(plain, queries=(replace(SMALL.queries[0], fields=(("author", "x"),)), SMALL.queries[1]))
    assert len({SMALL.digest, plain.digest, spans(Reference("q1", "a.pdf", 0, 5)).digest, more.digest}) == 4
