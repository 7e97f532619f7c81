"""The groups of the queries, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragsweep.core.terminal import counted
from ragsweep.datasets.model.dataset import Dataset
from ragsweep.statistics.groups import Groups
from ragsweep_audit.findings.unit_ranks import UnitRanks, best_per_query


def query_groups(dataset: Dataset, ranks: UnitRanks, relevance_level: int) -> Iterator[str]:
    """How many groups the queries have, and how many queries without groups would tell as much; nothing without groups.

    Args:
        dataset: The dataset.
        ranks: Those of its queries.
        relevance_level: The lowest grade that counts as relevant.
    """
    groups = Groups.named([query.group for query in dataset.queries])
    if not groups.in_use:
        return
    query, unit = ranks.relevant(dataset, relevance_level)
    row = np.searchsorted(ranks.queries, query)
    best = best_per_query(ranks.of(query, unit), row, len(ranks.queries), len(dataset.units))
    effect = float(groups.only(np.isin(np.arange(groups.queries), ranks.queries)).design_effect(1 / (1.0 + best)))
    yield (
        f"{groups.queries} queries in {counted(groups.number, 'group')}, the largest of {groups.sizes.max()}: "
        f"the design effect of BM25's reciprocal ranks is {effect:.1f}, so that they tell as much as about "
        f"{groups.queries / max(1.0, effect):,.0f} independent queries. That of a difference between configurations is "
        "usually smaller."
    )
