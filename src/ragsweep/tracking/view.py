"""The saved view of a sweep in the MLflow UI: its runs, best first, with the columns and charts that compare them.

MLflow keeps such a view as a tag of the experiment: what "Save view" would write there, the page's state, compressed.
The names in the state are those of the UI of MLflow 3.17; no API promises them, which is why a browser tests them.
"""

from __future__ import annotations

import base64
import json
import sys
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode

from mlflow import MlflowClient
from omegaconf import DictConfig

from ragsweep.core.errors import TrackingError, first_line
from ragsweep.core.parsing import MalformedError, from_json
from ragsweep.tracking.conditions import tagged
from ragsweep.tracking.job import LOWER_IS_BETTER, MEASURED, PARENT
from ragsweep.tracking.store import UNREACHABLE, existing_store
from ragsweep.tracking.sweep_runs import StoredSweep, SweepRun, sweep_runs
from ragsweep.tracking.ui import ui_of

TAG = "mlflow.sharedViewState."  # of an experiment; what follows is the view's key
KEY = "sweep-"  # what our keys begin with; the parent's run id follows
LONGEST = 20_000  # characters of an experiment's tag, beyond which MLflow refuses it
CURVE, BY_TYPE, LATENCY = "at_k/", "by_type/", "latency/"  # groups of metrics, as they are logged

Chart = dict[str, Any]


def save_view(sweep: StoredSweep, parent_run_id: str) -> bool:
    """Leave the view of a sweep in every experiment that has a run of it.

    Args:
        sweep: All its runs.
        parent_run_id: Its parent run.

    Returns:
        Whether it is there. It is not where no run has measured anything, or the store does not take it: a sweep is
        complete without it.
    """
    measured = [each for each in sweep.runs if each.run.data.metrics]
    if not measured:
        return False
    with suppress(ValueError, OverflowError, *UNREACHABLE):  # a store can say that a run started in the year 31690708
        parent = sweep.client.get_run(parent_run_id).info
        name = f"{parent.run_name}, {datetime.fromtimestamp(parent.start_time / 1000):%Y-%m-%d %H:%M}"
        metrics = sorted({name for each in measured for name in each.run.data.metrics})
        lower = LOWER_IS_BETTER in measured[0].run.data.tags
        state = _state(_settings(measured), metrics, _measured(measured), lower_is_better=lower)
        for condition in _conditions(parent_run_id, sweep.runs):
            value = _tag(name, {"searchFilter": condition, **state})
            if len(value) <= LONGEST:
                break
        for experiment_id in {parent.experiment_id, *(each.run.info.experiment_id for each in sweep.runs)}:
            sweep.client.set_experiment_tag(experiment_id, f"{TAG}{KEY}{parent_run_id}", value)
        return True
    return False


def save_view_of(client: MlflowClient, run_id: str) -> bool:
    """Leave the view of the sweep whose parent run this is; of another run, nothing."""
    with suppress(TrackingError, ValueError, OverflowError, *UNREACHABLE):  # whatever the store says of it
        return save_view(StoredSweep(client, list(sweep_runs(client, run_id))), run_id)
    return False


def sweep_address(tracking: DictConfig, experiment_id: str, parent_run_id: str, decided_by: str, *, saved: bool) -> str:
    """Where the UI shows the runs of a sweep, the best first, as charts.

    Args:
        tracking: The `tracking` group of the configuration.
        experiment_id: The parent's experiment.
        parent_run_id: The sweep.
        decided_by: The metric by which the best is chosen.
        saved: Whether its view was left in the store.
    """
    base = ui_of(tracking.uri)
    if saved:
        return _address(base, experiment_id, f"{KEY}{parent_run_id}")
    view = {
        "workflowType": "machine_learning",
        "searchFilter": _children(parent_run_id),
        "orderByKey": _column("metrics", decided_by),
        "orderByAsc": "false",  # sorted by time, MLflow would hide child runs below their parent
        "compareRunsMode": "CHART",
    }
    return f"{base}/#/experiments/{quote(experiment_id, safe='')}/runs?{urlencode(view, quote_via=quote)}"


def print_latest_sweep(uri: str, ui: str) -> None:
    """Say where the UI shows the latest sweep of a store, if there is one, or why that cannot be seen.

    Args:
        uri: The store, whose artifacts are found again where it was moved.
        ui: Where it is going to be served.
    """
    try:
        views = [
            (_created(value), experiment.experiment_id, name.removeprefix(TAG))
            for experiment in existing_store(uri).search_experiments()
            for name, value in experiment.tags.items()
            if name.startswith(f"{TAG}{KEY}")
        ]
    except FileNotFoundError:
        return
    except (TrackingError, *UNREACHABLE) as error:
        print(f"the latest sweep is not known ({first_line(error)})", file=sys.stderr)
        return
    created, experiment_id, key = max(views, default=(0, "", ""))
    if created:
        print(f"the latest sweep: {_address(ui, experiment_id, key)}", flush=True)


def _created(view: str) -> int:
    """When a view was saved, in milliseconds since 1970; 0 where that cannot be read: anybody may have written it."""
    with suppress(MalformedError):
        page = from_json(view)
        if isinstance(page, dict) and type(page.get("createdAt")) is int:
            return int(page["createdAt"])
    return 0


