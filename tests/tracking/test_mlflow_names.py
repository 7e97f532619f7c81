"""The names and lengths that MLflow takes."""

import json
import re

import pytest
from application import assert_refused, succeeded
from hypothesis import given
from hypothesis import strategies as st
from mlflow.utils.validation import _validate_metric_name, _validate_param_name
from omegaconf import OmegaConf

from ragsweep.core.errors import ConfigError
from ragsweep.tracking.mlflow_names import (
    LONGEST_METRIC_NAME,
    LONGEST_MLFLOW_NAME,
    LONGEST_TAG_VALUE,
    check_names,
    json_tag,
    params_of,
    swept_metrics,
    type_names,
)
from tracking.stored import execute, pushed, refusal, run_here


@pytest.mark.parametrize("metric", ["f1", "m" * LONGEST_METRIC_NAME], ids=["short", "long"])
@given(types=st.lists(st.text() | st.sampled_from(["a/b", "a:b", "a_b", "", ".", "x" * 400, "x" * 401]), unique=True))
def test_every_query_type_has_a_metric_of_its_own(metric, types):
    names = type_names(types, metric)
    assert len(set(names.values())) == len(types)
    for name in names.values():
        _validate_metric_name(f"by_type/{name}/{metric}")
        assert len(f"by_type/{name}/{metric}") <= LONGEST_MLFLOW_NAME
    assert type_names(reversed(types), metric) == names


@given(st.dictionaries(st.text() | st.sampled_from(["a@b", "a%b", "a/../b", "x" * 300]), st.text()))
def test_no_setting_is_lost_between_the_params(settings):
    params = params_of(settings)
    assert len(params) == len(settings)
    for name, value in params.items():
        _validate_param_name(name)
        value.encode()
        assert len(name) <= LONGEST_MLFLOW_NAME
        assert "\0" not in value


def test_a_name_that_mlflow_refuses_is_said_before_the_first_job(application):
    expected = "dataset.name: found '\\x1b[31mred', expected one line"
    assert_refused(run_here(application, "-m", "dataset.name='\x1b[31mred'"), application, expected)


def test_a_metric_and_a_measure_have_names_of_their_own():
    check_names(OmegaConf.create(), ["f1"], ["context/tokens", "price/eur"])
    refused = ("x" * 300, "recall@10", "query", "outcome", "k", "swept/f1")
    for metrics, measures, place in (
        *(([name], [], f"evaluation.metrics: found the name '{name[:3]}") for name in refused),
        (["f1"], ["price/$"], "task: found the name 'price/$'"),
        (["f1"], ["f1"], "evaluation.metrics: found the name 'f1' twice"),
        *((["f1"], [name], f"task: found the name '{name}'") for name in ("query_id", "swept/k")),
    ):
        with pytest.raises(ConfigError, match=f"^{re.escape(place)}"):
            check_names(OmegaConf.create(), metrics, measures)


def test_an_experiment_and_a_dataset_have_names_of_one_line_without_white_space_around_them():
    for group, setting in (("tracking", "experiment"), ("dataset", "name")):
        for name in ("x" * 501, "two\nlines", " x"):
            with pytest.raises(ConfigError, match=rf"^{group}\.{setting}: found '.*, expected one line"):
                check_names(OmegaConf.create({group: {setting: name}}), ["f1"], [])


@given(st.dictionaries(st.text(max_size=50), st.text() | st.integers() | st.none(), max_size=20), st.integers(0, 5000))
def test_swept_settings_always_fit_into_a_tag(swept, length):
    swept = {**swept, "x": "a" * length, "y": "€" * length, "z": '"' * length}
    text = json_tag({"run_id": "0" * 32, "swept": swept})
    assert len(text) <= LONGEST_TAG_VALUE
    read = json.loads(text)
    assert read["run_id"] == "0" * 32
    assert read["swept"].keys() == swept.keys()
    assert read["swept"]["x"].startswith("a" * min(length, 6))


def test_swept_numbers_are_metrics_and_nothing_else_is():
    swept = {"k": 3, "retriever.alpha": 0.5, "a,b": 1, "seed": 10**400, "on": True, "retriever": "dense", "none": None}
    names = {"swept/k": 3.0, "swept/retriever.alpha": 0.5, "swept/a_b": 1.0}
    assert swept_metrics(swept) == {(name, 0): value for name, value in names.items()}


def test_an_experiment_may_have_any_name_of_one_line(application, dataset):
    name = 'it\'s a "name" of `b`, 100 % <b>x</b> a/b\\c, données €'
    quoted = name.replace("'", "\\'")
    sweep = ["-m", *dataset, "retriever=sparse", "k=1", f"tracking.experiment='{quoted}'"]
    succeeded(application.run(*sweep))
    assert application.client().get_experiment_by_name(name)
    assert len(application.children()) == 1
    assert ": finished, run " in run_here(application, *sweep, "+dry_run=true").stdout


def test_a_run_that_the_store_refuses_is_closed_as_failed(application, dataset):
    """A param cannot be changed, and every run begins with another k than its own."""
    other = "INSERT OR IGNORE INTO params (key, value, run_uuid) VALUES ('k', '999', new.run_uuid)"
    condition = "AFTER INSERT ON tags WHEN new.key = 'config.digest'"
    execute(application.home / "mlflow.db", f"CREATE TRIGGER no {condition} BEGIN {other}; END")
    line = refusal(application.run(*dataset, "retriever=sparse", "k=2"))
    assert line.startswith("ragsweep: the tracking store refuses the run (")
    assert "Changing param values is not allowed" in line
    [run] = application.runs()
    assert run.info.status == "FAILED"
    assert "Changing param values is not allowed" in run.data.tags["error"]
    assert (application.artifacts(run) / "results/per_query.csv").exists()
    assert pushed(application).stdout == "0 runs uploaded\n"
