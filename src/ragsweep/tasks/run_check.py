"""Checks of a run: what a plugin says of the items that a run measures, before and after it measures them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pkgutil import resolve_name
from typing import Any, Protocol

from ragsweep.core.errors import ConfigError, first_line
from ragsweep.core.plugins import plugins
from ragsweep.store.code import kind_of
from ragsweep.tasks.task import Items, Measurement, Task


@dataclass(frozen=True)
class Checked:
    """What is said of a run besides its scores, by a check or a task.

    Each field is added to the field of this name of the measurement.

    Attributes:
        findings: What is unusual about the items, one sentence each.
        notices: What the terminal says.
        caution: What must be said before any result; empty if nothing must.
        sections: Sections of the report.
        files: Files of the run's results, as lines.
        facts: JSON-compatible values for programs.
    """

    findings: Sequence[str] = ()
    notices: Sequence[str] = ()
    caution: str = ""
    sections: Mapping[str, Sequence[str]] = field(default_factory=dict)
    files: Mapping[str, Iterable[str]] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def section(cls, heading: str, sentences: Sequence[str], *, cautions: Sequence[str] = (), **more: Any) -> Checked:
        """Sentences for the terminal and the report; nothing where there are none. Some of them are cautions."""
        sections = {heading: sentences} if sentences else {}
        return cls(notices=sentences, caution=" ".join(cautions), sections=sections, **more)

    def added_to(self, measurement: Measurement) -> Measurement:
        """The measurement with what the check says."""
        return replace(
            measurement,
            findings=[*measurement.findings, *self.findings],
            notices=[*measurement.notices, *self.notices],
            caution=" ".join(filter(None, (measurement.caution, self.caution))),
            sections={**measurement.sections, **self.sections},
            files={**measurement.files, **self.files},
            facts={**measurement.facts, **self.facts},
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


def remarks_of(check: RunCheck, task: Task, items: Items) -> Checked:
    """What a check says. Raises `TypeError` if that is something else."""
    checked = check.examine(task, items)
    if not isinstance(checked, Checked):
        raise TypeError(f"{kind_of(check)}.examine: returned {type(checked).__name__}, expected Checked")
    return checked


def installed_checks() -> dict[str, type[RunCheck]]:
    """The classes of the checks that plugins bring, by the groups that have their settings.

    Raises:
        ConfigError: A class cannot be imported, or two plugins bring the check of one group.
    """
    checks: dict[str, type[RunCheck]] = {}
    for name, plugin in plugins().items():
        for group, named in plugin.checks.items():
            if group in checks:
                raise ConfigError(f"plugin {name}: another plugin has the check {group!r}, too; uninstall one of them")
            try:
                checks[group] = resolve_name(named)
            except (Exception, SystemExit) as error:  # it is anybody's code
                reason = f"{type(error).__name__}: {first_line(error)}"
                raise ConfigError(f"plugin {name}: its check {named} cannot be loaded ({reason})") from error
    return checks
