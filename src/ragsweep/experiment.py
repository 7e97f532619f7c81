"""One run of ragsweep, top to bottom.

A task loads its items, such as passages, queries and relevance judgments, and measures one configuration, for example a
retriever that ranks the passages for every query. The result is written as tables and charts and recorded in MLflow.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from omegaconf import DictConfig, OmegaConf

from ragsweep.config.configuration_walk import Walk, as_recorded, filled_in
from ragsweep.config.run_settings import DEFAULT_RESAMPLES, DEFAULT_SEED, TrackingSettings
from ragsweep.config.used_settings import check_limits
from ragsweep.core.digest import digest
from ragsweep.core.drawing import drawing
from ragsweep.core.errors import ConfigError
from ragsweep.core.project import for_hydra, portable
from ragsweep.core.terminal import say_once
from ragsweep.models.language.endpoint import Endpoint, say_spent
from ragsweep.store.code import digest_of_code
from ragsweep.store.component import expect_kind
from ragsweep.store.stage_store import Store
from ragsweep.sweeps.decision_settings import DecisionSettings, check_decision, check_measured, decision_of
from ragsweep.tasks.charts import draw
from ragsweep.tasks.measurement_files import write_measurement
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.repeating import SETTING, measure_repeats, measured_once, varying, with_repeat
from ragsweep.tasks.run_check import RunCheck, installed_checks, remarks_of
from ragsweep.tasks.task import Items, Measurement, Task
from ragsweep.tracking.mlflow_names import check_names, swept_metrics
from ragsweep.tracking.store_address import check_address

if TYPE_CHECKING:
    from ragsweep import tracking

MOST_ITEMS_KEPT = 4

_loaded: dict[str, Items] = {}  # by the settings that they depend on


class Result(NamedTuple):
    """The outcome of a job.

    Attributes:
        metrics: Its metrics.
        record: Its record; None if an earlier run had measured it.
        sentences: The task's summary of the measurement.
    """

    metrics: Mapping[str, float]
    record: tracking.Journal | None
    sentences: Sequence[str] = ()


def run(config: DictConfig, job: tracking.Job, planned: Experiment | None = None) -> Result:
    """Measure one configuration and record it. Skips a configuration that is already recorded.

    Args:
        config: The configuration.
        job: What is recorded of the run besides its measurement.
        planned: Its experiment, if it was built and checked before; None builds it here.
    """
    from ragsweep import tracking

    with tracking.failures(job):
        experiment = planned or Experiment.of(config)
    job = replace(job, digest=experiment.digest, measured=experiment.measured)
    if metrics := tracking.finished_before(job):
        return Result(metrics, None)
    with tracking.failures(job):
        experiment.check_keys()
    with tracking.record(job) as record:
        measurement = experiment.measure()
        experiment.log(measurement, job, record)
    for notice in measurement.notices:
        say_once(notice if job.parent_run_id else _with_whole_paths(notice, job.folder, measurement.files))
    return Result(measurement.values, record, measurement.summary)


@dataclass(frozen=True)
class Experiment:
    """The task that a configuration describes, with its items.

    Attributes:
        config: The configuration.
        task: What is measured.
        settings: The settings that were used, by the paths where they are written.
        identity: Of the task, with its components.
        used: The groups that were used, also by settings that are made of one of theirs.
        varying: The paths of components that may return something else when they are asked again.
        checks: The plugins' checks of this run.
        endpoints: What asks a server that may want a key.
    """

    config: DictConfig
    task: Task
    settings: Mapping[str, Any]
    identity: object = None
    used: Collection[str] = ()
    varying: Sequence[str] = ()
    checks: Sequence[RunCheck] = ()
    endpoints: Sequence[Endpoint] = ()

    @classmethod
    def of(cls, config: DictConfig) -> Experiment:
        """Check, build and load everything, so that all bad input is found before a run is recorded."""
        experiment = cls.built(config)
        experiment.items  # noqa: B018 - is loaded here
        return experiment

    @classmethod
    def built(cls, config: DictConfig) -> Experiment:
        """Check and build everything, but load no items. `config` gets the settings of options that it names."""
        check_address(OmegaConf.select(config, "tracking.uri"))  # first: an error would repeat its password
        walk = Walk(config)
        task: Task = walk.build("task")
        decision: DecisionSettings = walk.build("decision", DecisionSettings)
        walk.build("tracking", TrackingSettings)
        checks = [walk.build(name, kind) for name, kind in _checks_of(config).items()]
        if config.get("returns") is not None and "returns" not in walk.nodes:
            raise ConfigError("returns: this task reads the passages that are found; choose returns=passage")
        expect_kind(task, Task, "task")
        optional, measures = task.optional_metrics, task.measures
        check_names(config, *([metric.name for metric in part] for part in (task.metrics, [*optional, *measures])))
        check_decision(decision, [*task.metrics, *optional], measures, task.cutoff, config.get("budget"))
        settings, parts = walk.settings, walk.parts
        check_limits(settings, parts)
        paths = varying(parts)
        if not paths or settings.get(SETTING) == 1:
            settings.pop(SETTING, None)
        endpoints = [part for part in parts.values() if isinstance(part, Endpoint)]
        return cls(config, task, settings, walk.identity({SETTING}), walk.mentioned, paths, checks, endpoints)

    @cached_property
    def items(self) -> Items:
        """The items that the task loads, checked by it and by plugins; most runs of a sweep share them."""
        items = _items(self.config, self.task)
        self.task.check(items)
        if why := self.task.lacks(items):
            check_measured(decision_of(self.config), self.task.optional_metrics, why)
        for check in self.checks:
            check.accept(self.task, items)
        return items

    @cached_property
    def params(self) -> dict[str, Any]:
        """The settings; those without a group come last."""
        groups = {path for path in self.settings if "." in path or OmegaConf.is_config(self.config.get(path))}
        return dict(sorted(self.settings.items(), key=lambda setting: setting[0] not in groups))

    @property
    def digest(self) -> str:
        """Digest of all that determines the results: the task with its settings and code, and the data."""
        made = _with_plain_numbers(self.identity)
        return digest([made, self.settings.get(SETTING), self.items.digest_of_all, digest_of_code()])

    @property
    def cutoff(self) -> Any:
        """The value of the cutoff; None if the task has none, or does not say which setting it is."""
        return self.settings.get(self.task.cutoff)

    @property
    def decide_by(self) -> str:
        """The metric by which a sweep decides."""
        return str(self.config.decision.metric)

    @property
    def measured(self) -> list[Metric]:
        """The metrics, the one that decides first."""
        decides = [metric for metric in self.task.optional_metrics if metric.name == self.decide_by]
        return [*decides, *sorted(self.task.metrics, key=lambda metric: metric.name != self.decide_by)]

    @property
    def store(self) -> Store:
        """The store that keeps its stages."""
        store: Store = Walk(self.config).build("store", Store)
        return store

    def check_keys(self) -> None:
        """Raise `ModelError` if an endpoint will be asked whose key is missing: before any work, not hours after."""
        for endpoint in self.endpoints:
            endpoint.check_keys(self.store)

    def measure(self) -> Measurement:
        """Measure the configuration. Raises `ConfigError` if a metric that takes part in the decision was not."""
        try:
            measurement = self._measured()
        finally:
            say_spent()
        if why := measurement.not_measured.get(self.decide_by):
            raise ConfigError(f"decision.metric: {self.decide_by} is not measured: {why}")
        for metric in self.task.optional_metrics:
            if why := measurement.not_measured.get(metric.name):
                check_measured(decision_of(self.config), [metric], why)
        for check in self.checks:
            measurement = remarks_of(check, self.task, self.items).added_to(measurement)
        return measurement

    def _measured(self) -> Measurement:
        """One measurement of all repeats; of a configuration that does not vary, there is one."""
        if SETTING not in self.settings:
            if self.task.repeats > 1:
                say_once(
                    f"{SETTING}={self.task.repeats}: measured once, as nothing here varies: another time is the same"
                )
            measurement = self.task.measure(self.items)
            return measured_once(measurement) if self.varying else measurement
        repeats = [(self.task, self.items), *map(self._repeat, range(1, self.settings[SETTING]))]
        resamples, seed = self._resampling
        return measure_repeats(repeats, self.decide_by, resamples=resamples, seed=seed)

    def _repeat(self, number: int) -> tuple[Task, Items]:
        """The task of another repeat, with its items."""
        config = with_repeat(self.config, self.varying, number)
        task: Task = Walk(config).build("task")
        return task, _items(config, task)

    def log(self, measurement: Measurement, job: tracking.Job, record: tracking.Journal) -> None:
        """Write tables and charts into the run's folder, and note what is to be uploaded when the run ends."""
        from ragsweep.tracking import metrics_of, write_environment

        with drawing(job.folder / "charts", draw, replace(measurement, files={}), self.decide_by, *self._resampling):
            self.write_config(job.folder, job.overrides)
            write_measurement(job.folder, measurement, self.items, self.decide_by)
            write_environment(job.folder)
            metrics = metrics_of(measurement, self.decide_by) | swept_metrics(job.swept)
            record.log(self.params, metrics, self.items)
            record.add("config", "results", "environment")
        record.add("charts")

    @property
    def _resampling(self) -> tuple[int, int]:
        """Resamples and seed of intervals."""
        settings = {"evaluation.resamples": DEFAULT_RESAMPLES, "seed": DEFAULT_SEED, **self.settings}
        return settings["evaluation.resamples"], settings["seed"]

    def write_config(self, folder: Path, overrides: Sequence[str]) -> None:
        """Write the configuration, and the overrides that made it, into a run's folder."""
        folder = folder / "config"
        folder.mkdir(parents=True, exist_ok=True)
        resolved = portable(as_recorded(self.config))
        for name, value in (("config", resolved), ("overrides", list(overrides))):
            (folder / f"{name}.yaml").write_text(OmegaConf.to_yaml(OmegaConf.create(value)), encoding="utf-8")


def _checks_of(config: DictConfig) -> dict[str, type[RunCheck]]:
    """The checks of a run whose settings the configuration has."""
    return {name: kind for name, kind in installed_checks().items() if OmegaConf.is_config(config.get(name))}


def _items(config: DictConfig, task: Task) -> Items:
    """The items of the task; most runs of a sweep share them."""
    key = repr([(name, filled_in(OmegaConf.select(config, name))) for name in ("task._target_", *task.loads)])
    if key not in _loaded:
        if len(_loaded) >= MOST_ITEMS_KEPT:
            _loaded.pop(next(iter(_loaded)))
        _loaded[key] = task.load()
    return _loaded[key]


def _with_whole_paths(sentence: str, folder: Path, names: Iterable[str]) -> str:
    """A sentence in which the files of the results can be pasted into a command."""
    for name in names:
        path = shlex.quote(for_hydra(str(folder.resolve() / "results" / name)))
        sentence = sentence.replace(f"results/{name}", path)
    return sentence


def _with_plain_numbers(value: Any) -> Any:
    """A value of JSON with 1.0 as 1, since both are the same setting."""
    if isinstance(value, dict):
        return {key: _with_plain_numbers(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_with_plain_numbers(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
