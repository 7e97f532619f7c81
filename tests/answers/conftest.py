"""The small cases in files, which no test may change."""

import pytest
import small
from answers.small_answers import cases_of


@pytest.fixture(scope="session")
def cases(tmp_path_factory):
    """The overrides that answer them."""
    return small.case_arguments(tmp_path_factory.mktemp("cases"))


@pytest.fixture(scope="session")
def files(cases):
    return cases_of(cases)
