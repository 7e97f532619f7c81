"""What `ragsweep.evaluate` returns: the metrics of rankings, as numbers, as tables and for a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from ragsweep.core.arrays import NOTHING
from ragsweep.core.terminal import counted, some_of
from ragsweep.datasets.model.left_out import LeaveOut
from ragsweep.tasks.ranking.coverage import BUT_GRADED
from ragsweep.tasks.ranking.incomplete_judgments import HEADING, section
from ragsweep.tasks.ranking.ranking_evaluation import Evaluation


@dataclass(frozen=True, repr=False)
class RankingEvaluation:
    """The metrics of rankings. A notebook shows the means with their intervals.

    Attributes:
        evaluation: The value of every metric for every query at every cutoff.
        query_ids: The judged queries, in the order of the qrels, shape [queries].
        without_judgments: Queries that were left out because they have no judgments.
        without_results: Judged queries without documents in the rankings. They score 0.
        without_relevant: Judged queries without a relevant document. They score 0, except in NDCG where they have
            grades above 0.
        with_own_document: Judged queries with the document that has their id in their ranking, if it is not judged
            relevant. BEIR and MTEB leave it out.
        leave_out: Whether it is left out here, too.
        incomplete: What is known of incomplete judgments, as of `facts_of`; empty if nothing is.
    """

    evaluation: Evaluation
    query_ids: tuple[str, ...]
    without_judgments: tuple[str, ...]
    without_results: tuple[str, ...]
    without_relevant: tuple[str, ...]
    with_own_document: tuple[str, ...] = ()
    leave_out: LeaveOut = None
    incomplete: Mapping[str, Any] = field(default_factory=dict)

    @property
    def means(self) -> dict[str, float]:
        """The mean over queries of each metric at k."""
        return self.evaluation.means

    @property
    def summary(self) -> pd.DataFrame:
        """A row per metric: its mean at k, and the bounds of its 95 % bootstrap interval; NaN of a single query."""
        ends = (self.evaluation.ci_low, self.evaluation.ci_high) if len(self.query_ids) > 1 else (np.nan, np.nan)
        columns = dict(zip(("mean", "ci_low", "ci_high"), (list(self.means.values()), *ends), strict=True))
        return pd.DataFrame(columns, index=pd.Index(self.evaluation.names, name="metric"))

    @property
    def per_query(self) -> pd.DataFrame:
        """A row per judged query: `query_id`, and each metric at k."""
        values = dict(zip(self.evaluation.names, self.evaluation.per_query, strict=True))
        return pd.DataFrame({"query_id": list(self.query_ids), **values})

    @property
    def curves(self) -> pd.DataFrame:
        """A row per cutoff from 1 to max(20, k): the mean of each metric."""
        curves = self.evaluation.curves.T
        cutoffs = pd.RangeIndex(1, len(curves) + 1, name="k")
        return pd.DataFrame(curves, index=cutoffs, columns=list(self.evaluation.names))

    def __repr__(self) -> str:
        return "\n".join([*self._heads, self.summary.to_string(float_format="{:.4f}".format)])

    def _repr_html_(self) -> str:
        heads = "".join(f"<div>{escape(head)}</div>" for head in self._heads)
        return heads + str(self.summary.to_html(float_format="{:.4f}".format))

    @property
    def _heads(self) -> list[str]:
        judged = self.evaluation.judged
        score = f"scoring 0{BUT_GRADED if (judged.ideal[judged.relevant == 0] > 0).any() else ''}"
        own = "left out" if self.leave_out else "leave_out='same_id' leaves it out, as BEIR and MTEB do"
        notes = {
            f"with the document of their own id in the ranking, {own}": self.with_own_document,
            "without judgments, left out": self.without_judgments,
            "without results, scoring 0": self.without_results,
            f"without a relevant document, {score}": self.without_relevant,
        }
        told = [f"{what}: {len(ids)} ({some_of(ids)})" for what, ids in notes.items() if ids]
        if not judged.hits.any():
            told.append("no relevant document is ranked at any depth: check that rankings and qrels use the same ids")
        if (most := int((judged.units != NOTHING).sum(axis=1).max())) < self.evaluation.k:
            told.append(f"at most {most} documents are ranked for a query: what would follow is not known")
        told += section(self.evaluation, self.incomplete).get(HEADING, [])
        queries, kind = len(self.query_ids), "95 % intervals" if len(self.query_ids) > 1 else "too few for intervals"
        return [f"{counted(queries, 'query')} at k={self.evaluation.k}, {kind}", *told]
