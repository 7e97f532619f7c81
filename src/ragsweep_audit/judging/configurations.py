"""What the configurations of a sweep rank, before anything is judged or after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import chdir
from itertools import chain
from typing import Any, cast

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import DictConfig

from ragsweep import tracking
from ragsweep.app.commands import composed
from ragsweep.app.job import name_and_settings
from ragsweep.app.planning import jobs_of
from ragsweep.config.configuration_walk import Walk
from ragsweep.config.ignored_input import refuse_ignored
from ragsweep.core.errors import ConfigError
from ragsweep.core.project import project
from ragsweep.datasets import Dataset
from ragsweep.experiment import Experiment
from ragsweep.replay.comparing import compare_runs
from ragsweep.replay.trusted_record import TODAYS, composed_today, keys_of, trusted
from ragsweep.retrieval.ingest.ingest import dataset_of
from ragsweep.tasks.ranking.ranking_task import RankingTask
from ragsweep_audit.judging.pool import Ranked


def rankings_of_overrides(overrides: Sequence[str]) -> tuple[int, Iterator[Ranked]]:
    """The cutoff, and the ranking of each configuration that the overrides list.

    Raises:
        ConfigError: An override is wrong, is given twice, or sweeps k.
    """
    refuse_ignored(overrides)
    parser = OverridesParser.create()
    try:
        parsed = parser.parse_overrides(list(overrides))
        jobs = jobs_of(parsed)
        of_jobs = [parser.parse_overrides(job) for job in jobs]
    except HydraException as error:
        raise ConfigError(" ".join(str(error).split())) from error
    swept = [override.key_or_group for override in parsed if override.is_sweep_override()]
    if "k" in swept:
        raise ConfigError("k: found several values; judging decides at one cutoff, such as k=10")
    if len(jobs) < 2:
        raise ConfigError("nothing to decide: expected several configurations, such as retriever.alpha=0,0.5,1")
    names = [name_and_settings(job, swept)[0] for job in of_jobs]
    labels = [f"{name} (job {place})" if names.count(name) > 1 else name for place, name in enumerate(names, start=1)]
    first = composed(jobs[0])
    return int(first.k), _rankings(chain([first], map(composed, jobs[1:])), labels)


def _rankings(configurations: Iterable[DictConfig], labels: Sequence[str]) -> Iterator[Ranked]:
    for configuration, label in zip(configurations, labels, strict=True):
        task = _expect_ranking(Walk(configuration).build("task"), label)
        items = dataset_of(task.dataset, task.chunker, task.ingest, task.store, may_lack_judgments=True)
        yield Ranked(label, items, task.rank(items).passages[:, : task.k])


def rankings_of_sweep(sweep_id: str, overrides: Sequence[str], modules: Sequence[str]) -> tuple[int, Iterator[Ranked]]:
    """The largest cutoff of a recorded sweep, and the ranking of each configuration at it.

    Args:
        sweep_id: The sweep.
        overrides: `name=value`: the places of stores and data on this machine.
        modules: Modules outside ragsweep whose classes a record may name.

    Raises:
        ConfigError: A run does not rank, or its dataset is not what it was.
    """
    places = [override for override in overrides if keys_of([override]).pop().partition(".")[0] in TODAYS]
    sweep = compare_runs([sweep_id], places).sweep
    cutoff = max(outcome.cutoff or 0 for outcome in sweep.outcomes)
    outcomes = [outcome for outcome in sweep.outcomes if (outcome.cutoff or 0) == cutoff]

    def ranked() -> Iterator[Ranked]:
        today, settings = composed_today(overrides)
        with chdir(project()):  # paths in a record are relative to the project
            for outcome in outcomes:
                run = tracking.fetch_run(today.tracking, outcome.run_id)
                experiment = Experiment.of(trusted(run.config, today, settings, modules))
                task, items = _expect_ranking(experiment.task, outcome.name), cast("Dataset", experiment.items)
                if items.digest != outcome.facts.dataset.digest:
                    problem = f"{outcome.name}: {outcome.facts.dataset.name} is not the dataset that was measured"
                    raise ConfigError(f"{problem}; name its files, such as dataset.queries=FILE")
                yield Ranked(sweep.label(outcome), items, task.rank(items).passages[:, :cutoff], run.run_id)

    return cutoff, ranked()


def _expect_ranking(task: Any, label: str) -> RankingTask:
    """The task of a run that ranks passages of ours, without learning from judgments."""
    if task.retrieval is None or not task.retrieval.is_measured:
        raise ConfigError(f"{label}: expected task=ranking")
    refusals = {
        f"returns what fits into budget={task.budget}; judging decides at one k, such as k=10": task.budget is not None,
        "returns more than it finds, and judging decides about what is found; choose returns=passage": task.returns
        is not None,
        "brings passages of its own, and judging needs those of our documents; write what it ranks in a file, by the "
        "names of pages or documents, and take retriever=run_file with chunker=page": task.retriever.brings_passages,
        "learns from judgments, which are what is asked for here": task.retriever.learns
        or (task.dynamic_k is not None and task.dynamic_k.learns),
    }
    if refused := [why for why, is_so in refusals.items() if is_so]:
        raise ConfigError(f"{label}: {refused[0]}")
    return cast("RankingTask", task)
