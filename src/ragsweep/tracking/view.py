"""The saved view of a sweep in the MLflow UI: its runs, best first, with the columns and charts that compare them.

MLflow stores a view as a tag of the experiment: the compressed state of the page, as its button "Save view" writes it.
The names in the state are those of the UI of MLflow 3.17. They are not documented; a test with a browser checks them.
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
from ragsweep.tracking.names import tagged
from ragsweep.tracking.sweep_runs import StoredSweep, SweepRun, sweep_runs
from ragsweep.tracking.tracked_job import LOWER_IS_BETTER, MEASURED, PARENT
from ragsweep.tracking.tracking_store import UNREACHABLE, existing_store
from ragsweep.tracking.ui_addresses import ui_of
from ragsweep.tracking.verdicts import DECISION

TAG = "mlflow.sharedViewState."  # tag of an experiment; the view's key follows
KEY = "sweep-"  # our keys begin with this; the parent's run id follows
LONGEST_VIEW = 20_000  # characters of an experiment's tag that MLflow accepts
CURVE, BY_TYPE = "at_k/", "by_type/"  # groups of metrics, as they are logged
SHOWN_COSTS = ("context/tokens", "latency/mean_ms")  # in the table
COSTS = ("context/", "latency/", "index/")

SETTINGS = "Settings"  # the section that draws all of them

Chart = dict[str, Any]


def save_view(sweep: StoredSweep, parent_run_id: str, cutoff: tuple[str, int] | None = None) -> bool:
    """Save the view of a sweep in every experiment that has a run of it.

    Args:
        sweep: All its runs.
        parent_run_id: Its parent run.
        cutoff: The setting and the value of the cutoff that the view shows, of several; None shows all runs.

    Returns:
        Whether it was saved. It is not saved if no run has metrics or the store refuses it, which is no error.
    """
    measured = [each for each in sweep.runs if each.run.data.metrics]
    if not measured:
        return False
    with suppress(ValueError, OverflowError, *UNREACHABLE):  # anybody may have written a start in the year 31690708
        parent = sweep.client.get_run(parent_run_id).info
        name = f"{parent.run_name}, {datetime.fromtimestamp(parent.start_time / 1000):%Y-%m-%d %H:%M}"
        metrics = sorted({name for each in measured for name in each.run.data.metrics})
        lower = LOWER_IS_BETTER in measured[0].run.data.tags
        settings = [name for name in _settings(measured) if cutoff is None or name != cutoff[0]]
        state = _state(settings, metrics, _measured(measured), lower_is_better=lower)
        at = f" AND params.`{cutoff[0]}` = '{cutoff[1]}'" if cutoff else ""
        for condition in _conditions(parent_run_id, sweep.runs):
            value = _tag(name, {"searchFilter": f"{condition}{at}", **state})
            if len(value) <= LONGEST_VIEW:
                break
        experiments = {each.run.info.experiment_id for each in sweep.runs}
        if len(experiments) == 1:  # of several datasets, the parent's has no run that the view could show
            experiments.add(parent.experiment_id)
        for experiment_id in experiments:
            sweep.client.set_experiment_tag(experiment_id, f"{TAG}{KEY}{parent_run_id}", value)
        return True
    return False


def save_view_of(client: MlflowClient, run_id: str) -> bool:
    """Save the view of the sweep with this parent run. Does nothing for other runs."""
    with suppress(TrackingError, ValueError, OverflowError, *UNREACHABLE):  # anybody may have written the run
        return save_view(StoredSweep(client, list(sweep_runs(client, run_id))), run_id)
    return False


def sweep_address(tracking: DictConfig, experiment_id: str, parent_run_id: str, decided_by: str, *, saved: bool) -> str:
    """The address of a sweep in the UI: its runs as charts, the best first.

    Args:
        tracking: The `tracking` group of the configuration.
        experiment_id: The parent's experiment.
        parent_run_id: The sweep's parent run.
        decided_by: The metric that decides. Empty if no run has it.
        saved: Whether its view was saved in the store.
    """
    base = ui_of(tracking.uri)
    if saved:
        return _address(base, experiment_id, f"{KEY}{parent_run_id}")
    view = {
        "workflowType": "machine_learning",
        "searchFilter": tagged(PARENT, parent_run_id),
        "compareRunsMode": "CHART",
    }
    if decided_by:  # sorted by time, MLflow would hide child runs below their parent
        view |= {"orderByKey": _column("metrics", decided_by), "orderByAsc": "false"}
    return f"{base}/#/experiments/{quote(experiment_id, safe='')}/runs?{urlencode(view, quote_via=quote)}"


def print_latest_sweep(uri: str, ui: str) -> None:
    """Print the address of a store's latest sweep in the UI, if there is one, or why it is not known.

    Args:
        uri: The store.
        ui: The address at which the UI will be served.

    Raises:
        RefusedError: MLflow would not serve it either.
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
    except UNREACHABLE as error:
        print(f"the latest sweep is not known ({first_line(error)})", file=sys.stderr)
        return
    created, experiment_id, key = max(views, default=(0, "", ""))
    if created:
        print(f"the latest sweep: {_address(ui, experiment_id, key)}", flush=True)


def _created(view: str) -> int:
    """When a view was saved, in milliseconds since 1970. 0 if that cannot be read: anybody may have written it."""
    with suppress(MalformedError):
        page = from_json(view)
        if isinstance(page, dict) and type(page.get("createdAt")) is int:
            return int(page["createdAt"])
    return 0


