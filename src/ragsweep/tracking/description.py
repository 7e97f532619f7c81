"""The description of an experiment: the latest decisions of its sweeps. A description by a user is left alone."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from mlflow import MlflowClient

from ragsweep.report.markup import markdown
from ragsweep.tracking.tracking_store import UNREACHABLE

NOTE = "mlflow.note.content"
LATEST = "Latest decision: "  # MLflow shows only the first line before somebody unfolds the description
MOST_SWEEPS = 5
LONGEST_DESCRIPTION_LINE = 600  # characters


def describe(client: MlflowClient, experiment_id: str, run_id: str, name: str, headline: str) -> None:
    """Put a decision at the top of the experiment's description.

    Args:
        client: Of the store.
        experiment_id: The experiment.
        run_id: The parent run of the sweep. Its earlier decision, if there is one, is replaced.
        name: The name of the sweep.
        headline: The first sentence of the decision.
    """
    with suppress(*UNREACHABLE):  # the decision is in the run, too
        known = client.get_experiment(experiment_id).tags.get(NOTE, "")
        if known and not known.startswith(LATEST):
            return
        link = f"[{markdown(name)}](#/experiments/{experiment_id}/runs/{run_id})"
        line = f"{link}, {datetime.now():%Y-%m-%d %H:%M}: {markdown(headline)}"[:LONGEST_DESCRIPTION_LINE]
        earlier = [each.removeprefix(LATEST).removeprefix("- ") for each in known.splitlines() if each]
        others = [f"- {each}" for each in earlier if f"/runs/{run_id})" not in each]
        client.set_experiment_tag(experiment_id, NOTE, "\n".join([f"{LATEST}{line}", "", *others[: MOST_SWEEPS - 1]]))
