"""The description of an experiment: the latest decision of each kind of sweep. One by a user is left alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from mlflow import MlflowClient

from ragsweep.report.markup import markdown
from ragsweep.tracking.tracking_store import UNREACHABLE

NOTE = "mlflow.note.content"
LATEST = "Latest decision: "  # MLflow shows only the first line before somebody unfolds the description
EARLIER = "- "
MOST_SWEEPS = 5
LONGEST_DESCRIPTION_LINE = 600  # characters
DATE = r"\d{4}-\d\d-\d\d \d\d:\d\d"
LINK = r"\[((?:\\.|[^\]\\])*)\]\(#/experiments/\d+/runs/(\w+)\)"
LINE = re.compile(rf"({LATEST}|{EARLIER})?({LINK}, ({DATE}): .*)")


class Decided(NamedTuple):
    """The decision of a sweep.

    Attributes:
        run_id: Its parent run.
        name: What was swept, and after a colon what was chosen. Sweeps of the same settings are of one kind.
        headline: The first sentence.
        start: When it was decided, or began.
    """

    run_id: str
    name: str
    headline: str
    start: datetime


class _Line(NamedTuple):
    text: str
    kind: str
    run_id: str
    date: str


def describe(client: MlflowClient, experiment_id: str, decided: Decided) -> None:
    """Put a decision at the top of the experiment's description.

    The decision of the same sweep, and earlier ones of sweeps of the same kind, are replaced.
    """
    with suppress(*UNREACHABLE):  # the decision is in the run, too
        known = _lines(client, experiment_id)
        if known is None:
            return
        new = _line(experiment_id, decided)
        alike = [each for each in known if each.run_id == new.run_id or each.kind == new.kind]
        latest = max([new, *(each for each in alike if each.run_id != new.run_id)], key=lambda each: each.date)
        _write(client, experiment_id, [latest, *(each for each in known if each not in alike)])


def _line(experiment_id: str, decided: Decided) -> _Line:
    link = f"[{markdown(decided.name)}](#/experiments/{experiment_id}/runs/{decided.run_id})"
    text = f"{link}, {decided.start:%Y-%m-%d %H:%M}: {markdown(decided.headline)}"[:LONGEST_DESCRIPTION_LINE]
    return _Line(text, _kind(markdown(decided.name)), decided.run_id, f"{decided.start:%Y-%m-%d %H:%M}")


def _kind(name: str) -> str:
    return name.partition(": ")[0]


def _lines(client: MlflowClient, experiment_id: str) -> list[_Line] | None:
    """The lines of the description; None if a user has written it."""
    known = client.get_experiment(experiment_id).tags.get(NOTE, "")
    found = [LINE.fullmatch(line) for line in known.splitlines() if line]
    if known and (not all(found) or not known.startswith(LATEST)):
        return None
    return [_Line(each[2], _kind(each[3]), each[4], each[5]) for each in found if each]


def _write(client: MlflowClient, experiment_id: str, lines: Sequence[_Line]) -> None:
    by_date = sorted(lines, key=lambda each: each.date, reverse=True)[:MOST_SWEEPS]
    rest = "\n".join(f"{EARLIER}{each.text}" for each in by_date[1:])
    client.set_experiment_tag(experiment_id, NOTE, "\n\n".join(filter(None, [f"{LATEST}{by_date[0].text}", rest])))
