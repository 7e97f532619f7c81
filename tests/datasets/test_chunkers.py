"""Chunkers by tokens, sentences, headings and topics."""

import shutil
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from letters import LetterEncoder
from tokenizers import Tokenizer, models, pre_tokenizers

from ragsweep.core.errors import ConfigError
from ragsweep.datasets import (
    Collection,
    Dataset,
    Document,
    FixedChunker,
    Judgment,
    MarkdownChunker,
    PageChunker,
    Query,
    RecursiveChunker,
    SemanticChunker,
    SentenceChunker,
)
from ragsweep.datasets.chunkers.markdown import headings_in
from ragsweep.datasets.chunkers.rulers import Tokens
from ragsweep.retrieval import ModelTokenizer, WordLlamaEncoder
from ragsweep.store.identity import identity
from ragsweep.text.sentences import sentences_of

MINILM, WORDS = ModelTokenizer(), ModelTokenizer("words")
LATIN = ["a", "Ab", ". ", "! ", " ", "\n", "\r\n", "\n\n", "\t", "\f", "# ", "## b\n", "===\n", "```\n", "> ", "- "]
FURTHER = ["日本", "。", "e\u0301", "\u0323", "🙂", "👩\u200d👧", "שלום", "\u200f", "\u200b", "\x00", "\u2028", "\xa0"]
NASTY = st.lists(st.sampled_from([*LATIN, *FURTHER, "unbelievable"]), max_size=40).map("".join)
KINDS = (RecursiveChunker, FixedChunker, SentenceChunker, MarkdownChunker, SemanticChunker)


@pytest.fixture(scope="module")
def byte_level(tmp_path_factory):
    """A tokenizer that takes each byte as a token, as byte-level BPE does with what it has never seen."""
    folder = tmp_path_factory.mktemp("bytes")
    vocabulary = {character: number for number, character in enumerate(pre_tokenizers.ByteLevel.alphabet())}
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.save(str(folder / "tokenizer.json"))
    return ModelTokenizer(str(folder))


def built(kind, **given):
    return kind(**given, **({"encoder": LetterEncoder()} if kind is SemanticChunker else {}))


def texts(chunker, text):
    return [text[start:end] for start, end in chunker.split(text)]


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
def test_whatever_the_text_passages_are_in_order_within_their_size_and_lose_nothing(byte_level, kind, data):
    text = data.draw(NASTY)
    size = data.draw(st.integers(1, 30))
    overlap = data.draw(st.integers(0, size - 1))
    tokenizer = data.draw(st.sampled_from([None, MINILM, WORDS, byte_level]))
    unit, across_pages = "tokens" if tokenizer else "characters", data.draw(st.booleans())
    given = {"size": size, "overlap": overlap, "unit": unit, "tokenizer": tokenizer, "across_pages": across_pages}
    chunker = built(kind, **given)
    spans = list(chunker.split(text))
    assert all(text[start:end] == text[start:end].strip() != "" for start, end in spans)
    assert all(one[0] < other[0] and one[1] < other[1] for one, other in pairwise(spans))
    covered = {place for start, end in spans for place in range(start, end)}
    assert all(character.isspace() for place, character in enumerate(text) if place not in covered)
    if tokenizer is None:
        assert all(end - start <= size for start, end in spans)
        assert all(one[1] - other[0] <= overlap for one, other in pairwise(spans))
    else:
        [tokens] = tokenizer.offsets([text.replace("\f", "\n") if across_pages else text])
        counts = [sum(first < end and last > start for first, last in tokens) for start, end in spans]
        assert all(count <= size or end - start == 1 for count, (start, end) in zip(counts, spans, strict=True))
        for (_, end), (start, _) in pairwise(spans):
            assert sum(first < end and last > start for first, last in tokens if start < end) <= overlap


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("kind", KINDS)
def test_a_long_text_of_one_thing_is_cut_at_once(kind):
    in_characters, in_tokens = (
        built(kind, size=200, overlap=50, unit=unit, tokenizer=MINILM, across_pages=True)
        for unit in ("characters", "tokens")
    )
    for text in ("x", "日", " ", "🙂", "\f", "a. ", "# a\n"):
        in_tokens.split(text * 10_000)
        assert all(end - start <= 200 for start, end in in_characters.split(text * 10_000))


