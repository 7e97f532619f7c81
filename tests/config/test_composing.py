"""Jobs that share a composition get what Hydra would have composed for each of them."""

import copy
from functools import cache

import cloudpickle
import hydra
import pytest
from hydra.core.config_loader import ConfigLoader
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode
from omegaconf import OmegaConf

from ragsweep.config.composing import SharingLoader
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
    "of a shared group": [["fusion.norm=zscore", "k=3"], ["fusion.norm=none", "k=3"]],
    "within a shared group, which Hydra refuses": [["retriever.fusion.norm=zscore", "k=3"]],
    "the name of an option": [["retriever.fusion=rrf", "k=3"], ["retriever.fusion=zscore", "k=3"]],
    "a setting that there is not": [["retriever.alhpa=1", "k=3"], ["nosuch.alpha=1", "k=3"]],
    "a value within what another one removes": [
        ["encoder.prompts.query=a", "encoder.prompts=null"],
        ["encoder.prompts=null", "encoder.prompts.query=b"],
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
    overrides = ["dataset=pdf"] if any("dataset" in override for override in jobs[0]) else []
    master = master_of(*overrides)
    sharing = SharingLoader(loader)
    for job in jobs:
        try:
            expected = loader.load_sweep_config(master, [*overrides, *job])
        except hydra.errors.HydraException as error:
            with pytest.raises(type(error)):
                sharing.load_sweep_config(master, [*overrides, *job])
            continue
        shared = sharing.load_sweep_config(master, [*overrides, *job])
        assert OmegaConf.to_container(shared) == OmegaConf.to_container(expected)
        assert list(shared) == list(expected)
        assert OmegaConf.is_struct(shared)


@pytest.mark.usefixtures("long_work")
def test_a_job_that_changes_its_configuration_leaves_the_next_alone(loader, master_of):
    master = master_of()
    sharing = SharingLoader(loader)
    first = sharing.load_sweep_config(master, ["k=3"])
    before = copy.deepcopy(first)
    OmegaConf.update(first, "retriever.alpha", 0.123)
    assert sharing.load_sweep_config(master, ["k=3"]) == before


class Counting(ConfigLoader):
    """Counts what Hydra's loader composes."""

    def __init__(self, loader):
        self.loader, self.composed = loader, 0

    def load_sweep_config(self, *job):
        self.composed += 1
        return self.loader.load_sweep_config(*job)

    def __getattribute__(self, name):
        own = object.__getattribute__(self, "__dict__")
        return (
            object.__getattribute__(self, name) if name in {*own, "load_sweep_config"} else getattr(own["loader"], name)
        )


Counting.__abstractmethods__ = frozenset()


@pytest.mark.usefixtures("long_work")
def test_jobs_that_choose_the_same_options_are_composed_once(loader, master_of):
    counting = Counting(loader)
    sharing = SharingLoader(counting)
    for alpha in (0, 0.5, 1):
        for k in (3, 5):
            config = sharing.load_sweep_config(master_of(), [f"retriever.alpha={alpha}", "retriever=hybrid", f"k={k}"])
            assert (config.retriever.alpha, config.k) == (alpha, k)
    assert counting.composed == 1
    sharing.load_sweep_config(master_of(), ["retriever=sparse", "k=3"])
    assert counting.composed == 2


@pytest.mark.usefixtures("long_work")
def test_a_worker_gets_one_loader_however_often_a_launcher_brings_it(loader):
    brought = cloudpickle.dumps(SharingLoader(loader))
    assert cloudpickle.loads(brought) is cloudpickle.loads(brought)
    assert cloudpickle.loads(cloudpickle.dumps(SharingLoader(loader))) is not cloudpickle.loads(brought)
