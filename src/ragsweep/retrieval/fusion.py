"""Fusing rankings into one: by their normalised scores, or by their ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Annotated, ClassVar

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices, Scores
from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Between
from ragsweep.retrieval.kinds import Fusion
from ragsweep.retrieval.normalising import NORMS, Norm, Normalisation
from ragsweep.retrieval.ranking import Ranking, ranked

RELATIVE_ROUNDING = 1e-14  # sums of floats that are equal in exact arithmetic differ by less


@dataclass(frozen=True)
class WeightedSum(Fusion):
    """Adds up normalised scores: `weights[0] * norm(first) + weights[1] * norm(second) + ...`.

    A passage that is absent from a ranking gets 0 from it. With `zscore` that is the mean of the ranking, so that a
    passage which the ranking lacks can be ahead of one that it has last. A ranking of weight 0 counts as if it were not
    there.

    Equal to `wsum` of ranx with the norms `min-max` and `zmuv`, except that a ranking of equal scores normalises to 1
    with `minmax` here, and to 0 in ranx. With `none` and equal weights it is CombSUM (Fox & Shaw, TREC-2, 1994).

    Attributes:
        weights: One for each ranking; None weighs all alike.
        norm: How the scores of each ranking are made comparable; `none` takes them as they are.
    """

    weights: Sequence[float] | None = None
    norm: Norm = field(default="minmax", kw_only=True)

    def __post_init__(self) -> None:
        _check_weights(self.weights)

    @property
    def normalisation(self) -> Normalisation:
        """What the scores of each ranking become before they are fused."""
        return NORMS[self.norm]

    def fuse(self, rankings: Sequence[Ranking]) -> Ranking:
        """One ranking of all passages of the rankings, which may differ in depth."""
        return _weighted_sum(rankings, self._weights(len(rankings)), self.normalisation.of)

    def formula(self, names: Sequence[str]) -> str:
        """How the score is made of rankings of these names."""
        weighted = zip(self._weights(len(names)), names, strict=True)
        return " + ".join(f"{weight:g} * norm of {name}" for weight, name in weighted if weight)

    def _weights(self, rankings: int) -> list[float]:
        return _weights_of(self.weights, rankings, 1 / rankings)


@dataclass(frozen=True)
class ReciprocalRankFusion(Fusion):
    """Adds up `weight / (constant + rank)` over the rankings that have a passage (Cormack et al., SIGIR 2009).

    Ranks count from 1; passages of equal scores have the ranks of corpus order. Equal to `rrf` of ranx, which has no
    weights. Elasticsearch weighs in this way, too; Qdrant divides the rank by the weight instead.

    Attributes:
        constant: The larger it is, the less the first ranks count more than later ones.
        weights: One for each ranking; None gives each 1.
    """

    by_rank: ClassVar[bool] = True

    constant: Annotated[float, Between(0, 1_000_000)] = 60
    weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        _check_weights(self.weights)

    @property
    def normalisation(self) -> Normalisation:
        """What each rank adds, without its weight."""

        def of(ranking: Ranking) -> Scores:
            ranks = np.arange(1.0, ranking.passages.shape[1] + 1)
            return np.where(ranking.passages != NOTHING, 1 / (self.constant + ranks), 0.0)

        return Normalisation(of, f"1 / ({self.constant:g} + rank in this part)")

    def fuse(self, rankings: Sequence[Ranking]) -> Ranking:
        """One ranking of all passages of the rankings, which may differ in depth.

        Passages are tied where their scores are equal in exact arithmetic, whatever the order of the rankings.
        """
        weights = _weights_of(self.weights, len(rankings), 1)
        return _with_ties(_weighted_sum(rankings, weights, self.normalisation.of))

    def formula(self, names: Sequence[str]) -> str:
        """How the score is made of rankings of these names."""
        weighted = zip(_weights_of(self.weights, len(names), 1), names, strict=True)
        return " + ".join(f"{weight:g} / ({self.constant:g} + rank in {name})" for weight, name in weighted if weight)


def is_weighted(fusion: object) -> bool:
    """Whether a fusion takes weights: it is a dataclass with the field `weights`."""
    return is_dataclass(fusion) and any(field.name == "weights" for field in fields(fusion))


def _check_weights(weights: Sequence[float] | None) -> None:
    if weights is not None and not any(weights):
        raise ConfigError(f"weights: found {[*weights]}, expected at least one that is not 0")


def _weights_of(weights: Sequence[float] | None, rankings: int, default: float) -> list[float]:
    if weights is not None and len(weights) != rankings:
        raise ConfigError(f"weights: found {len(weights)}, expected one for each of the {rankings} rankings")
    return [default] * rankings if weights is None else list(weights)


def _weighted_sum(
    rankings: Sequence[Ranking], weights: Sequence[float], normalised: Callable[[Ranking], Scores]
) -> Ranking:
    kept = [(ranking, weight) for ranking, weight in zip(rankings, weights, strict=True) if weight]
    scores = [weight * normalised(ranking) for ranking, weight in kept]
    return _ranked(*_each_once([ranking for ranking, _ in kept], scores))


def _with_ties(fused: Ranking) -> Ranking:
    """The ranking with equal scores where they differ by rounding alone: a sum of floats depends on its order."""
    scores = fused.scores
    with np.errstate(invalid="ignore"):  # -inf minus -inf
        differs = ~(scores[:, :-1] - scores[:, 1:] <= RELATIVE_ROUNDING * np.abs(scores[:, :-1]))
    starts = np.pad(differs, ((0, 0), (1, 0)), constant_values=True)
    first = np.maximum.accumulate(np.where(starts, np.arange(scores.shape[1]), 0), axis=1)
    return _ranked(fused.passages, np.take_along_axis(scores, first, axis=1))


def _each_once(rankings: Sequence[Ranking], scores: Sequence[Scores]) -> tuple[Indices, Scores]:
    """Each passage of the rankings once, with the sum of its scores; `NOTHING` in the other places."""
    passages, values = np.hstack([ranking.passages for ranking in rankings]), np.hstack(scores)
    order = np.argsort(passages, axis=1, kind="stable")
    passages = np.take_along_axis(passages, order, axis=1)
    values = np.take_along_axis(values, order, axis=1)
    first = np.ones(passages.shape, dtype=bool)  # entry of each passage; its other entries follow it
    first[:, 1:] = passages[:, 1:] != passages[:, :-1]
    total = values.copy()
    for after in range(1, len(rankings)):
        equal = passages[:, after:] == passages[:, :-after]
        np.add(total[:, :-after], values[:, after:], out=total[:, :-after], where=equal)
    return np.where(first, passages, NOTHING), total


def _ranked(passages: Indices, scores: Scores) -> Ranking:
    return ranked(passages, scores, passages.shape[1])
