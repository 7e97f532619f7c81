"""What a record may name of a module that the user allows."""

import pytest

from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Code, mark_of
from ragsweep.replay.trusted_record import RecordCheck

MODULE = """
import subprocess
from functools import partial

class Client:
    def search(self, query): ...

client = Client()
shell = partial(subprocess.run, shell=True)
"""


@pytest.fixture
def check(tmp_path, monkeypatch):
    (tmp_path / "allowed_module.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    return RecordCheck((), ["allowed_module"])


@pytest.mark.parametrize("separator", [".", ":"])
@pytest.mark.parametrize("name", ["shell", "client", "subprocess.run", "subprocess"])
def test_only_what_the_module_defines_is_built_with_arguments_of_a_record(check, name, separator):
    with pytest.raises(ConfigError, match="may not be built"):
        check.node("retriever", {"_target_": f"allowed_module{separator}{name}"})


def test_an_object_of_the_module_and_its_method_may_be_asked(check):
    for name in ("client", "client.search", "shell"):
        assert check.node("call", f"allowed_module:{name}", Code, mark_of(Code)) == f"allowed_module:{name}"


@pytest.mark.parametrize("call", ["allowed_module:subprocess.run", "allowed_module:subprocess", "os:system"])
def test_what_the_module_only_imports_is_not_asked(check, call):
    with pytest.raises(ConfigError, match="may not be called"):
        check.node("call", call, Code, mark_of(Code))
