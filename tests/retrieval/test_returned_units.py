"""What is returned for what is found, against slow and obvious loops over characters."""

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rankings import SPARSE, dataset_of, paged, unpaged

from ragsweep.core.errors import ConfigError
from ragsweep.datasets import Chunker, PageChunker, RecursiveChunker
from ragsweep.production.loaded_retriever import LoadedRetriever
from ragsweep.retrieval import DocumentUnit, PageUnit, ParentUnit, ReturnedUnit, WindowUnit
from ragsweep.retrieval.returned_units.merging import Enlarging

TEXTS = (
    "Iron helps. Tea does not. Take it daily.\n\nA child with fast breathing has pneumonia. Refer at once.",
    "Zinc for two weeks. Salts after each stool.\n\nNothing else. Not even water.",
    "Measure at every visit. A second reading is needed above 140.",
)


def corpus(chunker, texts=TEXTS):
    """Two documents of three pages each."""
    documents = (paged("a", *texts), paged("b", *texts))
    return documents, dataset_of(documents, {"q": "iron"}, {("q", "a#1"): 1}, chunker=chunker).passages


def units(unit, chunker):
    documents, passages = corpus(chunker)
    texts = {document.source: document.text for document in documents}
    spans = unit.spans({document.source: document for document in documents}, passages)
    return passages, [texts[passage.source][start:end] for passage, (start, end) in zip(passages, spans, strict=True)]


def test_a_page_is_the_whole_page():
    passages, parts = units(PageUnit(), RecursiveChunker(size=30, overlap=0))
    assert len(passages) > 12
    assert [TEXTS[passage.page] for passage in passages] == parts


@pytest.mark.parametrize("unit", [DocumentUnit(), None])
def test_a_page_ends_with_a_line_break_in_what_a_prompt_gets(unit):
    documents, passages = corpus(RecursiveChunker(size=1000, overlap=0, across_pages=True))
    assert "\f" in passages[0].text
    enlarging = unit and Enlarging(unit, documents, passages)
    [hit] = LoadedRetriever(SPARSE, passages, 1, 100, enlarging=enlarging).search("iron")
    assert hit.text == "\n".join(TEXTS)


def test_a_window_has_the_neighbours_in_the_same_document():
    for size in (0, 1, 2, 50):
        passages, parts = units(WindowUnit(size=size), RecursiveChunker(size=30, overlap=0))
        for place, text in enumerate(parts):
            near = [
                passage.text
                for other, passage in enumerate(passages)
                if abs(other - place) <= size and passage.source == passages[place].source
            ]
            assert " ".join(text.split()) == " ".join(" ".join(near).split())


def test_a_parent_is_the_larger_chunk_around_a_passage():
    parents = RecursiveChunker(size=70, overlap=0)
    _, of_parents = corpus(parents)
    passages, parts = units(ParentUnit(chunker=parents), RecursiveChunker(size=12, overlap=0))
    for passage, text in zip(passages, parts, strict=True):
        around = [
            parent.text
            for parent in of_parents
            if parent.source == passage.source and parent.start <= passage.start and passage.end <= parent.end
        ]
        assert around == [] or text == around[0]
        assert passage.text in text


def test_a_parent_that_leaves_passages_out_is_refused():
    @dataclass(frozen=True)
    class FirstWord(Chunker):
        def split(self, text):
            return [(0, 4)]

    with pytest.raises(ConfigError, match=r"^returns\.chunker: leaves out the passage a#1/1; expected"):
        units(ParentUnit(chunker=FirstWord()), RecursiveChunker(size=12, overlap=0))


def test_what_does_not_hold_the_passage_is_refused():
    @dataclass(frozen=True, kw_only=True)
    class Shorter(ReturnedUnit):
        def spans(self, documents, passages):
            return [(passage.start, passage.end - 1) for passage in passages]

    documents, passages = corpus(PageChunker())
    with pytest.raises(ConfigError, match=r"^returns: .*Shorter\.spans: found \(0, \d+\) for the passage a#1/0"):
        Enlarging(Shorter(), documents, passages)


