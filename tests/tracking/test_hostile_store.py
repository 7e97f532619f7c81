"""A store that many can write to: what one run or tag of it says never stops what is done with the others."""

import json
import sqlite3
import warnings
from contextlib import closing

import pytest
from application import succeeded
from hypothesis import given, reject
from hypothesis import strategies as st
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException

from ragsweep.core.errors import TrackingError
from ragsweep.tracking.names import tagged
from ragsweep.tracking.sweep_runs import sweep_runs

SWEEP = ["-m", "retriever=sparse", "k=1,2"]
PARENT = "mlflow.parentRunId"

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
JUNK = (
    st.text(max_size=50)
    | ANYTHING.map(lambda value: json.dumps(value)[:5000])
    | st.sampled_from(["[" * 4000, "9" * 4900, "1e999", "NaN", "-1", "²", "' OR '1' = '1"])
)


@pytest.fixture(scope="module")
def store(shared_application):
    """A client, and the parent run and the only good child of a sweep."""
    client = MlflowClient(shared_application.uri)
    experiment = client.create_experiment("hostile")
    parent = client.create_run(experiment).info.run_id
    child = client.create_run(experiment, tags={PARENT: parent, "sweep.job": "0", "sweep.values": '{"k": 1}'})
    other = client.create_run(experiment, tags={PARENT: parent, "sweep.job": "1", "sweep.values": "{}"})
    return client, parent, child.info.run_id, other.info.run_id


@given(number=JUNK, swept=JUNK, joined=JUNK, which=st.sampled_from(["1", "01", "", "x", "9" * 30]))
def test_a_run_whose_tags_say_anything_is_left_out(store, number, swept, joined, which):
    client, parent, good, bad = store
    try:
        client.set_tag(bad, "sweep.job", number)
        client.set_tag(bad, "sweep.values", swept)
        client.set_tag(parent, f"sweep.joined.{which}", joined)
    except (MlflowException, ValueError):
        reject()  # the store does not take it
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = list(sweep_runs(client, parent))
    assert [dict(part.swept) for part in found if part.run_id == good] == [{"k": 1}]
    assert all("\n" not in str(warning.message) and str(warning.message).isprintable() for warning in said)


@pytest.mark.parametrize("value", ["' OR '1' = '1", "a'b", 'a"b', "a`b", "", "a b", "%", "ab\n", None, "0" * 101])
def test_only_an_id_gets_into_a_condition(value):
    if value is None:
        assert tagged("tag", value) == "tags.`tag` = 'None'"
        return
    with pytest.raises(TrackingError, match="expected an id"):
        tagged("tag", value)


def add(application, like, status="FINISHED", **tags):
    """A run that somebody else has put into the store, with the tags of one of ours but for these."""
    client = application.client()
    tags = {key: value for key, value in {**like.data.tags, **tags}.items() if value is not None}
    run = client.create_run(like.info.experiment_id, tags=tags)
    if status != "RUNNING":
        client.set_terminated(run.info.run_id, status)
    return run.info.run_id


def test_a_sweep_goes_on_among_runs_that_say_anything(copied_sweep, dataset):
    application = copied_sweep
    [parent], [first, second] = application.parents(), application.children()
    client = application.client()
    client.set_terminated(second.info.run_id, "FAILED")
    client.set_terminated(parent.info.run_id, "KILLED")
    client.set_tag(parent.info.run_id, "sweep.joined.many", "[]")
    later = add(application, parent, "KILLED")  # in the year 31690708
    with closing(sqlite3.connect(application.home / "mlflow.db")) as database, database:
        database.execute("UPDATE runs SET start_time = 1000000000000000000 WHERE run_uuid = ?", [later])
    client.set_tag(parent.info.run_id, "sweep.joined.7", json.dumps({"run_id": "' OR", "name": "x", "swept": {}}))
    ours = json.loads(first.data.tags["process"])
    for process in (json.dumps(ours | {"namespace": "x"}), json.dumps(ours | {"pid": 10**23}), "[" * 4000):
        add(application, first, "RUNNING", process=process)
    add(application, parent, "KILLED", **{"sweep.id": None})
    add(application, parent, "KILLED", **{"sweep.id": "../../../etc"})
    add(application, first)  # finished, with our digest, and without a metric
    add(application, first, "FAILED", **{"sweep.job": "ten"})
    add(application, first, "FAILED", **{"sweep.job": "0", "sweep.values": "1"})
    process = application.run(*SWEEP, *dataset, "tracking.resume=true")
    assert "Traceback" not in process.stderr
    left_out = [line for line in process.stderr.splitlines() if line.startswith("ragsweep: ")]
    assert len(left_out) == 3, process.stderr
    assert all(line.endswith("is left out") for line in left_out)
    assert process.returncode == 0, process.stderr
    assert client.get_run(parent.info.run_id).info.status == "FINISHED"


@pytest.mark.parametrize("found", ["2", None])
def test_a_run_of_another_schema_is_refused_in_a_line_that_names_both(copied_sweep, dataset, found):
    [parent], (run, _) = copied_sweep.parents(), copied_sweep.children()
    client = copied_sweep.client()
    client.set_tag(run.info.run_id, "schema", found) if found else client.delete_tag(run.info.run_id, "schema")
    refused = copied_sweep.script_here("reproduce", run.info.run_id, *dataset[2:])
    assert refused.returncode == 2
    [line] = refused.stderr.splitlines()
    assert f"schema: found {found or 'none'}, expected 1" in line
    compared = copied_sweep.script_here("compare", parent.info.run_id)
    assert f"{run.info.run_name} (FINISHED, but its results cannot be read: schema: found" in compared.stderr
    assert client.get_run(run.info.run_id).info.lifecycle_stage == "active"
    succeeded(copied_sweep.run(*SWEEP, *dataset, "tracking.resume=true"))
    assert len(copied_sweep.children()) == 3  # measured anew, as nobody can read what there was
