"""A recorded run is made again: by `ragsweep reproduce`, and whole or changed by `ragsweep run --from`."""

import json
import os
import shutil
from functools import partial

import numpy as np
import pandas as pd
import pytest
import yaml
from application import PROJECT, Application, in_this_process, succeeded

from ragsweep.core.digest import digest_file
from ragsweep.store.stage_store import CHECKSUMS, Store


@pytest.fixture(scope="module")
def finished(shared_application):
    """A run on the bundled manual, many settings of which differ from the defaults."""
    given = ["k=3", "retriever=sparse", "retriever.k1=1.1", "chunker=fixed", "chunker.size=700"]
    succeeded(shared_application.script_here("run", *given, "evaluation.gain=exponential"))
    [run] = shared_application.runs()
    return run


@pytest.fixture(scope="module")
def config(finished, shared_application):
    """The file of its configuration."""
    return shared_application.artifacts(finished) / "config/config.yaml"


def test_a_run_is_identical_when_it_is_made_again(finished, shared_application):
    before = len(shared_application.runs())
    process = succeeded(shared_application.script("reproduce", finished.info.run_id))
    anew, first, *_ = process.stdout.splitlines()
    assert anew == "embeddings and rankings: computed anew"
    assert first.startswith(f"{finished.info.run_name}: identical: ")
    assert len(shared_application.runs()) == before
    process = shared_application.script_here("reproduce", finished.info.run_id, "--stored")
    scalars = [name for name in finished.data.metrics if not name.startswith(("latency/", "at_k/"))]
    curves, cutoffs, queries = 8, 20, 133
    columns = 16  # id, query, 3 of type, seven metrics, tokens, score, retrieved, relevant
    assert f"identical: {len(scalars) + curves * cutoffs + queries * columns} values" in process.stdout


def test_what_the_store_has_is_taken_only_when_told(application, dataset, tmp_path):
    places = [f"store.path={tmp_path / 'store'}", *dataset[2:]]
    succeeded(application.script_here("run", *dataset[:2], "retriever=sparse", *places))
    [entry] = (entry.path for entry in Store(str(tmp_path / "store")).entries() if entry.stage == "sparse")
    for name in ("passages", "scores"):
        np.save(entry / f"{name}.npy", np.load(entry / f"{name}.npy")[::-1])  # the rankings of other queries
    checksums = {file.name: digest_file(file) for file in entry.glob("*.npy")}
    (entry / CHECKSUMS).write_text(json.dumps(checksums))
    run_id = application.runs()[-1].info.run_id
    anew, stored = (application.script_here("reproduce", run_id, *given, *places) for given in ([], ["--stored"]))
    assert (anew.returncode, stored.returncode) == (0, 1), anew.stdout + stored.stdout
    assert stored.stdout.splitlines()[0] == "embeddings and rankings: from the store"
    assert sorted(path.name for path in (tmp_path / "store/sparse").glob("*")) == [entry.name, f"{entry.name}.lock"]


def test_another_setting_is_told_and_the_values_that_it_changes(finished, shared_application):
    def reproduce(*given):
        return shared_application.script_here("reproduce", finished.info.run_id, "--stored", *given)

    process = reproduce("k=4")
    assert process.returncode == 1
    assert "k: recorded 3, here 4" in process.stdout
    assert "values differ" in process.stdout
    row = next(line for line in process.stdout.splitlines() if line.split()[0] == "recall")
    recorded, now, difference = map(float, row.split()[1:])
    assert recorded == finished.data.metrics["recall"]
    assert now > recorded
    assert difference == pytest.approx(now - recorded, rel=0.01)
    process = reproduce("seed=1")
    assert process.returncode == 1
    assert "ci/f1_low" in process.stdout
    assert reproduce("seed=1", "--tolerance", "0.02").returncode == 0


@pytest.fixture(scope="module")
def bundled_sweep(tmp_path_factory, cache):
    """The sweep of `make sweep`, in a store of its own."""
    application = Application(tmp_path_factory.mktemp("bundled"), cache)
    assert application.run("-m", "retriever.alpha=0,0.3,0.5,0.7,1", "k=3,5,10").returncode == 0
    return application


