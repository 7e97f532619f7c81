"""One run of ragsweep, top to bottom.

A dataset gives passages, queries and relevance judgments. A retriever ranks the passages for every query. The judgments
turn the ranking into gains, the metrics turn gains into numbers, and the numbers go to tables, charts and MLflow.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from omegaconf import DictConfig, OmegaConf

from ragsweep import tracking
from ragsweep.core.code import digest_of_code
from ragsweep.core.components import build, digests_of_others
from ragsweep.core.config import check
from ragsweep.core.digest import digest
from ragsweep.core.drawing import drawing
from ragsweep.core.project import portable
from ragsweep.core.run_settings import RunSettings
from ragsweep.core.settings import by_short_names, effective_settings
from ragsweep.core.terminal import one_line
from ragsweep.datasets import Dataset
from ragsweep.retrieval import NOTHING, Ranking, Retriever, Task
from ragsweep.retrieval.checks import expect_method, retrieve
from ragsweep.tasks.ranking import Evaluation, Metric, charts, evaluate, judge
from ragsweep.tasks.ranking.files import write_evaluation
from ragsweep.tasks.ranking.settings import EvaluationSettings

SETTINGS = {"": RunSettings, "evaluation": EvaluationSettings, "tracking": tracking.TrackingSettings}
LEAST_DEPTH = 100  # a ranking holds at least so many passages, and at least k


class Result(NamedTuple):
    """What became of a job: its means, and its record, which is None where an earlier run had measured it."""

    means: Mapping[str, float]
    record: tracking.RunRecord | None


def run(config: DictConfig, job: tracking.Job) -> Result:
    """Measure one configuration and record it. Skips a configuration that is already recorded."""
    with tracking.failures(job):
        experiment = Experiment.of(config)
    job = replace(job, digest=experiment.digest)
    if means := tracking.finished_before(job):
        return Result(means, None)
    with tracking.record(job) as record:
        measurement = experiment.measure()
        experiment.log(measurement, job, record)
    return Result(measurement.evaluation.means, record)


class Measurement(NamedTuple):
    """What was retrieved, how good it is, and what else was measured."""

    ranking: Ranking
    evaluation: Evaluation
    measures: Mapping[str, float]


@dataclass(frozen=True)
class Experiment:
    """The objects that a configuration describes.

    Attributes:
        settings: The settings that were used, read from these objects, by their paths in the configuration.
    """

    config: DictConfig
    dataset: Dataset
    retriever: Retriever
    metrics: Mapping[str, Metric]
    settings: Mapping[str, Any]

    @classmethod
    def of(cls, config: DictConfig) -> Experiment:
        """Build everything; all that can be wrong with the input is found here, before a run is recorded."""
        tracking.check_address(OmegaConf.select(config, "tracking.uri"))  # first: an error would repeat its password
        config = check(config, SETTINGS)
        tracking.check_names(config)
        retriever = build(config.retriever, "retriever")
        expect_method(retriever, "retrieve", "retriever")
        metrics = {name: _metric(name, node) for name, node in config.evaluation.metrics.items()}
        source = OmegaConf.to_yaml(OmegaConf.masked_copy(config, ["dataset", "chunker", "store"]))
        dataset_format, chunker, dataset = _checked(source, config.evaluation.relevance_level)
        built = {
            "dataset": dataset_format,
            "chunker": chunker,
            "retriever": retriever,
            "evaluation": config.evaluation,
        }
        settings = effective_settings(config, built) | {"k": config.k, "seed": config.seed}
        return cls(config, dataset, retriever, metrics, settings)

    @cached_property
    def params(self) -> dict[str, Any]:
        """The settings by the names under which a user sets them; k and the seed come last."""
        params = by_short_names(self.settings, self.config)
        return params | {name: params.pop(name) for name in ("k", "seed")}

    @property
    def digest(self) -> str:
        """Of all that decides the results: the settings, the data and the code."""
        data = [self.dataset.digest, self.dataset.digest_of_passages]
        return digest([dict(self.settings), data, digest_of_code(), digests_of_others(self.config)])

    @cached_property
    def task(self) -> Task:
        """What is searched, and for what."""
        return Task(self.dataset.texts, tuple(query.text for query in self.dataset.queries))

    def measure(self) -> Measurement:
        """Retrieve, judge and measure."""
        ranking = self.retrieve()
        return Measurement(ranking, self.evaluate(ranking), self.measures(ranking))

    def log(self, measurement: Measurement, job: tracking.Job, record: tracking.RunRecord) -> None:
        """Write tables and charts into the run's folder, and log everything."""
        ranking, evaluation, measures = measurement
        with drawing(job.folder / "charts", charts.draw, evaluation):
            self.write(job, ranking, evaluation)
            record.log(self.params, self.dataset, evaluation, measures)
            record.log_files("config", "results", "environment")
        record.log_files("charts")

    def retrieve(self) -> Ranking:
        """Rank the passages for every query."""
        return retrieve(self.retriever, self.task, max(LEAST_DEPTH, self.config.k))

    def evaluate(self, ranking: Ranking) -> Evaluation:
        """Judge the ranking and measure it."""
        found = ranking.passages != NOTHING
        units = np.where(found, self.dataset.passage_units[ranking.passages], NOTHING)
        qrels, settings = self.dataset.qrels, self.config.evaluation
        judged = judge(
            units,
            qrels.query,
            qrels.unit,
            qrels.grade,
            collapse=settings.collapse,
            relevance_level=settings.relevance_level,
        )
        queries = [self.dataset.queries[row] for row in judged.queries]
        return evaluate(
            judged,
            self.metrics,
            self.config.k,
            tuple(query.query_type for query in queries),
            tuple(query.query_id for query in queries),
            resamples=settings.resamples,
            seed=self.config.seed,
        )

    def measures(self, ranking: Ranking) -> dict[str, float]:
        """What is worth knowing of a run besides its metrics: coverage, latency, recall of an approximate index."""
        measures = {"coverage/units": self.dataset.coverage(self.config.evaluation.relevance_level)}
        if len(ranking.latency_ms):
            measures["latency/mean_ms"] = float(ranking.latency_ms.mean())
            measures["latency/p95_ms"] = float(np.quantile(ranking.latency_ms, 0.95))
        if len(ranking.recall_of_exact):
            measures["index/recall"] = float(ranking.recall_of_exact.mean())
        return measures

    def write(self, job: tracking.Job, ranking: Ranking, evaluation: Evaluation) -> None:
        """Write the run's configuration, results and environment into its folder."""
        folder = job.folder / "config"
        folder.mkdir(parents=True, exist_ok=True)
        resolved = portable(OmegaConf.to_container(self.config))
        (folder / "config.yaml").write_text(OmegaConf.to_yaml(resolved), encoding="utf-8")
        (folder / "overrides.yaml").write_text(OmegaConf.to_yaml(list(job.overrides)), encoding="utf-8")
        write_evaluation(job.folder, evaluation, self.dataset, ranking.passages, ranking.scores)
        tracking.write_environment(job.folder)