def _address(base: str, experiment_id: str, key: str) -> str:
    """An address that opens a view. A filter or an order in it would keep MLflow from loading the view's own."""
    view = {"workflowType": "machine_learning", "compareRunsMode": "CHART", "viewStateShareKey": key}
    return f"{base}/#/experiments/{quote(experiment_id, safe='')}/runs?{urlencode(view)}"


def _conditions(parent_run_id: str, runs: Sequence[SweepRun]) -> Iterator[str]:
    """What finds the sweep's runs: by their ids where some are other sweeps', since MLflow's filters know no OR.

    Some hundreds of ids fill the tag: what fits in any case are the sweep's own runs.
    """
    if any(each.run.data.tags.get(PARENT) != parent_run_id for each in runs):
        ids = ", ".join(f"'{each.run.info.run_id}'" for each in runs)
        yield f"attributes.run_id IN ({ids})"
    yield _children(parent_run_id)


def _children(parent_run_id: str) -> str:
    return tagged(PARENT, parent_run_id)


def _tag(name: str, state: dict[str, Any]) -> str:
    """A view as the UI reads it."""
    page = base64.b64encode(zlib.compress(json.dumps(state).encode(), 9)).decode()
    return json.dumps({"name": name, "createdAt": int(time.time() * 1000), "state": f"deflate;{page}"})


def _settings(runs: Sequence[SweepRun]) -> list[str]:
    """The swept settings. What was swept may stand for settings of other names: then all in which the runs differ."""
    params = [each.run.data.params for each in runs]
    swept = list(dict.fromkeys(name for each in runs for name in each.swept))
    known = [name for name in swept if any(name in each for each in params)]
    if known == swept:
        return swept
    common = (name for name in params[0] if name not in known and all(name in each for each in params))
    return [*known, *(name for name in common if len({each[name] for each in params}) > 1)]


def _measured(runs: Sequence[SweepRun]) -> Mapping[str, str]:
    """Titles of the metrics by name, the one that decides first, as tags say that anybody may have written."""
    with suppress(MalformedError):
        titles = from_json(runs[0].run.data.tags.get(MEASURED, "{}"))
        if isinstance(titles, dict) and all(isinstance(title, str) for title in titles.values()):
            return titles
    return {}


def _state(
    settings: Sequence[str], metrics: Sequence[str], measured: Mapping[str, str], *, lower_is_better: bool
) -> dict[str, Any]:
    """The page: the best run first, no run hidden, and only columns and charts that tell the runs apart."""
    known = list(measured)
    curves = [name.removeprefix(CURVE) for name in metrics if name.startswith(CURVE)]
    place = {name: number for number, name in enumerate(known)}
    main = sorted({*known, *curves} & {*metrics}, key=lambda name: (place.get(name, len(known)), name))
    decides, title = next(iter(measured.items()), (main[0], main[0]) if main else ("", ""))
    columns = [*(_column("params", name) for name in settings), *(_column("metrics", name) for name in main)]
    parallel = {"selectedParams": settings, "selectedMetrics": [decides], "showAllRuns": True}
    sections = {
        f"Settings and {title}": [_chart("PARALLEL", "", **parallel)] if settings else [],
        "Metrics by cutoff": [_curve(f"{CURVE}{name}") for name in main if name in curves],
        "Metrics at the run's k": [_chart("BAR", name) for name in main],
        f"{title} by query type": [_chart("BAR", name) for name in metrics if name.startswith(BY_TYPE)],
        "Latency of a query": [_chart("BAR", name) for name in metrics if name.startswith(LATENCY)],
    }
    charts = [{**chart, "metricSectionId": name} for name, some in sections.items() for chart in some]
    drawn = {chart["metricKey"] for chart in charts}
    charts += [_chart("BAR", name, deleted=True) for name in metrics if name not in drawn]  # else MLflow draws it
    return {
        "orderByKey": _column("metrics", decides),
        "orderByAsc": lower_is_better,
        "selectedColumns": columns,
        "columnOrder": ["1", _column("attributes", "Run Name"), *columns],  # "1" has the boxes to tick
        "runsHiddenMode": "SHOW_ALL",
        "compareRunCharts": charts,
        "compareRunSections": [_section(number, name) for number, name in enumerate(sections) if sections[name]],
        "isAccordionReordered": True,  # else the sections would be sorted by name
    }


def _section(number: int, name: str) -> dict[str, Any]:
    """A part of the page: the first over its whole width, three open, the others closed."""
    return {
        "uuid": name,
        "name": name,
        "display": number < 3,
        "isReordered": True,
        "columns": 1 if number == 0 else 2,
        "cardHeight": 330 if number == 0 else 300,
    }


def _curve(metric: str) -> Chart:
    """A metric against the cutoff, which is its step, as it was measured: MLflow would draw it smoothed."""
    return _chart("LINE", metric, selectedMetricKeys=[metric], xAxisKey="step", lineSmoothness=0)


def _chart(kind: str, metric: str, **more: Any) -> Chart:
    return {"uuid": f"{kind} {metric}", "type": kind, "metricKey": metric, **more}


def _column(kind: str, name: str) -> str:
    """A column as MLflow names it, and orders runs by it."""
    return f"{kind}.`{name}`"