def assert_identical(process, runs):
    assert process.returncode == 0, process.stdout + process.stderr
    assert process.stdout.splitlines()[-1] == "all identical"
    assert process.stdout.count(": identical: ") == runs


def test_a_sweep_is_made_again_and_records_nothing(application, dataset):
    succeeded(application.script_here("run", "-m", *dataset, "k=3,5", "retriever=sparse"))
    [parent] = application.parents()
    assert_identical(application.script("reproduce", parent.info.run_id, *dataset[2:]), 2)
    assert len(application.parents()) == 1


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("environment", [{}, {"OMP_NUM_THREADS": "1"}, {"OMP_NUM_THREADS": "3"}], ids=str)
def test_every_run_of_the_bundled_sweep_is_computed_again_with_any_threads(bundled_sweep, environment):
    [parent] = bundled_sweep.parents()
    assert_identical(bundled_sweep.in_new_interpreter("reproduce", parent.info.run_id, **environment), 15)


@pytest.mark.release
@pytest.mark.parametrize("library", ["OMP", pytest.param("OPENBLAS", marks=pytest.mark.soak)])
def test_a_clone_with_other_threads_that_never_saw_the_run_makes_it_again(application, dataset, tmp_path, library):
    variable = f"{library}_NUM_THREADS"
    number = int(os.environ.get(variable) or os.cpu_count()) + 1
    assert application.run(*dataset, "retriever.alpha=0.3").returncode == 0
    [run] = application.runs()
    clone = tmp_path / "clone"
    for part in ("src", "conf"):
        shutil.copytree(PROJECT / part, clone / part)
    given = [run.info.run_id, *dataset[2:]]
    environment = {"PYTHONPATH": str(clone / "src"), variable: str(number)}
    process = succeeded(application.in_new_interpreter("reproduce", *given, project=clone, **environment))
    assert (process.stdout.count(": identical: "), len(application.runs())) == (1, 1)


def test_a_hostile_record_does_nothing(finished, config, shared_application, tmp_path):
    before_all = len(shared_application.runs())
    mark, whole, project = tmp_path / "mark", config.read_text(), tmp_path / "project"
    project.mkdir()
    good = yaml.safe_load(whole)
    for change in (
        {"retriever": {"_target_": "os.system", "_args_": [f"touch {mark}"]}},
        {"retriever": {"_target_": "ragsweep.store.stage_store.Path.touch", "_args_": [str(mark)]}},
        {"dataset": {**good["dataset"], "name": "${oc.env:SECRET}"}},
        {"dataset": {**good["dataset"], "documents": str(tmp_path)}},
    ):
        config.write_text(yaml.safe_dump(good | change))
        secret = {"RAGSWEEP_PROJECT": str(project), "SECRET": "hunter2"}
        process = shared_application.script_here("reproduce", finished.info.run_id, **secret)
        assert process.returncode == 2, process.stdout
        assert "hunter2" not in process.stdout + process.stderr
        assert not mark.exists()
        assert not (project / "outputs").exists()
        assert len(shared_application.runs()) == before_all
    config.write_text(whole)


# Run from a record


@pytest.fixture
def again(shared_application, tmp_path):
    """Run `ragsweep run --from` on the store of the recorded run, in an empty project of another folder: the new runs.

    Where it is refused, what is said, after nothing was recorded.
    """

    def run(*given, mode=(), is_refused=False):
        before = {run.info.run_id for run in shared_application.runs()}
        places = [f"{name}={place}" for name, place in shared_application.places.items()]
        process = in_this_process(tmp_path, "run", *mode, "--from", *given, *places)
        new = [run for run in shared_application.runs() if run.info.run_id not in before]
        if is_refused:
            assert (process.returncode, process.stdout, new) == (2, "", []), given
            return process.stderr
        succeeded(process)
        return new

    return run


@pytest.fixture
def refused(again):
    return partial(again, is_refused=True)


