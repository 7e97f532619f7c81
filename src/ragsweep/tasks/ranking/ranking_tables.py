"""Tables and facts of a measured ranking, and TREC files from which trec_eval computes the same numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ragsweep.core.arrays import NOTHING
from ragsweep.core.csv_files import QUERY_GROUP
from ragsweep.core.trec_files import NOTHING_RETRIEVED, identifier, strictly_falling
from ragsweep.datasets import Dataset
from ragsweep.datasets.formats.generated_questions import caution_of_generated
from ragsweep.retrieval import Ranking
from ragsweep.statistics.intervals import Array
from ragsweep.tasks.ranking.coverage import absent_units, findable, without_offsets, without_relevant
from ragsweep.tasks.ranking.judging import Judged
from ragsweep.tasks.ranking.ranking_costs import cut_short
from ragsweep.tasks.ranking.ranking_evaluation import Evaluation
from ragsweep.tasks.ranking.shown import Shown
from ragsweep.tasks.run_check import Checked

if TYPE_CHECKING:
    import pandas as pd


def queries(evaluation: Evaluation, dataset: Dataset) -> pd.DataFrame:
    """A row per judged query: its id, text, type, relevant units (separated by semicolons), and further fields."""
    import pandas as pd

    judged = evaluation.judged
    units = np.array(dataset.units, dtype=object)
    relevant = dataset.qrels.grade >= judged.relevance_level
    expected = (units[dataset.qrels.unit[relevant & (dataset.qrels.query == row)]] for row in judged.queries)
    queries = [dataset.queries[row] for row in judged.queries]
    fields = dict.fromkeys(name for query in queries for name, _ in query.fields)  # in the order of the first query
    return pd.DataFrame(
        {
            "query_id": [query.query_id for query in queries],
            "query": [query.text for query in queries],
            "query_type": [query.query_type for query in queries],
            "relevant": ["; ".join(names) for names in expected],
        }
        | ({QUERY_GROUP: [query.group or "" for query in queries]} if any(query.group for query in queries) else {})
        | {f"fields.{name}": [dict(query.fields).get(name) for query in queries] for name in fields}
    )


def retrieved(evaluation: Evaluation, dataset: Dataset) -> list[str]:
    """The units retrieved for each judged query within the cutoff, best first, separated by semicolons."""
    units = np.array(dataset.units, dtype=object)
    first = (row[:rank] for row, rank in zip(evaluation.judged.units, evaluation.within, strict=True))
    return ["; ".join(units[row[row != NOTHING]]) for row in first]


def mean_scores(evaluation: Evaluation, ranking: Ranking) -> Array:
    """The mean score of what `retrieved` lists for each judged query, 0 if that is nothing; shape [queries]."""
    judged, places = evaluation.judged, evaluation.judged.units.shape
    scores = np.take_along_axis(ranking.scores[judged.queries], np.broadcast_to(judged.ranks, places), axis=1)
    counts = (np.arange(places[1]) < evaluation.within[:, np.newaxis]) & (judged.units != NOTHING)
    sums = np.where(counts, scores, 0.0).sum(axis=1)
    return np.asarray(sums / np.maximum(1, counts.sum(axis=1)))


ANSWERABLE = "Answerable queries"  # a heading
CHUNKS_BY_PAGES = (
    "Judgments of {0}s cannot say which chunks are better, as a {0} counts as found with any piece of it; "
    "with judged spans of text (questions=spans), experiment=chunking compares them."
)


def facts(evaluation: Evaluation, dataset: Dataset) -> dict[str, Any]:
    """Facts about the dataset as a JSON-compatible value, for programs that read it."""
    judged = {dataset.queries[row].query_id for row in evaluation.judged.queries}
    level = evaluation.judged.relevance_level
    left_out = {"left_out": dataset.left_out.number} if dataset.left_out.number else {}
    return {
        "dataset": {"unit": dataset.unit, **left_out},
        "k": evaluation.k,
        "queries_without_judgments": [
            query.query_id for query in dataset.queries if query.query_id not in judged and query.answerable
        ],
        "queries_without_relevant": [dataset.queries[row].query_id for row in without_relevant(dataset, level)],
        "documents_skipped": list(dataset.skipped),
        "pages_without_text": list(dataset.empty_pages),
        "units_without_passage": absent_units(dataset, level),
        "references_without_offsets": without_offsets(dataset),
        "coverage": None if (coverage := dataset.coverage(level)) is None else coverage.share,
        **({} if dataset.unit == "passage" else {"if_swept": {"chunker": CHUNKS_BY_PAGES.format(dataset.unit)}}),
    }


def on_answerable(evaluation: Evaluation, dataset: Dataset) -> Checked:
    """The means over the queries of which something relevant has a passage; nothing if these are all or none.

    Its fact `answerable` has `queries`, how many these are, and `metrics`, their means by name.
    """
    queries, shares = findable(dataset, evaluation.judged.relevance_level)
    rows = np.isin(evaluation.judged.queries, queries[shares > 0])
    if rows.all() or not rows.any():
        return Checked(facts={"answerable": {}})
    means = dict(zip(evaluation.names, evaluation.per_query[:, rows].mean(axis=1).tolist(), strict=True))
    means_in_words = [
        f"{metric.title} {means[metric.name]:.3f} ({evaluation.means[metric.name]:.3f})"
        for metric in evaluation.metrics
    ]
    count = f"{rows.sum()} of {len(rows)} queries"
    sentence = f"Something relevant can be found for {count}. On these (on all): {', '.join(means_in_words)}."
    facts = {"answerable": {"queries": int(rows.sum()), "metrics": means}}
    return Checked(sections={ANSWERABLE: [sentence]}, facts=facts)


def doubts_of_data(shown: Shown, items: Dataset, k: int, budget: int | None) -> Checked:
    """What must be said first of the data: more would be returned, questions were generated, references were lost."""
    queries = shown.evaluation.judged.queries
    generated = caution_of_generated([items.queries[row] for row in queries])
    doubts = [*cut_short(shown.ended, len(queries), k, budget), *([generated] if generated else [])]
    return Checked(notices=doubts, caution=" ".join(doubts))


def run_lines(judged: Judged, ranking: Ranking, dataset: Dataset, tag: str) -> Iterator[str]:
    """Lines `query Q0 unit rank score tag`.

    Later passages of the same unit are written as `unit@chunk_id`. These ids have no judgment, so they occupy a rank
    and earn nothing. Scores are strictly decreasing, even as the 32-bit numbers that trec_eval reads, because it sorts
    ties by id. Nine digits are enough to distinguish 32-bit numbers.

    Args:
        judged: The judged rankings.
        ranking: What they were judged from, for all queries.
        dataset: The dataset, for the names of queries, units and passages.
        tag: Name of the run, one word.
    """
    scores = np.take_along_axis(ranking.scores[judged.queries], judged.ranks, axis=1)
    passages = np.take_along_axis(ranking.passages[judged.queries], judged.ranks, axis=1)
    falling = strictly_falling(scores.astype(np.float32))
    units = [identifier(unit) for unit in dataset.units]
    for row, query in enumerate(judged.queries):
        query_id = identifier(dataset.queries[query].query_id)
        ranks = np.flatnonzero(judged.units[row] != NOTHING)
        if not len(ranks):  # without a line, trec_eval would leave the query out of its means
            yield f"{query_id} Q0 {NOTHING_RETRIEVED} 1 0.0 {tag}\n"
        columns = (judged.units[row], judged.repeated[row], passages[row], falling[row])
        for rank, unit, repeated, passage, score in zip(
            ranks.tolist(), *(column[ranks].tolist() for column in columns), strict=True
        ):
            later = f"@{identifier(dataset.passages[passage].chunk_id)}" if repeated else ""
            yield f"{query_id} Q0 {units[unit]}{later} {rank + 1} {score:.9g} {tag}\n"


def qrels_lines(dataset: Dataset) -> Iterator[str]:
    """Lines `query 0 unit grade`."""
    for row, unit, grade in zip(dataset.qrels.query, dataset.qrels.unit, dataset.qrels.grade, strict=True):
        yield f"{identifier(dataset.queries[row].query_id)} 0 {identifier(dataset.units[unit])} {grade}\n"
