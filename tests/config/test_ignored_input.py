"""What Hydra would ignore without a word: settings that are given twice."""

import pytest

from ragsweep.config.ignored_input import refuse_repeated
from ragsweep.core.errors import ConfigError


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (["k=1,3", "seed=1", "k=5"], ["k", "1,3", "5"]),
        (["retriever=sparse", "retriever=sparse,dense"], ["retriever", "sparse", "sparse,dense"]),
        (["+x=1", "x=2", "++x=3"], ["x", "1", "2", "3"]),
        (["hydra.run.dir=a", "hydra.run.dir=b"], ["hydra.run.dir", "a", "b"]),
    ],
)
def test_a_setting_given_twice_is_refused_with_its_values(given, named):
    with pytest.raises(ConfigError) as refused:
        refuse_repeated(given)
    words = str(refused.value).replace(":", " ").replace(";", " ").split()
    assert words[0] == named[0]
    assert set(named) <= set(words)


def test_a_value_may_be_deleted_and_set_anew():
    refuse_repeated(["~evaluation.metrics", "+evaluation.metrics={}", "k=3", "k.x=3"])
