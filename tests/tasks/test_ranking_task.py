"""What a run of retrieval measures and says: a budget, groups of queries, incomplete judgments, lost neighbours."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rankings import SPARSE, dataset_of, paged, ranking_task, unpaged

from ragsweep.core.errors import ConfigError
from ragsweep.datasets import Query
from ragsweep.evaluation import hit_rate, ndcg, precision, recall
from ragsweep.retrieval import NOTHING, Ranking, ReturnedRetriever, SparseRetriever
from ragsweep.statistics import Groups, confidence_intervals
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.charts import by_query_type
from ragsweep.tasks.ranking.conventions import lost_neighbours
from ragsweep.tasks.ranking.external import evaluate

METRICS = {"recall": recall, "precision": precision, "ndcg": ndcg}


def measures_of(measurement):
    return {measure.metric.name: measure for measure in measurement.measures}


@pytest.fixture
def items():
    """Thirty documents of 3 to 40 words that share words, and ten questions of two words."""
    rng = np.random.default_rng(5)
    words = [f"word{number}" for number in range(25)]
    documents = [unpaged(f"d{row}", " ".join(rng.choice(words, rng.integers(3, 41)))) for row in range(30)]
    queries = {f"q{row}": " ".join(rng.choice(words, 2, replace=False)) for row in range(10)}
    judgments = {(f"q{row}", f"d{unit}"): 1 for row in range(10) for unit in rng.choice(30, 4, replace=False)}
    return dataset_of(documents, queries, judgments, unit="document")


def test_as_many_whole_passages_count_as_fit_into_a_budget(items):
    for budget in (1, 10, 60, 100_000):
        task = ranking_task(metrics=METRICS, budget=budget)
        ranking = task.rank(items)
        measured = task.measured(items, ranking, task.shown(items, ranking))
        values = {score.metric.name: score.per_item for score in measured.scores}
        tokens = measures_of(measured)["context/tokens"].per_item
        for query in range(10):
            relevant = {*items.qrels.unit[items.qrels.query == query].tolist()}
            taken, spent = [], 0
            for passage in ranking.passages[query][ranking.passages[query] != NOTHING]:
                length = len(items.texts[passage].split())
                if spent + length > budget:
                    break
                taken.append(int(items.passage_units[passage]))
                spent += length
            hits = len(relevant & {*taken})
            assert tokens[query] == spent <= budget
            assert values["recall"][query] == pytest.approx(hits / len(relevant))
            assert values["precision"][query] == pytest.approx(hits / len(taken) if taken else 0)
            assert measured.per_item["retrieved"][query].count("d") == len(taken)
        assert not measured.notices  # all rankings go beyond the budget, or to the end of the corpus
    nobody = replace(items.queries[0], query_id="nobody", answerable=False)
    with pytest.raises(ConfigError, match=r"^budget: "):  # it needs questions that have an answer
        ranking_task(budget=50).check(replace(items, queries=(*items.queries, nobody)))


GROUPS = ["a", "a", "a", "b", "b", "b", "c", None]


def grouped(groups):
    """Eight questions, of which the first three ask for another page than is judged."""
    texts = [f"word{number}" for number in range(8)]
    queries = [Query(f"q{row}", text, "ab"[row % 2], group=groups[row]) for row, text in enumerate(texts)]
    judgments = {(f"q{row}", texts[row if row > 2 else 7 - row]): 1 for row in range(8)}
    items = dataset_of(map(unpaged, texts), queries, judgments, unit="document")
    return ranking_task(metrics={"hit_rate": hit_rate}, k=1, resamples=1000).measure(items)


@pytest.mark.usefixtures("drawing")
def test_a_run_has_the_groups_of_its_queries_and_their_intervals_also_in_its_charts():
    alone, together, one = grouped([None] * 8), grouped(GROUPS), grouped(["all"] * 8)
    assert together.per_item["query_group"].tolist() == [*GROUPS[:-1], ""]
    assert "query_group" not in alone.per_item
    [score], [score_alone] = together.scores, alone.scores
    values = score.per_item
    assert values.tolist() == score_alone.per_item.tolist() == [0, 0, 0, 1, 1, 1, 1, 1]
    of_groups = confidence_intervals(values, groups=Groups.named(GROUPS), resamples=1000)
    of_queries = confidence_intervals(values, resamples=1000)
    assert (score.low, score.high) == of_groups
    assert (score_alone.low, score_alone.high) == of_queries != of_groups
    lengths = []
    for measured in (one, alone):  # of one group, nothing can be drawn but the group
        [axes] = by_query_type(measured, measured.scores[0], 1000, 0).axes
        lengths.append(max(np.ptp(line[:, 1]) for lines in axes.collections for line in lines.get_segments()))
    assert lengths[0] == 0 < lengths[1]


UNITS = st.sampled_from([f"d{number}" for number in range(8)])
RANKING = st.lists(UNITS, min_size=1, max_size=12)  # later passages of a unit repeat it
RUN = st.fixed_dictionaries({"q1": RANKING, "q2": RANKING})
GRADES = st.dictionaries(UNITS, st.integers(0, 2), min_size=1)
QRELS = st.fixed_dictionaries({"q1": GRADES.map(lambda grades: {**grades, "d0": 1}), "q2": GRADES})
K = 5


@given(run=RUN, qrels=QRELS)
def test_judged_at_k_is_that_of_distinct_units_also_of_few_results(run, qrels):
    incomplete = evaluate(run, qrels, k=K, resamples=1).incomplete
    says_wrong = 0 in {*qrels["q1"].values(), *qrels["q2"].values()}
    unknown = any(unit not in qrels[query] for query, units in run.items() for unit in units[:K])
    assert bool(incomplete) == (says_wrong and unknown)
    if incomplete:  # Judged@k of ir_measures, of distinct units
        shares = [len({*units[:K]} & {*qrels[query]}) / len({*units[:K]}) for query, units in run.items()]
        assert incomplete["judged_at_k"] == pytest.approx(np.mean(shares))
    qrels = {query: {"a": 1, "b": 0} for query in ("q1", "q2", "q3")}
    result = evaluate({"q1": ["a"], "q2": ["b", "x"], "q3": []}, qrels, k=5)
    assert result.incomplete["judged_at_k"] == pytest.approx((1 + 1 / 2) / 2)
    assert "Judged@5 0.750" in repr(result)


def test_a_run_measures_judged_at_k_where_some_judgments_say_not_relevant():
    for grades, measured in (({"a#1": 1, "a#2": 0}, True), ({"a#1": 1}, False)):
        judgments = {("q", unit): grade for unit, grade in grades.items()}
        items = dataset_of([paged("a", "iron", "iron tea", "iron milk")], {"q": "iron"}, judgments)
        measurement = ranking_task(metrics={"ndcg": ndcg}).measure(items)
        judged = measures_of(measurement).get("coverage/judged_at_k")
        assert (judged and judged.value) == (pytest.approx(2 / 3) if measured else None)
        assert ("incomplete_judgments" in measurement.facts) == measured
        assert ("Incomplete judgments" in measurement.sections) == measured
        assert measurement.facts.get("judged") == (pytest.approx((2 / 3, 1 / 2)) if measured else None)


def test_no_machine_is_named_for_times_of_elsewhere(tmp_path):
    line = {"query": "iron", "results": [{"source": "a", "page": "1"}], "ms": 3.0}
    (tmp_path / "returned.jsonl").write_text(json.dumps(line) + "\n")
    items = dataset_of([paged("a", "iron", "tea", "zinc")], {"q": "iron"}, {("q", "a#1"): 1})
    for retriever, machines in ((ReturnedRetriever(str(tmp_path / "returned.jsonl")), False), (SPARSE, True)):
        latency = measures_of(ranking_task(retriever).measure(items))["latency/mean_ms"]
        assert (latency.machines is not None) == machines


def test_an_index_that_finds_almost_nothing_is_said_first_unless_it_returns_few_passages():
    lost = [(100, 0.0), (100, 0.09), (0, 0.0), (10, 0.005)]
    kept = [(100, 0.5), (100, 0.1), (3, 0.03), (1, 0.01)]
    for returned, share in lost + kept:
        passages = np.full((4, 100), NOTHING)
        passages[:, :returned] = np.arange(returned)
        scores = np.where(passages == NOTHING, -np.inf, 1.0)
        lines = lost_neighbours(Ranking(passages, scores, recall_of_exact=np.full(4, share)), 100)
        assert [f"{share:.1%} of the 100 passages" in line for line in lines] == [True] * ((returned, share) in lost)
    items = dataset_of(map(unpaged, ("tea", "iron", "zinc")), {"q": "tea"}, {("q", "tea"): 1}, unit="document")
    for share, lines in ((0.0, 1), (0.9, 0)):
        measured = ranking_task(Approximate(NO_STORE, recall=share)).measure(items)
        sentences = [notice for notice in measured.notices if "the index, not the retriever" in notice]
        assert len(sentences) == lines
        assert measured.caution == "".join(sentences)
        assert sum(sentences == [*section] for section in measured.sections.values()) == lines


@dataclass(frozen=True)
class Approximate(SparseRetriever):
    recall: float = 0.0

    def rank(self, search, depth):
        return replace(super().rank(search, depth), recall_of_exact=np.full(len(search.queries), self.recall))
