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


def test_a_page_is_the_whole_page_and_ends_with_a_line_break_in_what_a_prompt_gets():
    passages, parts = units(PageUnit(), RecursiveChunker(size=30, overlap=0))
    assert len(passages) > 12
    assert [TEXTS[passage.page] for passage in passages] == parts
    documents, passages = corpus(RecursiveChunker(size=1000, overlap=0, across_pages=True))
    assert "\f" in passages[0].text
    for enlarging in (Enlarging(DocumentUnit(), documents, passages), None):
        [hit] = LoadedRetriever(SPARSE, passages, 1, 100, enlarging=enlarging).search("iron")
        assert hit.text == "\n".join(TEXTS)


def test_a_window_has_the_neighbours_in_the_same_document():
    for size in (0, 1, 2, 50):
        passages, parts = units(WindowUnit(size=size), RecursiveChunker(size=30, overlap=0))
        for place, text in enumerate(parts):
            around = passages[max(0, place - size) : place + size + 1]
            near = [passage.text for passage in around if passage.source == passages[place].source]
            assert text.split() == " ".join(near).split()


def test_a_parent_is_the_larger_chunk_around_a_passage():
    parents = RecursiveChunker(size=70, overlap=0)
    _, of_parents = corpus(parents)
    passages, parts = units(ParentUnit(chunker=parents), RecursiveChunker(size=12, overlap=0))
    for passage, text in zip(passages, parts, strict=True):
        same = [parent for parent in of_parents if parent.source == passage.source]
        around = [parent.text for parent in same if parent.start <= passage.start and passage.end <= parent.end]
        assert around in ([], [text])
        assert passage.text in text


@dataclass(frozen=True)
class Words(Chunker):
    """The first letters of words of three; of a text of other words, what stands there."""

    most: int = 1000

    def split(self, text):
        return [(start, start + 2) for start in range(0, len(text), 3)][: self.most]


LETTERS = "ab cd ef gh ij kl mn op qr st "


def test_what_does_not_hold_the_passage_and_a_parent_that_leaves_one_out_are_refused():
    with pytest.raises(ConfigError, match=r"^returns\.chunker: leaves out the passage a#1/1; expected"):
        units(ParentUnit(chunker=Words(most=1)), RecursiveChunker(size=12, overlap=0))
    documents, passages = corpus(PageChunker())
    shorter = tuple((passage.start, passage.end - 1) for passage in passages)
    with pytest.raises(ConfigError, match=r"^returns: .*Given\.spans: found \(0, \d+\) for the passage a#1/0"):
        Enlarging(Given(given=shorter), documents, passages)


@dataclass(frozen=True, kw_only=True)
class Given(ReturnedUnit):
    """Spans that a test has chosen."""

    given: tuple[tuple[int, int], ...]

    def spans(self, documents, passages):
        return self.given


@st.composite
def found_spans(draw):
    """Spans around the words of a text, and in which order these are found."""
    spans = tuple(
        (draw(st.integers(max(0, start - 9), start)), draw(st.integers(start + 2, min(len(LETTERS), start + 11))))
        for start in range(0, len(LETTERS), 3)
    )
    order = draw(st.permutations(range(len(spans))))
    return spans, list(order[: draw(st.integers(1, len(spans)))])


def slow_parts(spans, order, *, joined):
    """The parts as sets of characters: those that share one, or between which is only a space, are one."""
    parts = []
    for place in order:
        new = set(range(*spans[place]))

        def is_near(part, new=new):
            both = new | part
            between = set(range(min(both), max(both) + 1)) - both
            return new & part or (joined and all(LETTERS[at] == " " for at in between))

        near = [part for part in parts if is_near(part)]
        whole = new.union(*near)
        whole = set(range(min(whole), max(whole) + 1))
        parts = [whole if part in near[:1] else part for part in parts if part not in near[1:]]
        parts += [] if near else [whole]
    return parts


@pytest.mark.usefixtures("long_work")
@settings(max_examples=4 * settings().max_examples)
@given(found_spans(), st.booleans())
def test_every_cutoff_has_the_characters_of_the_spans_each_once(drawn, joined):
    (spans, order), documents = drawn, (unpaged("a", LETTERS),)
    passages = dataset_of(documents, {"q": "ab"}, {("q", "a"): 1}, "document", chunker=Words()).passages
    unit = type("Spans", (Given,), {"joins_neighbours": joined})(given=spans)
    enlarging = Enlarging(unit, documents, passages)
    scores = [1 / (1 + rank) for rank in range(len(order))]
    counts = [len(slow_parts(spans, order[:taken], joined=joined)) for taken in range(1, len(order) + 1)]
    for cutoff, parts in enumerate(enlarging.at_cutoffs(order, scores, 12), start=1):
        taken = next((at for at, count in enumerate(counts, start=1) if count == cutoff), len(order))
        expected = slow_parts(spans, order[:taken], joined=joined)
        assert [set(range(part.start, part.end)) for part in parts] == expected
        assert sorted(rank for part in parts for rank in part.ranks) == list(range(taken))
        assert len(parts) <= cutoff


def test_score_and_found_decide_the_order():
    documents, passages = corpus(PageChunker())
    order, scores = [0, 3, 4, 5], [5.0, 4.0, 3.0, 2.0]  # page 1 of a, then all pages of b
    for chosen, expected in [
        ({}, ["a", "ab"]),
        ({"score": "sum"}, ["a", "ab"]),  # one passage makes one part, two passages make two
        ({"score": "sum", "candidates": 4}, ["b", "ba"]),  # 9 against 5
        ({"score": "mean", "candidates": 4}, ["a", "ab"]),  # 3 against 5
        ({"candidates": 1}, ["a", "a"]),
    ]:
        at_cutoffs = Enlarging(DocumentUnit(**chosen), documents, passages).at_cutoffs(order, scores, 2)
        assert ["".join(part.source for part in parts) for parts in at_cutoffs] == expected, chosen
