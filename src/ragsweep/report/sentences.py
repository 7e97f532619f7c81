"""A claim, and the sentence that says it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any, ClassVar

from ragsweep.core.terminal import counted, one_line
from ragsweep.report.value_words import in_sentence, listed, p_value, rough

if TYPE_CHECKING:
    from jinja2 import Template

Numbers = dict[str, Any]
VETOES, HEADLINE, EVIDENCE = "vetoes", "headline", "evidence"  # the kinds in claims.toml, and two places


@dataclass(frozen=True)
class Claim:
    """A thing that is known of a decision, or of what a task measured.

    Attributes:
        name: Of its sentence in claims.toml.
        numbers: What the sentence and `decision.json` need.
        place: Whether the headline says it, or the evidence.
        vetoes: Whether nothing is shipped while it holds.
        about: What sentences may name besides: the choice, its value, the queries.
        package: That has claims.toml.
    """

    package: ClassVar[str] = __package__

    name: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    place: str = HEADLINE
    vetoes: bool = False
    about: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def sentence(self) -> str:
        """Its sentence, on one line."""
        return one_line(" ".join(_template(self.package, self.name).render({**self.about, **self.numbers}).split()))


def sentences(claims: Iterable[Claim], place: str = HEADLINE) -> list[str]:
    """The sentences of the claims of one place, in their order."""
    return [sentence for claim in claims if claim.place == place and (sentence := claim.sentence)]


@cache
def _template(package: str, name: str) -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {
        "an": lambda text: f"{'an' if text[0] in 'aeiou' else 'a'} {text}",
        "counted": counted,
        "listed": listed,
        "lower": in_sentence,
        "more": lambda number: _up(number, min(0, 1 - floor(log10(number)))),
        "n2": "{:.2f}".format,
        "n3": "{:.3f}".format,
        "numbers": lambda counts: listed([f"{count} ({label})" for label, count in counts.items()]),
        "p": p_value,
        "percent": lambda share, digits=0: f"{share:.{digits}%}",
        "paid": lambda price: f"{rough(price[0])} {price[1]}",
        "rough": rough,
        "shares": lambda shares: listed([f"{label} ({100 * share:.0f} %)" for label, share in shares.items()]),
        "up": _up,
    }
    return environment.from_string(next(kind[name] for kind in words_of(package).values() if name in kind))


@cache
def words_of(package: str) -> dict[str, dict[str, str]]:
    """The sentences in a package's claims.toml, by kind and by name."""
    return tomllib.loads(files(package).joinpath("claims.toml").read_text("utf-8"))


def _up(number: float, digits: int) -> str:
    """A number rounded up, so that what is said of it holds: less is not found, and fewer queries do not find it."""
    return f"{ceil(round(number * 10**digits, 6)) / 10**digits:,.{max(0, digits)}f}"
