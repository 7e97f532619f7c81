"""The first line of a journal of judgments: what is decided between, by what, and what may be judged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, Len, Lt

from ragsweep.core.errors import ConfigError
from ragsweep.core.json_records import from_record
from ragsweep.core.parsing import MB
from ragsweep.statistics.intervals import Array
from ragsweep_audit.judging.pool import Pair, Pool, Shown

SCHEMA: Literal[1] = 1
BEGINS = b'{"schema": '  # a journal
LARGEST_HEAD_MB = 200
REPLACED = {"pool": "other configurations, data or judgments", "guesser": "guesses of another language model"}

RecordedPair = tuple[str, str, float | None, list[int]]


@dataclass(frozen=True, kw_only=True)
class JournalHead:
    """What is decided between, by what, and with which settings.

    Attributes:
        pool: Digest of the pool.
        key: Names this journal among others.
        configurations: Their names.
        queries: How many queries the metric is the mean of.
        pairs: The id of the query, the unit, the grade before, and the rank in each configuration, from 0, or -1.
        guesser: As of `Pool`.
        guessed: As of `Pool`, with None where nothing is guessed.
    """

    schema: Literal[1]
    strategy: Literal["race"]
    metric: Literal["dcg", "precision"]
    k: Annotated[int, Ge(1)]
    margin: Annotated[float, Ge(0)]
    level: Annotated[float, Gt(0), Lt(1)]
    seed: Annotated[int, Ge(0)]
    highest: Annotated[int, Ge(1), Le(9)]
    pool: str
    key: str
    configurations: Annotated[list[str], Len(2)]
    queries: Annotated[int, Ge(1)]
    pairs: list[RecordedPair]
    guesser: str | None = None
    guessed: list[float | None] | None = None

    @classmethod
    def read(cls, path: Path) -> JournalHead | None:
        """The first line of a journal; None if none was written to its end. Raises `ConfigError` for another file."""
        try:
            with path.open("rb") as file:
                line = file.readline(LARGEST_HEAD_MB * MB)
            if not line.endswith(b"\n") and line == (BEGINS + line[len(BEGINS) :])[: len(line)]:
                return None  # a process was killed while it wrote this
            return from_record(cls, line.decode())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path}: is no journal of judgments that can be read ({error})") from error

    @property
    def guesses(self) -> Array | None:
        """What was guessed, shape [pairs]."""
        return None if self.guessed is None else np.array(self.guessed, dtype=float)

    def as_pool(self, path: Path) -> Pool:
        """The pool, without the texts. Raises `ConfigError` if the file was changed."""
        judged = np.array([grade for _, _, grade, _ in self.pairs], dtype=float)
        pairs = [Pair(query_id, "", unit, _no_text) for query_id, unit, *_ in self.pairs]
        try:
            ranks = np.array([row for *_, row in self.pairs], dtype=np.int64)
            ranks = ranks.reshape(len(pairs), len(self.configurations)).T
            pool = Pool(self.configurations, pairs, ranks, judged, self.queries, self.metric, self.k, self.guesses)
            changed = pool.digest != self.pool
        except (IndexError, OverflowError, ValueError) as error:
            raise ConfigError(f"{path}, line 1: cannot be read ({error})") from error
        if changed:
            raise ConfigError(f"{path}, line 1: what is judged is not what its digest says; the file was changed")
        return pool

    def expect(self, path: Path, **settings: object) -> None:
        """Raise `ConfigError` for the first setting, or pool, that the journal was not begun with."""
        for name, value in settings.items():
            if vars(self)[name] != value:
                begun = f"was begun with {REPLACED.get(name, f'{name} {vars(self)[name]}')}"
                raise ConfigError(f"{path}: {begun}; name another file, or repeat the command as it was")


def recorded(pool: Pool) -> dict[str, object]:
    """The pool as fields of `JournalHead`."""
    names = [(pair.query_id, pair.unit) for pair in pool.pairs]
    rows = zip(names, _without_nan(pool.judged), pool.ranks.T.tolist(), strict=True)
    return {
        "configurations": [*pool.labels],
        "queries": pool.queries,
        "pairs": [[*name, grade, ranks] for name, grade, ranks in rows],
        "guessed": None if pool.guessed is None else _without_nan(pool.guessed),
    }


def _no_text() -> Shown:
    return Shown("", "", "", "")


def _without_nan(values: Array) -> list[float | None]:
    return [None if np.isnan(value) else value for value in values.tolist()]
