"""Runs a recorded configuration again, and compares every number with the record."""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from omegaconf import DictConfig

from ragsweep import tracking
from ragsweep.core.csv_files import TIME
from ragsweep.core.project import project
from ragsweep.core.terminal import aligned, one_line
from ragsweep.experiment import Experiment
from ragsweep.race import Race, Racer, measure_some
from ragsweep.replay.recorded_experiment import recorded_experiment
from ragsweep.replay.trusted_record import composed_today, has_setting, settings_in, trusted
from ragsweep.store.code import digest_of_code
from ragsweep.tracking.store_address import VARIABLE, absolute

SHOWN_DIFFERENCES = 20


def reproduce(run_id: str, overrides: Sequence[str], modules: Sequence[str], *, tolerance: float, stored: bool) -> bool:
    """Reproduce a run or all finished runs of a sweep, and print the result.

    Args:
        run_id: A run or a sweep.
        overrides: `name=value`: the places of stores and data on this machine.
        modules: Modules outside ragsweep whose classes the record may name.
        tolerance: The largest difference that counts as equal.
        stored: Whether to use embeddings, indexes and candidate lists of the store instead of computing them again.

    Returns:
        Whether all is identical.
    """
    today, settings = composed_today(overrides)
    history = tracking.fetch(today.tracking, run_id)
    with chdir(project()), _empty_folder(today.store.path) as empty:  # paths in a record are relative to the project
        if not stored:  # the runs of a sweep still share one store
            today.store.path, today.store.enabled = empty, True
        _say(f"embeddings and rankings: {'from the store' if stored else 'computed anew'}")
        pairs = []
        recorded = [settings_in(run.config) for run in history.runs]
        in_some = {name for name in settings if any(has_setting(record, name) for record in recorded)}
        for run, record in zip(history.runs, recorded, strict=True):
            own = {name: settings[name] for name in settings if name not in in_some or has_setting(record, name)}
            experiment, how = recorded_experiment(run, today, own, modules, Path(empty))
            if how:
                _say(how)
            pairs.append((run, experiment))
        for line in dict.fromkeys(line for pair in pairs for line in differences_of_origin(*pair)):
            _say(line)
        if history.runs[0].run_id != run_id and history.status != "FINISHED":
            _say(f"the sweep is {history.status}: only those of its runs that finished are made again")
        alike = [_again(run, experiment, tolerance) for run, experiment in pairs]
        if history.runs[0].run_id == run_id:
            return all(alike)
        identical = _raced_again(run_id, today, settings, modules, tolerance) and all(alike)
        _say("all identical" if identical else "not all identical")
        return identical


def _raced_again(
    run_id: str, today: DictConfig, settings: Mapping[str, Any], modules: Sequence[str], tolerance: float
) -> bool:
    """Hold the race of a sweep again, if it had one. Returns whether the same configurations drop out."""
    if (record := tracking.fetch_race(today.tracking, run_id)) is None:
        return True
    racers, experiments = [], []
    for run in tracking.fetch_racers(today.tracking, run_id):
        own = {name: value for name, value in settings.items() if has_setting(settings_in(run.config), name)}
        experiments.append(Experiment.of(trusted(run.config, today, own, modules)))
        racers.append(Racer(run.name, experiments[-1].cutoff))
    race = Race.of(record.settings, experiments[0], racers)
    held = race.run(lambda places, questions: [measure_some(experiments[place], questions) for place in places])
    made = {(racer.name, racer.questions): racer.mean for racer in held.dropped}
    was = {(racer.name, racer.questions): racer.mean for racer in record.dropped}
    alike = made.keys() == was.keys() and all(_alike(was[racer], made[racer], tolerance) for racer in was)
    _say(f"race: {'identical' if alike else 'differs'}: {len(made)} of {len(racers)} configurations drop out")
    return alike


@contextmanager
def _empty_folder(store: str) -> Iterator[str]:
    """An empty folder for a store: within the folder of the usual store if possible, otherwise a temporary one."""
    with suppress(OSError):
        Path(store).mkdir(parents=True, exist_ok=True)
    within = store if os.access(store, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="reproduce-", dir=within, ignore_cleanup_errors=True) as folder:
        yield folder