@dataclass(frozen=True, kw_only=True)
class Given(ReturnedUnit):
    """Spans that a test has chosen."""

    given: tuple[tuple[int, int], ...]

    def spans(self, documents, passages):
        return self.given


@dataclass(frozen=True, kw_only=True)
class GivenJoined(Given):
    joins_neighbours = True


LETTERS = "ab cd ef gh ij kl mn op qr st "


@st.composite
def found_spans(draw):
    """Spans around the words of a text, and in which order these are found."""
    words = [(start, start + 2) for start in range(0, len(LETTERS), 3)]
    spans = tuple(
        (draw(st.integers(max(0, start - 9), start)), draw(st.integers(end, min(len(LETTERS), end + 9))))
        for start, end in words
    )
    order = draw(st.permutations(range(len(words))))
    return spans, list(order[: draw(st.integers(1, len(words)))])


def slow_parts(spans, order, *, joined):
    """The parts as sets of characters: those that share one, or between which is only a space, are one."""
    parts = []
    for place in order:
        start, end = spans[place]
        new = set(range(start, end))
        touched = []
        for part in parts:
            near = new & part
            if joined:
                whole = range(min(new | part), max(new | part) + 1)
                near = near or all(
                    place_between in new | part or LETTERS[place_between] == " " for place_between in whole
                )
            if near:
                touched.append(part)
        for part in touched:
            new |= part
        new = set(range(min(new), max(new) + 1))
        if touched:
            parts = [new if part is touched[0] else part for part in parts if not any(part is x for x in touched[1:])]
        else:
            parts.append(new)
    return parts


@pytest.mark.usefixtures("long_work")
@settings(max_examples=4 * settings().max_examples)
@given(found_spans(), st.booleans())
def test_every_cutoff_has_the_characters_of_the_spans_each_once(drawn, joined):
    spans, order = drawn
    documents = (unpaged("a", LETTERS),)

    @dataclass(frozen=True)
    class Words(Chunker):
        def split(self, text):
            return [(start, start + 2) for start in range(0, len(text), 3)]

    passages = dataset_of(documents, {"q": "ab"}, {("q", "a"): 1}, "document", chunker=Words()).passages
    enlarging = Enlarging((GivenJoined if joined else Given)(given=spans), documents, passages)
    scores = [1 / (1 + rank) for rank in range(len(order))]
    at_cutoffs = enlarging.at_cutoffs(order, scores, 12)
    counts = [len(slow_parts(spans, order[:taken], joined=joined)) for taken in range(1, len(order) + 1)]
    for cutoff, parts in enumerate(at_cutoffs, start=1):
        taken = next((at for at, count in enumerate(counts, start=1) if count == cutoff), len(order))
        expected = slow_parts(spans, order[:taken], joined=joined)
        assert [set(range(part.start, part.end)) for part in parts] == expected
        assert sorted(rank for part in parts for rank in part.ranks) == list(range(taken))
        assert len(parts) <= cutoff


def test_score_and_found_decide_the_order():
    documents, passages = corpus(PageChunker())
    whole = {"a": 0, "b": 1}
    order, scores = [0, 3, 4, 5], [5.0, 4.0, 3.0, 2.0]  # page 1 of a, then all pages of b

    def sources(**chosen):
        at_cutoffs = Enlarging(DocumentUnit(**chosen), documents, passages).at_cutoffs(order, scores, 2)
        return [[whole[part.source] for part in parts] for parts in at_cutoffs]

    assert sources() == [[0], [0, 1]]
    assert sources(score="sum") == [[0], [0, 1]]  # one passage makes one part, two passages make two
    assert sources(score="sum", candidates=4) == [[1], [1, 0]]  # 9 against 5
    assert sources(score="mean", candidates=4) == [[0], [0, 1]]  # 3 against 5
    assert sources(candidates=1) == [[0], [0]]
