"""Which passages are relevant where the references of questions, spans of text, are what is judged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ragsweep.datasets.model.collection import Judgment, Reference
from ragsweep.datasets.model.overlaps import Located, on_one_line, overlapping
from ragsweep.datasets.model.word_positions import LEAST_HELD, number_words, shares_of_words


class JudgedPassage(Located, Protocol):
    """A passage, as far as its judgments need it."""

    @property
    def text(self) -> str:
        """Its text."""

    @property
    def chunk_id(self) -> str:
        """Its id, which is the unit of its judgments."""


def relevant_passages(
    references: Sequence[Reference], passages: Sequence[JudgedPassage], fuzzy_threshold: float = LEAST_HELD
) -> list[Judgment]:
    """A judgment of grade 1 for each passage that shares a character with a reference of the query.

    A query without such a passage gets a judgment of grade 0, so that it counts and scores 0.

    Args:
        references: The references of all queries.
        passages: The passages of all documents.
        fuzzy_threshold: Share of the words of a reference without offsets that a passage of its document must have.
    """
    if not references:
        return []
    sources = {reference.source for reference in references}
    near = [passage for passage in passages if passage.source in sources]
    pairs = [*zip(*(column.tolist() for column in overlapping(*on_one_line(near, references))), strict=True)]
    by_words = [row for row, reference in enumerate(references) if not reference.has_offsets]
    of_source: dict[str, list[int]] = {references[row].source: [] for row in by_words}
    for place, passage in enumerate(near):
        if passage.source in of_source:
            of_source[passage.source].append(place)
    texts = [passage.text if passage.source in of_source else "" for passage in near]
    of_passages, of_references = number_words(texts, [reference.text for reference in references])
    for row in by_words:
        inside = np.array(of_source[references[row].source], dtype=np.int64)
        shares = shares_of_words(of_passages, of_references, inside, np.full(len(inside), row))
        pairs += [(row, place) for place in inside[shares >= fuzzy_threshold].tolist()]
    judgments = [Judgment(references[row].query_id, near[place].chunk_id, 1) for row, place in pairs]
    query_ids = {reference.query_id for reference in references}
    missed = query_ids - {judgment.query_id for judgment in judgments}
    return [*judgments, *(Judgment(query_id, passages[0].chunk_id, 0) for query_id in sorted(missed))]
