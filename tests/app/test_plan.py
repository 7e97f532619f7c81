"""What is said of a sweep before its first job."""

from hydra.core.override_parser.overrides_parser import OverridesParser

from ragsweep.app.plan import Planned, jobs_of, say_what_has_no_effect


def test_a_value_that_is_listed_twice_is_not_blamed_on_its_setting(capsys):
    say_what_has_no_effect([Planned("alpha=0.5", {}, "same", "manual"), Planned("alpha=0.5", {}, "same", "manual")])
    assert "a value is listed twice: alpha=0.5" in capsys.readouterr().err
    say_what_has_no_effect([Planned("b=0.5", {}, "same", "manual"), Planned("b=0.7", {}, "same", "manual")])
    assert "has no effect in them: b=0.5, b=0.7" in capsys.readouterr().err


def jobs(overrides):
    return [" ".join(job) for job in jobs_of(OverridesParser.create().parse_overrides(overrides))]


def test_a_setting_replaces_one_with_another_prefix():
    assert jobs(["k=1,3", "+x=1,2", "++k=5", "x=3"]) == ["++k=5 x=3"]
