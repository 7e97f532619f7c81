"""Splitting pages into passages."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.datasets import PageChunker, RecursiveChunker

TEXTS = st.lists(st.sampled_from(["\n\n", "\n", ". ", " ", "a", "b", "ll", "é", "🙂", "\t", "word"]), max_size=60).map(
    "".join
)
CHUNKERS = st.integers(1, 40).flatmap(
    lambda size: st.builds(RecursiveChunker, size=st.just(size), overlap=st.integers(0, size - 1))
)


@given(TEXTS, CHUNKERS)
def test_a_passage_never_exceeds_its_size(text, chunker):
    assert all(end - start <= chunker.size for start, end in chunker.split(text))


@given(TEXTS, CHUNKERS)
def test_no_word_is_lost(text, chunker):
    covered = {place for start, end in chunker.split(text) for place in range(start, end)}
    assert all(character.isspace() for place, character in enumerate(text) if place not in covered)


@given(TEXTS, CHUNKERS)
def test_neighbours_share_at_most_the_overlap(text, chunker):
    spans = chunker.split(text)
    assert all(earlier[1] - later[0] <= chunker.overlap for earlier, later in pairwise(spans))


@given(TEXTS, CHUNKERS)
def test_every_passage_contains_new_text(text, chunker):
    spans = chunker.split(text)
    assert all(earlier[1] < later[1] for earlier, later in pairwise(spans))


@given(TEXTS, CHUNKERS)
def test_a_passage_has_no_white_space_around_it(text, chunker):
    passages = [text[start:end] for start, end in chunker.split(text)]
    assert all(passage and passage == passage.strip() for passage in passages)


@pytest.mark.parametrize(
    ("text", "passages"),
    [
        ("aa bb\n\ncc dd", ["aa bb", "cc dd"]),  # a paragraph rather than a line
        ("aa bb\ncc dd", ["aa bb", "cc dd"]),  # a line rather than a sentence
        ("a. b. cc dd", ["a. b.", "cc dd"]),  # a sentence rather than a word
        ("剂量减半。应立即", ["剂量减半。", "应立即"]),  # in any script
        ("是「対」。次は5\uff0e5", ["是「対」。", "次は5\uff0e5"]),
        ("है। कल नया", ["है।", "कल नया"]),
        ("aaa bb ccc", ["aaa bb", "ccc"]),  # a word rather than a character
        ("aaaaaaaaaa", ["aaaaaaa", "aaa"]),  # a character where nothing else is left
    ],
)
def test_a_text_is_split_at_the_coarsest_possible_separator(text, passages):
    assert [text[start:end] for start, end in RecursiveChunker(size=7, overlap=0).split(text)] == passages


def test_the_next_passage_repeats_the_end_of_the_previous_one():
    text = "aa bb cc dd"
    assert [text[start:end] for start, end in RecursiveChunker(size=9, overlap=3).split(text)] == ["aa bb cc", "cc dd"]


def test_sentences_without_spaces_are_repeated_too():
    text = "血压高。心率快。体温低。"
    assert [text[start:end] for start, end in RecursiveChunker(size=8, overlap=4).split(text)] == [text[:8], text[4:]]


def test_white_space_adds_no_passage_that_only_repeats():
    text = "one two" + " " * 20
    assert [text[start:end] for start, end in RecursiveChunker(size=12, overlap=8).split(text)] == ["one two"]


@pytest.mark.parametrize("other", [RecursiveChunker(size=80, overlap=20), RecursiveChunker(size=100, overlap=0)])
def test_size_and_overlap_change_the_passages(other):
    text = "one two three four five " * 20
    assert other.split(text) != RecursiveChunker(size=100, overlap=20).split(text)


@pytest.mark.parametrize("chunker", [PageChunker(), RecursiveChunker()])
def test_a_text_of_white_space_has_no_passage(chunker):
    assert chunker.split(" \n\t ") == []


def test_the_page_chunker_keeps_a_page_whole():
    assert PageChunker().split("  one\n\ntwo ") == [(2, 10)]
