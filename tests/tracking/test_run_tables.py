"""The runs of a store as tables."""

import csv

import pandas as pd
import pytest
from application import METRICS, succeeded
from small import QUERIES

import ragsweep
from ragsweep.core.errors import TrackingError
from ragsweep.tracking.run_tables import _typed

SWEEP = ["-m", "retriever=sparse", "k=2"]


@pytest.fixture(scope="module")
def store(shared_application, dataset):
    """A sweep of two jobs, one of three that takes over these two, a run of its own, and a run that failed."""
    renamed = [override.replace("dataset.name=small", "dataset.name=other") for override in dataset]
    for command in (
        [*SWEEP, *dataset, "retriever.b=0.3,0.75"],
        [*SWEEP, *dataset, "retriever.b=0.75,0,0.3", "tracking.resume=true"],
        ["retriever=sparse", *renamed, "retriever.stop_words=english", "k=3"],
    ):
        succeeded(shared_application.run(*command))
    client = shared_application.client()
    failed = client.create_run(client.get_experiment_by_name("small").experiment_id)
    client.log_metric(failed.info.run_id, "f1", 1)
    client.set_terminated(failed.info.run_id, "FAILED")
    return shared_application


@pytest.fixture(scope="module")
def table(store):
    return ragsweep.runs(uri=store.uri)


@pytest.fixture(scope="module")
def sweeps(store):
    """The run ids of the smaller and of the larger sweep."""
    return [run.info.run_id for run in store.parents() if run.info.run_name.startswith("b: ")]


def test_a_param_that_has_the_name_of_another_column_is_beside_it(store, table):
    client = store.client()
    changed = client.create_run(client.get_experiment_by_name("other").experiment_id).info.run_id
    for name in ("f1", "name", "params.f1"):
        client.log_param(changed, name, f"the param {name}")
    client.log_metric(changed, "f1", 0.5)
    client.set_tag(changed, "config.digest", "0")  # what a run of another program lacks
    client.set_tag(changed, "schema", "1")
    client.set_terminated(changed)
    try:
        row = ragsweep.runs("other", uri=store.uri).set_index("run_id").loc[changed]
    finally:
        client.delete_run(changed)
    assert (row["f1"], row["params.params.f1"], row["params.f1"]) == (0.5, "the param f1", "the param params.f1")
    assert row["params.name"] == "the param name" != row["name"]
    assert not any(name.startswith("params.") for name in table)


def test_a_finished_run_has_a_row_in_the_order_of_their_start(store, table, sweeps):
    finished = [run for run in store.runs() if run.info.status == "FINISHED" and run.data.metrics]
    measured = [run for run in finished if "sweep.decided" not in run.data.tags]
    assert table["run_id"].tolist() == [run.info.run_id for run in measured]
    assert table["name"].tolist() == [run.info.run_name for run in measured]
    started = [round(moment.timestamp() * 1000) for moment in table["start_time"]]
    assert started == [run.info.start_time for run in measured]
    assert str(table["start_time"].dt.tz) == "UTC"
    assert table["experiment"].tolist() == ["small", "small", "small", "other"]
    small, large = sweeps
    assert table["sweep"].fillna("").tolist() == [small, small, large, ""]


def test_numbers_are_numbers_and_metrics_those_of_the_store(store, table):
    assert table["k"].tolist() == [2, 2, 2, 3]
    assert table["retriever.b"].tolist() == [0.3, 0.75, 0.0, 0.75]
    assert [table[name].dtype.kind for name in ("k", "retriever.b")] == ["i", "f"]
    assert table["retriever.stop_words"].isna().tolist() == [True, True, True, False]  # null is missing
    not_columns = ("at_k/", "swept/")
    assert not any(name.startswith(not_columns) for name in table)
    logged = {run.info.run_id: run.data.metrics for run in store.runs()}
    for row in table.to_dict("records"):
        metrics = logged[row["run_id"]].items()
        scalars = {name: value for name, value in metrics if not name.startswith(not_columns)}
        assert {name: row[name] for name in scalars} == scalars


def test_a_sweep_has_its_runs_and_those_that_it_took_over_in_the_order_of_its_jobs(store, table, sweeps):
    larger = ragsweep.runs(sweep=sweeps[1], uri=store.uri)
    assert larger["retriever.b"].tolist() == [0.75, 0.0, 0.3]
    assert larger["name"].tolist() == ["b=0.75", "b=0", "b=0.3"]
    assert set(larger["sweep"]) == {sweeps[1]}
    assert set(larger["run_id"]) == set(table["run_id"][:3])
    assert ragsweep.runs("other", uri=store.uri)["run_id"].tolist() == table["run_id"].tolist()[3:]
    assert ragsweep.runs("other", sweep=sweeps[0], uri=store.uri).empty


def test_the_default_store_is_the_projects(store, table, tmp_path, monkeypatch):
    (tmp_path / "mlruns").mkdir()
    (tmp_path / "mlruns/mlflow.db").symlink_to(store.home / "mlflow.db")
    monkeypatch.chdir(tmp_path)
    pd.testing.assert_frame_equal(ragsweep.runs(), table)
    assert len(ragsweep.per_query(table["run_id"][0])) == len(QUERIES)


def test_the_long_table_has_every_query_of_every_run_to_the_last_bit(store, table):
    chosen = table["run_id"][[2, 0]]
    rows = ragsweep.per_query(chosen, uri=store.uri).to_dict("records")
    expected = []
    for run_id in chosen:
        [run] = [run for run in store.runs() if run.info.run_id == run_id]
        with (store.artifacts(run) / "results/per_query.csv").open(newline="") as file:
            expected += [{"run_id": run_id, "name": run.info.run_name, **row} for row in csv.DictReader(file)]
    numbers = (*METRICS, "context/tokens", "time_ms", "mean_score")
    assert rows == [row | {name: float(row[name]) for name in numbers} for row in expected]
    assert list(rows[0]) == list(expected[0])
    assert ragsweep.per_query([], uri=store.uri).columns.tolist() == list(rows[0])[:5]


TYPED = {"3": 3, "-3": -3, "0.5": 0.5, "1e-05": 1e-5, "True": True, "False": False, "None": None}
TYPED |= {text: text for text in ("007", "1_000", "1e5", "nan", "true", "")}


def test_only_what_python_writes_as_a_number_or_switch_is_one():
    wrong = {text: _typed(text) for text, value in TYPED.items() if repr(_typed(text)) != repr(value)}
    assert wrong == {}


def test_what_the_store_lacks_is_named_and_not_made(store, table, sweeps, tmp_path):
    absent = f"sqlite:///{tmp_path}/absent.db"
    for message, ask in {
        "experiment: found 'smal', expected one that the store has: Default, other, small": lambda: ragsweep.runs(
            "smal", uri=store.uri
        ),
        "is a single run, expected the parent run": lambda: ragsweep.runs(sweep=table["run_id"][0], uri=store.uri),
        "results/per_query.csv": lambda: ragsweep.per_query(sweeps, uri=store.uri),
        "no_such_sweep": lambda: ragsweep.runs(sweep="no_such_sweep", uri=store.uri),
        f"the runs: cannot be read from {absent} (there is no such file)": lambda: ragsweep.runs(uri=absent),
        f"x: cannot be read from {absent} (there is no such file)": lambda: ragsweep.per_query("x", uri=absent),
    }.items():
        with pytest.raises(TrackingError) as error:
            ask()
        assert message in str(error.value)
        assert "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())
