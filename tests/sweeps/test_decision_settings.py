"""The settings of a decision: names and bounds are checked before anything is measured."""

from dataclasses import replace

import pytest

from ragsweep.app.commands import composed
from ragsweep.core.errors import ConfigError
from ragsweep.experiment import Experiment
from ragsweep.sweeps import DecisionSettings, check_decision
from ragsweep.tasks.metric import Metric

METRICS = [Metric("recall", "Recall", low=0, high=1), Metric("hit_rate", "Hit rate", low=0, high=1, binary=True)]
MEASURES = [Metric("latency/p95_ms", "Latency", "ms", higher_is_better=False, low=0)]
SETTINGS = DecisionSettings("recall")


def check(**changed):
    check_decision(replace(SETTINGS, **changed), METRICS, MEASURES)


def test_a_margin_that_everything_keeps_or_of_a_metric_without_bounds_is_refused():
    for margin in (1, 1e300, float("inf")):
        with pytest.raises(ConfigError, match=r"decision.margin: found .* less than 1, the whole range of recall"):
            check(margin=margin)
    check(margin=0.99)
    with pytest.raises(ConfigError, match=r"decision\.margin: depth has no bounds"):
        check_decision(replace(SETTINGS, metric="depth", margin=0.1), [Metric("depth", "Depth", low=0)], ())


def test_every_name_that_is_measured_is_accepted():
    names = {
        "prefer": "latency/p95_ms",
        "target": {"hit_rate": 0.9},
        "gains": ["hit_rate"],
        "costs": ["latency/p95_ms"],
    }
    check(require={"recall": 0.8, "latency/p95_ms": 50}, **names)


WRONG = [  # settings, and how the refusal begins
    ({"metric": "recal"}, "metric: found 'recal', expected a metric that is measured: recall or hit_rate"),
    ({"metric": "latency/p95_ms"}, "metric: found 'latency/p95_ms', expected a metric"),
    (
        {"require": {"latency/p95": 50}},
        "require: found 'latency/p95', expected something that is measured (did you mean latency/p95_ms?)",
    ),
    ({"require": {"recall": 80}}, "require.recall: found 80, expected a number from 0 to 1"),
    ({"require": {"latency/p95_ms": -1}}, "require.latency/p95_ms: found -1, expected a number from 0"),
    ({"prefer": "speed"}, "prefer: found 'speed', expected something that is measured"),
    ({"gains": ["f1"]}, "gains: found 'f1', expected something that is measured"),
    ({"target": {"recall": 0.9}}, "target: found 'recall', expected a metric that is 0 or 1: hit_rate"),
    ({"target": {"hit_rate": 1}}, "target.hit_rate: found 1, expected a share between 0 and 1, such as 0.9"),
]
BAD = {  # an override, and a part of the refusal
    "decision.margin=0": "decision.margin: found 0, expected ",
    "decision.require=[recall]": "decision.require: found ['recall'], expected ",
    "decision.require={recall: high}": "decision.require.recall: found 'high', expected ",
    "decision.metrik=f1": "decision.metrik: no such setting (did you mean decision.metric?)",
    "decision.metric=f2": "decision.metric: found 'f2', expected a metric that is measured",
}


def test_what_is_not_measured_or_impossible_is_refused():
    for changed, message in WRONG:
        with pytest.raises(ConfigError) as error:
            check(**changed)
        assert str(error.value).startswith(f"decision.{message}")


def test_a_bad_decision_is_refused_before_the_sweep(application):
    process = application.script_here("run", "-m", *application.arguments("k=3,5", "decision.at=10"))
    assert process.returncode == 2
    assert "decision.at: found 10, expected a measured cutoff: 3, 5" in process.stderr
    assert not application.runs()


@pytest.mark.usefixtures("long_work")
def test_a_bad_decision_is_refused_before_data_are_loaded():
    for override, message in BAD.items():
        with pytest.raises(ConfigError) as refused:
            Experiment.of(composed(["dataset=pdf", "dataset.documents=absent", "dataset.queries=absent", override]))
        assert message in str(refused.value)
