"""What to judge, as the options of `ragsweep judge` say it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from math import nextafter
from pathlib import Path
from typing import Annotated

from ragsweep.config.annotations import as_configured, signature_of
from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Between
from ragsweep.datasets.readers.fields import flaw_of_text

LONGEST_NAME = 100  # characters


@dataclass(frozen=True, kw_only=True)
class JudgeRequest:
    """What to judge.

    Attributes:
        sweep_id: The sweep; empty if `overrides` list the configurations.
        grades: The highest grade.
        budget: How many judgments there may be in the journal; None if any number.
        verify: Whether nothing is asked, nor written.
        source: A file of judgments, or `dataset`, that stands for the judge; None asks a person.
        port: Where a page asks, 0 for any free port; None asks at the terminal.
        guess: Whether a language model guesses what is relevant, which steers what is asked.
        guess_tokens: The most tokens of one reply of that model.
        allow: Modules outside ragsweep whose classes a record may name.
    """

    sweep_id: str
    overrides: Sequence[str]
    metric: str
    margin: Annotated[float, Between(0)]
    level: Annotated[float, Between(nextafter(0, 1), nextafter(1, 0))]
    grades: Annotated[int, Between(1, 9)]
    budget: Annotated[int, Between(0)] | None
    verify: bool
    journal: Path
    source: str | None
    port: int | None
    judge: str
    seed: Annotated[int, Between(0)]
    guess: bool
    guess_tokens: Annotated[int, Between(1, 1_000_000)]
    out: Path | None
    allow: Sequence[str]

    def __post_init__(self) -> None:
        for name, parameter in signature_of(JudgeRequest).parameters.items():
            if words := parameter.expected(value := getattr(self, name)):
                raise ConfigError(f"--{name.replace('_', '-')}: found {as_configured(value)}, expected {words}")
        if self.out and os.path.lexists(self.out):
            raise ConfigError(f"--out: {self.out} exists; name a new file")
        if self.out and self.out.suffix != ".tsv":
            raise ConfigError(f"--out: found {self.out.name!r}, expected a name that ends in .tsv, such as qrels.tsv")
        if self.journal.is_dir():
            raise ConfigError(f"--journal: {self.journal} is a folder; expected a file")
        if self.verify and self.out:
            raise ConfigError("--verify: writes nothing; expected no --out with it")
        if flaw := flaw_of_text(self.judge):
            raise ConfigError(f"--judge: {self.judge!r} {flaw}; expected a name in UTF-8")
        if len(self.judge) > LONGEST_NAME:
            raise ConfigError(f"--judge: found {len(self.judge):,} characters, expected at most {LONGEST_NAME}")
