"""Misspelled words of queries, corrected to words of the corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np

from ragsweep.core.digest import digest_texts
from ragsweep.core.limits import Between
from ragsweep.core.timing import timed
from ragsweep.retrieval.kinds import Expander, Expansion, Ranker
from ragsweep.retrieval.ranking import Search
from ragsweep.retrieval.term_counts import TermCounts
from ragsweep.store.stage_store import NO_STORE, Arrays, Store
from ragsweep.text.normalisation import folded
from ragsweep.text.tokens import Tokenizer, word_spans


@dataclass(frozen=True)
class SpellCheck(Expander):
    """Changes words that the corpus does not have to the nearest word that it has.

    A wrong correction is worse than none: "hypotension" for "hypertension" asks the opposite. So a word that the corpus
    has, in any case, is never changed, however rare it is, and only one edit is corrected by default: a letter that is
    missing, added, wrong, or swapped with its neighbour (optimal string alignment distance). Words with digits, or with
    capitals behind the first letter, are left alone: they are names of genes, drugs and tests. So are words with marks,
    such as the vowel signs of Hindi, which are no letters, and scripts without spaces between words. Still, a word that
    is spelled well, but is not in the corpus, can be changed. What was changed is shown for each query.

    The nearest word is the one of the fewest edits; then one of the same letters, since there are fewer ways of
    swapping letters than of changing them; then the most frequent one of the corpus; then the first by alphabet.

    Attributes:
        distance: The most edits. Two are corrected only in words that are twice as long as the shortest.
        shortest: Letters of the shortest word that is corrected: short words have neighbours of any meaning.
        prefix: How many letters at the beginning must be right. 1 is that of Lucene's spell checker: few
            mistakes are there.
        store: Keeps the words of a corpus.
    """

    libraries: ClassVar[tuple[str, ...]] = ("rapidfuzz",)

    distance: Literal[1, 2] = 1
    shortest: Annotated[int, Between(1)] = 4
    prefix: Annotated[int, Between(0)] = 1
    store: Store = NO_STORE

    def expand(self, search: Search, ranker: Ranker) -> Expansion:
        """Correct every query."""
        words = self._words(search.passages)
        corrected = [self._corrected(query, words) for query in search.queries]
        ms = timed(lambda row: self._corrected(search.queries[row], words), len(search.queries))
        queries, changes = zip(*corrected, strict=True)
        return Expansion((replace(search, queries=queries),), ms, changes)

    def _words(self, passages: Sequence[str]) -> Mapping[str, int]:
        """The words of a corpus, and how often it has each."""

        def build() -> Arrays:
            counts = TermCounts.of(passages, Tokenizer())
            return {"words": counts.vocabulary, "frequency": np.add.reduceat(counts.frequency, counts.start[:-1])}

        kept = self.store.get("words", digest_texts(passages), build)
        return dict(zip(kept["words"].tobytes().decode().split(), kept["frequency"].tolist(), strict=True))

    def _corrected(self, query: str, words: Mapping[str, int]) -> tuple[str, str]:
        """The query with its misspelled words corrected, and what was changed."""
        text, changes = "", []
        end = 0
        for start, stop in word_spans(query):
            given = query[start:stop]
            correction = self._correction(given, words)
            if correction is not None:
                text += query[end:start] + correction
                end = stop
                changes.append(f"{given} -> {correction}")
        return text + query[end:], ", ".join(changes)

    def _correction(self, given: str, words: Mapping[str, int]) -> str | None:
        """The nearest word; None if the word is left as it is."""
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        word = folded(given)
        if word in words or len(word) < self.shortest or not given.isalpha() or given[1:] != given[1:].lower():
            return None
        most = min(self.distance, len(word) // self.shortest)
        near = [
            (edits, sorted(other) != sorted(word), -words[other], other)
            for other, edits, _ in process.extract(word, [*words], scorer=OSA.distance, score_cutoff=most, limit=None)
            if other.startswith(word[: self.prefix]) and other.isalpha()
        ]
        nearest = min(near)[-1] if near else None
        return nearest and (nearest.capitalize() if given[0].isupper() else nearest)
