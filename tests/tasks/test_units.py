"""Passages of several pages, and which of them they stand for in a ranking."""

from dataclasses import replace

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from rankings import collection_of, dataset_of, paged, ranking_task

from ragsweep.datasets import FixedChunker, PageChunker
from ragsweep.evaluation import recall
from ragsweep.retrieval import NOTHING
from ragsweep.tasks.ranking.units import units_of_ranking
from ragsweep.tasks.task import Record

LETTERS = FixedChunker(size=5, overlap=0, unit="characters", across_pages=True)  # three pages of a letter each


def dataset(pages, grades, chunker=LETTERS):
    """Pages with these texts, and grades by query and page number."""
    judgments = {(query, f"a#{page}"): grade for (query, page), grade in grades.items()}
    return dataset_of([paged("a", *pages)], {"q": "q", "r": "r"}, judgments, chunker=chunker)


def stands_for(small, *rankings):
    """The page numbers that the passages of each ranking stand for."""
    width = max(map(len, rankings))
    passages = np.array([[*ranking, *[NOTHING] * (width - len(ranking))] for ranking in rankings], np.int64)
    units = units_of_ranking(passages, small)
    assert ((units == NOTHING) == (passages == NOTHING)).all()
    return [[int(small.units[unit].partition("#")[2]) for unit in row if unit != NOTHING] for row in units]


def pages_of(small, passage):
    """The units of a passage, in the order of its pages."""
    return [small.units[unit] for holder, unit in small.passages_with_units if holder == passage]


def slow_and_obvious(small, query, ranking):
    """The rule of `docs/strategies.md`, page by page."""
    grades = {
        small.units[unit]: grade
        for row, unit, grade in zip(*(column.tolist() for column in vars(small.qrels).values()), strict=True)
        if row == query
    }
    taken, chosen = set(), []
    for passage in ranking:
        pages = pages_of(small, passage)
        left = [page for page in pages if page not in taken]
        relevant = [page for page in left if grades.get(page, 0) > 0]
        best = max((grades[page] for page in relevant), default=0)
        page = next((page for page in relevant if grades[page] == best), (left or pages)[0])
        taken.add(page)
        chosen.append(int(page.partition("#")[2]))
    return chosen


def test_a_passage_knows_its_pages_and_one_that_stands_for_another_is_explained():
    small = dataset(["a", "b", " ", "d", "e"], {("q", 1): 1})
    assert [(passage.text, passage.page, passage.page_number) for passage in small.passages] == [
        ("a\fb", 0, "1"),
        ("d\fe", 3, "4"),
    ]
    assert [pages_of(small, passage) for passage in range(2)] == [["a#1", "a#2"], ["a#4", "a#5"]]  # the third is empty
    small = dataset(["a", "b", "c", "d"], {("q", 9): 1})
    assert [small.units[unit] for unit in small.passage_units] == ["a#1", "a#4"]
    assert [(passage, small.units[unit]) for passage, unit in small.further_units] == [(0, "a#2"), (0, "a#3")]
    assert [small.units[unit] for unit in small.found_units] == ["a#1", "a#2", "a#3", "a#4"]
    assert small.passages_of(small.units.index("a#3")).tolist() == [0]
    assert small.units_of([0]) == {0, 1, 2}
    assert small.coverage().share == 0
    assert dataset(["a", "b"], {("q", 2): 1, ("q", 9): 1}).coverage().share == 0.5
    judgments = {("q", "a#1"): 1, ("q", "a#2"): 1}
    collection = collection_of([paged("a", "iron tea", "iron milk")], {"q": "iron"}, judgments)
    across = FixedChunker(size=50, unit="characters", across_pages=True)
    task = ranking_task(metrics={"recall": recall}, k=1, collection=collection, chunker=across)
    items = task.load()
    record = Record("small", "1", pd.DataFrame({"query_id": ["q"]}), {"k": "1"})
    text = " ".join(" ".join(task.explain(items, "q", record, 100)).split())
    assert "its passage is at rank 1, where it stands for 1" in text
    assert task.measure(items).values["recall"] == 0.5


TEXTS = st.lists(st.sampled_from(["a", "bb", " ", "", "ccccccc"]), min_size=1, max_size=7)


@given(st.data())
def test_every_rank_stands_for_what_the_slow_rule_says(data):
    pages = [*data.draw(TEXTS), "z"]
    size = data.draw(st.integers(1, 12))
    chunker = FixedChunker(size, data.draw(st.integers(0, size - 1)), "characters", across_pages=True)
    some = st.tuples(st.sampled_from("qr"), st.integers(1, len(pages) + 1))
    small = dataset(pages, data.draw(st.dictionaries(some, st.integers(-1, 3), min_size=1)), chunker)
    orders = st.permutations(range(len(small.passages))).flatmap(
        lambda order: st.integers(0, len(order)).map(lambda length: order[:length])
    )
    rankings = [data.draw(orders), data.draw(orders)]
    assert stands_for(small, *rankings) == [
        slow_and_obvious(small, row, ranking) for row, ranking in enumerate(rankings)
    ]


def test_a_ranking_of_single_pages_is_looked_up_and_one_of_nothing_has_no_units():
    small = dataset("abc", {("q", 2): 1}, PageChunker())
    passages = np.array([[2, 0, NOTHING], [1, 1, 2]])
    assert units_of_ranking(passages, small).tolist() == [[2, 0, NOTHING], [1, 1, 2]]
    nobody = replace(dataset(["a"], {("q", 1): 1}), passages=(), passage_units=np.empty(0, np.int64))
    nothing = np.full((2, 3), NOTHING, np.int64)
    assert units_of_ranking(nothing, nobody).tolist() == nothing.tolist()
