"""What makes a component counts in the digest of a run: two functions may return objects of the same class."""

import pytest
from omegaconf import OmegaConf

from ragsweep.config.walk import Walk
from ragsweep.core.digest import digest

MINE = """
class Cutoff:
    def __init__(self, most=3):
        self.most = most

class Lazy:
    def __init__(self, most=3):
        self._wanted, self.most = most, None

    def rerank(self):
        pass

def strict():
    return Cutoff(1)

def lax():
    return Cutoff(9)

def first():
    return lambda: 1

def second():
    return lambda: 2

def same(of, times=1):
    return of
"""


@pytest.fixture
def digest_of(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "makers.py").write_text(MINE)

    def made(name, **settings):
        walk = Walk(OmegaConf.create({"task": {"_target_": f"makers.{name}", **settings}}))
        walk.build("task")
        return digest(walk.identity()), walk.settings

    return made


@pytest.mark.parametrize("names", [("strict", "lax"), ("first", "second")])
def test_functions_that_return_the_same_class_differ(digest_of, names):
    one, other = (digest_of(name)[0] for name in names)
    assert one != other
    assert one == digest_of(names[0])[0]


def test_a_setting_counts_that_an_object_keeps_under_another_name(digest_of):
    (one, _), (other, settings) = digest_of("Lazy", most=1), digest_of("Lazy", most=2)
    assert one != other
    assert settings == {"task.most": 2}


def test_a_function_may_return_what_it_is_given(digest_of):
    inner = {"_target_": "makers.Cutoff", "most": 2}
    digests = [digest_of("same", of=inner)[0], digest_of("same", of=inner, times=2)[0]]
    digests.append(digest_of("same", of={**inner, "most": 4})[0])
    assert len({*digests}) == 3
