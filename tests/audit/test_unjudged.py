"""Units that unlike retrievers agree on and that nobody judged."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ragsweep.datasets import Collection, Dataset, Document, Judgment, PageChunker, Query
from ragsweep_audit.findings.unjudged import DEEPEST_RANK, agreed, find_unjudged

UNITS = 8
RANKINGS = st.integers(1, 3).flatmap(
    lambda number: st.lists(
        arrays(np.int64, (4, 14), elements=st.integers(-1, UNITS - 1)), min_size=number, max_size=number
    )
)
JUDGED = st.sets(st.tuples(st.integers(0, 3), st.integers(0, UNITS - 1)), min_size=1)


def dataset(judged, queries=4, units=UNITS):
    """Every unit is a document of two pages."""
    return Dataset.from_collection(
        Collection(
            "made",
            "document",
            tuple(Document.from_pages(f"d{n}", [("1", f"d{n}", "one"), ("2", f"d{n}", "two")]) for n in range(units)),
            tuple(Query(f"q{n}", f"question {n}") for n in range(queries)),
            tuple(Judgment(f"q{query}", f"d{unit}", grade) for (query, unit), grade in dict(judged).items()),
        ),
        PageChunker(),
    )


def slowly(rankings, judged):
    """(query, unit, ranks) that all rankings have among their first distinct units."""
    for query in sorted({query for query, _ in judged}):
        places = []
        for ranking in rankings:
            seen = []
            for unit in ranking[query]:
                if unit >= 0 and unit not in seen:
                    seen.append(unit)
            places.append(seen[:DEEPEST_RANK])
        for unit in set.intersection(*map(set, places)):
            yield query, unit, tuple(seen.index(unit) + 1 for seen in places)


@given(RANKINGS, JUDGED)
def test_agreed_units_are_those_that_every_ranking_has_among_its_first(rankings, judged):
    units = agreed(dataset((pair, 1) for pair in judged), dict(zip("abc", rankings, strict=False)))
    rows = list(zip(units.query.tolist(), units.unit.tolist(), map(tuple, units.ranks.tolist()), strict=True))
    assert len(rows) == len(set(rows))
    assert set(rows) == set(slowly(rankings, judged))
    assert rows == sorted(rows, key=lambda row: (row[0], max(row[2]), sum(row[2])))
    assert units.judged.tolist() == [(query, unit) in judged for query, unit, _ in rows]


def alike(first):
    """Two rankings that both have these units first, shape [queries, ranks]."""
    return dict.fromkeys("ab", np.array(first))


def test_units_are_listed_to_the_depth_that_all_rankings_have_them_in():
    made = dataset({(query, query): 1 for query in range(4)})
    rankings = {"a": [[0, 1, 2, 3, 4]] * 4, "b": [[0, 2, 1, 4, 3]] * 4}
    units = agreed(made, {name: np.array(rows) for name, rows in rankings.items()})
    assert units.unit[units.unjudged(1)].tolist() == [0, 0, 0]
    assert units.unit[units.unjudged()].tolist() == [1, 2, 0, 2, 0, 1, 0, 1, 2]
    assert units.unit[units.unjudged(4)][:2].tolist() == [1, 2]
    assert units.unit[units.unjudged(5)][:4].tolist() == [1, 2, 3, 4]


def test_the_relevance_level_says_what_is_relevant():
    made = dataset({(0, 0): 1})
    assert agreed(made, alike([[0]] * 4), 1).relevant.tolist() == [True]
    assert agreed(made, alike([[0]] * 4), 2).relevant.tolist() == [False]


def judged_first(queries, unjudged):
    """All retrievers agree on the first unit of each query, and so many of these units have no judgment."""
    judged = {(query, query if query >= unjudged else query + 1): 1 for query in range(queries)}
    return find_unjudged(dataset(judged, queries, queries + 1), alike([[query] for query in range(queries)]))


@pytest.mark.parametrize(("unjudged", "alarm"), [(0, False), (15, False), (16, True), (20, True), (21, False)])
def test_the_alarm_needs_clearly_more_than_a_quarter_and_at_most_half_of_the_first_units(unjudged, alarm):
    """By scipy.stats.binomtest(15, 40, 0.25, alternative="greater"), p is 0.054; with 16, it is 0.026."""
    assert (judged_first(40, unjudged) is not None) == alarm


def test_the_finding_names_query_unit_and_ranks():
    finding = judged_first(40, 18)
    assert (finding.kind, finding.count, finding.out_of) == ("unjudged", 18, 40)
    assert finding.examples[0] == "d0 for query q0"
    assert finding.details["pairs"][0] == {"query_id": "q0", "unit": "d0", "ranks": {"a": 1, "b": 1}}
