"""What a decision says in the store: of the parent run of its sweep and of each run, and what is decided later."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from mlflow import MlflowClient
from mlflow.entities import Metric, RunTag

from ragsweep import report
from ragsweep.core.errors import TrackingError
from ragsweep.report.decision_record import write_record
from ragsweep.sweeps import AcrossDatasets, Decision, Outcome
from ragsweep.tracking.journal import NOTE, journals_below
from ragsweep.tracking.mlflow_names import tags_of
from ragsweep.tracking.store_address import link_to_artifact, run_address
from ragsweep.tracking.stored_run import StoredRun
from ragsweep.tracking.tracking_store import UNREACHABLE, reading

DECISION, RANK = "decision", "decision.rank"


class Answer(NamedTuple):
    """A decision as the parent run shows it.

    Attributes:
        name: Such as `alpha x k: alpha 0.5`; empty if nothing is decided.
        sentences: Its headline.
        rows: The table below them, the header first.
        tags: The settings of the choice, and how it stands.
        numbers: Its metrics.
    """

    name: str = ""
    sentences: Sequence[str] = ("No run finished.",)
    rows: Sequence[Sequence[str]] = ()
    tags: Mapping[str, str] = {}
    numbers: Mapping[str, float] = {}

    @property
    def headline(self) -> str:
        """The sentences in one line."""
        return " ".join(self.sentences)


def answer_of(decision: Decision) -> Answer:
    """The decision for one dataset: of the named configuration its settings, all that was measured, and how it stands.

    Besides, how many are tied with it, and the score to expect of it.
    """
    sweep, named, metric = decision.sweep, decision.named, decision.sweep.decided_by
    axes, veto, tied = [sweep.short(name) for name in sweep.axes], report.veto_of(decision), decision.headline.rivals
    label = sweep.label(named)
    answer = label.removeprefix(f"{axes[0]} ") if len(axes) == 1 else label
    answer = answer if veto is None else veto if veto in report.TAKEN else f"nothing to ship, {veto}"
    tags = {name: str(named.paths.get(name, decision.best[name])) for name in sweep.swept if name in named.swept}
    tags |= {"configuration": named.name, "tied": str(len(tied))}
    tags |= {f"{metric}{end}": f"{sweep.statistic(named, metric, end):.6f}" for end in ("", "_low", "_high")}
    numbers = {"configurations": float(sweep.configurations), "tied": float(len(tied))}
    measured = {name: named.value(name) for name in named.metrics}
    numbers |= {f"best/{name}": value for name, value in measured.items() if value is not None}
    if (expected := decision.headline.expected) is not None:
        tags["expected"], numbers[f"expected/{metric}"] = f"{expected:.6f}", expected
    return Answer(
        f"{' x '.join(axes) or 'sweep'}: {answer}",
        report.headline(decision),
        report.brief_cells(decision),
        {f"best.{name}": value for name, value in tags.items()},
        numbers,
    )


def answer_across(across: AcrossDatasets) -> Answer:
    """The decision over all datasets."""
    sentences = report.across_in_words(across)
    if across.problem:
        return Answer(sentences=sentences)
    largest, mean = float(across.regrets[:, across.place].max()), float(across.means[:, across.place].mean())
    chosen, verdict, number = across.runs[across.named][0], report.verdict_for_all(across), len(across.names)
    tags = {name: str(chosen.given[name]) for name in across.shown if name in chosen.given}
    tags |= {"configuration": across.named, "largest_regret": f"{largest:.6f}", across.metric: f"{mean:.6f}"}
    counts = {"datasets": float(number), "configurations": float(len(across.labels))}
    answer = across.named if verdict == "chosen" else verdict
    return Answer(
        f"{' x '.join(across.shown.values()) or 'sweep'}: {answer} on {number} datasets",
        sentences,
        tags={f"best.{name}": value for name, value in tags.items()},
        numbers={**counts, "largest_regret": largest, f"best/{across.metric}": mean},
    )


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
        tagged_runs = [tagged_run for decision in decisions for tagged_run in _verdicts(decision, across)]
        verdicts = {run.run_id or run.name: tags for run, tags in tagged_runs}
        for place, journal in journals_below(folder):
            tags = verdicts.get(journal.run_id or journal.name)
            if tags and not (journal.uploaded and stored):
                journal.tags, journal.uploaded = tags | journal.tags, False
                journal.write(place)
        for run_id in verdicts.keys() & {run.run_id for run in stored or ()}:
            MlflowClient(uri).log_batch(run_id, tags=[RunTag(*tag) for tag in verdicts[run_id].items()])


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


@dataclass(frozen=True)
class LaterDecision:
    """A decision that is added after a sweep has ended.

    Attributes:
        name: How it was made, such as `judged`: names its tags and its artifacts.
        sentences: What is decided; the first one is the headline.
        record: All of it, for programs.
        tags: Of the sweep's run, after `judged.`.
        numbers: Metrics of the sweep's run.
        runs: The verdict about each run of the sweep by its id.
        journal: The file of what led to it.
    """

    name: str
    sentences: Sequence[str]
    record: Mapping[str, Any]
    tags: Mapping[str, str]
    numbers: Mapping[str, float]
    runs: Mapping[str, str]
    journal: Path


def add_decision(tracking: Any, sweep_id: str, later: LaterDecision) -> str:
    """Add a decision to the tags and artifacts of a sweep that has ended; its description links to them.

    What the sweep itself decided stays as it is. A decision added before under the same name is replaced.

    Args:
        tracking: The `tracking` group of the configuration.
        sweep_id: The parent run of the sweep.
        later: The decision.

    Returns:
        The address of the sweep.

    Raises:
        TrackingError: The store cannot be reached or written.
    """
    with reading(tracking.uri, tracking.artifacts, sweep_id) as client:
        run = client.get_run(sweep_id)
        note = run.data.tags.get(NOTE, "")
        link = f"[{later.name}]({link_to_artifact(run.info.experiment_id, sweep_id, f'{later.name}/decision.json')})"
        with tempfile.TemporaryDirectory() as folder:
            write_record(Path(folder) / "decision.json", later.record)
            shutil.copyfile(later.journal, Path(folder) / f"{later.name}.jsonl")
            client.log_artifacts(sweep_id, folder, later.name)
        now = int(time.time() * 1000)
        metrics = [Metric(name, value, now, 0) for name, value in later.numbers.items()]
        about = {"headline": later.sentences[0], **later.tags}
        tags = {NOTE: note if link in note else f"{note}\n\n{link}"}
        tags |= {f"{later.name}.{name}": value for name, value in about.items()}
        client.log_batch(sweep_id, metrics, tags=[RunTag(*tag) for tag in tags_of(tags).items()])
        for run_id, verdict in later.runs.items():
            client.set_tag(run_id, later.name, verdict)
        return run_address(tracking, run.info.experiment_id, sweep_id)
