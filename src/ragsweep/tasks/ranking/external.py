"""Measures rankings of other programs in the same way as runs of ragsweep: as numbers, as tables, for a notebook."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from numbers import Integral
from pkgutil import resolve_name
from typing import Any, get_args

import numpy as np
import pandas as pd
import yaml

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.project import CONF
from ragsweep.core.terminal import counted, some_of
from ragsweep.core.trec_files import trec_eval_order
from ragsweep.datasets import Qrels
from ragsweep.datasets.formats.beir import LeaveOut
from ragsweep.tasks.ranking.coverage import BUT_GRADED
from ragsweep.tasks.ranking.foreign_rankings import Entries, Source, by_query, read
from ragsweep.tasks.ranking.incomplete_judgments import HEADING, facts_of, section
from ragsweep.tasks.ranking.judging import Collapse, judge
from ragsweep.tasks.ranking.metrics import Gain
from ragsweep.tasks.ranking.ranking_evaluation import Evaluation, RankingMetric
from ragsweep.tasks.ranking.ranking_evaluation import evaluate as measure
from ragsweep.text.normalisation import Spellings, composed

LARGEST_K = 1000  # every cutoff up to k is measured


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
        several = len(self.query_ids) > 1
        rows = [
            (score.value, *((score.low, score.high) if several else (np.nan,) * 2)) for score in self.evaluation.scores
        ]
        index = pd.Index(self.evaluation.names, name="metric")
        return pd.DataFrame(rows, index=index, columns=["mean", "ci_low", "ci_high"])

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
        lines = [f"{problem}: {len(ids)} ({some_of(ids)})" for problem, ids in notes.items() if ids]
        if not judged.hits.any():
            lines.append("no relevant document is ranked at any depth: check that rankings and qrels use the same ids")
        if (most := int((judged.units != NOTHING).sum(axis=1).max())) < self.evaluation.k:
            lines.append(f"at most {most} documents are ranked for a query: what would follow is not known")
        lines += section(self.evaluation, self.incomplete).get(HEADING, [])
        queries, kind = len(self.query_ids), "95 % intervals" if len(self.query_ids) > 1 else "too few for intervals"
        return [f"{counted(queries, 'query')} at k={self.evaluation.k}, {kind}", *lines]


def evaluate(
    rankings: Source | list[dict[str, Any]],
    qrels: Source | None = None,
    *,
    k: int = 10,
    metrics: Sequence[str] | Mapping[str, RankingMetric] | None = None,
    collapse: Collapse = "after_cutoff",
    relevance_level: int = 1,
    gain: Gain = "linear",
    leave_out: LeaveOut = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> RankingEvaluation:
    """Measure rankings of any program by relevance judgments, exactly as ragsweep measures its runs.

        >>> result = ragsweep.evaluate({"q1": ["d7", "d2", "d9"]}, {"q1": {"d2": 2, "d5": 1}}, k=3)
        >>> result.means["mrr"]
        0.5
        >>> ragsweep.evaluate([{"retrieved": ["d7", "d2"], "relevant": {"d2"}}], k=2).means["precision"]
        0.5

    The metrics are those of `evaluation=default`, such as `recall` and `ndcg`, each at k, averaged over queries.
    They equal P_k, recall_k, success_k, ndcg_cut_k and map_cut_k of trec_eval, and recip_rank of the list cut at k.

    - Ids are strings or whole numbers. 34, "34" and " 34" are the same id; 340 is a different one. Ids in TREC files
      are not unescaped; files written by ragsweep contain %20 for a space.
    - Scores mean what trec_eval makes of them, in a dict, a DataFrame and a TREC run file: they are compared in single
      precision, and equal ones are by descending document id, whatever the given order or the rank column says. A list
      of ids has no scores and keeps its order.
    - An id that occurs several times in a ranking, such as a page with several passages, earns credit once, at its
      first rank.
    - A query without judgments is left out and listed in the result. A judged query without results or without a
      relevant document scores 0.
    - A grade of 0 or less means judged as not relevant. A document without a judgment earns nothing.

    Args:
        rankings: `{query_id: [doc_id, ...]}`, best first; or `{query_id: {doc_id: score}}`; or a DataFrame with the
            columns query_id, doc_id and score; or the path of a TREC run file. Scores are finite. Or, in place of both
            rankings and qrels, a list with a dict for each query: `retrieved` (ids, best first), `relevant` (as in
            qrels), and either in all of them or in none `question`, which is then the query's id. There are no other
            fields.
        qrels: `{query_id: {doc_id: grade}}`; or `{query_id: [doc_id, ...]}` with relevant documents, which get the
            grade `relevance_level`; or a DataFrame with the columns query_id, doc_id and grade; or the path of a TREC
            qrels file, or of BEIR's with the columns query-id, corpus-id and score. Grades are whole numbers.
        k: Cutoff, from 1 to 1000.
        metrics: Names of metrics, or functions `(judged, k)` by name like those in `ragsweep.evaluation`; None for all.
        collapse: `after_cutoff` counts repeated ids towards the cutoff. `before_cutoff` drops them first, so that the
            cutoff counts distinct ids.
        relevance_level: Lowest grade that counts as relevant, at least 1. NDCG counts every grade above 0.
        gain: Gain function of NDCG: `linear` is the grade, `exponential` is 2^grade - 1.
        leave_out: `same_id` leaves the document with the id of the query out of its ranking, as BEIR and MTEB do.
        resamples: Number of bootstrap resamples of the intervals.
        seed: Seed of the bootstrap.

    Returns:
        The means and their intervals, as numbers and as tables.

    Raises:
        ConfigError: An argument has an invalid value.
        DatasetError: Rankings or qrels cannot be read or have no query in common, two judgments contradict each other,
            or nothing is relevant.
    """
    k, relevance_level = _whole_number("k", k, 1, LARGEST_K), _whole_number("relevance_level", relevance_level, 1)
    resamples, seed = _whole_number("resamples", resamples, 1), _whole_number("seed", seed, 0)
    _one_of("collapse", collapse, get_args(Collapse))
    _one_of("gain", gain, get_args(Gain))
    if leave_out is not None:
        _one_of("leave_out", leave_out, ("same_id",))
    wanted = _metrics(metrics, gain)
    if isinstance(rankings, list):
        if qrels is not None:
            raise ConfigError("qrels: expected none, as a list of dicts says for each query what is relevant")
        rankings, qrels = by_query(rankings)
    entries, judgments = read(rankings, "rankings"), read(qrels, "qrels", listed=relevance_level)
    spellings = Spellings([*judgments.named, *judgments.queries]), Spellings([*judgments.documents, *entries.documents])
    entries, judgments = entries.spelled(*spellings), judgments.spelled(*spellings)
    if not judgments.queries:
        raise DatasetError(f"{judgments.source}: no query has a judgment, so nothing can be measured")
    rows, units = _positions(judgments.queries), _positions([*judgments.documents, *entries.documents])
    if not rows.keys() & {*entries.named}:
        ranked = f"the queries {some_of(entries.named)}" if entries.named else "no query"
        expected = f"expected some that {judgments.source} judges: {some_of(rows)}"
        raise DatasetError(f"{entries.source}: found {ranked}, {expected}")
    grades = _grades(judgments, relevance_level)
    own = {
        pair: None  # in this order
        for pair in zip(entries.queries, entries.documents, strict=True)
        if pair[0] in rows and composed(pair[0]) == composed(pair[1]) and grades.get(pair, 0) <= 0
    }
    query_of, unit_of = ([of[pair[place]] for pair in grades] for place, of in enumerate((rows, units)))
    qrels_of = Qrels(*(np.array(column, dtype=np.int64) for column in (query_of, unit_of, [*grades.values()])))
    judged = judge(
        _ranked(entries, rows, units, own if leave_out else ()),
        *(qrels_of.query, qrels_of.unit, qrels_of.grade),
        collapse=collapse,
        relevance_level=relevance_level,
    )
    measured = measure(judged, wanted, k, (None,) * len(rows), tuple(rows), resamples=resamples, seed=seed)
    ranked_queries = {*entries.queries}
    return RankingEvaluation(
        measured,
        tuple(rows),
        without_judgments=tuple(_positions(query for query in (*entries.named, *judgments.named) if query not in rows)),
        without_results=tuple(query for query in rows if query not in ranked_queries),
        without_relevant=tuple(query for query, relevant in zip(rows, judged.relevant, strict=True) if not relevant),
        with_own_document=tuple(_positions(query for query, _ in own)),
        leave_out=leave_out,
        incomplete=facts_of(measured, qrels_of),
    )


def _positions(ids: Iterable[str]) -> dict[str, int]:
    """The position of each distinct id."""
    return {name: position for position, name in enumerate(dict.fromkeys(ids))}


def _ranked(
    rankings: Entries, rows: Mapping[str, int], units: Mapping[str, int], left_out: Container[tuple[str, str]]
) -> Indices:
    """Units of the judged queries in the order of trec_eval, shape [queries, depth]. Some entries are left out."""
    is_left_out = [pair in left_out for pair in zip(rankings.queries, rankings.documents, strict=True)]
    query = np.array([rows.get(query, NOTHING) for query in rankings.queries], dtype=np.int64)
    query[is_left_out] = NOTHING
    unit = np.array([units[document] for document in rankings.documents], dtype=np.int64)
    order = trec_eval_order(query, np.array(rankings.numbers), rankings.documents)
    order = order[query[order] != NOTHING]
    query, unit = query[order], unit[order]
    counts = np.bincount(query, minlength=len(rows))
    rank = np.arange(len(query)) - np.repeat(np.cumsum(counts) - counts, counts)
    ranked = np.full((len(rows), max(1, counts.max())), NOTHING)
    ranked[query, rank] = unit
    return ranked


def _grades(judgments: Entries, relevance_level: int) -> dict[tuple[str, str], int]:
    """The grade of each query and document. Duplicates count once."""
    grades: dict[tuple[str, str], int] = {}
    for *pair, grade in zip(judgments.queries, judgments.documents, judgments.numbers, strict=True):
        query, document = pair
        if (other := grades.setdefault((query, document), int(grade))) != grade:
            place = f"{judgments.source}, query {query!r}, document {document!r}"
            raise DatasetError(f"{place}: found the grades {other} and {grade:g}, expected one")
    if (best := max(grades.values())) < relevance_level:
        expected = f"expected some of at least {relevance_level} (relevance_level)"
        raise DatasetError(f"{judgments.source}: nothing is relevant: found no grade above {best}, {expected}")
    return grades


def _metrics(wanted: Sequence[str] | Mapping[str, RankingMetric] | None, gain: Gain) -> Mapping[str, RankingMetric]:
    """The chosen metrics by name; those of `conf/evaluation/default.yaml` if none are."""
    default = yaml.safe_load((CONF / "evaluation/default.yaml").read_text(encoding="utf-8"))["metrics"]
    shipped: dict[str, RankingMetric] = {
        name: partial(resolve_name(about["_target_"]), **({"gain": gain} if "gain" in about else {}))
        for name, about in default.items()
    }
    if wanted is None or (isinstance(wanted, Mapping) and wanted):
        return wanted or shipped
    if isinstance(wanted, str) or not wanted or not set(wanted) <= shipped.keys():
        raise ConfigError(f"metrics: found {wanted!r}, expected a list of some of {', '.join(shipped)}, or a dict")
    return {name: shipped[name] for name in wanted}


def _whole_number(name: str, value: Any, low: int, high: int | None = None) -> int:
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_whole or int(value) < low or (high and int(value) > high):
        bounds = f"from {low} to {high}" if high else f"of at least {low}"
        raise ConfigError(f"{name}: found {value!r}, expected a whole number {bounds}")
    return int(value)


def _one_of(name: str, value: str, options: tuple[str, ...]) -> None:
    if value not in options:
        raise ConfigError(f"{name}: found {value!r}, expected {' or '.join(options)}")
