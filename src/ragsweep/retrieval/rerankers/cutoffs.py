"""Dynamic k: a ranking ends where its scores say so, another one for each query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from ragsweep.core.arrays import NOTHING
from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Between, Text
from ragsweep.retrieval.kinds import Reranker
from ragsweep.retrieval.ranking import Ranking, Search, first_of


@dataclass(frozen=True)
class Cutoff(Reranker):
    """Keeps the first passages of a ranking.

    Attributes:
        least: The fewest passages that are kept.
        most: The most passages of which the scores decide.
    """

    least: Annotated[int, Between(1)] = 1
    most: Annotated[int, Between(1)] = 20

    def __post_init__(self) -> None:
        if self.least > self.most:
            raise ConfigError(f"least: found {self.least}, expected at most {self.most} (most)")


@dataclass(frozen=True)
class ConfidenceCutoff(Cutoff):
    """Keeps the fewest passages whose probabilities add up to `mass`: nucleus sampling's rule (Holtzman et al. 2020).

    A passage's probability is `exp(score / temperature)`, divided by the sum of that over the first `most` passages, as
    retrievers of generators have it (Lewis et al. 2020, arXiv:2005.11401; with a temperature Izacard et al. 2022,
    arXiv:2208.03299). It says how far scores are apart. It is not calibrated: it does not say how often such passages
    are relevant.

    Attributes:
        least: The fewest passages that are kept.
        most: The most passages that are kept. The probabilities of these add up to 1.
        mass: The sum that the probabilities of the kept passages must reach.
        temperature: A difference between scores that counts as large. It depends on what gives the scores: about 0.1
            for fused ones, 0.05 for cosines and 2 for BM25.
    """

    mass: Annotated[float, Between(0, 1)] = 0.9
    temperature: Annotated[float, Between(1e-6)] = 0.1

    def rerank(self, search: Search, ranking: Ranking, depth: int) -> Ranking:
        """The first passages of a ranking until they have the mass, at most `depth` of them."""
        retrieved = ranking.passages[:, : self.most] != NOTHING
        scores = np.where(retrieved, ranking.scores[:, : self.most], -np.inf)
        best = np.where(retrieved[:, :1], scores[:, :1], 0.0)
        weights = np.exp((scores - best) / self.temperature)
        behind = np.cumsum(weights[:, ::-1], axis=1)[:, ::-1] - weights  # exact for the smallest ones, unlike 1 - mass
        enough = behind <= (1 - self.mass) * weights.sum(axis=1, keepdims=True)
        return first_of(ranking, np.maximum(enough.argmax(axis=1) + 1, self.least), depth)


@dataclass(frozen=True)
class GapCutoff(Cutoff):
    """Cuts the ranking of each query at the largest drop between neighbouring scores, as Weaviate's autocut does.

    Where all scores are equal, or no drop is large enough, the whole ranking is kept.

    Attributes:
        least: The fewest passages that are kept.
        most: The most passages that are kept before the drop.
        ratio: The smallest drop that counts, as a share of the range of the first `most + 1` scores.
    """

    ratio: Annotated[float, Between(0, 1)] = 0.0

    def rerank(self, search: Search, ranking: Ranking, depth: int) -> Ranking:
        """The first passages of a ranking, up to the drop and at most `depth` of them."""
        scores = ranking.scores[:, : self.most + 1]
        retrieved = ranking.passages[:, : self.most + 1] != NOTHING
        drops = np.zeros(scores.shape)  # behind each rank
        np.subtract(scores[:, :-1], scores[:, 1:], out=drops[:, :-1], where=retrieved[:, 1:])
        needed = self.ratio * drops.sum(axis=1)
        drops[:, : self.least - 1] = 0
        largest = drops.argmax(axis=1)
        drop = drops.max(axis=1)
        has_drop = (drop > 0) & (drop >= needed)
        return first_of(ranking, np.where(has_drop, largest + 1, ranking.passages.shape[1]), depth)


@dataclass(frozen=True)
class TypeCutoff(Cutoff):
    """Ends the ranking of each query at the k of its type.

    The type is predicted from the words of the query, by what was learnt from the types of the queries of other folds.
    A k that is not given is learnt from the judgments of other folds. The task does that, as no stage sees types or
    judgments. The latency of a run is without the prediction.

    Attributes:
        least: The smallest k that is learnt.
        most: The largest k that is learnt; it is never more than the k of the run.
        k: The k by query type, where the others end at the k of the run; None learns it for each type.
        metric: The name of the metric whose mean at each k decides.
    """

    learns: ClassVar[bool] = True

    k: Mapping[str, Annotated[int, Between(1)]] | None = None
    metric: Text = "f1"

    @property
    def without_effect(self) -> Sequence[str]:
        """The settings of learning, if k is given."""
        return () if self.k is None else ("least", "most", "metric")

    def check(self, search: Search) -> None:
        """Raise `ConfigError`: this needs the types of queries, which only the task knows."""
        raise ConfigError(
            "dynamic_k=by_type: learns from the types and judgments of other queries, which are not known here; it is "
            "a stage of task=ranking with a retriever that learns nothing itself, and no part of another one"
        )

    def rerank(self, search: Search, ranking: Ranking, depth: int) -> Ranking:
        """Raise `ConfigError`, as `check` does."""
        self.check(search)
        raise AssertionError


@dataclass(frozen=True)
class QueryCutoffs(Reranker):
    """Ends the ranking of each query of a dataset at a k that was chosen for it.

    Attributes:
        lengths: The k by the text of the query; a ranking of any other query is kept.
    """

    lengths: Mapping[str, int]

    def rerank(self, search: Search, ranking: Ranking, depth: int) -> Ranking:
        """The first passages of a ranking, at most `depth` of them."""
        return first_of(ranking, np.array([self.lengths.get(text, depth) for text in search.queries]), depth)
