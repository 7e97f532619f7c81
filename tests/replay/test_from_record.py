"""`ragsweep run --from`: a recorded configuration runs again, whole or changed."""

import pandas as pd
import pytest
import yaml
from application import in_this_process


@pytest.fixture(scope="module")
def finished(shared_application):
    """A run whose every setting differs from the defaults, on the bundled manual, and its artifacts."""
    given = (
        "k=3",
        "retriever=sparse",
        "retriever.k1=1.1",
        "chunker=fixed",
        "chunker.size=700",
        "evaluation.gain=exponential",
    )
    assert shared_application.run(*given).returncode == 0
    run = shared_application.runs()[-1]
    return run, shared_application.artifacts(run)


@pytest.fixture
def again(shared_application, tmp_path):
    """Run `ragsweep run` on the store of the recorded run, in an empty project of another folder."""

    def run(*given):
        before = {run.info.run_id for run in shared_application.runs()}
        places = [f"{name}={place}" for name, place in shared_application.places.items()]
        process = in_this_process(tmp_path, "run", *given, *places)
        return process, [run for run in shared_application.runs() if run.info.run_id not in before]

    return run


def test_a_record_runs_again_in_another_folder(finished, shared_application, again):
    run, artifacts = finished
    process, [new] = again("--from", run.info.run_id)
    assert process.returncode == 0, process.stderr
    assert new.data.params == run.data.params
    assert new.data.tags["config.digest"] == run.data.tags["config.digest"]
    tables = [
        pd.read_csv(folder / "results/per_query.csv") for folder in (artifacts, shared_application.artifacts(new))
    ]
    pd.testing.assert_frame_equal(*tables)


def test_a_file_runs_with_what_was_edited_and_what_is_typed(finished, again, tmp_path):
    run, artifacts = finished
    config = yaml.safe_load((artifacts / "config/config.yaml").read_text())
    config["retriever"]["k1"] = 0.9
    (tmp_path / "edited.yaml").write_text(yaml.safe_dump(config))
    process, [new] = again("--from", "edited.yaml", "k=7")
    assert process.returncode == 0, process.stderr
    changed = {name for name in new.data.params if new.data.params[name] != run.data.params[name]}
    assert changed == {"retriever.k1", "k"}
    assert (new.data.params["retriever.k1"], new.data.params["k"], new.info.run_name) == ("0.9", "7", "k=7")


def test_another_option_is_chosen_in_place_of_the_recorded_one(finished, again):
    run, _ = finished
    process, [new] = again("--from", run.info.run_id, "chunker=page", "retriever=hybrid", "encoder=wordllama")
    assert process.returncode == 0, process.stderr
    params = new.data.params
    assert (params["chunker"], params["retriever.alpha"], params["k"]) == ("PageChunker", "0.7", "3")
    assert params["evaluation.gain"] == "exponential"


@pytest.mark.parametrize(
    ("typed", "changes"),
    [
        ("chunker={size:600}", {"chunker.size": "600"}),
        ("decision.tokenizer=words", {"task.tokenizer": "words"}),
    ],
)
def test_what_is_typed_changes_that_alone(finished, again, typed, changes):
    run, _ = finished
    process, [new] = again("--from", run.info.run_id, typed)
    assert process.returncode == 0, process.stderr
    before = run.data.params
    assert {name: value for name, value in new.data.params.items() if before.get(name) != value} == changes


def test_the_options_of_an_option_are_chosen_in_place_of_recorded_ones(finished, again, tmp_path):
    (tmp_path / "conf/experiment").mkdir(parents=True)
    lines = "# @package _global_\ndefaults: [{override /evaluation: spans}]\n"  # which chooses decision=spans
    (tmp_path / "conf/experiment/mine.yaml").write_text(lines)
    process, _ = again("--from", finished[0].info.run_id, "experiment=mine", "task=ranking")
    assert "compares spans of text, and cho_manual judges pages" in process.stderr


def test_a_sweep_begins_with_a_record(finished, shared_application, again):
    run, _ = finished
    process, new = again("-m", "--from", run.info.run_id, "k=3,5", "chunker=recorded,page")
    assert process.returncode == 0, process.stderr
    children = [run.data.params for run in new if "mlflow.parentRunId" in run.data.tags]
    swept = {(params["k"], params["chunker"], params["retriever.k1"]) for params in children}
    assert swept == {(k, chunker, "1.1") for k in ("3", "5") for chunker in ("FixedChunker", "PageChunker")}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["retriever.alpha=1"], "retriever.alpha: the recorded configuration has no such setting"),
        (["nosuch.option=1"], "nosuch.option: the recorded configuration has no such setting"),
        (["k=0"], "k: found 0"),
    ],
)
def test_what_a_record_does_not_have_is_refused(finished, again, given, expected):
    process, new = again("--from", finished[0].info.run_id, *given)
    assert (process.returncode, process.stdout, new) == (2, "", [])
    assert expected in process.stderr


def test_a_file_is_trusted_no_more_than_a_record(finished, again, tmp_path):
    config = yaml.safe_load((finished[1] / "config/config.yaml").read_text())
    config["retriever"]["_target_"] = "os.system"
    (tmp_path / "made.yaml").write_text(yaml.safe_dump(config))
    process, new = again("--from", "made.yaml")
    assert (process.returncode, new) == (2, [])
    assert "os.system may not be built from a record; --allow MODULE" in process.stderr
    text = (finished[1] / "config/config.yaml").read_text()
    (tmp_path / "edited.yaml").write_text(f"{text}budgets: 100\n")
    process, new = again("--from", "edited.yaml")
    assert (process.returncode, new) == (2, [])
    assert "--from edited.yaml: budgets: no such setting (did you mean budget?)" in process.stderr


@pytest.mark.parametrize("given", [[], ["-m"]])
def test_a_record_does_not_steer_hydra(finished, again, tmp_path, given):
    config = yaml.safe_load((finished[1] / "config/config.yaml").read_text())
    called = {"++task._target_": "builtins.dict", "++seed": "{_target_:os.mkdir,path:ran}"}
    config["hydra"] = {"mode": "MULTIRUN", "job": {"env_set": {"RAN": "yes"}}, "sweeper": {"params": called}}
    config["task"]["hydra"] = "${hydra}"
    (tmp_path / "made.yaml").write_text(yaml.safe_dump(config))
    process, new = again(*given, "--from", "made.yaml")
    assert (process.returncode, new) == (2, [])
    assert "task.hydra: found '${hydra}', an interpolation" in process.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("record", "expected"),
    [("nosuch", "expected the id of a run"), ("0" * 32, "0" * 32), ("conf", "expected the id of a run")],
)
def test_what_is_no_record_is_refused(again, tmp_path, record, expected):
    (tmp_path / "conf").mkdir()
    process, new = again("--from", record)
    assert (process.returncode, new) == (2, [])
    assert expected in process.stderr
