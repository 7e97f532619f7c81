"""Jobs that share a composition get what Hydra would have composed for each of them."""

import copy
from functools import cache

import hydra
import pytest
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode
from omegaconf import OmegaConf

from ragsweep.config.composing import SharingLoader
from ragsweep.core.errors import ConfigError
from ragsweep.core.project import CONF, register_resolvers

SWEEPS = {
    "values": [["retriever.alpha=0.3", "k=3"], ["retriever.alpha=0.7", "k=3"], ["retriever.alpha=0.7", "k=null"]],
    "a group between values": [["k=3", "retriever=sparse", "seed=1"], ["k=5", "retriever=sparse", "seed=2"]],
    "groups": [["retriever=dense", "k=3"], ["retriever=sparse", "k=3"], ["retriever=dense", "k=5"]],
    "a group that another chooses": [["experiment=topk_analysis", "k=3"], ["dataset=pdf", "k=5"]],
    "a list": [["dataset.skip=[a.pdf]", "k=3"], ["dataset.skip=[b.pdf]", "k=3"]],
    "a value that a mapping replaces": [["retriever.alpha=0.1", "retriever={alpha:0.5}"], ["k=3", "retriever={k1:1}"]],
    "a mapping before its value": [["retriever={alpha:0.5}", "retriever.alpha=0.1"]] * 2,
    "new settings": [["+new=1", "k=3"], ["+new=2", "k=3"], ["++k=7", "k=3"], ["k=3", "++k=7"]],
    "deleted": [["k=3", "~seed"], ["k=5", "~seed"]],
    "references": [["k=${seed}", "seed=3"], ["k=${seed}", "seed=4"], ["k=7", "seed=${hydra:job.num}"]],
    "texts": [["dataset.name='a b'", "k=3"], ['dataset.name="k=5"', "k=3"], ["dataset.name=\\,", "k=3"]],
    "within a shared group": [["retriever.fusion.norm=zscore", "k=3"], ["retriever.fusion.norm=none", "k=3"]],
    "the name of an option": [["retriever.fusion=rrf", "k=3"], ["retriever.fusion=zscore", "k=3"]],
    "settings of a named option": [
        ["retriever.fusion=rrf", "retriever.fusion.constant=10"],
        ["retriever.fusion.constant=60", "retriever.fusion=rrf"],
        ["retriever.fusion=sum", "retriever.fusion.norm=none"],
    ],
    "a list of a named option, before its name": [
        ["retriever=fused", "retriever.fusion.weights=[9,1]", "retriever.fusion=sum"],
        ["retriever=fused", "retriever.fusion.weights=[9,1]", "retriever.fusion=zscore"],
    ],
    "a new setting of a named option, before its name": [
        ["++retriever.fusion.constant=1", "retriever.fusion=rrf"],
        ["++retriever.fusion.constant=2", "retriever.fusion=rrf"],
    ],
    "a value within what another one removes": [
        ["encoder.prompts.query=a", "encoder.prompts=null"],
        ["encoder.prompts=null", "encoder.prompts.query=b"],
    ],
    "a group, before and after a part that refers to it": [
        ["fusion.norm=zscore", "retriever.fusion.weights=[2,1]"],
        ["fusion.norm=none", "retriever.fusion.weights=[2,1]"],
        ["retriever.fusion.weights=[2,1]", "fusion.norm=none"],
    ],
    "of hydra": [["hydra.job.name=a", "k=3"], ["hydra.job.name=b", "k=5"]],
}


@pytest.fixture(scope="module")
def loader():
    register_resolvers()
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        yield GlobalHydra.instance().config_loader()


@pytest.fixture(scope="module")
def master_of(loader):
    """The configuration that a sweep with some overrides begins with."""
    return cache(lambda *overrides: loader.load_configuration("config", [*overrides], RunMode.MULTIRUN))


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("jobs", SWEEPS.values(), ids=SWEEPS)
def test_a_shared_configuration_is_the_one_that_hydra_composes(loader, master_of, jobs):
    overrides = ["dataset=pdf"] if any("dataset" in each for each in jobs[0]) else []
    master = master_of(*overrides)
    sharing = SharingLoader(loader)
    for job in jobs:
        try:
            expected = loader.load_sweep_config(master, [*overrides, *job])
        except hydra.errors.HydraException as error:
            with pytest.raises(type(error)):
                sharing.load_sweep_config(master, [*overrides, *job])
            continue
        found = sharing.load_sweep_config(master, [*overrides, *job])
        assert OmegaConf.to_container(found) == OmegaConf.to_container(expected)
        assert list(found) == list(expected)
        assert OmegaConf.is_struct(found)


@pytest.mark.usefixtures("long_work")
def test_a_job_that_changes_its_configuration_leaves_the_next_alone(loader, master_of):
    master = master_of()
    sharing = SharingLoader(loader)
    first = sharing.load_sweep_config(master, ["k=3"])
    before = copy.deepcopy(first)
    OmegaConf.update(first, "retriever.alpha", 0.123)
    assert sharing.load_sweep_config(master, ["k=3"]) == before


@pytest.mark.usefixtures("long_work")
def test_jobs_that_differ_in_values_are_composed_once(loader, master_of, monkeypatch):
    master = master_of()
    sharing, composed = SharingLoader(loader), []
    compose = ConfigLoaderImpl.load_sweep_config
    monkeypatch.setattr(ConfigLoaderImpl, "load_sweep_config", lambda *job: composed.append(job) or compose(*job))
    for alpha in (0, 0.5, 1):
        sharing.load_sweep_config(master, [f"retriever.alpha={alpha}", "retriever=hybrid"])
    assert len(composed) == 1


@pytest.mark.usefixtures("long_work")
def test_a_setting_within_a_shared_group_is_that_of_its_place_alone(loader):
    config = loader.load_configuration("config", ["retriever=fused", "retriever.fusion.weights=[2,1]"], RunMode.RUN)
    assert config.retriever.fusion.weights == [2, 1]
    assert config.fusion.weights is None


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("constant", [10, 60])
def test_the_settings_of_an_option_can_be_set_where_it_is_named(loader, constant):
    job = [f"retriever.fusion.constant={constant}", "retriever.fusion=rrf"]
    for overrides in (job, job[::-1]):
        config = loader.load_configuration("config", overrides, RunMode.RUN)
        target = "ragsweep.retrieval.ReciprocalRankFusion"
        assert config.retriever.fusion == {"_target_": target, "constant": constant, "weights": None}
        assert config.fusion._target_ == "ragsweep.retrieval.WeightedSum"


@pytest.mark.usefixtures("long_work")
def test_an_option_that_there_is_not_is_said_where_its_setting_is_set(loader):
    with pytest.raises(ConfigError, match=r"^retriever\.fusion: found 'rff', expected one of minmax, "):
        loader.load_configuration("config", ["retriever.fusion=rff", "retriever.fusion.constant=1"], RunMode.RUN)
