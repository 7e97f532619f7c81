"""What the decision of a sweep says of each of its runs, as tags of the runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from mlflow import MlflowClient
from mlflow.entities import RunTag

from ragsweep.core.errors import TrackingError
from ragsweep.report import rows_of, verdict_for_all
from ragsweep.sweeps import AcrossDatasets, Decision, Outcome
from ragsweep.tracking.journal import journals_below
from ragsweep.tracking.stored_run import StoredRun
from ragsweep.tracking.tracking_store import UNREACHABLE

DECISION, RANK = "decision", "decision.rank"


def tag_runs(uri: str, runs: Sequence[StoredRun], decisions: Sequence[Decision], across: AcrossDatasets | None) -> None:
    """Tag every run with what was decided of it: `tags.decision = 'chosen'` finds the one to ship.

    Of several datasets, it finds the one for all. A store that refuses loses nothing: the parent run has the decision.

    Args:
        uri: The store.
        runs: All runs of the sweep.
        decisions: One for each dataset.
        across: The decision over several datasets.
    """
    stored = {run.run_id for run in runs}
    with suppress(ValueError, TrackingError, *UNREACHABLE):
        for decision in decisions:
            for outcome, tags in _verdicts(decision, across):
                if outcome.run_id in stored:
                    MlflowClient(uri).log_batch(outcome.run_id, tags=[RunTag(*tag) for tag in tags.items()])


def note_verdicts(
    folder: Path, decisions: Sequence[Decision], across: AcrossDatasets | None, *, all_runs: bool
) -> None:
    """Put what was decided of each run into its journal, so that the tags are uploaded with it.

    Args:
        folder: Of the sweep.
        decisions: One for each dataset.
        across: The decision over several datasets.
        all_runs: Whether the store does not answer; otherwise, only runs that wait for their upload are concerned.
    """
    with suppress(ValueError, OSError):  # as in `tag_runs`
        verdicts = {
            outcome.run_id or outcome.name: tags
            for decision in decisions
            for outcome, tags in _verdicts(decision, across)
        }
        for place, journal in journals_below(folder):
            tags = verdicts.get(journal.run_id or journal.name)
            if tags and (all_runs or not journal.uploaded):
                journal.tags, journal.uploaded = tags | journal.tags, False
                journal.write(place)


def _verdicts(decision: Decision, across: AcrossDatasets | None) -> Iterator[tuple[Outcome, dict[str, str]]]:
    """The tags of each run. Of several datasets, `chosen` is the one for all."""
    together = across if across and not across.problem else None
    for row in rows_of(decision):
        verdict = row.verdict
        if together and row.run in together.runs[together.named]:
            verdict = verdict_for_all(together)
        elif together and verdict.startswith("chosen"):
            verdict = "chosen for this dataset alone"
        yield row.run, {DECISION: verdict, RANK: str(row.rank)}
