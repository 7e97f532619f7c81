"""Queries without a model: sentences of the documents, whole or as keywords."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from ragsweep.config.run_settings import Seed
from ragsweep.core.digest import digest
from ragsweep.core.limits import Between
from ragsweep.text.content_words import content_words
from ragsweep.text.sentences import FULL_STOPS, sentences_and_items
from ragsweep.text.tokens import Span, count_of_words
from ragsweep_generate.drafts import Draft, Generator, Request

LEAST_KEYWORDS = 3
SHORTEST_SENTENCE, LONGEST_SENTENCE = 6, 40  # words of a sentence
LEAST_CONTENT = 4  # words of a sentence that are not function words
NO_SENTENCE = "the passage has no further sentence of a usable length"


@dataclass(frozen=True)
class ExtractiveGenerator(Generator):
    """Makes a query of a sentence: a few of its words, as one types them into a search box, or the whole sentence.

    No question is asked, and every word is copied. So word matching (BM25) looks better on these queries than on the
    questions of people. They are good for comparing chunkers, encoders and settings of one kind of retriever, and for
    trying the commands.

    Attributes:
        words: How many words a query of keywords has.
        seed: Of the choice of sentences and words.
    """

    types: ClassVar[tuple[str, ...]] = ("keywords", "sentence")
    repeats: ClassVar[int] = 5

    words: Annotated[int, Between(LEAST_KEYWORDS, 40)] = 6
    seed: Seed = 0

    def draft(self, requests: Sequence[Request]) -> list[Draft]:
        """A query for each request. Its reference is the sentence."""
        return [self._draft(request) for request in requests]

    def _draft(self, request: Request) -> Draft:
        sentence = chosen_sentence(request, self.seed)
        if sentence is None:
            return Draft("", flaw=NO_SENTENCE)
        if request.query_type == "sentence":
            return Draft(sentence, (sentence,))
        words = content_words(sentence)
        random = random_of(self.seed, "words", sentence)
        kept = sorted(random.permutation(len(words))[: self.words].tolist())
        return Draft(" ".join(words[at] for at in kept), (sentence,))


def telling(text: str) -> list[Span]:
    """The spans of the sentences that are long enough to be asked for, and short enough to be an answer.

    Pieces without a full stop, such as headings and the rows of tables, are among them only if there are no others.
    """
    long_enough = [
        (start, end)
        for start, end in sentences_and_items(text)
        if SHORTEST_SENTENCE <= count_of_words(text[start:end]) <= LONGEST_SENTENCE
        and len(content_words(text[start:end])) >= LEAST_CONTENT
    ]
    return [(start, end) for start, end in long_enough if text[end - 1] in FULL_STOPS] or long_enough


def chosen_sentence(request: Request, seed: int) -> str | None:
    """A sentence of the passage: another one for each attempt; None if none is left."""
    text = request.source.text
    spans = telling(text)
    if request.attempt >= len(spans):
        return None
    order = random_of(seed, request.source.document, request.source.start).permutation(len(spans))
    start, end = spans[order[request.attempt]]
    return text[start:end]


def random_of(seed: int, *purpose: object) -> np.random.Generator:
    """Random numbers that depend on the seed and on their purpose, not on what was drawn before."""
    return np.random.default_rng(int(digest([seed, *purpose])[:16], 16))
