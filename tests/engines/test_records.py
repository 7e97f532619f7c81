"""What runs or lies elsewhere: no record of a run chooses what is asked or read there, and it cannot be exported."""

import pytest
import yaml
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from ragsweep.config.annotations import target_of
from ragsweep.config.walk import as_recorded
from ragsweep.core.errors import ConfigError
from ragsweep.core.project import CONF, conf_folders, portable, register_resolvers
from ragsweep.production.loading import refuse_if_not_alone
from ragsweep.replay.trusted_record import trusted

pytestmark = pytest.mark.usefixtures("long_work")
URL = "http://127.0.0.1:9/s"


@pytest.fixture(scope="module")
def composed():
    register_resolvers()

    def compose_with(*overrides):
        with initialize_config_dir(str(CONF), version_base="1.3"):
            return compose("config", list(overrides))

    return compose_with


def recorded(config, **changed):
    """The record of a run, with other settings of its retriever."""
    record = portable(as_recorded(config))
    record["retriever"] |= changed
    return yaml.safe_dump(record)


def test_a_record_reads_nothing_from_a_database_that_the_user_does_not_name(composed):
    today = composed()
    for choice, name in {"postgres": "retriever.table", "qdrant": "retriever.collection"}.items():
        text = recorded(composed(f"retriever={choice}", f"{name}=customers"))
        with pytest.raises(ConfigError, match=rf"{name}: found 'customers'; a record names nothing of yours"):
            trusted(text, today, {}, ())
        assert OmegaConf.select(trusted(text, today, {name: "customers"}, ()), name) == "customers"


def test_a_record_names_no_store_of_traces_no_service_and_no_key(composed):
    text = recorded(composed("retriever=traces", "retriever.experiment=theirs"), uri="sqlite:///elsewhere/mlflow.db")
    with pytest.raises(ConfigError, match=r"retriever.uri: .*names no server"):
        trusted(text, composed(), {}, ())
    today = composed("retriever=http", f"retriever.url={URL}")
    assert trusted(recorded(today), today, {"retriever.url": URL}, ()).retriever.api_key_env is None
    with pytest.raises(ConfigError, match=r"^retriever\.url: .*a record names no server"):
        trusted(recorded(today), today, {}, ())
    for name in ("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY"):
        with pytest.raises(ConfigError, match=rf"^retriever\.api_key_env: found '{name}'"):
            trusted(recorded(today, api_key_env=name), today, {"retriever.url": URL}, ())


def test_the_export_refuses_it_by_its_class_alone_before_anything_is_asked():
    for option in ("callable", "http", "traces", "postgres", "qdrant"):
        files = [conf / "retriever" / f"{option}.yaml" for conf in conf_folders()]
        [target] = [yaml.safe_load(file.read_text())["_target_"] for file in files if file.exists()]
        with pytest.raises(ConfigError, match="Retriever cannot be exported: what it searches runs or lies elsewhere"):
            refuse_if_not_alone([target_of(target)], "run")
