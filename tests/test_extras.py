"""The environment of the README has no extras: no test may need one without saying so by its mark."""

import os
import subprocess
import sys

import pytest
from application import PROJECT
from extras import brought_by_extras, installed

IMPORT = """
import sys
from importlib.metadata import MetadataPathFinder
from importlib.util import module_from_spec, spec_from_file_location

packages, modules, paths = sys.argv[1].split(), sys.argv[2].split(), sys.argv[3:]


class WithoutExtras:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in modules else self.finder.find_spec(name, path, target)

    def find_distributions(self, *context):
        installed = MetadataPathFinder.find_distributions(*context)
        return (package for package in installed if package.name.lower().replace("_", "-") not in packages)


sys.meta_path = [WithoutExtras(finder) for finder in sys.meta_path]
for path in paths:
    spec = spec_from_file_location("test_module", path)
    sys.modules["test_module"] = module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        print(f"{path}: {error!r}")
"""


@pytest.mark.release
@pytest.mark.usefixtures("processes")
def test_every_test_module_can_be_imported_without_an_extra():
    tests = PROJECT / "tests"
    without = [" ".join(names) for names in brought_by_extras()]
    process = subprocess.run(
        [sys.executable, "-c", IMPORT, *without, *map(str, sorted(tests.rglob("test_*.py")))],
        cwd=tests, env={**os.environ, "PYTHONPATH": "../scripts"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (process.stdout, process.returncode) == ("", 0), process.stderr


def test_an_extra_that_does_not_exist_is_an_error_and_not_a_skip():
    with pytest.raises(LookupError, match="ragsweep has no extra opneai"):
        installed("ragsweep", "opneai")
