"""How the decision of a sweep would change with further judgments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import chdir
from dataclasses import dataclass, replace
from pathlib import Path

from ragsweep import report, tracking
from ragsweep.core.errors import ConfigError
from ragsweep.core.project import project
from ragsweep.core.terminal import counted
from ragsweep.datasets import Dataset, Judgment
from ragsweep.experiment import Experiment
from ragsweep.replay.comparing import CompareRequest, compare_runs
from ragsweep.replay.trusted_record import TODAYS, composed_today, keys_of, trusted
from ragsweep.sweeps import Decision, Outcome, decide
from ragsweep.tasks.ranking.ranking_task import RankingTask
from ragsweep_audit.reviewing import LACKS, encoder_of, judged_anew, listed_of, reviewed


@dataclass(frozen=True)
class WeighRequest:
    """What to weigh.

    Attributes:
        sweep_id: The sweep.
        overrides: `name=value`: the places of stores and data on this machine, and settings of the decision.
        depth: How far down all retrievers must rank what is taken for relevant.
        table: A table with judgments; None takes all that is listed for review as relevant.
        modules: Modules outside ragsweep whose classes a record may name.
    """

    sweep_id: str
    overrides: Sequence[str]
    depth: int
    table: Path | None
    modules: Sequence[str]


def weigh(request: WeighRequest) -> Iterator[str]:
    """The decision as it is and as it would be, in sentences. Records nothing.

    Raises:
        ConfigError: A run does not rank, or its dataset is not what it was.
    """
    of_decision = [
        each for each in request.overrides if keys_of([each]).pop().partition(".")[0] in ("decision", *TODAYS)
    ]
    before = compare_runs(CompareRequest([request.sweep_id], None, of_decision))
    table = request.table.resolve() if request.table else None
    today, settings = composed_today(request.overrides)
    settings = {name: value for name, value in settings.items() if not name.startswith("decision.")}
    judgments: Sequence[Judgment] | None = None
    outcomes: list[Outcome] = []
    with chdir(project()):  # paths in a record are relative to the project
        for outcome in before.sweep.outcomes:
            run = tracking.fetch_run(today.tracking, outcome.run_id)
            experiment = Experiment.of(trusted(run.config, today, settings, request.modules))
            if experiment.items.digest != outcome.facts.digest:
                what = f"{outcome.name}: {outcome.facts.dataset} is not the dataset that was measured"
                raise ConfigError(f"{what}; name its files, such as dataset.queries=FILE")
            if judgments is None:
                listed, judgments = _judgments(experiment, table, request.depth)
                yield listed
            outcomes.append(_judged_anew(outcome, experiment, judgments))
    after = decide(replace(before.sweep, outcomes=outcomes))
    yield f"As judged: {report.headline(before)[0]}"
    yield f"{'With these judgments' if table else 'If all of them were relevant'}: {report.headline(after)[0]}"
    yield _change(before, after)


def _judgments(experiment: Experiment, table: Path | None, depth: int) -> tuple[str, Sequence[Judgment]]:
    """The further judgments, and a sentence about them."""
    task, items = _ranked(experiment)
    if table:
        verdicts, _ = reviewed(task, table)
        return f"{counted(len(verdicts.judgments), 'judgment')} of {table.name}.", verdicts.judgments
    listed = listed_of(task, items, encoder_of(experiment.config), depth)
    return listed.sentence, listed.judgments


def _ranked(experiment: Experiment) -> tuple[RankingTask, Dataset]:
    """The task and the dataset of a run that ranks."""
    if not isinstance(experiment.task, RankingTask) or not isinstance(experiment.items, Dataset):
        raise ConfigError(LACKS)
    return experiment.task, experiment.items


def _judged_anew(outcome: Outcome, experiment: Experiment, judgments: Sequence[Judgment]) -> Outcome:
    """The run with the values that its metrics have with the further judgments."""
    evaluation = judged_anew(*_ranked(experiment), judgments)
    columns = dict(zip(evaluation.names, evaluation.per_query, strict=True))
    return replace(outcome, per_query=outcome.per_query.assign(**columns))


def _change(before: Decision, after: Decision) -> str:
    """Whether another configuration would be chosen at any cutoff."""
    labels = [
        (cutoff, before.sweep.label(choice.named), after.sweep.label(after.choices[cutoff].named))
        for cutoff, choice in before.choices.items()
    ]
    changed = [
        f"{old} -> {new}" + (f" at {before.sweep.cutoff} {cutoff}" if len(labels) > 1 else "")
        for cutoff, old, new in labels
        if old != new
    ]
    return f"The choice would change: {', '.join(changed)}." if changed else "The choice would not change."
