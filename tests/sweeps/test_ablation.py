"""What each part of a configuration adds."""

import numpy as np
import pytest
from outcomes import SETTINGS, of_scores

from ragsweep.report.part_charts import what_parts_add
from ragsweep.statistics import confidence_intervals
from ragsweep.sweeps import Sweep, ablation

PARTS = {
    "query": {"query": "PrfRewriter", "query.terms": "10"},
    "reranker": {"reranker": "MMRReranker", "reranker.encoder": "Mini", "reranker.encoder.model": "m"},
    "retriever.rankers.words": {"retriever.rankers.words": "SparseRetriever", "retriever.rankers.words.k1": "1.5"},
}
REST = {"retriever": "FusedRetriever", "retriever.fusion": "MinMax", "dataset.type": "None"}
SCORES = np.linspace(0.2, 0.8, 20)


def run(name, *parts, scores=SCORES, **other):
    settings = {key: value for part in parts for key, value in PARTS[part].items()} | REST | other
    return of_scores(name, scores, {"strategy": name}, **settings)


def lacking(part, **changed):
    return run(f"without {part}", *(each for each in PARTS if each != part), **changed)


def of_runs(runs):
    return Sweep(runs, {}, SETTINGS)


FULL = run("full", *PARTS, scores=SCORES + 0.1)


def test_the_runs_that_lack_one_part_are_found_with_its_path():
    sweep = of_runs([run("none"), *map(lacking, PARTS), FULL])
    found = ablation(sweep)
    assert found.full is FULL
    assert {part: other.name for part, other in found.without.items()} == {part: f"without {part}" for part in PARTS}


def test_a_setting_without_a_value_is_no_part():
    other = lacking("query", query="None")
    assert ablation(of_runs([FULL, other, lacking("reranker")])).without["query"] is other


def test_a_configuration_does_not_lack_its_own_settings_without_a_value():
    full = run("full", *PARTS, **{"fusion.weights": "None"})
    assert set(ablation(of_runs([full, lacking("query"), lacking("reranker")])).without) == {"query", "reranker"}


def test_a_part_is_found_if_another_part_has_a_shorter_name_without_it():
    other = lacking("query")
    settings = {name.removeprefix("reranker.") if "model" in name else name: v for name, v in other.settings.items()}
    renamed = of_scores("renamed", SCORES, {"strategy": "renamed"}, **settings)
    assert ablation(of_runs([FULL, renamed, lacking("reranker")])).without["query"].name == "renamed"


@pytest.mark.parametrize(
    "others",
    [
        [lacking("query")],
        [lacking("query"), lacking("reranker", **{"retriever.fusion": "Rrf"})],
        [lacking("query"), run("two parts", "query")],
        [lacking("query"), run("more", *PARTS, **{"more": "1"})],
    ],
    ids=["one", "another value", "two parts", "one more"],
)
def test_runs_that_differ_otherwise_do_not_count(others):
    assert ablation(of_runs([FULL, *others])) is None


def test_a_part_adds_the_paired_difference():
    better = np.where(np.arange(20) % 2, 0.0, 0.3)
    sweep = of_runs([FULL, lacking("query", scores=SCORES + 0.1 - better), lacking("reranker", scores=SCORES)])
    first, second = what_parts_add(sweep, ablation(sweep))
    low, high = confidence_intervals(better[np.newaxis], resamples=sweep.resamples, seed=sweep.seed)
    assert (first.part, first.low, first.high) == ("query", pytest.approx(low[0]), pytest.approx(high[0]))
    assert first.mean == pytest.approx(0.15)
    assert (second.part, second.mean) == ("reranker", pytest.approx(0.1))
