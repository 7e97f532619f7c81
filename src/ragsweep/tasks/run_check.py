"""Checks of a run: what a plugin says of the items that a run measures, before and after it measures them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Protocol

from ragsweep.core.plugins import plugins
from ragsweep.tasks.task import Items, Measurement, Task


@dataclass(frozen=True)
class Checked:
    """What a check says of a run. Each field is added to the field of this name of the measurement.

    Attributes:
        findings: What is unusual about the items, one sentence each.
        notices: What the terminal says.
        caution: What must be said before any result; empty if nothing must.
        sections: Sections of the report.
        files: Files of the run's results, as lines.
    """

    findings: Sequence[str] = ()
    notices: Sequence[str] = ()
    caution: str = ""
    sections: Mapping[str, Sequence[str]] = field(default_factory=dict)
    files: Mapping[str, Iterable[str]] = field(default_factory=dict)

    def added_to(self, measurement: Measurement) -> Measurement:
        """The measurement with what the check says."""
        return replace(
            measurement,
            findings=[*measurement.findings, *self.findings],
            notices=[*measurement.notices, *self.notices],
            caution=" ".join(filter(None, (measurement.caution, self.caution))),
            sections={**measurement.sections, **self.sections},
            files={**measurement.files, **self.files},
        )


class RunCheck(Protocol):
    """A check of a run; its fields are the settings of its group in the configuration.

    A check changes no number: its settings are in no digest and in no param.
    """

    def accept(self, task: Task, items: Items) -> None:
        """Raise an error if the items must not be measured. Called before a run is recorded."""
        ...

    def examine(self, task: Task, items: Items) -> Checked:
        """What is to be said of the items that the task measures; nothing if the check does not know such a task."""
        ...


def installed_checks() -> dict[str, type[RunCheck]]:
    """The classes of the checks that plugins bring, by the groups that have their settings."""
    named = {group: name for plugin in plugins().values() for group, name in plugin.checks.items()}
    return {group: _class_of(name) for group, name in named.items()}


def _class_of(name: str) -> type[RunCheck]:
    module, _, attribute = name.partition(":")
    found: type[RunCheck] = getattr(import_module(module), attribute)
    return found