def test_windows_have_exactly_so_many_tokens():
    text = "The haemoglobin of unregistered women, measured twice. " * 9
    passages = texts(FixedChunker(16, 4, tokenizer=MINILM), text)
    tokens = [text[start:end] for start, end in MINILM.offsets([text])[0]]
    windows = [tokens[first : first + 16] for first in range(0, len(tokens) - 4, 12)]
    assert ["".join(passage.split()) for passage in passages] == ["".join(window) for window in windows]


def test_the_tokens_of_one_character_stay_together_and_characters_without_one_belong_to_that_before(byte_level):
    assert texts(FixedChunker(3, 0, tokenizer=byte_level), "ab🙂c") == ["ab", "🙂", "c"]  # four bytes
    assert texts(FixedChunker(5, 0, tokenizer=byte_level), "ab🙂c") == ["ab", "🙂c"]
    text = "\u200b\u200biron\u200b\u200b tea"  # BERT drops zero-width spaces
    assert texts(FixedChunker(1, tokenizer=MINILM), text) == ["\u200b\u200biron\u200b\u200b", "tea"]
    assert texts(FixedChunker(1, tokenizer=MINILM), "\u200b\u200b") == ["\u200b\u200b"]


@pytest.mark.usefixtures("long_work")
@given(NASTY, st.integers(0, 9), st.integers(1, 9))
def test_a_part_of_a_text_has_the_tokens_that_touch_it(text, start, length):
    [tokens] = WORDS.offsets([text])
    end = start + length
    touching = sum(first < end and last > start for first, last in tokens)
    assert Tokens.of(text, tokens).length(start, end) == touching


MARKDOWN = [
    "Before.\n",
    "# Iron\n## Dose\nOne.\n```\n# no heading\n```\n",
    "## Age\nTwo.\n\n",
    "Tea\n---\n> # quoted\n",
    "# Last",
]
SENTENCES, SPACED = "One two three. Four five six. Seven.", "one two" + " " * 20
CUTS = [
    (FixedChunker(4, 1, "characters"), "abcdefghij", ["abcd", "defg", "ghij"]),
    (SentenceChunker(size=25, overlap=16), SENTENCES, ["One two three.", "Four five six. Seven."]),
    (SentenceChunker(size=30, overlap=16), SENTENCES, ["One two three. Four five six.", "Four five six. Seven."]),
    (SentenceChunker(size=9), "One two three. Four.", ["One two", "three.", "Four."]),  # between words
    (MarkdownChunker(size=8, overlap=4), "# A\nb c d e f\n# G\nh", ["# A\nb c", "b c d e", "d e f", "# G\nh"]),
    (MarkdownChunker(across_pages=True), "# A\nb\f# C\nd", ["# A\nb", "# C\nd"]),  # at the top of a page
    (RecursiveChunker(7, 0), "aa bb\n\ncc dd", ["aa bb", "cc dd"]),  # a paragraph rather than a line
    (RecursiveChunker(7, 0), "aa bb\ncc dd", ["aa bb", "cc dd"]),  # a line rather than a sentence
    (RecursiveChunker(7, 0), "a. b. cc dd", ["a. b.", "cc dd"]),  # a sentence rather than a word
    (RecursiveChunker(7, 0), "剂量减半。应立即", ["剂量减半。", "应立即"]),  # in any script
    (RecursiveChunker(7, 0), "是「対」。次は5\uff0e5", ["是「対」。", "次は5\uff0e5"]),
    (RecursiveChunker(7, 0), "है। कल नया", ["है।", "कल नया"]),
    (RecursiveChunker(7, 0), "aaa bb ccc", ["aaa bb", "ccc"]),  # a word rather than a character
    (RecursiveChunker(7, 0), "aaaaaaaaaa", ["aaaaaaa", "aaa"]),  # a character where nothing else is left
    (RecursiveChunker(9, 3), "aa bb cc dd", ["aa bb cc", "cc dd"]),  # repeats the end of the previous one
    (RecursiveChunker(8, 4), "血压高。心率快。体温低。", ["血压高。心率快。", "心率快。体温低。"]),
    (RecursiveChunker(12, 8), SPACED, ["one two"]),  # white space adds no passage that only repeats
    (PageChunker(), "  one\n\ntwo ", ["one\n\ntwo"]),
    (MarkdownChunker(), "".join(MARKDOWN), [part.strip() for part in MARKDOWN]),
]


