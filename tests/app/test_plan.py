"""What is said of a sweep before its first job."""

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from ragsweep.app.plan import Planned, jobs_of, say_what_has_no_effect
from ragsweep.core.errors import ConfigError


def test_a_value_that_is_listed_twice_is_not_blamed_on_its_setting(capsys):
    say_what_has_no_effect([Planned("alpha=0.5", {}, "same", "manual"), Planned("alpha=0.5", {}, "same", "manual")])
    assert "a value is listed twice: alpha=0.5" in capsys.readouterr().err
    say_what_has_no_effect([Planned("b=0.5", {}, "same", "manual"), Planned("b=0.7", {}, "same", "manual")])
    assert "has no effect in them: b=0.5, b=0.7" in capsys.readouterr().err


def jobs(overrides, **more):
    parsed = OverridesParser.create().parse_overrides(overrides)
    return [" ".join(job) for job in jobs_of(parsed, **more)]


def test_one_setting_at_a_time_varies_around_the_first_values():
    found = jobs(["a=1,2,3", "b=x,y", "c=0", "k=3,5"], mode="one_at_a_time", crossed=["k"])
    assert found == [
        *("a=1 b=x c=0 k=3", "a=1 b=x c=0 k=5"),
        *("a=2 b=x c=0 k=3", "a=2 b=x c=0 k=5"),
        *("a=3 b=x c=0 k=3", "a=3 b=x c=0 k=5"),
        *("a=1 b=y c=0 k=3", "a=1 b=y c=0 k=5"),
    ]
    assert set(found) < set(jobs(["a=1,2,3", "b=x,y", "c=0", "k=3,5"]))


def test_a_setting_replaces_one_with_another_prefix():
    assert jobs(["k=1,3", "+x=1,2", "++k=5", "x=3"]) == ["++k=5 x=3"]


def test_another_mode_of_the_sweeper_is_refused():
    with pytest.raises(ConfigError, match=r"hydra\.sweeper\.mode: found 'random', expected grid or one_at_a_time"):
        jobs(["a=1,2"], mode="random")
