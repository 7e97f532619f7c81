"""The audit says how many groups the queries have, and how many independent queries would tell as much."""

import re

import pytest

from ragsweep.datasets import Collection, Dataset, Document, Judgment, PageChunker, Query
from ragsweep.store.stage_store import NO_STORE
from ragsweep_audit.dataset_audit import audit, query_groups
from ragsweep_audit.findings.finding import Audited
from ragsweep_audit.findings.unit_ranks import unit_ranks


def grouped(group_of):
    """36 questions about the pages of a book, of which BM25 finds the first 18 at once, in groups."""
    pages = [(str(n), f"a#{n}", f"topic{n} common{n % 3} text") for n in range(1, 41)]
    texts = [f"topic{n if n <= 18 else n + 1}" for n in range(1, 37)]
    queries = tuple(Query(str(n), text, group=group_of(n - 1)) for n, text in enumerate(texts, start=1))
    judgments = tuple(Judgment(query.query_id, f"a#{query.query_id}", 1) for query in queries)
    document = Document.from_pages("a", pages)
    return Dataset.from_collection(Collection("book", "page", (document,), queries, judgments), PageChunker())


@pytest.mark.parametrize(
    ("group_of", "groups", "effect"),
    [
        (lambda row: f"chapter {row // 6}", 6, (6, 8)),  # a chapter is found as a whole, or not at all
        (lambda row: f"mixed {row % 18}", 18, (0, 0.1)),  # each pair has one that is found and one that is not
    ],
)
def test_the_design_effect_is_that_of_what_is_found(group_of, groups, effect):
    items = grouped(group_of)
    [said] = query_groups(items, unit_ranks(items, 1, NO_STORE), 1)
    assert f"36 queries in {groups} groups, the largest of {36 // groups}" in said
    low, high = effect
    assert low <= float(re.search(r"is ([0-9.]+), so", said)[1]) <= high


def test_nothing_is_said_of_queries_without_groups():
    assert not audit(Audited(grouped(lambda row: None))).groups


def test_it_stands_in_the_report_beside_the_findings():
    found = audit(Audited(grouped(lambda row: f"chapter {row // 6}")))
    assert found.sentences[-1] == found.groups[0]
