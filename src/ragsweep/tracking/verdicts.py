"""What the decision of a sweep says of each of its runs, as tags of the runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from mlflow import MlflowClient
from mlflow.entities import RunTag

from ragsweep.core.errors import TrackingError
from ragsweep.report.value_words import at
from ragsweep.sweeps import SHIPPED, AcrossDatasets, Choice, Decision, Outcome, not_shipped
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
    for_all = across.runs[across.named] if across and not across.problem else ()
    unread = any(not_shipped(each) == "unread texts" for each in (across.decisions if across else ()))
    of_headline_last = sorted(decision.choices.values(), key=lambda each: each is decision.headline)
    for choice in of_headline_last:  # at equal cost, a run can stand for several choices
        level = decision.sweep.at(choice.cutoff)
        for rank, position in enumerate(level.table["outcome"], start=1):
            outcome = level.outcomes[position]
            verdict = _verdict(decision, choice, outcome)
            if outcome in for_all:
                guessing = decision.against_guessing.get(outcome)
                verdict = "not shipped: guessing" if guessing and not guessing.better else "chosen"
                verdict = "not shipped: unequal text" if not_shipped(decision) == "unequal text" else verdict
                verdict = "not shipped: unread texts" if unread else verdict
            elif for_all and verdict == "chosen":
                verdict = "chosen for this dataset alone"
            yield outcome, {DECISION: verdict, RANK: str(rank)}


def _verdict(decision: Decision, choice: Choice, outcome: Outcome) -> str:
    """One or a few words: `chosen`, `tied`, `worse`, `control`, `left out`, or `not shipped: ` and the reason."""
    if outcome.facts.control:
        return "control"
    if outcome.name in choice.excluded:
        return "left out"
    if outcome is choice.named:
        if (why := not_shipped(decision)) not in (*SHIPPED, "requirements"):  # this one meets them
            return f"not shipped: {why}"
        return "chosen" if choice is decision.headline else f"chosen{at(decision.sweep, choice)}"
    return "tied" if outcome in choice.tied else "worse"
