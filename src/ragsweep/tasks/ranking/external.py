"""Measures rankings of other programs in the same way as runs of ragsweep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from numbers import Integral
from pkgutil import resolve_name
from typing import Any, get_args

import numpy as np
import yaml

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.project import CONF
from ragsweep.core.terminal import some_of
from ragsweep.core.trec_files import trec_eval_order
from ragsweep.datasets import Qrels
from ragsweep.datasets.model.left_out import LeaveOut
from ragsweep.datasets.readers.fields import LARGEST_GRADE
from ragsweep.tasks.ranking.external_result import RankingEvaluation
from ragsweep.tasks.ranking.incomplete_judgments import facts_of
from ragsweep.tasks.ranking.judging import Collapse, judge
from ragsweep.tasks.ranking.metrics import Gain
from ragsweep.tasks.ranking.ranking_evaluation import RankingMetric
from ragsweep.tasks.ranking.ranking_evaluation import evaluate as measure
from ragsweep.tasks.ranking.reading import QRELS, RANKINGS, Entries, Source, read, spelled_alike
from ragsweep.text.normalisation import composed

LARGEST_K = 1000  # every cutoff up to k is measured


def evaluate(
    rankings: Source,
    qrels: Source,
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

    The metrics are `precision`, `recall`, `f1`, `mrr`, `hit_rate`, `ndcg` and `map`, each at k, averaged over queries.
    They equal P_k, recall_k, success_k, ndcg_cut_k and map_cut_k of trec_eval, and recip_rank of the list cut at k.

    - Ids are strings or whole numbers. 34, "34" and " 34" are the same id; 340 is a different one. Ids in TREC files
      are not unescaped; files written by ragsweep contain %20 for a space. Lines that start with # are comments.
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
            columns query_id, doc_id and score; or the path of a TREC run file. Scores are finite.
        qrels: `{query_id: {doc_id: grade}}`; or `{query_id: [doc_id, ...]}` with relevant documents, which get the
            grade `relevance_level`; or a DataFrame with the columns query_id, doc_id and grade; or the path of a TREC
            qrels file, or of BEIR's with the columns query-id, corpus-id and score. Grades are whole numbers.
        k: Cutoff, from 1 to 1000.
        metrics: Names of metrics, or functions `(judged, k)` by name like those in `ragsweep.evaluation`. None for all
            seven metrics.
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
    k, relevance_level = _whole("k", k, 1, LARGEST_K), _whole("relevance_level", relevance_level, 1)
    resamples, seed = _whole("resamples", resamples, 1), _whole("seed", seed, 0)
    _one_of("collapse", collapse, get_args(Collapse))
    _one_of("gain", gain, get_args(Gain))
    if leave_out is not None:
        _one_of("leave_out", leave_out, ("same_id",))
    wanted = _metrics(metrics, gain)
    found, judgments = spelled_alike(read(rankings, RANKINGS), read(qrels, QRELS, listed=relevance_level))
    rows = _positions(judgments.queries)
    units = _positions([*judgments.documents, *found.documents])
    _check_common_queries(found, judgments)
    qrels_of = _judgments(judgments, rows, units, relevance_level)
    relevant = {(query, unit) for query, unit, grade in zip(*qrels_of, strict=True) if grade > 0}
    own = [
        entry
        for entry, (query, document) in enumerate(zip(found.queries, found.documents, strict=True))
        if query in rows and composed(query) == composed(document) and (rows[query], units[document]) not in relevant
    ]
    judged = judge(
        _ranked(found, rows, units, own if leave_out else ()),
        *qrels_of,
        collapse=collapse,
        relevance_level=relevance_level,
    )
    ranked = set(found.queries)
    measured = measure(judged, wanted, k, (None,) * len(rows), tuple(rows), resamples=resamples, seed=seed)
    return RankingEvaluation(
        measured,
        tuple(rows),
        without_judgments=tuple(_positions(query for query in (*found.named, *judgments.named) if query not in rows)),
        without_results=tuple(query for query in rows if query not in ranked),
        without_relevant=tuple(query for query, relevant in zip(rows, judged.relevant, strict=True) if not relevant),
        with_own_document=tuple(dict.fromkeys(found.queries[entry] for entry in own)),
        leave_out=leave_out,
        incomplete=facts_of(measured, Qrels(*qrels_of)),
    )


def _positions(ids: Iterable[str]) -> dict[str, int]:
    """The position of each distinct id."""
    return {name: position for position, name in enumerate(dict.fromkeys(ids))}


def _ranked(found: Entries, rows: Mapping[str, int], units: Mapping[str, int], left_out: Sequence[int]) -> Indices:
    """Units of the judged queries in the order of trec_eval, shape [queries, depth]. Some entries are left out."""
    query = np.array([rows.get(query, NOTHING) for query in found.queries], dtype=np.int64)
    query[list(left_out)] = NOTHING
    unit = np.array([units[document] for document in found.documents], dtype=np.int64)
    order = trec_eval_order(query, found.numbers, found.documents)
    order = order[query[order] != NOTHING]
    query, unit = query[order], unit[order]
    counts = np.bincount(query, minlength=len(rows))
    rank = np.arange(len(query)) - np.repeat(np.cumsum(counts) - counts, counts)
    ranked = np.full((len(rows), max(1, counts.max())), NOTHING)
    ranked[query, rank] = unit
    return ranked


def _judgments(
    judgments: Entries, rows: Mapping[str, int], units: Mapping[str, int], relevance_level: int
) -> tuple[Indices, Indices, Indices]:
    """Query, unit and grade of each judgment, each of shape [judgments]. Duplicates count once."""
    grades: dict[tuple[int, int], int] = {}
    first: dict[tuple[int, int], int] = {}
    pairs = zip(judgments.queries, judgments.documents, judgments.numbers.tolist(), strict=True)
    for entry, (query, document, grade) in enumerate(pairs):
        if grade % 1 or abs(grade) > LARGEST_GRADE:
            bounds = "" if grade % 1 else " from -10^9 to 10^9"
            raise DatasetError(f"{judgments.where(entry)}: found the grade {grade:g}, expected a whole number{bounds}")
        pair = rows[query], units[document]
        other = grades.setdefault(pair, int(grade))
        if grade != other:
            place = f" (line {judgments.lines[first[pair]]})" if judgments.lines else ""
            raise DatasetError(f"{judgments.where(entry)}: found the grades {other}{place} and {grade:g}, expected one")
        first.setdefault(pair, entry)
    if max(grades.values()) < relevance_level:
        raise DatasetError(
            f"{judgments.source}: nothing is relevant: found no grade above {max(grades.values())}, "
            f"expected some of at least {relevance_level} (relevance_level)"
        )
    query_of, unit_of = np.array([*grades], dtype=np.int64).T
    return query_of, unit_of, np.array([*grades.values()], dtype=np.int64)


def _check_common_queries(found: Entries, judgments: Entries) -> None:
    """Raise `DatasetError` if there is no judgment, or if rankings and qrels have no query in common."""
    if not judgments.queries:
        raise DatasetError(f"{judgments.source}: no query has a judgment, so nothing can be measured")
    if not set(judgments.queries) & set(found.named):
        ranked = f"the queries {some_of(found.named)}" if found.named else "no query"
        judged = some_of(dict.fromkeys(judgments.queries))
        raise DatasetError(f"{found.source}: found {ranked}, expected some that {judgments.source} judges: {judged}")


def _metrics(wanted: Sequence[str] | Mapping[str, RankingMetric] | None, gain: Gain) -> Mapping[str, RankingMetric]:
    """The chosen metrics by name; those of `conf/evaluation/default.yaml` if none are."""
    default = yaml.safe_load((CONF / "evaluation/default.yaml").read_text(encoding="utf-8"))["metrics"]
    known: dict[str, RankingMetric] = {
        name: partial(resolve_name(about["_target_"]), **({"gain": gain} if "gain" in about else {}))
        for name, about in default.items()
    }
    if wanted is None or (isinstance(wanted, Mapping) and wanted):
        return wanted or known
    if isinstance(wanted, str) or not wanted or not set(wanted) <= known.keys():
        raise ConfigError(f"metrics: found {wanted!r}, expected a list of some of {', '.join(known)}, or a dict")
    return {name: known[name] for name in wanted}


def _whole(name: str, value: Any, low: int, high: int | None = None) -> int:
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or int(value) < low or (high and int(value) > high):
        bounds = f"from {low} to {high}" if high else f"of at least {low}"
        raise ConfigError(f"{name}: found {value!r}, expected a whole number {bounds}")
    return int(value)


def _one_of(name: str, value: str, options: tuple[str, ...]) -> None:
    if value not in options:
        raise ConfigError(f"{name}: found {value!r}, expected {' or '.join(options)}")
