"""What Hydra would ignore without a word: settings that are given twice, and configurations that it does not read."""

import pytest

from ragsweep.config.ignored_input import refuse_ignored, refuse_unread
from ragsweep.core.errors import ConfigError

RECORD = "task: {_target_: x}\ntracking: {uri: x}\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("RAGSWEEP_PROJECT", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (["k=1,3", "seed=1", "k=5"], ["k", "1,3", "5"]),
        (["retriever=sparse", "retriever=sparse,dense"], ["retriever", "sparse", "sparse,dense"]),
        (["+x=1", "x=2", "++x=3"], ["x", "1", "2", "3"]),
        (["hydra.run.dir=a", "hydra.run.dir=b"], ["hydra.run.dir", "a", "b"]),
        (["chunker.size=2", "chunker={size:3}"], ["chunker.size", "chunker={size"]),
    ],
)
def test_a_setting_given_twice_is_refused_with_its_values(given, named):
    with pytest.raises(ConfigError) as refused:
        refuse_ignored(given)
    words = str(refused.value).replace(":", " ").replace(";", " ").split()
    assert words[0] == named[0]
    assert set(named) <= set(words)


@pytest.mark.parametrize("given", ["store.path=~/mine", "store.path='~/mine'", "dataset.path=/a,~/b", '+x="~/mine"'])
def test_a_home_that_only_a_shell_would_name_is_refused(given):
    with pytest.raises(ConfigError, match=r"~ is not expanded here; .*\$HOME"):
        refuse_ignored([given])
    refuse_ignored(["~reranker", "x=a~/b"])


def test_a_value_may_be_deleted_and_set_anew():
    refuse_ignored(["~evaluation.metrics", "+evaluation.metrics={}", "k=3", "k.x=3"])


@pytest.mark.parametrize("name", ["config.yaml", "defaults.yaml", "hydra/default.yaml", "retriever/mine.yml"])
def test_a_file_that_hydra_does_not_read_is_named(project, name):
    written(project, {f"conf/{name}": "k: 1\n"})
    with pytest.raises(ConfigError, match=f"^{project}/conf/{name}: is not read; "):
        refuse_unread()


def test_a_file_beside_the_folder_of_groups_is_named(project, capsys):
    written(project, {"config.yaml": "k: 1\n", "conf/retriever/mine.yaml": "k1: 1\n"})
    refuse_unread()
    assert capsys.readouterr().err.startswith(f"{project}/config.yaml: is not read; ")


def test_files_that_are_read_are_left_alone(project):
    files = ("retriever/mine.yaml", "hydra/launcher/mine.yaml", "experiment/deep/mine.yaml")
    written(project, {f"conf/{name}": "k1: 1\n" for name in files})
    written(project, {"conf/base.yaml": "k: 1\n", "conf/experiment/mine.yaml": "defaults: [/base@_global_]\n"})
    (project / "conf/.#mine.yaml").symlink_to("me@here")  # while an editor has a file open
    refuse_unread(added="conf")
    refuse_unread()


def test_another_folder_is_read_like_the_projects_own(project):
    written(project, {"extra/retriever/mine.yaml": "k1: 1\n", "conf/retriever/mine.yaml": "k1: 1\n"})
    refuse_unread(added="extra")
    refuse_unread(added="conf")
    written(project, {"extra/retriever/sparse.yaml": "k1: 1\n"})
    with pytest.raises(ConfigError, match=r"extra/retriever/sparse\.yaml: .*rename.*RAGSWEEP_PROJECT"):
        refuse_unread(added="extra")


def test_the_configuration_of_a_run_gets_the_command_that_reads_it(project):
    written(project, {"a run/config.yaml": RECORD, "a run/overrides.yaml": "[]"})
    with pytest.raises(ConfigError) as refused:
        refuse_unread(["-m", "k=1,3"], added="a run")
    assert str(refused.value).endswith(f"cd {project} && ragsweep run --from 'a run/config.yaml' -m k=1,3")
