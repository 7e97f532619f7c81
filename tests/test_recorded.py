"""A configuration from a tracking store is data: nothing in it may run, read the environment or leave the project."""

import copy
from pathlib import Path

import pytest
import yaml
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from ragsweep.config import CONF, PROJECT, portable, register_resolvers
from ragsweep.errors import ConfigError
from ragsweep.experiment import Experiment
from ragsweep.recorded import trusted


@pytest.fixture(scope="module")
def today():
    register_resolvers()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("config")


@pytest.fixture(scope="module")
def logged(today):
    """What a run of the bundled dataset logs, as a value."""
    return portable(OmegaConf.to_container(today, resolve=True))


def changed(logged, name, value):
    recorded = copy.deepcopy(logged)
    node = recorded
    *groups, last = name.split(".")
    for group in groups:
        node = node[group]
    node[last] = value
    return yaml.safe_dump(recorded)


def test_what_we_log_is_trusted_and_means_the_same(logged, today):
    config = trusted(yaml.safe_dump(logged), today, {}, ())
    assert Experiment.of(config).settings == Experiment.of(today).settings


HOSTILE = {
    "another module": ("retriever._target_", "os.system"),
    "a module that ours imports": ("retriever._target_", "ragsweep.store.shutil.rmtree"),
    "what ours imports from elsewhere": ("retriever._target_", "ragsweep.retrieval.model_files.Path"),
    "one of ours that is no part of a configuration": ("retriever._target_", "ragsweep.cli.main"),
    "a module named like ours": ("dataset._target_", "ragsweep.datasets_of_others.Evil"),
    "hydra's own": ("evaluation.metrics.f1._target_", "hydra.utils.get_method"),
    "a target deep inside": ("retriever.dense.encoder._target_", "subprocess.Popen"),
    "a new node": ("dataset.documents", {"_target_": "builtins.exec", "_args_": ["raise SystemExit"]}),
    "a list of nodes": ("dataset.documents", [{"_target_": "builtins.eval", "_args_": ["1"]}]),
    "the environment": ("dataset.name", "${oc.env:HOME}"),
    "the environment in a key": ("dataset.name", {"${oc.env:HOME}": "x"}),
    "part of an interpolation": ("dataset.documents", "data/${oc.env:USER}"),
    "an absolute path": ("dataset.documents", "/etc"),
    "a path upwards": ("dataset.documents", "../../secrets"),
    "a path upwards from inside": ("dataset.documents", "data/../../secrets"),
    "a home": ("dataset.queries", "~/secrets.json"),
    "a model elsewhere": ("encoder.model", "/tmp/model"),
    "a model elsewhere, inside the retriever": ("retriever.dense.encoder.model", "/tmp/model"),
}


@pytest.mark.parametrize(("name", "value"), HOSTILE.values(), ids=HOSTILE)
def test_what_a_record_may_not_say_is_refused_by_its_name(logged, today, name, value):
    with pytest.raises(ConfigError, match=rf"^{name}"):
        trusted(changed(logged, name, value), today, {}, ())


def test_an_override_reaches_every_copy_of_a_shared_group(logged, today, tmp_path):
    overrides = {"encoder.device": "cpu", "encoder.model": str(tmp_path)}
    config = trusted(yaml.safe_dump(logged), today, overrides, ())
    for encoder in (config.encoder, config.retriever.dense.encoder):
        assert (encoder.device, encoder.model) == ("cpu", str(tmp_path))


@pytest.mark.parametrize("name", ["store.path", "tracking.uri", "hydra", "retriever.dense.store.path"])
def test_places_of_the_record_are_not_taken_over(logged, today, name, tmp_path):
    recorded = changed(logged, name, str(tmp_path)) if name != "hydra" else changed(logged, name, {"run": "/tmp"})
    config = trusted(recorded, today, {}, ())
    assert str(tmp_path) not in OmegaConf.to_yaml(config)
    assert "hydra" not in config


def test_a_python_object_in_the_file_is_not_built(today, tmp_path):
    mark = tmp_path / "mark"
    with pytest.raises(ConfigError, match=r"config\.yaml of the run cannot be read"):
        trusted(f"k: !!python/object/apply:os.system ['touch {mark}']", today, {}, ())
    assert not mark.exists()


@pytest.mark.parametrize("text", ["", "[1, 2]", "just text"])
def test_a_file_without_settings_is_refused(today, text):
    with pytest.raises(ConfigError, match="holds no settings"):
        trusted(text, today, {}, ())


def test_a_path_is_taken_from_the_user_of_today(logged, today, tmp_path):
    recorded = changed(logged, "dataset.documents", "/somewhere/else")
    config = trusted(recorded, today, {"dataset.documents": str(tmp_path)}, ())
    assert config.dataset.documents == str(tmp_path)


def test_a_setting_that_the_record_has_not_got_is_refused(logged, today):
    with pytest.raises(ConfigError, match=r"dataset\.folder: the recorded configuration has no such setting"):
        trusted(yaml.safe_dump(logged), today, {"dataset.folder": "x"}, ())


def test_a_module_that_the_user_allows_may_be_named(logged, today):
    recorded = changed(logged, "retriever", {"_target_": "mine.Retriever"})
    assert trusted(recorded, today, {}, ("mine",)).retriever._target_ == "mine.Retriever"
    with pytest.raises(ConfigError, match=r"retriever\._target_: mine\.Retriever may not be built from a record"):
        trusted(recorded, today, {}, ("min",))


def test_a_path_inside_the_project_is_found_in_this_clone(logged, today):
    assert not Path(logged["dataset"]["documents"]).is_absolute()
    config = trusted(yaml.safe_dump(logged), today, {}, ())
    assert config.dataset.documents.startswith(str(PROJECT))
