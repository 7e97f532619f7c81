"""What the decision of a sweep says of its runs: name, tags and numbers of the parent run, and tags of each run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from mlflow import MlflowClient
from mlflow.entities import RunTag

from ragsweep import report
from ragsweep.core.errors import TrackingError
from ragsweep.sweeps import AcrossDatasets, Decision, Outcome
from ragsweep.tracking.journal import journals_below
from ragsweep.tracking.stored_run import StoredRun
from ragsweep.tracking.tracking_store import UNREACHABLE

DECISION, RANK = "decision", "decision.rank"


class Answer(NamedTuple):
    """A decision as the parent run shows it.

    Attributes:
        name: Such as `alpha x k: alpha 0.5`.
        headline: Its sentences.
        tags: The settings of the choice, and how it stands.
        numbers: Its metrics.
    """

    name: str
    headline: str
    tags: Mapping[str, str]
    numbers: Mapping[str, float]


def answer_of(decision: Decision) -> Answer:
    """The decision for one dataset."""
    sweep = decision.sweep
    axes, label, veto = (
        [sweep.short(name) for name in sweep.axes],
        sweep.label(decision.named),
        report.veto_of(decision),
    )
    answer = label.removeprefix(f"{axes[0]} ") if len(axes) == 1 else label
    answer = answer if veto is None else veto if veto in report.TAKEN else f"nothing to ship, {veto}"
    name = f"{' x '.join(axes) or 'sweep'}: {answer}"
    return Answer(name, " ".join(report.headline(decision)), dict(_decided(decision)), dict(_numbers(decision)))


def answer_across(across: AcrossDatasets) -> Answer | None:
    """The decision over all datasets; None if there is none."""
    if across.problem:
        return None
    largest, mean = across.regrets.measured[:, across.place].max(), across.means[:, across.place].mean()
    number = len(across.names)
    numbers = {"datasets": number, "configurations": len(across.labels), "largest_regret": largest}
    chosen = across.runs[across.named][0]
    tags = {f"best.{name}": str(chosen.given[name]) for name in across.shown if name in chosen.given}
    tags |= {"best.configuration": across.named, "best.largest_regret": f"{largest:.6f}"}
    verdict = report.verdict_for_all(across)
    answer = across.named if verdict == "chosen" else verdict
    return Answer(
        f"{' x '.join(across.shown.values()) or 'sweep'}: {answer} on {number} datasets",
        " ".join(report.across_in_words(across)),
        tags | {f"best.{across.metric}": f"{mean:.6f}"},
        {name: float(value) for name, value in (numbers | {f"best/{across.metric}": mean}).items()},
    )


def _numbers(decision: Decision) -> Iterator[tuple[str, float]]:
    """The metrics of the parent run: everything measured of the named configuration, and what to expect of it."""
    yield "configurations", float(decision.sweep.configurations)
    yield "tied", float(len(decision.headline.others))
    for name in decision.named.metrics:
        value = decision.named.value(name)
        if value is not None:
            yield f"best/{name}", value
    if decision.headline.expected is not None:
        yield f"expected/{decision.sweep.decided_by}", decision.headline.expected


def _decided(decision: Decision) -> Iterator[tuple[str, str]]:
    """Tags for the named configuration: its settings, its interval, how many are tied with it, its expected score."""
    sweep, named = decision.sweep, decision.named
    for name in (name for name in sweep.swept if name in named.swept):
        yield f"best.{name}", str(named.paths.get(name, decision.best[name]))
    yield "best.configuration", named.name
    for end in ("", "_low", "_high"):
        yield f"best.{sweep.decided_by}{end}", f"{sweep.statistic(named, sweep.decided_by, end):.6f}"
    yield "best.tied", str(len(decision.headline.others))
    if decision.headline.expected is not None:
        yield "best.expected", f"{decision.headline.expected:.6f}"


def tag_runs(
    uri: str,
    folder: Path,
    stored: Sequence[StoredRun] | None,
    decisions: Sequence[Decision],
    across: AcrossDatasets | None,
) -> None:
    """Tag every run with what was decided of it: `tags.decision = 'chosen'` finds the one to ship.

    Of several datasets, it finds the one for all. A store that refuses loses nothing: the parent run has the decision.

    Args:
        uri: The store.
        folder: Of the sweep. The journals of runs that wait for their upload get the tags, too.
        stored: All runs of the sweep in the store; None if that does not answer.
        decisions: One for each dataset.
        across: The decision over several datasets.
    """
    with suppress(ValueError, TrackingError, *UNREACHABLE):
        tagged = {
            outcome.run_id or outcome.name: tags
            for decision in decisions
            for outcome, tags in _verdicts(decision, across)
        }
        for place, journal in journals_below(folder):
            tags = tagged.get(journal.run_id or journal.name)
            if tags and not (journal.uploaded and stored):
                journal.tags, journal.uploaded = tags | journal.tags, False
                journal.write(place)
        for run_id in tagged.keys() & {run.run_id for run in stored or ()}:
            MlflowClient(uri).log_batch(run_id, tags=[RunTag(*tag) for tag in tagged[run_id].items()])


def _verdicts(decision: Decision, across: AcrossDatasets | None) -> Iterator[tuple[Outcome, dict[str, str]]]:
    """The tags of each run. Of several datasets, `chosen` is the one for all."""
    together = across if across and not across.problem else None
    for row in report.rows_of(decision):
        verdict = row.verdict
        if together and row.run in together.runs[together.named]:
            verdict = report.verdict_for_all(together)
        elif together and verdict.startswith("chosen"):
            verdict = "chosen for this dataset alone"
        yield row.run, {DECISION: verdict, RANK: str(row.rank)}
