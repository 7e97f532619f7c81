"""The configuration by which a run is compared where its system is gone."""

import pytest
import yaml

from ragsweep.core.errors import ConfigError
from ragsweep.replay.returned_record import with_returned

RECORD = """
retriever: {_target_: mine.System, call: "mine:search", first_page: 0}
evaluation:
  metrics: {ndcg: {}, map: {}, f1: {}}
"""


def test_the_metrics_keep_their_order_because_means_of_resamples_are_summed_together():
    """The last bit of an interval depends on which row of a matrix a metric is."""
    replaced = yaml.safe_load(with_returned(RECORD))
    assert list(replaced["evaluation"]["metrics"]) == ["ndcg", "map", "f1"]


def test_only_how_results_are_matched_is_kept_of_the_retriever():
    replaced = yaml.safe_load(with_returned(RECORD))["retriever"]
    assert (replaced.pop("_target_"), replaced.pop("first_page")) == ("ragsweep.retrieval.ReturnedRetriever", 0)
    assert "call" not in replaced


@pytest.mark.parametrize("record", ["k: 5", "retriever: sparse", "- 1", "a: {"])
def test_a_record_without_a_retriever_is_one_line(record):
    with pytest.raises(ConfigError, match=r"config\.yaml of the run"):
        with_returned(record)
