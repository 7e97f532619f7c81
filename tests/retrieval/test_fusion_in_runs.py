"""Fusion by name, three rankers, and rankings of fewer than k passages, as a user runs them."""

import pytest
import yaml
from application import succeeded
from small import QUERIES


@pytest.fixture(scope="module")
def fused(shared_application, dataset):
    """The runs of a sweep over fusions, by their names."""
    three = ["retriever=three_way", "retriever.rankers.dense.encoder=wordllama", "retriever.fusion=rrf,minmax"]
    succeeded(shared_application.run("-m", *dataset, "k=3", *three))
    return {run.info.run_name: run for run in shared_application.children()}


def test_the_option_is_recorded_with_its_settings(fused, shared_application):
    run = fused["fusion=rrf"]
    recorded = yaml.safe_load((shared_application.artifacts(run) / "config" / "config.yaml").read_text())
    assert recorded["retriever"]["fusion"] == {
        "_target_": "ragsweep.retrieval.ReciprocalRankFusion",
        "constant": 60,
        "weights": None,
    }
    assert run.data.params["retriever.fusion"] == "ReciprocalRankFusion"
    assert run.data.params["retriever.fusion.constant"] == "60"


FORMULAS = {
    "rrf": "score: 1 / (60 + rank in dense) + 1 / (60 + rank in static) + 1 / (60 + rank in sparse)\n"
    "norm:  1 / (60 + rank in this part)\n",
    "minmax": " * norm of static + 0.333333 * norm of sparse\nnorm:  the score of this part, from 0 ",
}


def test_such_a_run_is_reproduced_and_an_explanation_says_how_the_score_is_made(fused, shared_application, dataset):
    run_ids = {name: fused[f"fusion={name}"].info.run_id for name in FORMULAS}
    reproduced = succeeded(shared_application.script("reproduce", run_ids["rrf"], *dataset[2:]))
    assert "fusion=rrf: identical" in reproduced.stdout
    for name, formula in FORMULAS.items():
        given = [run_ids[name], QUERIES[1][0], *dataset[2:]]
        assert formula in succeeded(shared_application.script_here("explain", *given)).stdout
