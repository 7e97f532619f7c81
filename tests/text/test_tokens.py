"""Words of texts in any script."""

# ruff: noqa: RUF001  # letters that look alike are the point

import re
import unicodedata
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ragsweep.text.tokens import plain_words, whole_word, word_spans, words, written_words

ASCII = st.text(st.characters(max_codepoint=127))
ANY = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("क्षिहीกำเ図書アー가각ä\u0308\u200d "))


@given(ASCII)
def test_words_of_ascii_are_those_of_a_regular_expression(text):
    assert words(text) == re.findall(r"\w+", text.lower())
    assert written_words(text) == re.findall(r"\w+", text)
    assert word_spans(text) == [match.span() for match in re.finditer(r"\w+", text)]


@given(st.text(st.sampled_from("abcXYZäöüßéñçøßΑβγΣ жЖ_09²½ﬁµ-'’\n")))
def test_words_of_scripts_with_spaces_are_those_of_a_regular_expression_too(text):
    def same(word):  # lower-casing and folding differ in the spelling of a word, not in where it begins and ends
        return unicodedata.normalize("NFKC", word).casefold()

    assert list(map(same, words(text))) == [same(word) for word in re.findall(r"\w+", text.lower())]


@given(ANY)
def test_a_word_is_its_own_only_word(text):
    assert all(words(word) == [word] for word in words(text))


@given(ANY)
def test_spans_of_words_are_in_order_and_hold_all_letters(text):
    spans = word_spans(text)
    assert all(start < end for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    held = {place for span in spans for place in range(*span)}
    assert {place for place, character in enumerate(text) if re.match(r"\w", character)} <= held


WORDS = {
    "मुख्यमंत्री की मौत": ["मुख्यमंत्री", "की", "मौत"],
    "שָׁלוֹם מֶלֶךְ": ["שָׁלוֹם", "מֶלֶךְ"],
    "مُحَمَّد": ["مُحَمَّد"],
    "Cafe\u0301 OUVERT": ["café", "ouvert"],
    "图书馆": ["图书", "书馆"],
    "图。书": ["图", "书"],  # alone on each side
    "アスピリンを": ["アス", "スピ", "ピリ", "リン", "ンを"],  # across the scripts of Japanese, as Lucene does
    "한국어 문서": ["한국", "국어", "문서"],
    "一日3回100mgずつ": ["一日", "3", "回", "100mg", "ずつ"],
    "กินยา": ["กิน", "นย", "ยา"],
    "ភាសា": ["ភាសា"],
}


def test_words_keep_their_marks_and_scripts_without_spaces_have_bigrams():
    assert {text: words(text) for text in WORDS} == WORDS


def test_bigrams_of_a_word_are_the_same_in_every_sentence():
    asked = words("ห้องสมุด")
    assert len(asked) > 3
    assert {*asked} <= {*words("ห้องสมุดเปิดกี่โมง")} & {*words("ไปห้องสมุด")}


def test_plain_words_are_between_white_space_without_punctuation():
    assert plain_words("Don't eat 0.5 well-known (leaves).") == ["dont", "eat", "05", "wellknown", "leaves"]
    assert plain_words("图书馆，开门") == ["图书", "书馆", "开门"]


def test_a_letter_of_a_script_without_spaces_is_no_part_of_another_word():
    pattern = whole_word("ANC")
    assert pattern.search("请查ANC结果")
    assert not pattern.search("CANCER")
    assert pattern.search("ที่ANC")  # the letter before it has marks
    assert pattern.search("e\u0301ANC") is None
    assert whole_word("กท").search("กที่") is None  # its last letter goes on
    assert not whole_word("हृदय").search("हृदयि")  # a vowel sign follows
