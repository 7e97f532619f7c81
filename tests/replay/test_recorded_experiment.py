"""The retriever by which a run is compared where its system is gone."""

import pytest

from ragsweep.core.errors import ConfigError
from ragsweep.replay.recorded_experiment import returning

RECORD = 'retriever: {_target_: mine.System, call: "mine:search", first_page: 0}'


def test_only_how_results_are_matched_is_kept_of_the_retriever():
    retriever = returning(RECORD)
    assert (retriever.pop("_target_"), retriever.pop("first_page")) == ("ragsweep.retrieval.ReturnedRetriever", 0)
    assert "call" not in retriever


@pytest.mark.parametrize("record", ["k: 5", "retriever: sparse", "- 1", "a: {"])
def test_a_record_without_a_retriever_is_one_line(record):
    with pytest.raises(ConfigError, match=r"config\.yaml of the run"):
        returning(record)
