"""A second task, written like a user task. Everything works for it, although nothing in `src` refers to it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
import pytest
from application import succeeded
from warm import CHARTS

from ragsweep.core.digest import digest
from ragsweep.core.limits import Between
from ragsweep.core.style import dress, figure
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.scores import Measure, Score, mean_scores
from ragsweep.tasks.task import Measurement, Task
from ragsweep.testing import TaskContract

PRIMES = (2, 3, 5, 7, 11)
YES = Metric("share/yes", "Answered with yes", low=0, high=1)
BINS = np.linspace(0, 1, 6)
ACCURACY = Metric("accuracy", "Accuracy", low=0, high=1)
BRIER = Metric("brier", "Brier score", higher_is_better=False, low=0, high=1)
ECE = Metric("ece", "Calibration error", higher_is_better=False, low=0, high=1)


@dataclass(frozen=True)
class Numbers:
    """Asks for each number whether it is a prime."""

    numbers: tuple[int, ...]
    name: str = "primes"

    @property
    def digest(self) -> str:
        return digest(self.numbers)

    digest_of_all = digest

    @property
    def profile(self) -> dict[str, int]:
        return {"questions": len(self.numbers)}


@dataclass(frozen=True)
class YesNoTask(Task):
    """Answers yes if none of the first few primes divides a number, with a confidence."""

    loads: ClassVar[Sequence[str]] = ("task.questions",)

    seed: int
    questions: Annotated[int, Between(10, 1000)]
    divisors: Annotated[int, Between(1, len(PRIMES))]
    sharpness: Annotated[float, Between(0)]

    @property
    def metrics(self) -> list[Metric]:
        return [ACCURACY, BRIER, ECE]

    @property
    def measures(self) -> list[Metric]:
        return [YES]

    def load(self) -> Numbers:
        return Numbers(tuple(range(20, 20 + self.questions)))

    def measure(self, items: Numbers) -> Measurement:
        truth = np.array([all(number % divisor for divisor in range(2, number)) for number in items.numbers])
        divided = np.array([any(number % prime == 0 for prime in PRIMES[: self.divisors]) for number in items.numbers])
        sure = 1 / (1 + exp(-self.sharpness * self.divisors))
        confidence = np.where(divided, 1 - sure, sure)
        values = np.array([(confidence > 0.5) == truth, (confidence - truth) ** 2], dtype=float)
        resampling = {"resamples": 1000, "seed": self.seed}
        calibration = Score.aggregate(ECE, lambda weight: ece(confidence, truth, weight), len(truth), **resampling)
        queries = pd.DataFrame(
            {
                "query_id": [str(number) for number in items.numbers],
                "query": [f"Is {number} a prime?" for number in items.numbers],
                "query_type": ["small" if number < 60 else "large" for number in items.numbers],
            }
        )
        table = pd.DataFrame({"confidence": BINS[1:], "questions": np.histogram(confidence, BINS)[0]})
        return Measurement(
            items=queries,
            scores=[*mean_scores([ACCURACY, BRIER], values, **resampling), calibration],
            details={"answer": ["no" if is_divided else "yes" for is_divided in divided]},
            measures=[Measure(YES, float((~divided).mean()))],
            findings=["Even numbers are easy."],
            tables={"calibration.csv": table},
            charts=(draw, table["questions"].tolist()),
        )


def ece(confidence, truth, weight) -> float:
    """Expected calibration error over bins of equal width (Naeini, Cooper and Hauskrecht 2015)."""
    of_bin = np.digitize(confidence, BINS[1:-1])
    gaps = [weight[of_bin == place] @ (confidence - truth)[of_bin == place] for place in range(len(BINS) - 1)]
    return float(np.abs(gaps).sum())


def draw(counts: Sequence[int]) -> Iterator[tuple[str, object]]:
    drawing = figure(5, 3, "How sure are the answers?", "Questions in each fifth of the confidence")
    axes = drawing.subplots()
    axes.bar(range(len(counts)), counts)
    dress(axes)
    yield "calibration.png", drawing


HERE = Path(__file__).parent
SWEEP = ["--config-dir", str(HERE / "conf"), "task=yes_no", "-m", "task.divisors=2,4", "task.sharpness=0.2"]


@pytest.fixture(scope="module", autouse=True)
def found_by_its_name():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(HERE)
        yield


@pytest.fixture(scope="module")
def runs(shared_application):
    """The sweep, and its runs by their names."""
    succeeded(shared_application.script_here("run", *shared_application.arguments(*SWEEP), **CHARTS))
    [parent] = shared_application.parents()
    return parent, {run.info.run_name: run for run in shared_application.children()}


def test_metrics_settings_tables_and_charts_are_those_of_the_task(runs, shared_application):
    parent, children = runs
    assert len(children) == 2
    run = children["divisors=4"]
    assert run.data.params == {"task.divisors": "4", "task.questions": "80", "task.sharpness": "0.2", "seed": "0"}
    task = YesNoTask(seed=0, questions=80, divisors=4, sharpness=0.2)
    values, metrics = task.measure(task.load()).values, run.data.metrics
    assert {name: metrics[name] for name in values} == values
    assert metrics["ci/ece_low"] <= metrics["ece"] <= metrics["ci/ece_high"]
    assert {"by_type/small/brier", "by_type/large/brier", "share/yes"} <= metrics.keys()
    assert not {"f1", "recall"} & metrics.keys()
    folder = shared_application.artifacts(run)
    assert pd.read_csv(folder / "results/calibration.csv")["questions"].sum() == 80
    assert (folder / "charts/calibration.png").stat().st_size > 1000
    assert (folder / "charts/brier_by_query_type.png").exists()
    table = pd.read_csv(folder / "results/per_query.csv")
    assert list(table) == ["query_id", "query", "query_type", "accuracy", "brier", "answer"]
    assert "Even numbers are easy." in (shared_application.artifacts(parent) / "report.md").read_text()


def test_a_finished_sweep_is_resumed_decided_by_an_aggregate_and_reproduced_but_not_explained(runs, shared_application):
    again = shared_application.arguments(*SWEEP, "tracking.resume=true", "decision.metric=ece")
    process = succeeded(shared_application.script_here("run", *again))
    assert process.stdout.count("(finished before)") == 2
    parent = max(shared_application.parents(), key=lambda run: run.info.start_time)
    best = min(runs[1].values(), key=lambda run: run.data.metrics["ece"])
    assert parent.data.tags["best.configuration"] == best.info.run_name
    given = [runs[1]["divisors=2"].info.run_id, "--allow", "test_second_task"]
    reproduced = succeeded(shared_application.script_here("reproduce", *given))
    assert "identical: " in reproduced.stdout
    explained = shared_application.script_here("explain", given[0], "20", *given[1:])
    assert explained.returncode == 2
    assert "test_second_task.YesNoTask does not explain its runs" in explained.stderr


@pytest.mark.usefixtures("drawing")
class TestYesNo(TaskContract):
    component = YesNoTask
    settings: ClassVar = {"seed": 0, "questions": 40, "divisors": 2, "sharpness": 1.0}
