"""For how many queries nothing is found: in runs and in the decision of a sweep."""

# ruff: noqa: RUF001  # letters that look alike are the point

from dataclasses import dataclass, replace

import numpy as np
import pytest
from outcomes import decided, facts_of, of_scores
from rankings import SPARSE, dataset_of, ranking_task, unpaged

from ragsweep.core.errors import NothingFoundError
from ragsweep.datasets import Qrels
from ragsweep.report.claims import claims_of
from ragsweep.retrieval import NOTHING, FusedRetriever, Ranker, Ranking, Reranker, Rewriter, Search, ranked
from ragsweep.tasks.measurement_files import facts

TEXTS = ("iron tablets", "iron and tea", "rest", "sleep")  # iron is in exactly half of them
FOUND, UNKNOWN, WEIGHTLESS = "tea", "Eisen", "iron"


@dataclass(frozen=True)
class Talkative(Ranker):
    """Ranks the whole corpus for every query, and has something to say."""

    def rank(self, search: Search, depth: int) -> Ranking:
        rows = np.tile(np.arange(len(search.passages)), (len(search.queries), 1))
        return ranked(rows, -rows.astype(float), depth)

    def sections(self, search):
        return {"What was found": ["Some texts are of other pages."]}


@dataclass(frozen=True)
class NothingForTheFirst(Ranker):
    """Finds nothing for the first query, or the first few, and does not say why."""

    number: int = 1

    def rank(self, search: Search, depth: int) -> Ranking:
        rows = np.maximum(np.arange(len(search.queries))[:, None] - self.number, NOTHING)
        return Ranking(rows, np.where(rows == NOTHING, -np.inf, 1.0))


@dataclass(frozen=True)
class Dropping(Reranker):
    """Drops whatever was ranked."""

    def rerank(self, search: Search, ranking: Ranking, depth: int) -> Ranking:
        return NothingForTheFirst(len(search.queries)).rank(search, depth)


@dataclass(frozen=True)
class Translated(Rewriter):
    def rewrite(self, queries):
        return [{"Eisen": "tea"}.get(query, query) for query in queries]


def items_of(*queries):
    ids = [f"q{number}" for number in range(len(queries))]
    judgments = {(query, TEXTS[0]): 1 for query in ids}
    return dataset_of(map(unpaged, TEXTS), dict(zip(ids, queries, strict=True)), judgments, unit="document")


def measured(items, retriever=SPARSE, **stages):
    return ranking_task(retriever, **stages).measure(items)


def test_a_run_says_for_how_many_queries_nothing_is_found():
    for retriever, query in (
        (SPARSE, UNKNOWN),
        (FusedRetriever({"words": SPARSE}), WEIGHTLESS),
        (NothingForTheFirst(), FOUND),
        (replace(SPARSE, score_threshold=0.7), FOUND),
    ):
        measurement = measured(items_of(query, "tablets"), retriever)
        [line] = [line for line in measurement.notices if query in line]
        assert "1 of 2 queries" in line
        assert line in next(iter(measurement.sections.values()))


NOTHING_FOUND = [
    ((FOUND, "tablets"), {"retriever": NothingForTheFirst(2)}),
    ((UNKNOWN, "Tee"), {}),
    ((FOUND,), {"reranker": Dropping()}),
    ((UNKNOWN,), {"retriever": replace(SPARSE, score_threshold=0.1)}),
]


def test_a_run_that_finds_nothing_for_any_query_fails():
    for queries, stages in NOTHING_FOUND:
        with pytest.raises(NothingFoundError, match=f"any of {len(queries)} quer"):
            measured(items_of(*queries), **stages)


def test_what_its_own_settings_remove_is_measured_as_0():
    strict = replace(SPARSE, score_threshold=99)
    fused = FusedRetriever({"words": strict})
    for retriever, stages in ((strict, {"query": Translated()}), (SPARSE, {"dynamic_k": Dropping()}), (fused, {})):
        measurement = measured(items_of(FOUND, "tablets"), retriever, **stages)
        assert set(measurement.values.values()) == {0}
        [line] = measurement.notices
        assert "2 of 2 queries" in line


def test_queries_that_are_not_measured_do_not_save_a_run_that_finds_nothing():
    items = items_of(UNKNOWN, FOUND)
    first = items.qrels.query == 0
    of_first = Qrels(*(column[first] for column in (items.qrels.query, items.qrels.unit, items.qrels.grade)))
    with pytest.raises(NothingFoundError, match="any of 1 query"):
        measured(replace(items, qrels=of_first))
    none_right = replace(items, queries=(items.queries[0], replace(items.queries[1], answerable=False)), qrels=of_first)
    assert measured(none_right).values["ndcg"] == 0  # of one whose documents do not answer it, something is found


def test_what_a_ranker_says_is_printed_once_and_in_the_report_and_else_nothing():
    measurement = measured(items_of(FOUND), Talkative())
    assert "Some texts are of other pages." in measurement.notices
    assert measurement.sections["What was found"] == ["Some texts are of other pages."]
    assert not measurement.summary
    measurement = measured(items_of(FOUND, "tablets"))
    assert (measurement.notices, measurement.caution) == ([], "")
    assert facts(measurement, items_of(FOUND), "ndcg")["caution"] == ""
    assert measured(items_of(UNKNOWN, FOUND), query=Translated()).notices == []


def test_if_nothing_is_found_for_more_than_a_quarter_of_the_queries_that_comes_first():
    for queries in ((UNKNOWN, FOUND, "tablets", "tea tablets"), (UNKNOWN, FOUND, "tablets")):
        items = items_of(*queries)
        measurement = measured(items)
        assert bool(measurement.caution) == (len(queries) < 4)
        assert facts_of(facts(measurement, items, "ndcg")).caution == measurement.caution


def test_the_decision_begins_with_it():
    caution = "Nothing is found for 20 of 20 queries: no passage has a word of theirs."
    good, bad = np.linspace(0.7, 0.9, 20), np.zeros(20)
    none = [of_scores(f"k={k}", bad, {"k": k}, facts={"caution": caution}, k=str(k)) for k in (3, 5)]
    some = of_scores("alpha=1", good, {"retriever.alpha": 1})
    mixed = decided(some, of_scores("alpha=0", bad, {"retriever.alpha": 0}, facts={"caution": caution}))
    for decision, place in ((decided(*none), "headline"), (mixed, "evidence")):
        assert [claim.place for claim in claims_of(decision) if claim.name == "caution"] == [place]


SCRIPTS = [  # passages, each with a query about it
    ("図書館は九時に開きます。", "図書館は何時に開くか"),
    ("ห้องสมุดเปิดเวลาเก้าโมง", "ห้องสมุดเปิดกี่โมง"),
    ("पिता घर पर", "पिता"),
    ("पोता घर पर", "पोता"),  # the same letters without vowel signs
    ("Die Gebu\u0308hr betra\u0308gt 5 Euro", "Gebühr"),
    ("ＣＯＶＩＤ－１９ vaccine", "covid 19"),
    ("Wirt\u00adschafts\u00adkrise", "\ufeffWirtschaftskrise"),
]


def test_words_of_every_script_are_found():
    ranking = SPARSE.rank(Search(*zip(*SCRIPTS, strict=True)), 1)
    assert ranking.passages.ravel().tolist() == [*range(len(SCRIPTS))]
