"""Counts the terms of a corpus."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ragsweep.core.progress import advance, progress
from ragsweep.text.tokens import Tokenizer, words

if TYPE_CHECKING:
    from scipy import sparse

PASSAGES_AT_ONCE = 4096


@dataclass(frozen=True)
class TermCounts:
    """How often each term is in each passage: a sparse matrix [terms, passages] by rows, as plain arrays.

    Attributes:
        frequency: How often, shape [postings].
        passage: In which passage, ascending within a term, shape [postings].
        start: Where the postings of each term start, and the end of the last, shape [terms + 1].
        length: How many terms a passage has, repeated ones included, shape [passages].
        vocabulary: The terms in UTF-8, one a line: a word holds no line break. Shape [bytes].
    """

    frequency: npt.NDArray[np.int32]
    passage: npt.NDArray[np.signedinteger]
    start: npt.NDArray[np.signedinteger]
    length: npt.NDArray[np.int64]
    vocabulary: npt.NDArray[np.uint8]

    @classmethod
    def of(cls, passages: Sequence[str], tokens: Tokenizer) -> TermCounts:
        """Count the terms of a corpus. Each distinct word is stemmed once."""
        from scipy import sparse

        with progress(f"counting the words of {len(passages):,} passages", len(passages)):
            row_of, occurrences = _occurrences(passages)
        kept = tokens.kept(row_of)
        terms = _numbering()
        term = [terms[stem] for stem in tokens.stems(kept)]
        of_term = (np.ones(len(kept), np.int32), (term, [row_of[word] for word in kept]))
        counts = sparse.csr_array(of_term, shape=(len(terms), len(row_of))) @ occurrences
        counts.sort_indices()
        vocabulary = np.frombuffer("\n".join(terms).encode(), np.uint8)
        return cls(counts.data, counts.indices, counts.indptr, counts.sum(axis=0), vocabulary)


def _occurrences(passages: Sequence[str]) -> tuple[Mapping[str, int], sparse.csr_array]:
    """The row of each word, and the counts of words in passages, shape [words, passages]."""
    from scipy import sparse

    row_of = _numbering()
    blocks = []
    for first in range(0, len(passages), PASSAGES_AT_ONCE):
        split = [words(text) for text in passages[first : first + PASSAGES_AT_ONCE]]
        ends = np.cumsum([0, *map(len, split)])
        word = np.fromiter(map(row_of.__getitem__, chain.from_iterable(split)), np.int32, ends[-1])
        block = sparse.csr_array((np.ones(len(word), np.int32), word, ends), shape=(len(split), len(row_of)))
        block.sum_duplicates()
        blocks.append(block.copy())  # frees the memory of the duplicates
        advance(len(split))
    parts = [(block.data, block.indices, block.indptr) for block in blocks]
    shapes = [(block.shape[0], len(row_of)) for block in blocks]  # earlier blocks know fewer words
    stacked = sparse.vstack(list(map(sparse.csr_array, parts, shapes)), format="csr")
    del blocks, block, parts  # frees their memory: they are as large as the result
    return row_of, stacked.T.tocsr()


def _numbering() -> defaultdict[str, int]:
    """A mapping in which each new key gets the next number."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    return numbers
