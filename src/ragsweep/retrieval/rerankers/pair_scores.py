"""Scores of pairs of a query and a passage, kept in the store: a pair that was scored once is not scored again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from ragsweep.core.arrays import NOTHING, Scores
from ragsweep.core.digest import digest, digest_texts
from ragsweep.core.errors import RetrieverError
from ragsweep.core.progress import progress
from ragsweep.models.encoders.embeddings import Digests, digests_of
from ragsweep.retrieval.ranking import Ranking, Search
from ragsweep.store.stage_store import Arrays, Store

Pair = tuple[str, str]  # of a query and a passage
ScorePairs = Callable[[Sequence[Pair]], Scores]

PAIRS_AT_ONCE = 1024  # pairs that are scored before they are kept: what a killed process can lose


def pair_scores(search: Search, ranking: Ranking, score: ScorePairs, store: Store, key: object) -> Scores:
    """The scores of all candidates of a ranking, shape [queries, candidates]; -inf where there is no candidate.

    Pairs that the store has, from any other ranking, are taken from there. If the score of a pair does not depend on
    the pairs beside it, the result is that of scoring all.

    Args:
        search: Has the texts.
        ranking: Has the candidates of each query.
        score: Scores pairs, shape [pairs]. It gets those with long passages first and those of one passage together.
        store: Keeps the scores.
        key: JSON-like value that determines a score, together with the two texts.

    Raises:
        RetrieverError: A score is not a finite number.
    """
    stage = f"pairs-{digest(key)[:16]}"
    queries, ranks = np.nonzero(ranking.passages != NOTHING)
    passages = ranking.passages[queries, ranks]
    wanted = _digests(search, queries, passages)
    kept = [*store.arrays(stage)]
    _, first = np.unique(wanted, return_index=True)
    missing = first[~np.isin(wanted[first], _joined(kept, "digests"))] if kept else first
    shortness = np.array([-len(search.passages[passage]) for passage in passages[missing].tolist()])
    missing = missing[np.lexsort((queries[missing], passages[missing], shortness))]

    def scored(rows: npt.NDArray[np.int64]) -> Arrays:
        pairs = [(search.queries[queries[row]], search.passages[passages[row]]) for row in rows]
        scores = score(pairs)
        wrong = ~np.isfinite(scores)
        if wrong.any():
            raise RetrieverError(
                f"reranker: scores a pair {scores[wrong][0]}, expected a number (query: {pairs[wrong.argmax()][0]!r})"
            )
        return {"digests": wanted[rows], "scores": scores.astype(np.float64)}

    with progress(f"scoring {len(missing):,} pairs of query and passage", len(missing)) as shown:
        for start in range(0, len(missing), PAIRS_AT_ONCE):
            rows = missing[start : start + PAIRS_AT_ONCE]
            digests = digest(wanted[rows].tobytes().hex())
            kept.append(store.get(stage, digests, partial(scored, rows)))
            shown.update(start + len(rows) - shown.n)
    scores = np.full(ranking.passages.shape, -np.inf)
    if len(wanted):
        digests, at = np.unique(_joined(kept, "digests"), return_index=True)
        scores[queries, ranks] = _joined(kept, "scores")[at[np.searchsorted(digests, wanted)]]
    return scores


def pairs_of(search: Search, ranking: Ranking, query: int) -> list[Pair]:
    """The pairs of one query."""
    row = ranking.passages[query]
    return [(search.queries[query], search.passages[passage]) for passage in row[row != NOTHING].tolist()]


def _digests(search: Search, queries: npt.NDArray[np.int64], passages: npt.NDArray[np.int64]) -> Digests:
    """The digest of each pair, shape [pairs]."""
    of_query = {query: digest_texts([search.queries[query]]) for query in np.unique(queries).tolist()}
    of_passage = {passage: digest_texts([search.passages[passage]]) for passage in np.unique(passages).tolist()}
    return digests_of([of_query[q] + of_passage[p] for q, p in zip(queries.tolist(), passages.tolist(), strict=True)])


def _joined(entries: Sequence[Arrays], name: str) -> npt.NDArray[np.generic]:
    return np.concatenate([entry[name] for entry in entries])
