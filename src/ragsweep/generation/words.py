"""The words of a text that carry its content."""

from __future__ import annotations

from ragsweep.retrieval.tokens import ENGLISH_STOP_WORDS, WORD, Tokenizer

# Words of questions and auxiliary words, beside the stop words of retrieval. English only.
FUNCTION_WORDS = ENGLISH_STOP_WORDS | frozenset(
    "what which who whom whose when where why how do does did doing done is am was were been being has have had "
    "having can could may might must shall should would will i me my we us our you your he him his she her hers "
    "its them they those these this that from about after before between during than while because so also any "
    "each every some more most much many other only own same very too here there then once both few nor per via "
    "over under again further out up down off through against without within upon".split()
)
STEMMED = Tokenizer("english", "english")


def content_words(text: str) -> list[str]:
    """The words of a text that are not function words, as they are written, in its order, each once."""
    words = {word.lower(): word for word in reversed(WORD.findall(text)) if word.lower() not in FUNCTION_WORDS}
    return list(words.values())[::-1]


def content_terms(text: str) -> set[str]:
    """The stems of the content words of a text."""
    return set(STEMMED.stems([word.lower() for word in content_words(text)]))


def share_within(terms: set[str], of: set[str]) -> float:
    """The share of `terms` that are in `of`; 0 if there are no terms."""
    return len(terms & of) / len(terms) if terms else 0.0
