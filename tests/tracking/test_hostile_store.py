"""A store that many can write to: what one run or tag of it says never stops what is done with the others."""

import json
import warnings

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException

from ragsweep.core.errors import TrackingError
from ragsweep.tracking.mlflow_names import tagged
from ragsweep.tracking.sweep_runs import sweep_runs
from tracking.stored import ANYTHING, execute, refusal, resume

PARENT = "mlflow.parentRunId"

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


@given(number=JUNK, swept=JUNK, joined=JUNK, of_job=st.sampled_from(["1", "01", "", "x", "9" * 30]))
def test_a_run_whose_tags_say_anything_is_left_out(store, number, swept, joined, of_job):
    client, parent, good, bad = store
    try:
        client.set_tag(bad, "sweep.job", number)
        client.set_tag(bad, "sweep.values", swept)
        client.set_tag(parent, f"sweep.joined.{of_job}", joined)
    except (MlflowException, ValueError):
        reject()  # the store does not take it
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        runs = list(sweep_runs(client, parent))
    assert [dict(run.swept) for run in runs if run.run_id == good] == [{"k": 1}]
    assert all("\n" not in str(warning.message) and str(warning.message).isprintable() for warning in warned)


def test_only_an_id_gets_into_a_condition():
    assert tagged("tag", None) == "tags.`tag` = 'None'"
    for value in ("' OR '1' = '1", "a'b", 'a"b', "a`b", "", "a b", "%", "ab\n", "0" * 101):
        with pytest.raises(TrackingError, match="expected an id"):
            tagged("tag", value)


def add(application, like, status="KILLED", **tags):
    """A run that somebody else has put into the store, with the tags of one of ours but for these."""
    tags = {key: value for key, value in {**like.data.tags, **tags}.items() if value is not None}
    run = application.client().create_run(like.info.experiment_id, tags=tags)
    application.client().set_terminated(run.info.run_id, status)
    return run.info.run_id


def test_a_sweep_goes_on_among_runs_that_say_anything(copied_sweep, dataset):
    application = copied_sweep
    [parent], [first, second] = application.parents(), application.children()
    client = application.client()
    client.set_terminated(second.info.run_id, "FAILED")
    client.set_terminated(parent.info.run_id, "KILLED")
    client.set_tag(parent.info.run_id, "sweep.joined.many", "[]")
    later = add(application, parent)  # in the year 31690708
    execute(application.home / "mlflow.db", "UPDATE runs SET start_time = ? WHERE run_uuid = ?", 10**18, later)
    client.set_tag(parent.info.run_id, "sweep.joined.7", json.dumps({"run_id": "' OR", "name": "x", "swept": {}}))
    ours = json.loads(first.data.tags["process"])
    for process in (json.dumps(ours | {"namespace": "x"}), json.dumps(ours | {"pid": 10**23}), "[" * 4000):
        add(application, first, "RUNNING", process=process)
    add(application, parent, **{"sweep.id": None})
    add(application, parent, **{"sweep.id": "../../../etc"})
    add(application, first, "FINISHED")  # finished, with our digest, and without a metric
    add(application, first, "FAILED", **{"sweep.job": "ten"})
    add(application, first, "FAILED", **{"sweep.job": "0", "sweep.values": "1"})
    process = resume(application, dataset)
    assert "Traceback" not in process.stderr
    left_out = [line for line in process.stderr.splitlines() if line.startswith("ragsweep: ")]
    assert [line.endswith("is left out") for line in left_out] == [True] * 3, process.stderr
    assert client.get_run(parent.info.run_id).info.status == "FINISHED"


def test_a_run_of_another_schema_is_refused_in_a_line_that_names_both(copied_sweep, dataset):
    [parent], (other, none) = copied_sweep.parents(), copied_sweep.children()
    client = copied_sweep.client()
    client.set_tag(other.info.run_id, "schema", "2")
    client.delete_tag(none.info.run_id, "schema")
    compared = copied_sweep.script_here("compare", parent.info.run_id)
    for run, schema in ((other, "2"), (none, "none")):
        refused = refusal(copied_sweep.script_here("reproduce", run.info.run_id, *dataset[2:]))
        assert f"schema: found {schema}, expected 1" in refused
        assert f"schema: found {schema}" in compared.stderr
    resume(copied_sweep, dataset)
    assert len(copied_sweep.children()) == 4  # measured anew, as nobody can read what there was
