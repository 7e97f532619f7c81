"""What runs or lies elsewhere is refused by `ragsweep export`, before anything else is asked."""

import pytest
import yaml

from ragsweep.config.annotations import target_of
from ragsweep.core.errors import ConfigError
from ragsweep.core.project import conf_folders
from ragsweep.production.loading import refuse_if_not_alone


@pytest.mark.parametrize("option", ["callable", "http", "traces", "postgres", "qdrant"])
def test_what_searches_elsewhere_is_refused_by_its_class_alone(option):
    [node] = [
        yaml.safe_load(file.read_text())
        for conf in conf_folders()
        for file in (conf / "retriever").glob(f"{option}.yaml")
    ]
    with pytest.raises(ConfigError, match="Retriever cannot be exported: what it searches runs or lies elsewhere"):
        refuse_if_not_alone([target_of(node["_target_"])], "run")
