"""`ragsweep run --from`: a recorded configuration runs again, whole or changed."""

import pandas as pd
import pytest
import yaml
from application import in_this_process, succeeded


@pytest.fixture(scope="module")
def finished(shared_application):
    """A run whose every setting differs from the defaults, on the bundled manual, and its artifacts."""
    given = ["k=3", "retriever=sparse", "retriever.k1=1.1", "chunker=fixed", "chunker.size=700"]
    succeeded(shared_application.script_here("run", *given, "evaluation.gain=exponential"))
    run = shared_application.runs()[-1]
    return run, shared_application.artifacts(run)


@pytest.fixture
def again(shared_application, tmp_path):
    """Run `ragsweep run` on the store of the recorded run, in an empty project of another folder; the new runs."""

    def run(*given):
        before = {run.info.run_id for run in shared_application.runs()}
        places = [f"{name}={place}" for name, place in shared_application.places.items()]
        succeeded(in_this_process(tmp_path, "run", *given, *places))
        return [run for run in shared_application.runs() if run.info.run_id not in before]

    return run


@pytest.fixture
def refused(shared_application, tmp_path):
    """Try to run it there; what is said, after nothing was recorded."""

    def run(*given):
        before = len(shared_application.runs())
        places = [f"{name}={place}" for name, place in shared_application.places.items()]
        process = in_this_process(tmp_path, "run", *given, *places)
        assert (process.returncode, process.stdout, len(shared_application.runs())) == (2, "", before), given
        return process.stderr

    return run


def test_a_record_runs_again_in_another_folder(finished, shared_application, again):
    run, artifacts = finished
    [new] = again("--from", run.info.run_id)
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
    [new] = again("--from", "edited.yaml", "k=7")
    changed = {name for name in new.data.params if new.data.params[name] != run.data.params[name]}
    assert changed == {"retriever.k1", "k"}
    assert (new.data.params["retriever.k1"], new.data.params["k"], new.info.run_name) == ("0.9", "7", "k=7")


def test_another_option_is_chosen_in_place_of_the_recorded_one(finished, again):
    run, _ = finished
    [new] = again("--from", run.info.run_id, "chunker=page", "retriever=hybrid", "encoder=wordllama")
    params = new.data.params
    assert (params["chunker"], params["retriever.alpha"], params["k"]) == ("PageChunker", "0.7", "3")
    assert params["evaluation.gain"] == "exponential"


def test_what_is_typed_changes_that_alone(finished, again):
    run, _ = finished
    for typed, changes in {
        "chunker={size:600}": {"chunker.size": "600"},
        "decision.tokenizer=words": {"task.tokenizer": "words"},
    }.items():
        [new] = again("--from", run.info.run_id, typed)
        before = run.data.params
        assert {name: value for name, value in new.data.params.items() if before.get(name) != value} == changes


def test_the_options_of_an_option_are_chosen_in_place_of_recorded_ones(finished, refused, tmp_path):
    (tmp_path / "conf/experiment").mkdir(parents=True)
    lines = "# @package _global_\ndefaults: [{override /evaluation: spans}]\n"  # which chooses decision=spans
    (tmp_path / "conf/experiment/mine.yaml").write_text(lines)
    told = refused("--from", finished[0].info.run_id, "experiment=mine", "task=ranking")
    assert "compares spans of text, and cho_manual judges pages" in told


def test_a_sweep_begins_with_a_record(finished, shared_application, again):
    run, _ = finished
    new = again("-m", "--from", run.info.run_id, "k=3,5", "chunker=recorded,page")
    children = [run.data.params for run in new if "mlflow.parentRunId" in run.data.tags]
    swept = {(params["k"], params["chunker"], params["retriever.k1"]) for params in children}
    assert swept == {(k, chunker, "1.1") for k in ("3", "5") for chunker in ("FixedChunker", "PageChunker")}


def test_what_a_record_does_not_have_and_what_is_no_record_is_refused(finished, refused, tmp_path):
    (tmp_path / "conf").mkdir()
    run_id = finished[0].info.run_id
    for given, fact in (
        ((run_id, "retriever.alpha=1"), "retriever.alpha: the recorded configuration has no such setting"),
        ((run_id, "nosuch.option=1"), "nosuch.option: the recorded configuration has no such setting"),
        ((run_id, "k=0"), "k: found 0"),
        (("nosuch",), "expected the id of a run"),
        (("0" * 32,), "0" * 32),
        (("conf",), "expected the id of a run"),
    ):
        assert fact in refused("--from", *given), given


def test_a_file_is_trusted_no_more_than_a_record_and_does_not_steer_hydra(finished, refused, tmp_path):
    text = (finished[1] / "config/config.yaml").read_text()
    (tmp_path / "edited.yaml").write_text(f"{text}budgets: 100\n")
    told = refused("--from", "edited.yaml")
    assert "--from edited.yaml: budgets: no such setting (did you mean budget?)" in told
    config = yaml.safe_load(text)
    config["retriever"]["_target_"] = "os.system"
    (tmp_path / "made.yaml").write_text(yaml.safe_dump(config))
    assert "os.system may not be built from a record; --allow MODULE" in refused("--from", "made.yaml")
    config = yaml.safe_load(text)
    called = {"++task._target_": "builtins.dict", "++seed": "{_target_:os.mkdir,path:ran}"}
    config["hydra"] = {"mode": "MULTIRUN", "job": {"env_set": {"RAN": "yes"}}, "sweeper": {"params": called}}
    config["task"]["hydra"] = "${hydra}"
    (tmp_path / "made.yaml").write_text(yaml.safe_dump(config))
    for mode in ([], ["-m"]):
        assert "task.hydra: found '${hydra}', an interpolation" in refused(*mode, "--from", "made.yaml")
        assert not (tmp_path / "ran").exists()
