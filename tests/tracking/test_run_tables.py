"""The runs of a store as tables."""

import csv

import pandas as pd
import pytest
from application import METRICS
from small import QUERIES

import ragsweep
from ragsweep.core.errors import TrackingError
from ragsweep.tracking.run_tables import _typed

SWEEP = ["-m", "retriever=sparse", "k=2"]


@pytest.fixture(scope="module")
def store(shared_application, dataset):
    """A sweep of two jobs, one of three that takes over these two, a run of its own, and a run that failed."""
    renamed = [each.replace("dataset.name=small", "dataset.name=other") for each in dataset]
    for command in (
        [*SWEEP, *dataset, "retriever.b=0.3,0.75"],
        [*SWEEP, *dataset, "retriever.b=0.75,0,0.3", "tracking.resume=true"],
        ["retriever=sparse", *renamed, "retriever.stop_words=english", "k=3"],
    ):
        process = shared_application.run(*command)
        assert process.returncode == 0, process.stderr
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
    changed = store.client().create_run(store.client().get_experiment_by_name("other").experiment_id).info.run_id
    for name in ("f1", "name", "params.f1"):
        store.client().log_param(changed, name, f"the param {name}")
    store.client().log_metric(changed, "f1", 0.5)
    store.client().set_tag(changed, "config.digest", "0")  # what a run of another program lacks
    store.client().set_tag(changed, "schema", "1")
    store.client().set_terminated(changed)
    try:
        row = ragsweep.runs("other", uri=store.uri).set_index("run_id").loc[changed]
    finally:
        store.client().delete_run(changed)
    assert (row["f1"], row["params.params.f1"], row["params.f1"]) == (0.5, "the param f1", "the param params.f1")
    assert row["params.name"] == "the param name" != row["name"]
    assert not any(name.startswith("params.") for name in table)


def test_every_finished_run_has_a_row_in_the_order_of_their_start(store, table):
    finished = [run for run in store.runs() if run.info.status == "FINISHED" and run.data.metrics]
    measured = [run for run in finished if "sweep.decided" not in run.data.tags]
    assert table["run_id"].tolist() == [run.info.run_id for run in measured]
    assert len(table) == 4
    assert set(table["status"]) == {"FINISHED"}


def test_a_row_says_what_run_it_is(store, table, sweeps):
    small, large = sweeps
    assert table["name"].tolist() == [run.info.run_name for run in store.runs() if run.info.run_id in {*table.run_id}]
    assert table["experiment"].tolist() == ["small", "small", "small", "other"]
    assert table["sweep"].tolist()[:3] == [small, small, large]
    assert pd.isna(table["sweep"].iloc[3])


def test_the_start_is_a_moment_in_utc(store, table):
    started = [run.info.start_time for run in store.runs() if run.info.run_id in {*table.run_id}]
    assert [round(moment.timestamp() * 1000) for moment in table["start_time"]] == started
    assert str(table["start_time"].dt.tz) == "UTC"


def test_numbers_are_numbers(table):
    assert table["k"].tolist() == [2, 2, 2, 3]
    assert table["retriever.b"].tolist() == [0.3, 0.75, 0.0, 0.75]
    assert pd.api.types.is_integer_dtype(table["k"])
    assert pd.api.types.is_float_dtype(table["retriever.b"])
    assert set(table["dataset.name"]) == {"small", "other"}


def test_a_setting_that_is_null_is_missing(table):
    assert table["retriever.stop_words"].isna().tolist() == [True, True, True, False]


def test_the_metrics_are_those_of_the_store(store, table):
    for run in store.runs():
        for row in table[table["run_id"] == run.info.run_id].to_dict("records"):
            every, others = run.data.metrics.items(), ("at_k/", "swept/")
            scalars = {name: value for name, value in every if not name.startswith(others)}
            assert {name: row[name] for name in scalars} == scalars
    assert not any(name.startswith(others) for name in table)


