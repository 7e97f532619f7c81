"""The description of an experiment: the latest decision. One by a user is left alone."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from mlflow import MlflowClient

from ragsweep.report.markup import markdown
from ragsweep.tracking.tracking_store import UNREACHABLE

NOTE = "mlflow.note.content"
LATEST = "Latest decision: "
LONGEST_DESCRIPTION_LINE = 600  # characters
DATE = r"\d{4}-\d\d-\d\d \d\d:\d\d"
LINE = re.compile(rf"{LATEST}\[(?:\\.|[^\]\\])*\]\(#/experiments/\d+/runs/(\w+)\), ({DATE}): .*")


class Decided(NamedTuple):
    """The decision of a sweep.

    Attributes:
        run_id: Its parent run.
        name: What was swept, and after a colon what was chosen.
        headline: The first sentence.
        start: When it was decided, or began.
    """

    run_id: str
    name: str
    headline: str
    start: datetime


def describe(client: MlflowClient, experiment_id: str, decided: Decided) -> None:
    """Make a decision the experiment's description, unless that has a later one, or a user has written it."""
    link = f"[{markdown(decided.name)}](#/experiments/{experiment_id}/runs/{decided.run_id})"
    date = f"{decided.start:%Y-%m-%d %H:%M}"
    with suppress(*UNREACHABLE):  # the decision is in the run, too
        known = client.get_experiment(experiment_id).tags.get(NOTE, "")
        found = LINE.fullmatch(known)
        if not known or (found and (found[1] == decided.run_id or found[2] <= date)):
            said = f"{LATEST}{link}, {date}: {markdown(decided.headline)}"
            client.set_experiment_tag(experiment_id, NOTE, said[: LONGEST_DESCRIPTION_LINE + len(LATEST)])
