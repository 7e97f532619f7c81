"""The saved view of a sweep in the MLflow UI: its runs, best first, with the columns and charts that compare them.

MLflow keeps a view as a tag of the experiment, with the compressed state of the page that `view.json` describes. Where
its version is not one whose page we know, the address has what every version understands: filter, order and charts.
"""

from __future__ import annotations

import base64
import json
import sys
import time
import zlib
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from importlib.resources import files
from urllib.parse import quote, urlencode

from jinja2 import Template
from mlflow import MlflowClient

from ragsweep.core.errors import TrackingError, first_line
from ragsweep.tracking.client import version_of
from ragsweep.tracking.decision_tags import DECISION
from ragsweep.tracking.mlflow_names import tagged
from ragsweep.tracking.stored_run import StoredRun
from ragsweep.tracking.tracked_job import DECIDED, LOWER_IS_BETTER, PARENT
from ragsweep.tracking.tracking_store import UNREACHABLE, existing_store

KNOWN_MLFLOW = "3.17."  # tests/browser looks at its page
TAG, KEY = "mlflow.sharedViewState.", "sweep-"  # of an experiment's tag; the parent's run id follows
LONGEST_VIEW = 20_000  # characters of such a tag
BY_HAND = ' (or click "Model training", the experiment, "Views")'  # to a saved view: MLflow begins at traces
COSTS, COST_COLUMNS = ("context/", "latency/", "index/"), ("context/tokens", "latency/mean_ms")


def save_view(
    uri: str, every: Sequence[StoredRun], parent_run_id: str, cutoff: tuple[str, int] | None = None, name: str = ""
) -> bool:
    """Save the view of a sweep, of its runs at one cutoff where that is given, in every experiment that has some.

    Returns:
        Whether it was saved. It is not if no run has metrics, MLflow's version is not known, or the store refuses it.
    """
    runs = [run for run in every if run.values]
    with suppress(TrackingError, ValueError, OverflowError, *UNREACHABLE):  # anybody may have written the runs
        if not runs or not version_of(uri).startswith(KNOWN_MLFLOW):
            return False
        client = MlflowClient(uri)
        parent = client.get_run(parent_run_id).info
        started = datetime.fromtimestamp(parent.start_time / 1000)
        view = {"name": f"{name or parent.run_name}, {started:%Y-%m-%d %H:%M}", "createdAt": int(time.time() * 1000)}
        conditions = [tagged(PARENT, parent_run_id)]
        if any(run.tags.get(PARENT) != parent_run_id for run in every):  # reused ones of other sweeps
            ids = ", ".join(f"'{run.run_id}'" for run in every)
            conditions.insert(0, f"attributes.run_id IN ({ids})")  # MLflow's filters have no OR
        for condition in conditions:
            at = f" AND params.`{cutoff[0]}` = '{cutoff[1]}'" if cutoff else ""
            state = base64.b64encode(zlib.compress(_state(condition + at, runs, cutoff).encode(), 9)).decode()
            value = json.dumps({**view, "state": f"deflate;{state}"})
            if len(value) <= LONGEST_VIEW:
                break
        experiments = {run.experiment_id for run in every}
        if len(experiments) == 1:  # of several datasets, the parent's has no run that the view could show
            experiments.add(parent.experiment_id)
        for experiment_id in experiments:
            client.set_experiment_tag(experiment_id, f"{TAG}{KEY}{parent_run_id}", value)
        return True
    return False


def sweep_address(experiment_id: str, parent_run_id: str, decided_by: str, *, saved: bool) -> str:
    """The address of a sweep within the UI: its saved view, or its runs as charts, the best first by what decides."""
    page = {"workflowType": "machine_learning", "compareRunsMode": "CHART"}
    if saved:  # with a filter or an order in the address, MLflow would not load those of the view
        page["viewStateShareKey"] = f"{KEY}{parent_run_id}"
    else:  # sorted by time, MLflow would hide child runs below their parent
        order = {"orderByKey": f"metrics.`{decided_by}`", "orderByAsc": "false"} if decided_by else {}
        page |= {"searchFilter": tagged(PARENT, parent_run_id), **order}
    return f"#/experiments/{quote(experiment_id, safe='')}/runs?{urlencode(page, quote_via=quote)}"


def print_latest_sweep(uri: str, ui: str) -> None:
    """Print the address of a store's latest decided sweep in the UI at `ui`, or why it is not known.

    Raises:
        RefusedError: MLflow would not serve the store either.
    """
    try:
        client = existing_store(uri)
        views = {experiment.experiment_id: experiment.tags for experiment in client.search_experiments()}
        latest = client.search_runs([*views], tagged(DECIDED, "true"), max_results=1)  # the latest is the first
        for run in latest:
            run_id, tag = run.info.run_id, f"{TAG}{KEY}{run.info.run_id}"
            saved = [experiment for experiment, tags in views.items() if tag in tags]
            experiment = saved[0] if saved else run.info.experiment_id
            address = sweep_address(experiment, run_id, "", saved=bool(saved))
            print(f"the latest sweep: {ui}/{address}{BY_HAND if saved else ''}", flush=True)
    except FileNotFoundError:
        return
    except UNREACHABLE as error:
        print(f"the latest sweep is not known ({first_line(error)})", file=sys.stderr)


def _state(condition: str, runs: Sequence[StoredRun], cutoff: tuple[str, int] | None) -> str:
    """The state of the page: columns and charts of the decision, the settings that differ, and the metrics."""
    titles = runs[0].titles
    metrics = sorted({name for run in runs for name in run.values})
    at_k = [name.removeprefix("at_k/") for name in metrics if name.startswith("at_k/")]
    costs = [name for name in metrics if name.startswith(COSTS)]
    main = [name for name in dict.fromkeys([*titles, *at_k]) if name in metrics and name not in costs]
    curves = [f"at_k/{name}" for name in [*main, *costs] if name in at_k]
    by_type = [name for name in metrics if name.startswith("by_type/")]
    hidden = sorted({*metrics}.difference(main, curves, by_type, costs))  # MLflow would draw them by itself
    decides = next(iter(main), "")
    values = {name: {run.params.get(name) for run in runs} for name in runs[0].params if name != (cutoff or [""])[0]}
    settings = [name for name in values if len(values[name]) > 1 and None not in values[name]]
    columns = [f"tags.`{DECISION}`", *(f"params.`{name}`" for name in settings)]
    columns += [f"metrics.`{name}`" for name in (*main, *COST_COLUMNS) if name in metrics]
    charts = {"decides": decides, "main": main, "curves": curves, "by_type": by_type, "costs": costs, "hidden": hidden}
    shown = {"condition": condition, "columns": columns, "settings": settings, "title": titles.get(decides, decides)}
    page = Template(files("ragsweep.tracking").joinpath("view.json").read_text("utf-8"))
    return str(page.render(charts, **shown, lower_is_better=LOWER_IS_BETTER in runs[0].tags))
