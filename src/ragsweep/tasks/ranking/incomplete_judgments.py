"""How much of a ranking is judged, where judgments are incomplete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ragsweep.core.arrays import NOTHING
from ragsweep.datasets import Dataset, Qrels
from ragsweep.tasks.ranking.judging import Hits, Judged
from ragsweep.tasks.ranking.ranking_evaluation import Evaluation
from ragsweep.tasks.run_check import Checked

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


def facts_of(evaluation: Evaluation, qrels: Qrels) -> dict[str, Any]:
    """What is known of a run whose judgments are incomplete; empty if that is not known, or they are complete.

    Judgments are taken for incomplete if some are of units that are not relevant, so that units without a judgment are
    something else, and if such a unit is within the first k. A table that only lists what is relevant cannot say so.
    Nothing is said where each query has a number of ranks of its own, as within a budget.

    Args:
        evaluation: The measured run.
        qrels: The judgments.

    Returns:
        `judged_at_k`, the mean over queries.
    """
    judged, k = evaluation.judged, evaluation.k
    known = judged_units(judged, qrels)
    unknown = (ranked := _ranked(judged)) & ~known
    if not _are_known(evaluation, qrels) or not unknown[:, :k].any():
        return {}
    return {"judged_at_k": judged_at(known, ranked, k)}


def _are_known(evaluation: Evaluation, qrels: Qrels) -> bool:
    """Whether judgments say what is not relevant, and every query has the same number of ranks."""
    return evaluation.ranks is None and evaluation.places is None and bool((qrels.grade <= 0).any())


def _shares(evaluation: Evaluation, qrels: Qrels) -> tuple[float, float]:
    """The judged share of what is among the first k, and of what counts as not relevant there; 1 of nothing."""
    judged, k = evaluation.judged, evaluation.k
    known, ranked = judged_units(judged, qrels)[:, :k], _ranked(judged)[:, :k]
    of_ranked, of_wrong = known[ranked], known[ranked & ~judged.hits[:, :k]]
    return float(of_ranked.mean()) if len(of_ranked) else 1.0, float(of_wrong.mean()) if len(of_wrong) else 1.0


def recorded(evaluation: Evaluation, dataset: Dataset) -> Checked:
    """What a run records and says of incomplete judgments.

    What spans say of passages is complete: nothing is recorded of a dataset with references.
    """
    if dataset.references or not _are_known(evaluation, dataset.qrels):
        return Checked()
    facts = facts_of(evaluation, dataset.qrels)
    shares = {"judged": _shares(evaluation, dataset.qrels)}
    of_facts = {"incomplete_judgments": facts} if facts else {}
    return Checked(sections=section(evaluation, facts), facts=shares | of_facts)


def section(evaluation: Evaluation, facts: Mapping[str, Any]) -> dict[str, list[str]]:
    """What the report says of incomplete judgments; nothing where they are not."""
    if not facts:
        return {}
    share, k = facts["judged_at_k"], evaluation.k
    said = f"this share of what is among the first {k} is judged; the rest counts as not relevant."
    return {HEADING: [f"Judged@{k} {share:.3f}: {said}"]}
