"""What Hydra would ignore without a word: settings that are given twice, and options that another one hides."""

import pytest

from ragsweep.config.ignored_input import refuse_hidden, refuse_ignored
from ragsweep.core.errors import ConfigError


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


def test_an_option_that_another_folder_has_under_the_same_name_is_refused(tmp_path):
    for folder, text in {"a": "k1: 1\n", "same": "k1: 1\n", "other": "k1: 2\n"}.items():
        (tmp_path / folder / "retriever").mkdir(parents=True)
        (tmp_path / folder / "retriever/mine.yaml").write_text(text)
    refuse_hidden([tmp_path / "a", tmp_path / "same"])
    with pytest.raises(ConfigError, match=r"other/retriever/mine\.yaml: .*rename.*RAGSWEEP_PROJECT"):
        refuse_hidden([tmp_path / "a", tmp_path / "other"])
