"""`ragsweep reproduce`: what it says in this process, and what it computes in processes of its own."""

import json
import os
import shutil

import numpy as np
import pytest
import yaml
from application import PROJECT, Application, succeeded

from ragsweep.core.digest import digest_file
from ragsweep.store.stage_store import CHECKSUMS, Store


@pytest.fixture(scope="module")
def finished(shared_application):
    """A run on the bundled manual."""
    succeeded(shared_application.script_here("run", "k=3", "retriever=sparse"))
    return shared_application.runs()[-1]


def test_a_run_is_identical_when_it_is_made_again(finished, shared_application):
    process = succeeded(shared_application.script("reproduce", finished.info.run_id))
    anew, first, *_ = process.stdout.splitlines()
    assert anew == "embeddings and rankings: computed anew"
    assert first.startswith("k=3 retriever=sparse: identical: ")
    assert len(shared_application.runs()) == 1
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


def test_a_hostile_record_does_nothing(finished, shared_application, tmp_path):
    before_all = len(shared_application.runs())
    mark = tmp_path / "mark"
    file = shared_application.artifacts(finished) / "config/config.yaml"
    whole = file.read_text()
    good = yaml.safe_load(whole)
    for change in (
        {"retriever": {"_target_": "os.system", "_args_": [f"touch {mark}"]}},
        {"retriever": {"_target_": "ragsweep.store.stage_store.Path.touch", "_args_": [str(mark)]}},
        {"dataset": {**good["dataset"], "name": "${oc.env:SECRET}"}},
        {"dataset": {**good["dataset"], "documents": str(tmp_path)}},
    ):
        file.write_text(yaml.safe_dump(good | change))
        before = sorted(PROJECT.glob("outputs/*"))
        process = shared_application.script_here("reproduce", finished.info.run_id, SECRET="hunter2")
        assert process.returncode == 2, process.stdout
        assert "hunter2" not in process.stdout + process.stderr
        assert not mark.exists()
        assert sorted(PROJECT.glob("outputs/*")) == before
        assert len(shared_application.runs()) == before_all
    file.write_text(whole)
