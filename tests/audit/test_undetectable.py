"""What the audit could find with as many queries as a dataset has, and what groups of them cost."""

import re
from dataclasses import replace

import pytest

from ragsweep.datasets import Collection, Dataset, Document, Judgment, PageChunker, Query
from ragsweep.store.stage_store import NO_STORE
from ragsweep_audit.dataset_audit import audit, query_groups
from ragsweep_audit.findings.finding import Audited
from ragsweep_audit.findings.shifted import shifted_pages
from ragsweep_audit.findings.undetectable import undetectable
from ragsweep_audit.findings.unit_ranks import unit_ranks

LEVEL = 0.01
SHIFTS, SWAPS = "counted from 0", "swapped"


def asked(count, answered, by=0, pages=40):
    """Questions about a book, some of which BM25 answers; the judged pages are moved by `by`."""
    pages = [(str(n), f"a#{n}", f"topic{n} common{n % 3} text") for n in range(1, pages + 1)]
    queries = tuple(Query(str(n), f"topic{n}" if n <= answered + 2 else f"common{n % 3}") for n in range(3, count + 3))
    judgments = tuple(Judgment(query.query_id, f"a#{int(query.query_id) + by}", 1) for query in queries)
    document = Document.from_pages("a", pages)
    return Dataset.from_collection(Collection("book", "page", (document,), queries, judgments), PageChunker())


def hints(items, level=LEVEL):
    return " ".join(undetectable(items, unit_ranks(items, 1, NO_STORE), 1, level))


def shift_is_found(items, level=LEVEL):
    return any(True for _ in shifted_pages(items, unit_ranks(items, 1, NO_STORE), 1, level))


@pytest.mark.parametrize("count", [4, 12, 30])
def test_the_audit_says_of_a_shift_what_it_then_does(count):
    can_be_seen = SHIFTS not in hints(asked(count, count))
    assert can_be_seen == shift_is_found(asked(count, count, by=-1))
    assert can_be_seen == (count > 4)


def test_eight_queries_show_that_pages_are_counted_from_0():
    """All signs are the same in 1 of 256 cases, which is below 0.4 of the level of 0.01."""
    assert shift_is_found(asked(8, 8, by=-1))
    assert not shift_is_found(asked(7, 7, by=-1))


def test_a_larger_level_is_named_if_it_sees_more():
    assert "audit.level=0.05 sees it" in hints(asked(6, 6))
    assert "compare some judged pages" in hints(asked(3, 3))


@pytest.mark.parametrize("count", [6, 7])
def test_a_shift_that_is_not_found_at_the_level_is_a_hint_and_the_sentence_stays(count):
    """Of 7 queries, 1 of 128 choices of signs is as clear: below 0.4 of 0.05, and above 0.4 of 0.01."""
    items = asked(count, count, by=-1)
    assert not shift_is_found(items)
    assert "may be chance" in hints(items)
    assert f"pages {SHIFTS} cannot be seen, even if all of them are; audit.level=0.05 sees it" in hints(items)
    assert "may be chance" not in hints(items, 0.05)
    assert "may be chance" not in hints(asked(count, count))


def test_swaps_that_can_be_seen_are_not_mentioned(manual_pages):
    assert SWAPS not in hints(manual_pages)
    assert SWAPS in hints(asked(12, 3))


def test_of_many_queries_that_bm25_cannot_answer_it_is_said_too():
    items = asked(320, 320, pages=330)
    foreign = replace(items, queries=tuple(replace(query, text="zèbre") for query in items.queries))
    assert f"With 320 queries, few {SWAPS} judgments can be seen" in hints(foreign)


@pytest.mark.usefixtures("long_work")
def test_the_audit_reports_it_and_keeps_it(store):
    first, again = (audit(Audited(asked(6, 6), store=store)) for _ in range(2))
    assert any(SHIFTS in sentence for sentence in first.undetectable)
    assert again.undetectable == first.undetectable
    assert first.undetectable[-1] in first.sentences[0]


def grouped(group_of):
    """36 questions about the pages of a book, of which BM25 finds the first 18 at once, in groups."""
    items = asked(36, 36)
    texts = [f"topic{row + 3 + (row >= 18)}" for row in range(36)]
    queries = (
        replace(query, text=text, group=group_of(row))
        for row, (query, text) in enumerate(zip(items.queries, texts, strict=True))
    )
    return replace(items, queries=tuple(queries))


@pytest.mark.parametrize(
    ("group_of", "groups", "effect"),
    [
        (lambda row: f"chapter {row // 6}", 6, (6, 8)),  # a chapter is found as a whole, or not at all
        (lambda row: f"mixed {row % 18}", 18, (0, 0.1)),  # each pair has one that is found and one that is not
    ],
)
def test_the_design_effect_is_that_of_what_is_found(group_of, groups, effect):
    items = grouped(group_of)
    [sentence] = query_groups(items, unit_ranks(items, 1, NO_STORE), 1)
    assert f"36 queries in {groups} groups, the largest of {36 // groups}" in sentence
    low, high = effect
    assert low <= float(re.search(r"is ([0-9.]+), so", sentence)[1]) <= high


def test_nothing_is_said_of_queries_without_groups():
    assert not audit(Audited(grouped(lambda row: None))).groups


def test_it_stands_in_the_report_beside_the_findings():
    of_chapters = audit(Audited(grouped(lambda row: f"chapter {row // 6}")))
    assert of_chapters.sentences[-1] == of_chapters.groups[0]