def _metric(name: str, node: DictConfig) -> Metric:
    """A metric without the checks that Hydra would repeat at every call, of which a run makes hundreds."""
    metric = build(node, f"evaluation.metrics.{name}")
    return partial(metric.func, *metric.args, **metric.keywords) if isinstance(metric, partial) else metric


@lru_cache(maxsize=4)
def _checked(nodes: str, relevance_level: int) -> tuple[object, object, Dataset]:
    """What `_load` gives, unless nothing in it is relevant; says what is odd about the dataset."""
    dataset_format, chunker, dataset = _load(nodes)
    irrelevant = dataset.without_relevant(relevance_level)
    unjudged = set(range(len(dataset.queries))) - set(dataset.qrels.query.tolist())
    absent = set(dataset.qrels.unit.tolist()) - set(dataset.passage_units.tolist())
    no_relevant = f"queries without a {dataset.unit} of grade {relevance_level} or more, scoring 0 in all but NDCG"
    _notice(dataset.skipped, "documents left out, as dataset.skip says")
    _notice(dataset.empty_pages, "pages without text, never retrieved")
    _notice([dataset.queries[row].text for row in sorted(unjudged)], "queries without judgments, left out")
    _notice([dataset.queries[row].text for row in irrelevant], no_relevant)
    _notice([dataset.units[unit] for unit in sorted(absent)], f"judged {dataset.unit}s without a passage, never found")
    return dataset_format, chunker, dataset


@lru_cache(maxsize=4)  # the runs of a sweep mostly share their dataset
def _load(nodes: str) -> tuple[object, object, Dataset]:
    """Read and chunk the dataset that these nodes of the configuration describe."""
    config = OmegaConf.create(nodes)
    dataset_format, chunker = build(config.dataset, "dataset"), build(config.chunker, "chunker")
    return (
        dataset_format,
        chunker,
        Dataset.from_collection(dataset_format.load(), chunker, build(config.store, "store")),
    )


def _notice(names: Sequence[str], what: str) -> None:
    if names:
        shown = ", ".join(map(one_line, names[:3])) + (", ..." if len(names) > 3 else "")
        _say(f"{what}: {len(names)} ({shown})")


@cache  # once, also where only the relevance level is another one
def _say(line: str) -> None:
    print(line, file=sys.stderr)
