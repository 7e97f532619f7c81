"""A problem of a dataset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


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
