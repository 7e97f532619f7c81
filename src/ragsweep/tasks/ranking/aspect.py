"""What one aspect of a ranking, such as its ties or its incomplete judgments, adds to a measurement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Aspect:
    """What is said and recorded of one aspect; nothing where there is nothing to say.

    Attributes:
        notices: What is printed at once, one sentence each.
        cautions: The sentences without which the values would mislead.
        sections: What the report says, by heading.
        facts: JSON-compatible values for programs.
    """

    notices: Sequence[str] = ()
    cautions: Sequence[str] = ()
    sections: Mapping[str, Sequence[str]] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)


def together(*aspects: Aspect) -> Aspect:
    """All that is said of some aspects, in their order."""
    return Aspect(
        [notice for each in aspects for notice in each.notices],
        [caution for each in aspects for caution in each.cautions],
        {heading: said for each in aspects for heading, said in each.sections.items()},
        {name: value for each in aspects for name, value in each.facts.items()},
    )
