"""Tables of a measured ranking, and findings about the dataset."""

import numpy as np

from ragsweep.datasets import Collection, Dataset, Document, Judgment, PageChunker, Query
from ragsweep.evaluation import evaluate, judge, recall
from ragsweep.tasks.ranking.tables import facts, findings, queries, retrieved

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


def test_problems_of_the_dataset_are_found():
    judgments = (Judgment("q1", "a.pdf#3", 1), Judgment("q1", "a.pdf#90", 1), Judgment("q2", "a.pdf#1", 0))
    assert findings(facts(*measured(judgments, skipped=("c.pdf",)))) == [
        "1 relevant page (a.pdf#90) without a passage, which no retriever can find: "
        "50.0% of the relevant pages can be found.",
        "1 page (a.pdf#2) without text, never retrieved.",
        "1 query (q3) without a judgment, left out of every mean.",
        "1 query (q2) without a relevant page, scoring 0 except in NDCG.",
        "1 document (c.pdf) left out by dataset.skip.",
    ]


def test_retrieved_and_relevant_units_are_listed():
    judgments = (Judgment("q1", "a.pdf#3", 1), Judgment("q1", "a.pdf#1", 2))
    assert retrieved(*measured(judgments)) == ["a.pdf#3"]
    assert queries(*measured(judgments))["relevant"].tolist() == ["a.pdf#3; a.pdf#1"]