def test_a_record_runs_again_in_another_folder_and_a_file_with_what_was_edited_and_typed(
    finished, shared_application, again, config, tmp_path
):
    [new] = again(finished.info.run_id)
    assert new.data.params == finished.data.params
    assert new.data.tags["config.digest"] == finished.data.tags["config.digest"]
    tables = [shared_application.artifacts(run) / "results/per_query.csv" for run in (finished, new)]
    pd.testing.assert_frame_equal(*map(pd.read_csv, tables))
    edited = yaml.safe_load(config.read_text())
    edited["retriever"]["k1"] = 0.9
    (tmp_path / "edited.yaml").write_text(yaml.safe_dump(edited))
    [new] = again("edited.yaml", "k=7")
    assert differing(finished, new) == {"retriever.k1": "0.9", "k": "7"}
    assert new.info.run_name == "k=7"


def differing(finished, new):
    """The parameters of a new run that are not those of the recorded one."""
    return {name: value for name, value in new.data.params.items() if finished.data.params.get(name) != value}


def test_what_is_typed_changes_that_alone_and_another_option_is_chosen_in_place_of_the_recorded_one(finished, again):
    for typed, changes in {
        "chunker={size:600}": {"chunker.size": "600"},
        "decision.tokenizer=words": {"task.tokenizer": "words"},
    }.items():
        [new] = again(finished.info.run_id, typed)
        assert differing(finished, new) == changes
    [new] = again(finished.info.run_id, "chunker=page", "retriever=hybrid", "encoder=wordllama")
    params = new.data.params
    assert (params["chunker"], params["retriever.alpha"], params["k"]) == ("PageChunker", "0.7", "3")
    assert params["evaluation.gain"] == "exponential"


def test_a_sweep_begins_with_a_record(finished, again):
    new = again(finished.info.run_id, "k=3,5", "chunker=recorded,page", mode=["-m"])
    children = [run.data.params for run in new if "mlflow.parentRunId" in run.data.tags]
    swept = {(params["k"], params["chunker"], params["retriever.k1"]) for params in children}
    assert swept == {(k, chunker, "1.1") for k in ("3", "5") for chunker in ("FixedChunker", "PageChunker")}


NO_RECORD = [  # a record, what is typed, and what the refusal says
    ("RUN", ["retriever.alpha=1"], "retriever.alpha: the recorded configuration has no such setting"),
    ("RUN", ["nosuch.option=1"], "nosuch.option: the recorded configuration has no such setting"),
    ("RUN", ["k=0"], "k: found 0"),
    ("RUN", ["experiment=mine", "task=ranking"], "compares spans of text, and cho_manual judges pages"),
    ("nosuch", [], "expected the id of a run"),
    ("0" * 32, [], "0" * 32),
    ("conf", [], "expected the id of a run"),
]


def test_what_a_record_does_not_have_and_what_is_no_record_is_refused(finished, refused, tmp_path):
    """The options of a chosen option are chosen in place of recorded ones, too: `evaluation=spans` has its decision."""
    (tmp_path / "conf/experiment").mkdir(parents=True)
    lines = "# @package _global_\ndefaults: [{override /evaluation: spans}]\n"
    (tmp_path / "conf/experiment/mine.yaml").write_text(lines)
    for record, typed, fact in NO_RECORD:
        assert fact in refused(finished.info.run_id if record == "RUN" else record, *typed), (record, typed)


def test_a_file_is_trusted_no_more_than_a_record_and_does_not_steer_hydra(config, refused, tmp_path):
    file, text = tmp_path / "made.yaml", config.read_text()
    file.write_text(f"{text}budgets: 100\n")
    assert "--from made.yaml: budgets: no such setting (did you mean budget?)" in refused("made.yaml")
    made = yaml.safe_load(text)
    file.write_text(yaml.safe_dump(made | {"retriever": {**made["retriever"], "_target_": "os.system"}}))
    assert "os.system may not be built from a record; --allow MODULE" in refused("made.yaml")
    called = {"++task._target_": "builtins.dict", "++seed": "{_target_:os.mkdir,path:ran}"}
    made["hydra"] = {"mode": "MULTIRUN", "job": {"env_set": {"RAN": "yes"}}, "sweeper": {"params": called}}
    made["task"]["hydra"] = "${hydra}"
    file.write_text(yaml.safe_dump(made))
    for mode in ([], ["-m"]):
        assert "task.hydra: found '${hydra}', an interpolation" in refused("made.yaml", mode=mode)
        assert not (tmp_path / "ran").exists()