def _address(base: str, experiment_id: str, key: str) -> str:
    """The address of a view. With a filter or an order in the address, MLflow would not load those of the view."""
    view = {"workflowType": "machine_learning", "compareRunsMode": "CHART", "viewStateShareKey": key}
    return f"{base}/#/experiments/{quote(experiment_id, safe='')}/runs?{urlencode(view)}"


def _conditions(parent_run_id: str, runs: Sequence[SweepRun]) -> Iterator[str]:
    """Filters that find the sweep's runs. The first one that fits into the tag is used.

    Runs of other sweeps can only be found by id, since MLflow's filters have no OR. A tag has room for some hundreds of
    ids, so the last filter finds only the sweep's own runs.
    """
    if any(each.run.data.tags.get(PARENT) != parent_run_id for each in runs):
        ids = ", ".join(f"'{each.run.info.run_id}'" for each in runs)
        yield f"attributes.run_id IN ({ids})"
    yield tagged(PARENT, parent_run_id)


def _tag(name: str, state: dict[str, Any]) -> str:
    """A view in the format of the UI."""
    page = base64.b64encode(zlib.compress(json.dumps(state).encode(), 9)).decode()
    return json.dumps({"name": name, "createdAt": int(time.time() * 1000), "state": f"deflate;{page}"})


def _settings(runs: Sequence[SweepRun]) -> list[str]:
    """The params to show: the swept settings, or if they are not params, all params in which the runs differ."""
    params = [each.run.data.params for each in runs]
    swept = list(dict.fromkeys(name for each in runs for name in each.swept))
    known = [name for name in swept if any(name in each for each in params)]
    if known == swept:
        return swept
    common = (name for name in params[0] if name not in known and all(name in each for each in params))
    return [*known, *(name for name in common if len({each[name] for each in params}) > 1)]


def _measured(runs: Sequence[SweepRun]) -> Mapping[str, str]:
    """The titles of the metrics by name, from a tag of the runs. The first is the one that decides."""
    with suppress(MalformedError):
        titles = from_json(runs[0].run.data.tags.get(MEASURED, "{}"))
        if isinstance(titles, dict) and all(isinstance(title, str) for title in titles.values()):
            return titles
    return {}


def _state(
    settings: Sequence[str], metrics: Sequence[str], measured: Mapping[str, str], *, lower_is_better: bool
) -> dict[str, Any]:
    """The state of the page: the runs, the best first, with columns and charts of decision, settings and metrics."""
    known = list(measured)
    curves = [name.removeprefix(CURVE) for name in metrics if name.startswith(CURVE)]
    place = {name: number for number, name in enumerate(known)}
    unknown = {name for name in curves if not name.startswith(COSTS)}
    main = sorted({*known, *unknown} & {*metrics}, key=lambda name: (place.get(name, len(known)), name))
    costs = [name for name in metrics if name.startswith(COSTS)]
    decides, title = next(iter(measured.items()), (main[0], main[0]) if main else ("", ""))
    columns = [_column("tags", DECISION), *(_column("params", name) for name in settings)]
    columns += [_column("metrics", name) for name in [*main, *(name for name in costs if name in SHOWN_COSTS)]]
    parallel = {"selectedParams": settings, "selectedMetrics": [decides], "showAllRuns": True}
    sections = {
        "Metrics at the run's k": [_chart("BAR", name) for name in main],
        f"{SETTINGS} and {title}": [_chart("PARALLEL", "", **parallel)] if settings else [],
        "Metrics by cutoff": [_curve(f"{CURVE}{name}") for name in [*main, *costs] if name in curves],
        f"{title} by query type": [_chart("BAR", name) for name in metrics if name.startswith(BY_TYPE)],
        "Costs": [_chart("BAR", name) for name in costs],
    }
    charts = [{**chart, "metricSectionId": name} for name, some in sections.items() for chart in some]
    drawn = {chart["metricKey"] for chart in charts}
    charts += [_chart("BAR", name, deleted=True) for name in metrics if name not in drawn]  # otherwise MLflow draws it
    return {
        "orderByKey": _column("metrics", decides),
        "orderByAsc": lower_is_better,
        "selectedColumns": columns,
        "columnOrder": ["1", _column("attributes", "Run Name"), *columns],  # "1" is the column of check boxes
        "runsHiddenMode": "FIRST_20_RUNS",  # charts of more cannot be read
        "compareRunCharts": charts,
        "compareRunSections": [_section(number, name) for number, name in enumerate(sections) if sections[name]],
        "isAccordionReordered": True,  # otherwise MLflow sorts the sections by name
    }


def _section(number: int, name: str) -> dict[str, Any]:
    """A section of the page. The one of settings has the full width, and the first three are open."""
    return {
        "uuid": name,
        "name": name,
        "display": number < 3,
        "isReordered": True,
        "columns": 1 if name.startswith(SETTINGS) else 2,
        "cardHeight": 330 if name.startswith(SETTINGS) else 300,
    }


def _curve(metric: str) -> Chart:
    """A chart of a metric against the cutoff, which is its step. Without smoothing, which is MLflow's default."""
    return _chart("LINE", metric, selectedMetricKeys=[metric], xAxisKey="step", lineSmoothness=0)


def _chart(kind: str, metric: str, **more: Any) -> Chart:
    return {"uuid": f"{kind} {metric}", "type": kind, "metricKey": metric, **more}


def _column(kind: str, name: str) -> str:
    """The name of a column in MLflow's UI and search."""
    return f"{kind}.`{name}`"
