"""Finds the document of a reference that is a text alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ragsweep.core.errors import DatasetError
from ragsweep.core.terminal import some_of
from ragsweep.datasets.model.collection import Document
from ragsweep.text.quotes import places_of
from ragsweep.text.similar_quotes import find_again, letters_of

LONGEST_TEXT_SHOWN = 60  # characters
PIECE = 12  # letters; documents that share none with a text are not compared
COMPARED = 3  # documents
Hashes = npt.NDArray[np.uint32]
WEIGHTS = np.array([pow(0x01000193, place, 2**32) for place in range(PIECE)], dtype=np.uint32)
NO_PIECE = np.uint32(0)  # so that there is a hash where a document has no piece


class Whereabouts:
    """The documents of a corpus, in which references are looked for that name none."""

    def __init__(self, documents: Sequence[Document], similarity: float | None) -> None:
        self._documents, self._similarity = documents, similarity

    def document_of(self, content: str, where: str) -> Document | None:
        """The only document that has this text: as it is written, else by the same letters, else alike enough.

        Returns:
            None if no document has it, where `similarity` counts such references.

        Raises:
            DatasetError: Several documents have it, or none as it is written and there is no `similarity`.
        """
        found = [each for each in self._documents if content in each.text]  # which is much faster
        found = found or [each for each in self._documents if places_of(content, each.text, 1)]
        if not found and self._similarity is not None:
            found = self._by_letters(content) or self._alike(content, self._similarity)
        if len(found) == 1:
            return found[0]
        shown = f"{where}: the reference {content[:LONGEST_TEXT_SHOWN]!r}"
        if found:
            names = some_of([each.source for each in found])
            raise DatasetError(
                f"{shown} is in {len(found)} documents ({names}); questions.document=COLUMN names its own"
            )
        if self._similarity is None:
            raise DatasetError(f"{shown} is in no document as it is written; questions.similarity=0.9 allows for less")
        return None

    def _by_letters(self, content: str) -> list[Document]:
        sought = letters_of(content).text
        return [each for each, letters, _ in self._with_letters if sought and sought in letters]

    def _alike(self, content: str, least: float) -> list[Document]:
        """Of the documents that share most pieces with a text, those that have something alike enough."""
        sought = letters_of(content).text
        pieces, hashed = [sought[at : at + PIECE] for at in range(0, len(sought), PIECE)], _hashes(sought)[::PIECE]
        shared = []
        for document, letters, known in self._with_letters:
            may_be = np.flatnonzero(known.take(np.searchsorted(known, hashed), mode="clip") == hashed)
            shared.append((sum(pieces[each] in letters for each in may_be.tolist()), document))
        likely = sorted((pair for pair in shared if pair[0]), key=lambda pair: -pair[0])[:COMPARED]
        return [each for _, each in likely if find_again(content, each.text, None, least)]

    @cached_property
    def _with_letters(self) -> list[tuple[Document, str, Hashes]]:
        """Each document with its letters, and the hashes of their pieces in ascending order (searching is slower)."""
        texts = ((each, letters_of(each.text).text) for each in self._documents)
        return [(each, letters, np.unique(np.append(_hashes(letters), [NO_PIECE]))) for each, letters in texts]


def _hashes(letters: str) -> Hashes:
    """A hash of the piece that begins at each letter, shape [letters - PIECE + 1]."""
    codes = np.frombuffer(letters.encode("utf-32-le"), dtype="<u4")
    if len(codes) < PIECE:
        return np.empty(0, dtype=np.uint32)
    hashes: Hashes = np.lib.stride_tricks.sliding_window_view(codes, PIECE) @ WEIGHTS
    return hashes
