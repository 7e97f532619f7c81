"""Fusion by name, three rankers, and rankings of fewer than k passages, as a user runs them."""

import pytest
import yaml
from small import QUERIES, arguments

ASKED = QUERIES[1][0]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return arguments(tmp_path_factory.mktemp("fused") / "data")


def swept(application, dataset, *given):
    """The runs of a sweep, by their names."""
    before = {run.info.run_id for run in application.runs()}
    process = application.run("-m", *dataset, "k=3", *given)
    assert process.returncode == 0, process.stderr
    return {run.info.run_name: run for run in application.children() if run.info.run_id not in before}


@pytest.fixture(scope="module")
def fused(shared_application, dataset):
    three = ["retriever=three_way", "retriever.rankers.dense.encoder=wordllama", "retriever.fusion=rrf,minmax"]
    return swept(shared_application, dataset, *three)


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


def test_a_run_with_an_option_by_name_is_reproduced(fused, shared_application, dataset):
    process = shared_application.script("reproduce", fused["fusion=rrf"].info.run_id, *dataset[2:])
    assert process.returncode == 0, process.stderr
    assert "fusion=rrf: identical" in process.stdout


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        (
            "rrf",
            "score: 1 / (60 + rank in dense) + 1 / (60 + rank in static) + 1 / (60 + rank in sparse)\n"
            "norm:  1 / (60 + rank in this part)\n",
        ),
        ("minmax", " * norm of static + 0.333333 * norm of sparse\nnorm:  the score of this part, from 0 "),
    ],
)
def test_an_explanation_says_how_the_score_is_made(fused, shared_application, dataset, name, lines):
    process = shared_application.script_here("explain", fused[f"fusion={name}"].info.run_id, ASKED, *dataset[2:])
    assert process.returncode == 0, process.stderr
    assert lines in process.stdout
