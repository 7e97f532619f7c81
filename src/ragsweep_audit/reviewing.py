"""What is to be judged in a dataset, as a file for people; and their judgments, back in the dataset's own file."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

from filelock import Timeout
from omegaconf import DictConfig

from ragsweep.config.checking import build, build_around
from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.terminal import counted
from ragsweep.core.whole_files import locked, write_new, write_over
from ragsweep.datasets import Collection, Dataset, DatasetFormat, Judgment
from ragsweep.datasets.model.dataset_capabilities import AddsJudgments
from ragsweep.datasets.readers.judgment_files import JudgmentFile
from ragsweep.experiment import checked
from ragsweep.retrieval import Encoder
from ragsweep.tasks.ranking.ranking_evaluation import Evaluation
from ragsweep.tasks.ranking.ranking_task import RankingTask
from ragsweep_audit.review_table import ToReview, Verdicts, judged_also, read_review, to_review
from ragsweep_audit.unlike_rankings import unlike_rankings

LONGEST_WAIT_S = 600  # seconds, for another review of the same file
WRITABLE = 0o222  # permission of anybody; the superuser may write to any file
LACKS = "the task reviews no judgments; expected task=ranking"


@dataclass(frozen=True)
class Review:
    """The review of a dataset.

    Attributes:
        config: The configuration.
        task: Ranks the dataset.
    """

    config: DictConfig
    task: RankingTask

    @classmethod
    def of(cls, config: DictConfig) -> Review:
        """Build the task of a configuration. Raises `ConfigError` unless it ranks."""
        config = checked(config)
        task = build_around(config, "task")
        if not isinstance(task, RankingTask):
            raise ConfigError(f"task: {LACKS}")
        return cls(config, task)

    def write(self, depth: int, out: Path | None) -> Iterator[str]:
        """Write what is to be judged, if `out` names a file, and say what it would change."""
        items = self.task.load()
        listed = listed_of(self.task, items, encoder_of(self.config), depth)
        yield listed.sentence
        if not listed.rows:
            return
        before, after = (judged_anew(self.task, items, judgments).means for judgments in ((), listed.judgments))
        yield f"If all of them were relevant, this configuration would measure: {self._changes(before, after)}."
        if out is not None:
            with _writing(out):
                listed.write(out)
            yield f"To judge: {out}"

    def apply(self, table: Path, out: Path | None) -> Iterator[str]:
        """Write the judgments of a table into a copy of the dataset's own file; None writes into the file itself.

        Raises:
            ConfigError: The file cannot be written, or the copy exists.
            DatasetError: The table cannot be read, or the dataset cannot take judgments.
        """
        if out is not None:
            yield from self._apply(table, out)
            return
        *_, made = self._added(table)
        path = made.path.resolve()
        if not os.access(path, os.W_OK) or not path.stat().st_mode & WRITABLE:
            raise ConfigError(f"--in-place: {path} is read-only; expected a file that may be written")
        with ExitStack() as stack:
            with _writing(path):
                stack.enter_context(locked(path, LONGEST_WAIT_S))
            yield from self._apply(table, None)

    def _apply(self, table: Path, out: Path | None) -> Iterator[str]:
        verdicts, collection, made = self._added(table)
        filled = verdicts.relevant + verdicts.irrelevant
        yield (
            f"{counted(filled, 'row')} of {filled + verdicts.open} filled in: {verdicts.relevant} relevant, "
            f"{verdicts.irrelevant} not; {counted(len(verdicts.judgments), 'judgment')} new."
        )
        if not verdicts.judgments:
            yield "Nothing was written." if filled else "Nothing is filled in, so nothing was written."
            return
        if out is not None:
            _check_ending(out, made.path)
        if collection.judgments:  # else there is nothing to compare with
            after = replace(collection, judgments=(*collection.judgments, *verdicts.judgments))
            changes = self._changes(self._means(collection), self._means(after))
            yield f"With these judgments, this configuration measures: {changes}."
        yield _write(made, out)

    def _means(self, collection: Collection) -> Mapping[str, float]:
        """The means of the metrics on a collection."""
        task = replace(self.task, dataset=_Loaded(collection))
        return judged_anew(task, task.load(), ()).means

    def _changes(self, before: Mapping[str, float], after: Mapping[str, float]) -> str:
        titles = {metric.name: metric.title for metric in self.task.metrics}
        return ", ".join(f"{title} {before[name]:.3f} -> {after[name]:.3f}" for name, title in titles.items())

    def _added(self, table: Path) -> tuple[Any, Collection, JudgmentFile]:
        """What a table says, what the dataset has, and its own file with these judgments."""
        verdicts, collection = reviewed(self.task, table)
        made = _adding(self.task.dataset).with_judgments(verdicts.judgments, collection.documents)
        return verdicts, collection, made


@dataclass(frozen=True)
class _Loaded:
    """A dataset that has been read."""

    collection: Collection

    def load(self) -> Collection:
        return self.collection


def write_judgments(dataset: DatasetFormat, judgments: Sequence[Judgment], out: Path) -> str:
    """Write further judgments of a dataset into a copy of its own file, and say how to use it.

    Raises:
        ConfigError: The copy exists, has another ending, or cannot be written.
        DatasetError: The dataset cannot take judgments.
    """
    documents = dataset.load().documents
    made = _adding(dataset).with_judgments(judgments, documents)
    _check_ending(out, made.path)
    return _write(made, out)


def _adding(dataset: DatasetFormat) -> AddsJudgments:
    """The dataset. Raises `DatasetError` unless judgments can be added to its files."""
    if not isinstance(dataset, AddsJudgments):
        raise DatasetError(f"dataset: {type(dataset).__name__} cannot add judgments to its files")
    return dataset


def listed_of(task: RankingTask, items: Dataset, encoder: Encoder | None, depth: int) -> ToReview:
    """The unjudged units that several unlike retrievers, one of them dense, all rank among the first `depth`."""
    rankings = unlike_rankings(items, encoder, task.store)
    return to_review(items, rankings, task.evaluation.relevance_level, depth)


def reviewed(task: RankingTask, table: Path) -> tuple[Verdicts, Collection]:
    """What a table says that people have filled in, and the collection that it is about."""
    collection = task.dataset.load()
    return read_review(table, collection, task.evaluation.relevance_level), collection


def judged_anew(task: RankingTask, items: Dataset, judgments: Iterable[Judgment]) -> Evaluation:
    """The values of the metrics with further judgments of the queries that have some."""
    return task.evaluate(judged_also(items, judgments), task.rank(items))


def encoder_of(config: DictConfig) -> Any:
    """The encoder of a configuration; None if it has none."""
    return None if config.get("encoder") is None else build(config.encoder, "encoder")


def _check_ending(out: Path, path: Path) -> None:
    """Raise `ConfigError` unless a new file has the ending by which the format of the old one is told."""
    expected = Path(path.name.removesuffix(".gz")).suffix
    if Path(out.name.removesuffix(".gz")).suffix != expected:
        raise ConfigError(f"--out: found {out.name!r}, expected a name that ends in {expected}, as {path.name} does")


def _write(made: JudgmentFile, out: Path | None) -> str:
    """Write the whole file or nothing, and say where it is."""
    content = made.text.encode()
    content = gzip.compress(content) if (out or made.path).suffix == ".gz" else content
    if out is not None:
        with _writing(out):
            write_new(out, content)
        return f"Written: {out}; use it by {made.use.format(path=out, name=out.name.partition('.')[0])}"
    path = made.path.resolve()  # writes to the file that a link names, and not over the link
    with _writing(path):
        kept = _keep(path)
        write_over(path, content)
    return f"Written: {path} (before: {kept})"


def _keep(path: Path) -> Path:
    """Copy a file to a new one beside it."""
    name = f"{path.name}.{datetime.now():%Y%m%d_%H%M%S}"
    for number in count(1):
        kept = path.with_name(f"{name}.bak" if number == 1 else f"{name}_{number}.bak")
        with suppress(FileExistsError):
            write_new(kept, path.read_bytes(), like=path)
            break
    return kept


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Raise `ConfigError` where a file cannot be written."""
    try:
        yield
    except Timeout as error:
        raise ConfigError(f"{path}: another process has been writing to it for {LONGEST_WAIT_S} s") from error
    except FileExistsError as error:
        raise ConfigError(f"--out: {path} exists; name a new file") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written ({error.strerror})") from error
