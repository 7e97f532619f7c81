"""The description of an experiment: the latest decisions of its sweeps. A description by a user is left alone."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from mlflow import MlflowClient

from ragsweep.report.markup import markdown
from ragsweep.tracking.store import UNREACHABLE

NOTE = "mlflow.note.content"
TITLE = "Latest decisions of ragsweep, the newest first:"
MOST = 5
LONGEST_LINE = 600  # characters


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
        if known and not known.startswith(TITLE):
            return
        link = f"[{markdown(name)}](#/experiments/{experiment_id}/runs/{run_id})"
        line = f"- {datetime.now():%Y-%m-%d %H:%M} {link}: {markdown(headline)}"[:LONGEST_LINE]
        others = [each for each in known.splitlines()[1:] if each.startswith("- ") and f"/runs/{run_id})" not in each]
        client.set_experiment_tag(experiment_id, NOTE, "\n".join([TITLE, "", line, *others[: MOST - 1]]))
