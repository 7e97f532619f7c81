"""`chunker=recursive:96`: an option with settings of its own."""

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from ragsweep.app.option_values import expanded
from ragsweep.app.plan import jobs_of, with_own_settings
from ragsweep.core.errors import ConfigError


def test_what_follows_an_option_are_its_first_settings():
    assert expanded(["chunker=recursive:96:10", "k=3"]) == [
        "chunker=recursive",
        "chunker.size=96",
        "chunker.overlap=10",
        "k=3",
    ]
    assert expanded(["chunker=sentence::100"]) == ["chunker=sentence", "chunker.overlap=100"]


@pytest.mark.parametrize(
    "given", ["chunker=page", "tracking.uri=http://host:5000", "chunker=nosuch:3", "-m", "a:b=c:d"]
)
def test_everything_else_stays_as_it_is(given):
    assert expanded([given]) == [given]


def test_each_value_of_an_axis_has_its_own_settings():
    parsed = OverridesParser.create().parse_overrides(["chunker=recursive:96,recursive:384,page", "k=3,5"])
    jobs = jobs_of(parsed)
    assert jobs[::2] == [
        ["chunker=recursive", "chunker.size=96", "k=3"],
        ["chunker=recursive", "chunker.size=384", "k=3"],
        ["chunker=page", "k=3"],
    ]
    assert with_own_settings(jobs, ["chunker", "k"]) == ["chunker", "chunker.size", "k"]


def test_a_setting_that_all_jobs_share_is_not_swept():
    jobs = jobs_of(OverridesParser.create().parse_overrides(["chunker=recursive,sentence", "chunker.unit=tokens"]))
    assert with_own_settings(jobs, ["chunker"]) == ["chunker"]


def test_what_is_given_twice_without_a_colon_is_left_to_others():
    given = ["chunker=recursive:96", "--allow", "a", "--allow", "b", "k=3", "k=5"]
    assert expanded(given) == ["chunker=recursive", "chunker.size=96", *given[1:]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["chunker=page:3"], r"chunker=page: found 1 values after the option, expected no values"),
        (["chunker=recursive:96", "chunker.size=300"], r"chunker\.size: found it set twice"),
    ],
)
def test_what_cannot_be_meant_is_refused(given, message):
    with pytest.raises(ConfigError, match=message):
        expanded(given)