def _again(run: tracking.StoredRun, experiment: Experiment, tolerance: float) -> bool:
    """Measure a run again, print whether its values are those recorded, and return that."""
    measurement = experiment.measure()
    metrics = tracking.metrics_of(measurement, next(iter(run.titles), experiment.decide_by))
    old, new_values = _values(run.metrics, run.per_query), _values(metrics, measurement.per_item)
    pairs = {name: (old.get(name), new_values.get(name)) for name in {**old, **new_values}}
    different = {name: pair for name, pair in pairs.items() if not _alike(*pair, tolerance)}
    if different:
        _say(f"{run.name}: {len(different)} of {len(old)} values differ")
        print(_table(different))
    else:
        _say(f"{run.name}: identical: {len(old)} values")
    return not different


def _say(text: str) -> None:
    """Print one line. Text from a record may contain line breaks."""
    print(text.replace("\n", " "))


def differences_of_origin(run: tracking.StoredRun, experiment: Experiment) -> Iterator[str]:
    """Differences between a run's data, settings, packages and code and those of today, one line each."""
    if not experiment.items.digest.startswith(run.dataset):
        yield f"dataset: recorded {run.dataset[:12]}, here {experiment.items.digest[:12]}"
    now = tracking.params_of(experiment.params)
    not_asked = now.get("retriever") == "ReturnedRetriever" != run.params.get("retriever")
    for name in sorted(run.params.keys() | now.keys()):
        if run.params.get(name) != now.get(name) and not (not_asked and name.partition(".")[0] == "retriever"):
            yield f"{name}: recorded {run.params.get(name, 'nothing')}, here {now.get(name, 'nothing')}"
    pins = (run.requirements, tracking.requirements().split())
    packages = [dict(line.partition("==")[::2] for line in lines) for lines in pins]
    for name in sorted(packages[0].keys() | packages[1].keys(), key=str.lower):
        was, is_ = (versions.get(name, "absent") for versions in packages)
        if was != is_:
            yield f"package {name}: recorded {was}, here {is_}"
    if run.tags.get("code.digest") != digest_of_code():
        commit = run.tags.get("git.commit")
        yield f"code: recorded at {commit or 'an unknown commit'}, here something else"
        if commit and re.fullmatch("[0-9a-f]{7,64}", commit):  # the user may paste it into a shell
            store, run_id = shlex.quote(absolute(experiment.config.tracking.uri)), shlex.quote(run.run_id)
            fetched = f"mlflow artifacts download -r {run_id} -a environment/uncommitted.patch"
            patch = f" && git apply $({VARIABLE}={store} {fetched})" if run.tags.get("git.dirty") == "true" else ""
            yield f"    cd {shlex.quote(str(project()))} && git checkout {commit}{patch}"
        if run.tags.get("git.untracked") == "true":
            yield "    it may have used files that git did not have: the run's environment/untracked.txt names them"


def _values(metrics: Mapping[tuple[str, int], float], table: pd.DataFrame) -> dict[str, Any]:
    """All values that must be reproduced, by what they are: the metrics but for timings, and the table of queries."""
    lasting = [key for key in metrics if not key[0].startswith("latency/")]
    ordered = sorted(lasting, key=lambda key: ("/" in key[0], key))  # f1 before ci/f1_low
    values: dict[str, Any] = {f"{name} at {step}" if step else name: metrics[name, step] for name, step in ordered}
    for column in table.columns.drop(TIME, errors="ignore"):
        cells = table[column] if pd.api.types.is_numeric_dtype(table[column]) else table[column].fillna("")
        by_query = zip(table["query_id"], cells.tolist(), strict=True)
        values |= {f"{column} of query {query}": cell for query, cell in by_query}
    return values


def _alike(was: Any, now: Any, tolerance: float) -> bool:
    if isinstance(was, int | float) and isinstance(now, int | float):
        return bool(np.isclose(was, now, rtol=0, atol=tolerance, equal_nan=True))
    return bool(was == now)


def _table(different: Mapping[str, tuple[Any, Any]]) -> str:
    """The first values that differ, side by side."""
    rows = [("value", "recorded", "now", "difference")]
    for name, pair in [*different.items()][:SHOWN_DIFFERENCES]:
        was, now = (one_line("nothing" if value is None else str(value))[:40] for value in pair)
        numbers = all(isinstance(value, float) for value in pair)
        rows.append((name, was, now, f"{pair[1] - pair[0]:+.3g}" if numbers else ""))
    left = len(different) - SHOWN_DIFFERENCES
    return "\n".join([*(f"  {line}" for line in aligned(rows)), *([f"  ... and {left} more"] if left > 0 else [])])
