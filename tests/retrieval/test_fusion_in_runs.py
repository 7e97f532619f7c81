"""Fusion by name, three rankers, and rankings of fewer than k passages, as a user runs them."""

import csv
import re

import pytest
import yaml
from small import QUERIES, arguments

from ragsweep.core.trec_files import NOTHING_RETRIEVED

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


@pytest.fixture(scope="module")
def limited(shared_application, dataset):
    return swept(shared_application, dataset, "retriever=sparse", "retriever.score_threshold=null,3,5")


def test_runs_are_named_by_their_fusion(fused):
    assert set(fused) == {"fusion=rrf", "fusion=minmax"}
    assert len({run.data.tags["config.digest"] for run in fused.values()}) == 2


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
    process = shared_application.script("reproduce", "--no-log", fused["fusion=rrf"].info.run_id, *dataset[2:])
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


def retrieved(application, run):
    """How many passages each query has in the TREC file."""
    lines = (application.artifacts(run) / "results" / "ranking.trec").read_text().splitlines()
    found = [line.split()[0] for line in lines if NOTHING_RETRIEVED not in line]
    return [found.count(str(number + 1)) for number in range(len(QUERIES))]


def test_a_threshold_leaves_fewer_than_k_or_none(limited, shared_application):
    every, some, few = (limited[f"score_threshold={value}"] for value in ("null", "3", "5"))
    counts = retrieved(shared_application, some)
    assert all(count <= before for count, before in zip(counts, retrieved(shared_application, every), strict=True))
    assert 0 in counts
    assert 0 < sum(retrieved(shared_application, few)) < sum(counts)
    assert few.data.metrics["recall"] < some.data.metrics["recall"] < every.data.metrics["recall"]


def test_a_query_without_a_result_is_in_every_table(limited, shared_application):
    for run in limited.values():
        with (shared_application.artifacts(run) / "results" / "per_query.csv").open(newline="") as file:
            assert len([*csv.DictReader(file)]) == len(QUERIES)
        assert {path.suffix for path in (shared_application.artifacts(run) / "charts").iterdir()} == {".png"}


def test_an_explanation_says_that_nothing_was_retrieved(limited, shared_application, dataset):
    process = shared_application.script_here("explain", limited["score_threshold=5"].info.run_id, ASKED, *dataset[2:])
    assert process.returncode == 0, process.stderr
    assert "nothing was retrieved" in process.stdout
    assert re.search(r"missed +", process.stdout)


def test_the_report_of_the_sweep_names_the_best(limited, shared_application):
    parent = shared_application.client().get_run(limited["score_threshold=3"].data.tags["mlflow.parentRunId"])
    report = (shared_application.artifacts(parent) / "report.md").read_text()
    assert parent.data.tags["best.configuration"] in limited
    assert not re.search(r"\bnan\b", report, re.IGNORECASE)
    assert parent.info.status == "FINISHED"