def test_a_sweep_has_its_runs_and_those_that_it_took_over_in_the_order_of_its_jobs(store, table, sweeps):
    larger = ragsweep.runs(sweep=sweeps[1], uri=store.uri)
    assert larger["retriever.b"].tolist() == [0.75, 0.0, 0.3]
    assert larger["name"].tolist() == ["b=0.75", "b=0", "b=0.3"]
    assert set(larger["sweep"]) == {sweeps[1]}
    assert set(larger["run_id"]) == set(table["run_id"][:3])


def test_a_sweep_that_took_over_none_has_its_own(store, table, sweeps):
    assert ragsweep.runs(sweep=sweeps[0], uri=store.uri)["run_id"].tolist() == table["run_id"].tolist()[:2]


def test_an_experiment_has_its_own_runs(store, table, sweeps):
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
    found = ragsweep.per_query(chosen, uri=store.uri).to_dict("records")
    expected = []
    for run_id in chosen:
        [run] = [run for run in store.runs() if run.info.run_id == run_id]
        with (store.artifacts(run) / "results/per_query.csv").open(newline="") as file:
            expected += [{"run_id": run_id, "name": run.info.run_name, **row} for row in csv.DictReader(file)]
    assert len(found) == 2 * len(QUERIES)
    assert list(found[0]) == list(expected[0])
    numbers = (*METRICS, "context/tokens")
    assert found == [row | {name: float(row[name]) for name in numbers} for row in expected]


def test_a_single_run_may_be_named_by_itself(store, table):
    one = table["run_id"][0]
    pd.testing.assert_frame_equal(ragsweep.per_query(one, uri=store.uri), ragsweep.per_query([one], uri=store.uri))


def test_no_run_has_no_queries(store, table):
    none = ragsweep.per_query([], uri=store.uri)
    assert none.empty
    assert none.columns.tolist() == ragsweep.per_query(table["run_id"], uri=store.uri).columns.tolist()[:5]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("-3", -3),
        ("0.5", 0.5),
        ("1e-05", 1e-5),
        ("True", True),
        ("False", False),
        ("None", None),
        ("007", "007"),
        ("1_000", "1_000"),
        ("1e5", "1e5"),
        ("nan", "nan"),
        ("true", "true"),
        ("", ""),
    ],
)
def test_only_what_python_writes_as_a_number_or_switch_is_one(text, value):
    assert (type(_typed(text)), _typed(text)) == (type(value), value)


def test_an_experiment_that_is_not_there_is_named(store):
    with pytest.raises(TrackingError) as error:
        ragsweep.runs("smal", uri=store.uri)
    assert str(error.value) == "experiment: found 'smal', expected one that the store has: Default, other, small"


def test_a_run_is_no_sweep(store, table):
    one = table["run_id"][0]
    with pytest.raises(TrackingError) as error:
        ragsweep.runs(sweep=one, uri=store.uri)
    assert str(error.value) == f"sweep: {one} is a single run, expected the parent run of a sweep"


def test_a_run_without_a_table_is_named(store, sweeps):
    with pytest.raises(TrackingError, match=rf"^{sweeps[0]}: [^\n]*results/per_query.csv[^\n]*$"):
        ragsweep.per_query(sweeps, uri=store.uri)


@pytest.mark.parametrize(
    "ask", [lambda uri: ragsweep.runs(uri=uri), lambda uri: ragsweep.per_query("x", uri=uri)], ids=["runs", "per_query"]
)
def test_a_store_that_is_not_there_is_named_and_not_made(tmp_path, ask):
    uri = f"sqlite:///{tmp_path}/absent.db"
    with pytest.raises(TrackingError) as error:
        ask(uri)
    assert str(error.value).endswith(f": cannot be read from {uri} (there is no such file)")
    assert not list(tmp_path.iterdir())


def test_an_unknown_sweep_is_named(store):
    with pytest.raises(TrackingError, match="no_such_sweep"):
        ragsweep.runs(sweep="no_such_sweep", uri=store.uri)
