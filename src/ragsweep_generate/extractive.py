"""Queries without a model: sentences of the documents, whole or as keywords."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from ragsweep.config.run_settings import Seed
from ragsweep.core.limits import Between
from ragsweep.text.content_words import content_words
from ragsweep_generate.drafts import Draft, Request
from ragsweep_generate.telling_sentences import chosen_sentence, random_of

LEAST_KEYWORDS = 3
NO_SENTENCE = "the passage has no further sentence of a usable length"


@dataclass(frozen=True)
class ExtractiveGenerator:
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
