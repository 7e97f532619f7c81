"""Tables and facts of a measured ranking."""

from dataclasses import replace

import numpy as np

from ragsweep.datasets import Collection, Dataset, Document, Judgment, PageChunker, Query
from ragsweep.evaluation import evaluate, judge, recall
from ragsweep.tasks.ranking.ranking_tables import facts, on_answerable, queries, retrieved

PAGES = [("1", "a.pdf#1", "iron and tea"), ("2", "a.pdf#2", ""), ("3", "a.pdf#3", "fever")]


def measured(judgments, skipped=()):
    """A ranking of pages 3 and 1 for each of three queries."""
    queries = tuple(Query(name, f"What of {name}?") for name in ("q1", "q2", "q3"))
    documents = (Document.from_pages("a.pdf", PAGES),)
    collection = Collection("small", "page", documents, queries, judgments, skipped)
    dataset = Dataset.from_collection(collection, PageChunker())
    qrels = dataset.qrels
    judged = judge(dataset.passage_units[np.array([[1, 0]] * 3)], qrels.query, qrels.unit, qrels.grade)
    return evaluate(judged, {"recall": recall}, 1, (None,) * len(judged.queries), resamples=100), dataset


def test_queries_that_can_be_answered_are_also_measured_alone():
    judgments = (Judgment("q1", "a.pdf#3", 1), Judgment("q2", "a.pdf#90", 1), Judgment("q2", "a.pdf#1", 0))
    assert on_answerable(*measured(judgments)).facts == {"answerable": {"queries": 1, "metrics": {"recall": 1.0}}}
    assert on_answerable(*measured(judgments[:1])).facts == {"answerable": {}}


def test_retrieved_and_relevant_units_are_listed():
    judgments = (Judgment("q1", "a.pdf#3", 1), Judgment("q1", "a.pdf#1", 2))
    assert retrieved(*measured(judgments)) == ["a.pdf#3"]
    assert queries(*measured(judgments))["relevant"].tolist() == ["a.pdf#3; a.pdf#1"]


def test_judgments_of_pages_say_what_they_cannot_show_of_chunks():
    judgments = (Judgment("q1", "a.pdf#3", 1),)
    evaluation, dataset = measured(judgments)
    assert "questions=spans" in facts(evaluation, dataset)["if_swept"]["chunker"]
    assert "if_swept" not in facts(evaluation, replace(dataset, unit="passage"))
