"""What a ranking is worth where judgments are incomplete: how much of it is judged, and what the rest could change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.datasets import Dataset, Qrels
from ragsweep.tasks.ranking.aspect import Aspect
from ragsweep.tasks.ranking.judging import Gains, Hits, Judged
from ragsweep.tasks.ranking.metrics import PerQuery
from ragsweep.tasks.ranking.ranking_evaluation import Evaluation, RankingMetric

PERSISTENCE = 0.8  # probability that the reader of rank-biased precision goes on to the next rank
HEADING = "Incomplete judgments"


def judged_units(judged: Judged, qrels: Qrels) -> Hits:
    """Whether the unit at each rank has a judgment for the query, shape [queries, depth].

    A later passage of a unit has none: it earns nothing, whatever is judged, and its line in `ranking.trec` has an id
    of its own.
    """
    width = max(judged.units.max(initial=0), qrels.unit.max(initial=0)) + 1
    keys = judged.units + width * judged.queries[:, None]
    known: Hits = np.isin(keys, qrels.unit + width * qrels.query) & _ranked(judged)
    return known


def _ranked(judged: Judged) -> Hits:
    """Whether a unit is at a rank for the first time, shape [queries, depth]."""
    ranked: Hits = (judged.units != NOTHING) & ~judged.repeated
    return ranked


def judged_at(known: Hits, ranked: Hits, k: int) -> float:
    """Judged@k: the share of the units among the first k that is judged, averaged over queries.

    As in ir_measures, where fewer than k were retrieved it is the share of those. Queries without any are left out.

    Args:
        known: Whether the unit at each rank is judged, shape [queries, depth].
        ranked: Whether there is a unit at each rank, for the first time, shape [queries, depth].
        k: Cutoff, at least 1.
    """
    found, units = known[:, :k].sum(axis=1), ranked[:, :k].sum(axis=1)
    return float((found[units > 0] / units[units > 0]).mean())


def rank_biased(found: Hits) -> PerQuery:
    """Rank-biased precision (Moffat and Zobel 2008): the weight of the ranks that are found, shape [queries].

    Of the ranks that are not judged, it is the residual: how much higher it would be if all these were relevant. What
    lies beyond the end of a ranking is not counted: the authors add 0.8^depth for it, 2e-10 of 100 ranks, .11 of 10.

    Args:
        found: Whether each rank counts, shape [queries, depth].
    """
    return found @ ((1 - PERSISTENCE) * PERSISTENCE ** np.arange(found.shape[1]))


def condensed(judged: Judged, known: Hits) -> Judged:
    """The rankings without what is not judged (Sakai 2007): later units move up, as with trec_eval's -J."""
    order = np.argsort(~known, axis=1, kind="stable")
    kept = np.take_along_axis(known, order, axis=1)

    def moved(values: Any, empty: Any) -> Any:
        return np.where(kept, np.take_along_axis(values, order, axis=1), empty)

    units: Indices = moved(judged.units, NOTHING)
    gains: Gains = moved(judged.gains, 0.0)
    ranks, repeated, hits = moved(judged.ranks, 0), moved(judged.repeated, False), moved(judged.hits, False)
    return replace(judged, units=units, ranks=ranks, repeated=repeated, gains=gains, hits=hits)


def facts_of(evaluation: Evaluation, qrels: Qrels, metrics: Mapping[str, RankingMetric]) -> dict[str, Any]:
    """What is known of a run whose judgments are incomplete; empty if that is not known, or they are complete.

    Judgments are taken for incomplete if some are of units that are not relevant, so that units without a judgment are
    something else, and if such a unit is within the first k. A table that only lists what is relevant cannot say so.
    Nothing is said where each query has a number of ranks of its own, as within a budget.

    Args:
        evaluation: The measured run.
        qrels: The judgments.
        metrics: Those that were measured, which need no spans.

    Returns:
        Means over queries: `judged_at_k`, `rbp` with its `residual`, and `condensed`, the metrics by name without the
        units that are not judged.
    """
    judged, k = evaluation.judged, evaluation.k
    known = judged_units(judged, qrels)
    unknown = (ranked := _ranked(judged)) & ~known
    if not _are_known(evaluation, qrels) or not unknown[:, :k].any():
        return {}
    without = condensed(judged, known)
    return {
        "judged_at_k": judged_at(known, ranked, k),
        "persistence": PERSISTENCE,
        "rbp": float(rank_biased(judged.hits).mean()),
        "residual": float(rank_biased(unknown).mean()),
        "condensed": {name: float(np.mean(metric(without, k))) for name, metric in metrics.items()},
    }


def _are_known(evaluation: Evaluation, qrels: Qrels) -> bool:
    """Whether judgments say what is not relevant, and every query has the same number of ranks."""
    return evaluation.ranks is None and evaluation.places is None and bool((qrels.grade <= 0).any())


def _shares(evaluation: Evaluation, qrels: Qrels) -> tuple[float, float]:
    """The judged share of what is among the first k, and of what counts as not relevant there; 1 of nothing."""
    judged, k = evaluation.judged, evaluation.k
    known, ranked = judged_units(judged, qrels)[:, :k], _ranked(judged)[:, :k]
    of_ranked, of_wrong = known[ranked], known[ranked & ~judged.hits[:, :k]]
    return float(of_ranked.mean()) if len(of_ranked) else 1.0, float(of_wrong.mean()) if len(of_wrong) else 1.0


def recorded(evaluation: Evaluation, dataset: Dataset, metrics: Mapping[str, RankingMetric]) -> Aspect:
    """What a run records and says of incomplete judgments; arguments as of `facts_of`.

    What spans say of passages is complete: nothing is recorded of a dataset with references.
    """
    if dataset.references or not _are_known(evaluation, dataset.qrels):
        return Aspect()
    facts = facts_of(evaluation, dataset.qrels, metrics)
    shares = {"judged": _shares(evaluation, dataset.qrels)}
    of_facts = {"incomplete_judgments": facts} if facts else {}
    return Aspect(sections=section(evaluation, facts), facts=shares | of_facts)


def section(evaluation: Evaluation, facts: Mapping[str, Any]) -> dict[str, list[str]]:
    """What the report says of incomplete judgments; nothing where they are not."""
    if not facts:
        return {}
    k, means = evaluation.k, evaluation.means
    of_metrics = [
        f"{metric.title} {facts['condensed'][metric.name]:.3f} ({means[metric.name]:.3f})"
        for metric in evaluation.metrics
    ]
    rbp = f"RBP({facts['persistence']:g}) {facts['rbp']:.3f}, residual {facts['residual']:.3f}"
    return {
        HEADING: [
            f"Judged@{k} {facts['judged_at_k']:.3f}: this share of what is among the first {k} is judged; the rest "
            f"counts as not relevant. {rbp}: that is how much higher it would be if all that is ranked and not judged "
            "were relevant.",
            f"On condensed lists, without what is not judged (as measured): {', '.join(of_metrics)}.",
        ]
    }
