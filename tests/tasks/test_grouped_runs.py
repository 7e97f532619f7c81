"""A run records the groups of its queries, and its intervals are those of groups."""

import numpy as np
import pytest

from ragsweep.datasets import Collection, Dataset, Document, Judgment, PageChunker, Query
from ragsweep.retrieval import SparseRetriever
from ragsweep.statistics import Groups, confidence_intervals
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.charts import by_query_type
from ragsweep.tasks.ranking.metrics import hit_rate
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings
from ragsweep.tasks.ranking.ranking_task import RankingTask

TEXTS = [f"word{number}" for number in range(8)]
GROUPS = ["a", "a", "a", "b", "b", "b", "c", None]


def measured(groups):
    """Eight questions, of which the first three ask for another page than is judged."""
    documents = tuple(Document.from_pages(text, [("1", text, text)]) for text in TEXTS)
    queries = tuple(Query(f"q{row}", text, "ab"[row % 2], group=groups[row]) for row, text in enumerate(TEXTS))
    judgments = tuple(Judgment(f"q{row}", TEXTS[row if row > 2 else 7 - row], 1) for row in range(8))
    collection = Collection("small", "document", documents, queries, judgments)
    evaluation = EvaluationSettings("after_cutoff", 1, "linear", 1000, {"hit_rate": hit_rate})
    task = RankingTask(None, PageChunker(), SparseRetriever(NO_STORE), evaluation, 1, 0, NO_STORE, "words")
    return task.measure(Dataset.from_collection(collection, PageChunker()))


def test_the_groups_are_in_the_table_of_queries_if_there_are_any():
    assert measured(GROUPS).per_item["query_group"].tolist() == ["a", "a", "a", "b", "b", "b", "c", ""]
    assert "query_group" not in measured([None] * 8).per_item


def test_the_intervals_of_a_run_are_those_of_its_groups():
    [alone], [grouped] = measured([None] * 8).scores, measured(GROUPS).scores
    values = grouped.per_item
    assert values.tolist() == alone.per_item.tolist() == [0, 0, 0, 1, 1, 1, 1, 1]
    groups = Groups.named(GROUPS)
    assert (grouped.low, grouped.high) == confidence_intervals(values, groups=groups, resamples=1000)
    assert (alone.low, alone.high) == confidence_intervals(values, resamples=1000) != (grouped.low, grouped.high)


@pytest.mark.usefixtures("drawing")
def test_the_whiskers_of_a_query_type_are_those_of_its_groups():
    """Of one group, nothing can be drawn but the group."""
    lengths = []
    for groups in (["all"] * 8, [None] * 8):
        found = measured(groups)
        [axes] = by_query_type(found, found.scores[0], 1000, 0).axes
        lengths.append(max(np.ptp(each[:, 1]) for lines in axes.collections for each in lines.get_segments()))
    assert lengths[0] == 0 < lengths[1]
