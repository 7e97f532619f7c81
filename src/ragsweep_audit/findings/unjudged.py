"""Relevant units that nobody judged: units that unlike retrievers agree on, and that have no judgment for the query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.datasets import Dataset, Qrels
from ragsweep.retrieval import DenseRetriever, Encoder, Ranker, Ranking, Search, SparseRetriever, rank, ranked
from ragsweep.store.identity import identity
from ragsweep.store.stage_store import Store
from ragsweep.tasks.ranking.units import units_of_ranking
from ragsweep_audit.findings.finding import Audited, Finder, Finding
from ragsweep_audit.findings.unit_ranks import evenly_spread, sampled_part

LETTERS = (3, 5)  # letters of a sequence: fewer are in every passage, more are whole words
SEARCHED_AT_ONCE = 64  # that are searched for at once
COMPARED_DEPTH = 100
MOST_PASSAGES = 100_000  # of a corpus that is ranked by sequences of letters, which takes a second for 1,000


@dataclass(frozen=True)
class LetterRetriever(Ranker):
    """Ranks passages by the cosine of TF-IDF vectors of sequences of letters within words.

    It finds other forms of a word, and misspelled ones, which BM25 misses; and rare names, which embeddings miss.

    Attributes:
        store: Keeps rankings.
    """

    libraries: ClassVar[tuple[str, ...]] = ("scikit-learn",)

    store: Store

    def rank(self, search: Search, depth: int) -> Ranking:
        """Rank the passages for every query, at most `depth` of them."""
        from sklearn.feature_extraction.text import TfidfVectorizer  # type: ignore[import-untyped]

        vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=LETTERS, sublinear_tf=True, dtype=np.float32)
        passages = vectorizer.fit_transform(search.passages)
        queries = vectorizer.transform(search.queries)
        rankings: list[Ranking] = []
        for start in range(0, len(search.queries), SEARCHED_AT_ONCE):
            scores = (queries[start : start + SEARCHED_AT_ONCE] @ passages.T).toarray()
            places = np.where(scores > 0, np.arange(len(search.passages)), NOTHING)
            rankings.append(ranked(places, scores, depth))
        return Ranking(
            np.concatenate([part.passages for part in rankings]), np.concatenate([part.scores for part in rankings])
        )


def unlike_rankings(
    items: Dataset, encoder: Encoder, store: Store, depth: int = COMPARED_DEPTH
) -> Mapping[str, Indices]:
    """Rank the passages for every query by BM25, by embeddings, and by sequences of letters.

    Args:
        items: What is searched.
        encoder: Gives the embeddings.
        store: Keeps the rankings.
        depth: Ranks of each ranking.

    Returns:
        Position of the passage at each rank by the name of the method, each of shape [queries, depth]; -1 after the
        last passage that was found.
    """
    queries = tuple(query.text for query in items.queries)
    search = Search(items.texts, queries, unranked=items.unranked_passages)
    rankers: dict[str, Ranker] = {
        "words": SparseRetriever(store),
        "letters": LetterRetriever(store),
        "meaning": DenseRetriever(encoder, store),
    }
    return {name: rank(ranker, search, depth).passages for name, ranker in rankers.items()}


DEEPEST_RANK = 10  # ranks that are compared
# What is listed. At least half of what all retrievers rank there is judged relevant in SciFact and the manual.
TOP_RANKS = 3
USUAL = 0.25  # of the units that all retrievers rank first, unjudged: 6 % in the bundled manual, 20 % in SciFact
UNJUDGED_LEVEL = 0.05
EXAMPLES_NAMED = 5


@dataclass(frozen=True)
class Agreed:
    """Units that all retrievers rank among the first for a query with judgments. The best ones of a query come first.

    Attributes:
        query: Position of the query in `Dataset.queries`, shape [units].
        unit: Position of the unit in `Dataset.units`, shape [units].
        ranks: Rank of the unit in each ranking, from 1, where a repeated unit counts once, shape [units, rankings].
        judged: Whether the unit has a judgment for the query, shape [units].
        relevant: Whether that judgment is at least the relevance level, shape [units].
    """

    query: Indices
    unit: Indices
    ranks: Indices
    judged: npt.NDArray[np.bool_]
    relevant: npt.NDArray[np.bool_]

    @property
    def worst(self) -> Indices:
        """The worst rank of each unit, shape [units]."""
        worst: Indices = self.ranks.max(axis=1)
        return worst

    def unjudged(self, depth: int = TOP_RANKS) -> Indices:
        """Positions of the units without a judgment that all retrievers rank among the first `depth`, at most 10."""
        return np.flatnonzero(~self.judged & (self.worst <= depth))


def agreed(dataset: Dataset, units: Mapping[str, Indices], relevance_level: int = 1) -> Agreed:
    """The units that all retrievers rank among the first 10.

    Args:
        dataset: Has the judgments.
        units: Position of the unit that the passage at each rank stands for by the name of the retriever, each of shape
            [queries, depth]; -1 after the last one. A unit may be repeated.
        relevance_level: The lowest grade that counts as relevant.
    """
    first, *further = map(_first_units, units.values())
    ranks = [np.broadcast_to(np.arange(1, first.shape[1] + 1), first.shape)]
    is_agreed = (first >= 0) & np.isin(np.arange(len(first)), dataset.qrels.query)[:, None]
    for other in further:
        is_equal = (first[:, :, None] == other[:, None, :]) & (first >= 0)[:, :, None]
        is_agreed &= is_equal.any(axis=2)
        ranks.append(is_equal.argmax(axis=2) + 1)
    query, place = np.nonzero(is_agreed)
    unit, of_unit = first[query, place], np.stack([of_ranking[query, place] for of_ranking in ranks], axis=1)
    order = np.lexsort((of_unit.sum(axis=1), of_unit.max(axis=1, initial=0), query))
    query, unit, of_unit = query[order], unit[order], of_unit[order]
    qrels, width = dataset.qrels, len(dataset.units)
    keys, judged = query * width + unit, qrels.query * width + qrels.unit
    relevant = np.isin(keys, judged[qrels.grade >= relevance_level])
    return Agreed(query, unit, of_unit, np.isin(keys, judged), relevant)


def find_unjudged(dataset: Dataset, units: Mapping[str, Indices], relevance_level: int = 1) -> Finding | None:
    """A finding if judgments are missing, as far as unlike retrievers can tell.

    Retrievers also agree on units that only look relevant. So the finding is about what all of them rank first. It is
    given if more than a quarter of these units have no judgment (one-sided exact binomial test, p <= 0.05), which
    complete judgments do not have, and if at least half are judged relevant: otherwise the queries are too hard for
    these retrievers. It counts the units without a judgment that all of them rank among the first 3.

    Args:
        dataset: Has the judgments.
        units: As in `agreed`.
        relevance_level: The lowest grade that counts as relevant.
    """
    top = agreed(dataset, units, relevance_level)
    first = top.worst == 1
    missing, all_first = int((first & ~top.judged).sum()), int(first.sum())
    dependable = 2 * int((first & top.relevant).sum()) >= all_first
    if missing <= USUAL * all_first or not dependable:
        return None
    from scipy.special import bdtrc  # where it is needed: a warm run does not load it

    if bdtrc(missing - 1, all_first, USUAL) > UNJUDGED_LEVEL:
        return None
    names = list(units)
    pairs = [
        {
            "query_id": dataset.queries[top.query[row]].query_id,
            "unit": dataset.units[top.unit[row]],
            "ranks": dict(zip(names, top.ranks[row].tolist(), strict=True)),
        }
        for row in top.unjudged().tolist()
    ]
    return Finding(
        "unjudged",
        f"{len(names)} unlike retrievers agree on the best {dataset.unit} for {all_first} queries, and "
        f"{missing} of these {dataset.unit}s have no judgment.",
        "A relevant one counts as not relevant then, so a configuration that finds it measures too low.",
        "Judge them: ragsweep judge --strategy pooling asks for what configurations rank and nobody judged.",
        len(pairs),
        int((top.worst <= TOP_RANKS).sum()),
        tuple(f"{pair['unit']} for query {pair['query_id']}" for pair in pairs[:EXAMPLES_NAMED]),
        {"depth": TOP_RANKS, "first": all_first, "first_unjudged": missing, "pairs": pairs},
    )


def _first_units(units: Indices) -> Indices:
    """The first distinct units of each query, shape [queries, at most 10]; -1 after the last one."""
    order = np.argsort(units, axis=1, kind="stable")
    ordered = np.take_along_axis(units, order, axis=1)
    repeated = np.zeros(units.shape, dtype=bool)
    np.put_along_axis(repeated, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    kept = np.argsort(repeated | (units < 0), axis=1, kind="stable")[:, :DEEPEST_RANK]
    return np.where(np.take_along_axis(repeated, kept, axis=1), -1, np.take_along_axis(units, kept, axis=1))


class Unjudged(Finder):
    """Relevant units that nobody judged. The embeddings are those that the retriever uses."""

    kind = "unjudged"

    def lacks(self, audited: Audited) -> str:
        """Three unlike rankings are needed."""
        if audited.encoder is None:
            return "that needs a retriever with an encoder"
        if (count := len(audited.items.passages)) > MOST_PASSAGES:
            return f"there are {count:,} passages, more than {MOST_PASSAGES:,}"
        return audited.without_ranks

    def limits(self, audited: Audited) -> str:
        """Of many queries, some are ranked."""
        return sampled_part(len(np.unique(audited.items.qrels.query)))

    def depends_on(self, audited: Audited) -> Sequence[object]:
        """On the encoder, too."""
        return [*audited.key, identity(audited.encoder)]

    def find(self, audited: Audited) -> Iterator[Finding]:
        """A finding as of `find_unjudged`."""
        assert audited.encoder is not None  # or it is not looked for
        items = _sampled(audited.items)
        rankings = unlike_rankings(items, audited.encoder, audited.store)
        units = {name: units_of_ranking(passages, items) for name, passages in rankings.items()}
        if finding := find_unjudged(items, units, audited.relevance_level):
            yield finding


def _sampled(items: Dataset) -> Dataset:
    """The dataset; if it has many queries, with a sample of the judged ones."""
    if not sampled_part(len(items.queries)):
        return items
    queries = evenly_spread(np.unique(items.qrels.query))
    qrels, kept = items.qrels, np.isin(items.qrels.query, queries)
    return replace(
        items,
        queries=tuple(items.queries[row] for row in queries),
        qrels=Qrels(np.searchsorted(queries, qrels.query[kept]), qrels.unit[kept], qrels.grade[kept]),
    )