def test_a_text_is_cut_where_it_should_be():
    assert [texts(chunker, text) for chunker, text, _ in CUTS] == [expected for *_, expected in CUTS]


def test_fields_before_a_text_are_a_section_and_no_heading():
    for end in ("\n", "\r\n"):
        fields, body = f"---{end}title: Iron{end}# a comment{end}tags: [a]{end}---", f"It is a metal.{end}{end}## Ores"
        sections = [fields, f"# Metals{end}It is a metal.", f"## Ores{end}x"]
        assert texts(MarkdownChunker(), f"{fields}{end}{end}# Metals{end}{body}{end}x") == sections
        assert [level for _, _, level in headings_in(f"{fields}{end}{body}")] == [2]
        assert [level for _, _, level in headings_in(f"---{end}Iron{end}---{end}")] == [2]  # a rule and a heading


IRON = "Iron tablets treat anaemia. Anaemia is a lack of haemoglobin. Haemoglobin needs iron in the blood. "
BALL = "The striker scored a goal. The football match ended in a draw. The referee showed a red card. "


@pytest.mark.usefixtures("models")
def test_topics_are_cut_where_they_change():
    chunker = SemanticChunker(encoder=WordLlamaEncoder(), neighbours=0, threshold="standard_deviation", amount=1)
    assert texts(chunker, IRON + BALL) == [IRON.strip(), BALL.strip()]


@pytest.mark.usefixtures("long_work")
def test_distances_are_those_of_windows_of_sentences(store):
    text, encoder = "".join(LINES[:40]), LetterEncoder()
    sentences = [text[start:end] for start, end in sentences_of(text)]
    windows = ["".join(sentences[max(place - 2, 0) : place + 3]).strip() for place in range(len(sentences))]
    vectors = encoder.encode(windows, "passage").astype(float)
    distances = [1 - float(one @ other) for one, other in pairwise(vectors)]
    limit = np.mean(distances) + 0.5 * np.std(distances)
    ends = [place for place, distance in enumerate(distances, start=1) if distance > limit]
    expected = ["".join(sentences[a:b]).strip() for a, b in pairwise([0, *ends, len(sentences)])]
    limits = {"neighbours": 2, "threshold": "standard_deviation", "amount": 0.5}
    chunker = SemanticChunker(10**6, encoder=encoder, store=store, **limits)
    assert len(expected) > 1
    assert texts(chunker, text) == expected
    assert texts(chunker, "") == []
    assert texts(chunker, text) == expected


@pytest.mark.usefixtures("long_work")
def test_texts_are_encoded_once_for_all_thresholds(store):
    encoder = LetterEncoder()
    cuts = [texts(SemanticChunker(encoder=encoder, store=store, amount=amount), IRON + BALL) for amount in (50, 80)]
    assert len(encoder.asked) == 6
    assert len(cuts[0]) > len(cuts[1])


LINES = [f"Word {'abcdefghij'[k % 10] * (k % 7 + 1)} is about tea. And iron {k * 7 % 11}.\n" for k in range(300)]
PAGES = ["".join([*LINES[k : k + 6], "\n## Tea\n", *LINES[k + 6 : k + 9]]) + "And on" for k in range(0, 300, 9)]
SETTINGS = {"size": 90, "overlap": 0, "unit": "characters", "tokenizer": MINILM}
CHANGES = [{"size": 60}, {"overlap": 60}, {"unit": "tokens"}, {"across_pages": True}]


def book(*pages):
    document = Document.from_pages("a", [(str(n), f"a#{n}", text) for n, text in enumerate(pages, 1)])
    return Collection("book", "page", (document,), (Query("q", "q"),), (Judgment("q", "a#1", 1),))


