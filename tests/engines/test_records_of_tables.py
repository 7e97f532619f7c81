"""No record of a run chooses what is read from a database with the user's own login."""

import pytest
import yaml
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from ragsweep.config.walk import as_recorded
from ragsweep.core.errors import ConfigError
from ragsweep.core.project import CONF, portable, register_resolvers
from ragsweep.replay.trusted_record import trusted


def composed(*overrides):
    register_resolvers()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("config", list(overrides))


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    ("choice", "name"),
    [
        ("retriever=postgres", "retriever.table"),
        ("retriever=qdrant", "retriever.collection"),
    ],
)
def test_a_record_reads_nothing_that_the_user_does_not_name(choice, name):
    today = composed()
    recorded = composed(choice, f"{name}=customers")
    text = yaml.safe_dump(portable(as_recorded(recorded)))
    with pytest.raises(ConfigError, match=rf"{name}: found 'customers'; a record names nothing of yours"):
        trusted(text, today, {}, ())
    assert OmegaConf.select(trusted(text, today, {name: "customers"}, ()), name) == "customers"


def test_a_record_of_traces_names_no_server():
    recorded = OmegaConf.to_container(composed("retriever=traces", "retriever.experiment=theirs"), resolve=True)
    recorded["retriever"]["uri"] = "sqlite:///elsewhere/mlflow.db"
    with pytest.raises(ConfigError, match=r"retriever.uri: .*names no server"):
        trusted(yaml.safe_dump(portable(recorded)), composed(), {}, ())
