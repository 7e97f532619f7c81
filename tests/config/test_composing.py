"""Jobs that share a composition get what Hydra would have composed; and what Hydra would ignore without a word."""

from functools import cache

import cloudpickle
import hydra
import loaded_yaml
import pytest
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode
from omegaconf import OmegaConf

from ragsweep.config.composing import SharingLoader
from ragsweep.config.ignored_input import refuse_ignored, refuse_unread
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
    """Hydra's own; it reads each file of the project once."""
    register_resolvers()
    with pytest.MonkeyPatch.context() as patch, hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        patch.setattr("omegaconf.OmegaConf.load", loaded_yaml.load)
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
def test_jobs_that_choose_the_same_options_are_composed_once_and_change_their_own_copy(loader, master_of, monkeypatch):
    composed, compose, master = [], loader.load_sweep_config, master_of()
    monkeypatch.setattr(loader, "load_sweep_config", lambda *job: composed.append(job) or compose(*job))
    sharing = SharingLoader(loader)
    for alpha in (0, 0.5, 1):
        for k in (3, 5):
            config = sharing.load_sweep_config(master, [f"retriever.alpha={alpha}", "retriever=hybrid", f"k={k}"])
            assert (config.retriever.alpha, config.k) == (alpha, k)
            config.retriever.sparse.b = 0.1
    assert len(composed) == 1
    assert sharing.load_sweep_config(master, ["retriever=hybrid"]).retriever.sparse.b == 0.75
    sharing.load_sweep_config(master, ["retriever=sparse", "k=3"])
    assert len(composed) == 2


@pytest.mark.usefixtures("long_work")
def test_a_worker_gets_one_loader_however_often_a_launcher_brings_it(loader):
    brought = cloudpickle.dumps(SharingLoader(loader))
    assert cloudpickle.loads(brought) is cloudpickle.loads(brought)
    assert cloudpickle.loads(cloudpickle.dumps(SharingLoader(loader))) is not cloudpickle.loads(brought)


GIVEN_TWICE = [  # overrides, and what the refusal names, first the setting
    (["k=1,3", "seed=1", "k=5"], ["k", "1,3", "5"]),
    (["retriever=sparse", "retriever=sparse,dense"], ["retriever", "sparse", "sparse,dense"]),
    (["+x=1", "x=2", "++x=3"], ["x", "1", "2", "3"]),
    (["hydra.run.dir=a", "hydra.run.dir=b"], ["hydra.run.dir", "a", "b"]),
    (["chunker.size=2", "chunker={size:3}"], ["chunker.size", "chunker={size"]),
]
HOMES = ["store.path=~/mine", "store.path='~/mine'", "dataset.path=/a,~/b", '+x="~/mine"']  # only a shell names them


def test_a_setting_given_twice_is_refused_with_its_values_and_so_is_a_home_that_only_a_shell_would_name():
    refuse_ignored(["~evaluation.metrics", "+evaluation.metrics={}", "k=3", "k.x=3"])  # deleted, and set anew
    refuse_ignored(["~reranker", "x=a~/b"])
    for given, named in GIVEN_TWICE:
        with pytest.raises(ConfigError) as refused:
            refuse_ignored(given)
        words = str(refused.value).replace(":", " ").replace(";", " ").split()
        assert (words[0], {*named} - {*words}) == (named[0], set())
    for override in HOMES:
        with pytest.raises(ConfigError, match=r"~ is not expanded here; .*\$HOME"):
            refuse_ignored([override])


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes files into the folder of a project, and returns this."""
    monkeypatch.setenv("RAGSWEEP_PROJECT", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def write(**files):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        return tmp_path

    return write


def test_a_file_that_hydra_does_not_read_is_named_and_a_recorded_configuration_with_its_command(write, capsys):
    for name in ("config.yaml", "defaults.yaml", "hydra/default.yaml", "retriever/mine.yml"):
        file = write(**{f"conf/{name}": "k: 1\n"}) / "conf" / name
        with pytest.raises(ConfigError) as refused:
            refuse_unread()
        assert str(refused.value).startswith(f"{file}: is not read; ")
        file.unlink()
    project = write(**{"config.yaml": "k: 1\n"})  # beside the folder of groups
    refuse_unread()
    assert capsys.readouterr().err.startswith(f"{project}/config.yaml: ")
    write(**{"a run/config.yaml": "task: {_target_: x}\ntracking: {uri: x}\n", "a run/overrides.yaml": "[]"})
    with pytest.raises(ConfigError) as refused:
        refuse_unread(["-m", "k=1,3"], added="a run")
    assert str(refused.value).endswith(f"cd {project} && ragsweep run --from 'a run/config.yaml' -m k=1,3")


def test_files_that_are_read_are_left_alone_also_in_another_folder_of_groups(write):
    groups = ("conf/retriever/mine", "conf/hydra/launcher/mine", "conf/experiment/deep/mine", "extra/retriever/mine")
    project = write(**{f"{name}.yaml": "k1: 1\n" for name in groups})
    write(**{"conf/base.yaml": "k: 1\n", "conf/experiment/mine.yaml": "defaults: [/base@_global_]\n"})
    (project / "conf/.#mine.yaml").symlink_to("me@here")  # while an editor has a file open
    for added in (None, "conf", "extra"):
        refuse_unread(added=added)
    write(**{"extra/retriever/sparse.yaml": "k1: 1\n"})
    with pytest.raises(ConfigError, match=r"extra/retriever/sparse\.yaml: .*rename.*RAGSWEEP_PROJECT"):
        refuse_unread(added="extra")