def test_every_setting_changes_the_passages():
    settings = [(kind, change) for kind in KINDS for change in CHANGES] + [(MarkdownChunker, {"level": 1})]
    further = {"amount": 10}, {"neighbours": 4}, {"threshold": "standard_deviation", "amount": 2}
    settings += [(SemanticChunker, change) for change in further]
    collection, unchanged = book(*PAGES), []
    for kind, changes in settings:
        chunkers = (built(kind, **SETTINGS | given) for given in ({}, changes))
        one, other = (Dataset.from_collection(collection, chunker).digest_of_passages for chunker in chunkers)
        unchanged += [(kind, changes)] if one == other else []
    assert unchanged == []


def test_stored_passages_are_found_by_what_decides_them(store, tmp_path):
    """A copy of the same tokenizer, in another object, is the same; other words are not."""
    folder = tmp_path / "copy"
    folder.mkdir()
    shutil.copy(MINILM.file, folder)
    collection = book("One two three.")
    for tokenizer in (MINILM, ModelTokenizer(), WORDS):
        Dataset.from_collection(collection, FixedChunker(tokenizer=tokenizer), store)
    for encoder in (LetterEncoder(), LetterEncoder(), LetterEncoder("others")):
        Dataset.from_collection(collection, SemanticChunker(encoder=encoder), store)
    assert ModelTokenizer(str(folder)).fingerprint == MINILM.fingerprint
    assert len([entry for entry in store.entries() if entry.stage == "spans"]) == 4


@pytest.fixture(scope="module")
def narrow(tmp_path_factory):
    """The files of a model that reads 20 tokens: MiniLM's tokenizer."""
    folder = tmp_path_factory.mktemp("narrow")
    shutil.copy(MINILM.file, folder)
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 20}')
    return ModelTokenizer(str(folder), prompt="passage: ")


@pytest.mark.usefixtures("long_work")
@given(NASTY, st.sampled_from(["characters", "tokens"]))
def test_the_recursive_default_never_exceeds_what_the_model_reads(narrow, text, unit):
    tokenizer = Tokenizer.from_file(str(narrow.file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    before = len(tokenizer.encode("passage: ").ids) - 2  # without the marks of a beginning and an end
    for passage in texts(RecursiveChunker(unit=unit, tokenizer=narrow), text):
        assert len(passage) == 1 or before + len(tokenizer.encode(passage).ids) <= 20


def test_the_recursive_default_is_500_characters_where_the_model_reads_them_and_a_typed_size_stays():
    prose, digits, chinese = "The heart and the lungs. " * 90, "1,2,3,4,5,\n" * 200, "心臓と肺。" * 300
    default, typed, unknown = (
        RecursiveChunker(size, tokenizer=kind) for size, kind in ((None, MINILM), (500, MINILM), (None, WORDS))
    )
    assert default.split(prose) == typed.split(prose) == unknown.split(prose)
    for text in (digits, chinese):
        longest = {kind: max(map(len, MINILM.offsets(texts(kind, text)))) for kind in (default, typed)}
        assert longest[default] <= 254 < longest[typed]
        assert unknown.split(text) == typed.split(text)
    assert "tokenizer" not in default.without_effect
    assert "tokenizer" in unknown.without_effect
    for unit in ("characters", "tokens"):  # it is never the same configuration
        made = [RecursiveChunker(size=size, unit=unit, tokenizer=MINILM) for size in (None, 500)]
        one, other = map(identity, made)
        assert one != other
        assert (made[0].split(prose) == made[1].split(prose)) is (unit == "characters")


def test_impossible_settings_are_refused_and_a_tokenizer_has_an_effect_only_if_tokens_are_counted():
    for kind in KINDS:
        assert "tokenizer" in built(kind, size=500, unit="characters", tokenizer=MINILM).without_effect
        assert "tokenizer" not in built(kind, unit="tokens", tokenizer=MINILM).without_effect
        with pytest.raises(ConfigError, match=r"chunker\.overlap: found 5, expected less than chunker\.size"):
            built(kind, size=5, overlap=5)
        with pytest.raises(ConfigError, match=r"chunker\.tokenizer: found null"):
            built(kind, unit="tokens", tokenizer=None)
    built(SemanticChunker, amount=101, threshold="standard_deviation")
    with pytest.raises(ConfigError, match=r"chunker.amount: found 101, expected a percentile from 0 to 100"):
        built(SemanticChunker, amount=101)
