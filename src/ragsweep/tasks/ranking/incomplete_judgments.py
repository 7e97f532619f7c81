"""How much of a ranking is judged, where judgments are incomplete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ragsweep.core.arrays import NOTHING
from ragsweep.datasets import Dataset, Qrels
from ragsweep.tasks.ranking.judging import Hits
from ragsweep.tasks.ranking.ranking_evaluation import Evaluation
from ragsweep.tasks.run_check import Checked

HEADING = "Incomplete judgments"


def _judged_and_ranked(evaluation: Evaluation, qrels: Qrels) -> tuple[Hits, Hits]:
    """Whether each of the first k units is judged, and whether it is one at its first rank, shape [queries, k].

    A later passage of a unit counts as neither. Both are empty where judgments do not say what is not relevant, as a
    table that lists what is relevant, or where each query has a number of ranks of its own, as within a budget.
    """
    if evaluation.ranks is not None or evaluation.places is not None or not (qrels.grade <= 0).any():
        return np.zeros((0, 0), bool), np.zeros((0, 0), bool)
    judged, k = evaluation.judged, evaluation.k
    ranked: Hits = ((judged.units != NOTHING) & ~judged.repeated)[:, :k]
    width = max(judged.units.max(initial=0), qrels.unit.max(initial=0)) + 1
    keys = (judged.units + width * judged.queries[:, None])[:, :k]
    return np.isin(keys, qrels.unit + width * qrels.query) & ranked, ranked


def facts_of(evaluation: Evaluation, qrels: Qrels) -> dict[str, Any]:
    """What is known of a run whose judgments are incomplete; empty if that is not known, or they are complete.

    Judgments are taken for incomplete if some are of units that are not relevant, so that units without a judgment are
    something else, and if such a unit is within the first k.

    Args:
        evaluation: The measured run.
        qrels: The judgments.

    Returns:
        `judged_at_k`, the share of the units among the first k that is judged, averaged over the queries with any. As
        in ir_measures, where fewer than k were retrieved it is the share of those.
    """
    is_judged, ranked = _judged_and_ranked(evaluation, qrels)
    if (is_judged == ranked).all():
        return {}
    judged, units = is_judged.sum(axis=1), ranked.sum(axis=1)
    return {"judged_at_k": float((judged[units > 0] / units[units > 0]).mean())}


def recorded(evaluation: Evaluation, dataset: Dataset) -> Checked:
    """What a run records and says of incomplete judgments: the judged share of what it finds, and of what is wrong.

    What spans say of passages is complete: nothing is recorded of a dataset with references.
    """
    is_judged, ranked = _judged_and_ranked(evaluation, dataset.qrels)
    if dataset.references or not len(ranked):
        return Checked()
    facts = facts_of(evaluation, dataset.qrels)
    groups = is_judged[ranked], is_judged[ranked & ~evaluation.judged.hits[:, : evaluation.k]]
    shares = {"judged": tuple(float(group.mean()) if len(group) else 1.0 for group in groups)}
    of_facts = {"incomplete_judgments": facts} if facts else {}
    return Checked(sections=section(evaluation, facts), facts=shares | of_facts)


def section(evaluation: Evaluation, facts: Mapping[str, Any]) -> dict[str, list[str]]:
    """What the report says of incomplete judgments; nothing where they are not."""
    if not facts:
        return {}
    share, k = facts["judged_at_k"], evaluation.k
    meaning = f"this share of what is among the first {k} is judged; the rest counts as not relevant."
    return {HEADING: [f"Judged@{k} {share:.3f}: {meaning}"]}
