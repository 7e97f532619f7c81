"""How many races the tests of this folder simulate."""

import pytest


@pytest.fixture
def races(pytestconfig):
    """So many that a level that is several times too high is seen; with --soak, that one twice too high is."""
    return 2000 if pytestconfig.getoption("--soak") else 40
