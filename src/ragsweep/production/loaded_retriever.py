"""A retriever that answers questions in a program of yours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock

from ragsweep.core.arrays import NOTHING
from ragsweep.core.digest import DigestedTexts
from ragsweep.core.errors import ConfigError
from ragsweep.core.timing import without_timing
from ragsweep.datasets import Passage
from ragsweep.datasets.model.collection import readable
from ragsweep.production.export_folder import LARGEST_K
from ragsweep.retrieval import Names, Ranker, Search, rank
from ragsweep.retrieval.returned_units.merging import Enlarging

_one_search = Lock()  # models and their tokenizers are shared by all retrievers of a process, and are not thread-safe


@dataclass(frozen=True)
class Hit:
    """A passage that was retrieved, or what is returned for it.

    Attributes:
        text: Its text, with a line break where a page ends.
        source: Its document.
        page: The number of the page on which it begins.
        score: Its score; those of different questions cannot be compared.
        passage_id: Its id: the document, the page, and which passage of this page it is. Of what is returned for
            several passages, that of the first one that was found.
    """

    text: str
    source: str
    page: str
    score: float
    passage_id: str


class LoadedRetriever:
    """Retrieves passages for questions; `ragsweep.load` makes it. Any thread may search, one at a time in a process.

    Args:
        ranker: The retriever with the stages around it.
        passages: The passages of the corpus.
        k: How many are returned unless a search says otherwise.
        depth: How many are ranked at least.
        indexed: What is indexed for each passage; None if that is its own text.
        enlarging: Says what is returned for a passage; None returns the passage.
    """

    def __init__(
        self,
        ranker: Ranker,
        passages: Sequence[Passage],
        k: int,
        depth: int,
        *,
        indexed: Sequence[str] | None = None,
        enlarging: Enlarging | None = None,
    ) -> None:
        self.k, self.passages = k, tuple(passages)
        self._ranker, self._depth, self._enlarging = ranker, depth, enlarging
        texts = DigestedTexts(passage.text for passage in self.passages)
        searched, own = (texts, None) if indexed is None else (DigestedTexts(indexed), texts)
        self._search = partial(Search, searched, own=own)
        ids = tuple(passage.chunk_id for passage in self.passages)
        self._names = Names((), ids, ids, tuple(passage.source for passage in self.passages))

    def search(self, query: str, k: int | None = None) -> list[Hit]:
        """The best passages for a question, best first.

        Args:
            query: The question.
            k: The most passages; None takes as many as were measured. There are fewer if no others are found.

        Raises:
            ConfigError: The question is blank, or `k` is not from 1 to 1000.
        """
        return self.search_all([query], k)[0]

    def search_all(self, queries: Sequence[str], k: int | None = None) -> list[list[Hit]]:
        """As `search`, for many questions at once, which is faster."""
        k = self.k if k is None else k
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= LARGEST_K:
            raise ConfigError(f"k: found {k!r}, expected a whole number from 1 to {LARGEST_K}")
        texts = tuple(queries)
        for text in texts:
            if not isinstance(text, str) or not text.strip():
                raise ConfigError(f"query: found {text!r:.80}, expected the text of a question")
        if not texts:
            return []
        names = self._names._replace(queries=tuple(map(str, range(len(texts)))))
        with _one_search, without_timing():
            ranking = rank(self._ranker, self._search(texts, names), max(self._depth, k))
        rows = zip(ranking.passages, ranking.scores.tolist(), strict=True)
        return [self._hits(passages[passages != NOTHING].tolist(), scores, k) for passages, scores in rows]

    def _hits(self, ranked: Sequence[int], scores: Sequence[float], k: int) -> list[Hit]:
        enlarging = self._enlarging
        if enlarging is None:
            passages = [self.passages[place] for place in ranked[:k]]
            return [
                Hit(readable(passage.text), passage.source, passage.page_number, score, passage.chunk_id)
                for passage, score in zip(passages, scores, strict=False)
            ]
        hits = []
        for part in enlarging.at_cutoffs(ranked, scores, k)[-1]:
            page, first = enlarging.page(part).page_number, enlarging.first_found(part, ranked)
            hits.append(Hit(readable(enlarging.text(part)), part.source, page, part.score, first.chunk_id))
        return hits
