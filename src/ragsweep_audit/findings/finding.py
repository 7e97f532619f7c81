"""A problem of a dataset, and all that an audit says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ragsweep.datasets.model.dataset import Dataset, Passage

NOTHING_WRONG = "The audit found nothing wrong with the dataset."


@dataclass(frozen=True)
class Finding:
    """A kind of problem that a dataset has.

    Attributes:
        kind: Its name in settings and files, such as `shifted_pages`.
        problem: What was found, in one sentence with the numbers.
        cost: What it does to the measured numbers, in one sentence.
        advice: What to do about it, in one sentence.
        count: How many things have the problem.
        out_of: How many things were checked.
        examples: Names of the first of them.
        details: Further JSON-compatible values for programs.
    """

    kind: str
    problem: str
    cost: str
    advice: str
    count: int
    out_of: int
    examples: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Problem, cost and advice, for a report."""
        return " ".join(each for each in (self.problem, self.cost, self.advice) if each)


@dataclass(frozen=True)
class Audit:
    """What an audit says of a dataset.

    Attributes:
        findings: The problems that it has.
        not_checked: What was not looked for, or only in a part of the dataset, one sentence each.
        undetectable: What was looked for and would be missed in this dataset, one sentence each.
        groups: What the groups of queries cost, if there are any, one sentence.
    """

    findings: tuple[Finding, ...] = ()
    not_checked: tuple[str, ...] = ()
    undetectable: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    @property
    def sentences(self) -> list[str]:
        """The findings for a report, or that there are none as far as was checked."""
        clean = " ".join((NOTHING_WRONG, *self.not_checked, *self.undetectable))
        return [*([each.text for each in self.findings] or [clean]), *self.groups]


def page_name(dataset: Dataset, passage: Passage) -> str:
    """What a passage is called in a finding: its first page, or its document if documents are judged."""
    return passage.source if dataset.unit == "document" else f"{passage.source}#{passage.page_number}"
