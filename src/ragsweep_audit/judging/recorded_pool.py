"""What can be judged, as the first line of a journal keeps it, so that the journal alone shows what it decides."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, Len, Lt

from ragsweep.core.errors import ConfigError
from ragsweep.core.json_records import from_record
from ragsweep.core.parsing import MB
from ragsweep.statistics.intervals import Array
from ragsweep_audit.judging.pool import Pair, Pool
from ragsweep_audit.judging.shared_lines import SharedLines
from ragsweep_audit.judging.shown_text import Shown

BEGINS = b'{"version": '  # a journal
LARGEST_HEAD_MB = 200

RecordedPair = tuple[str, str, float | None, list[int]]


@dataclass(frozen=True, kw_only=True)
class RecordedPool:
    """The first line of a journal: what is decided between, by what, and with which settings.

    Attributes:
        pool: Digest of the pool.
        configurations: Their names.
        queries: How many queries the metric is the mean of.
        weights: Each value that a weight has.
        pairs: The id of the query, the unit, the grade before, and where in `weights` that of each configuration is.
        guessed: As of `Pool`, with None where nothing is guessed.
    """

    version: Literal[1]
    strategy: Literal["race", "pooling"]
    metric: str
    k: Annotated[int, Ge(1)]
    margin: Annotated[float, Ge(0)]
    level: Annotated[float, Gt(0), Lt(1)]
    seed: Annotated[int, Ge(0)]
    highest: Annotated[int, Ge(1), Le(9)]
    pool: str
    configurations: Annotated[list[str], Len(2)]
    queries: Annotated[int, Ge(1)]
    weights: list[float]
    pairs: list[RecordedPair]
    guessed: list[float | None] | None = None

    @classmethod
    def read(cls, path: Path) -> RecordedPool:
        """Read the first line of a journal. Raises `ConfigError` unless it is one."""
        try:
            with path.open("rb") as file:
                line = file.readline(LARGEST_HEAD_MB * MB)
            return from_record(cls, line.decode())
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path}: is no journal of judgments that can be read ({error})") from error

    @classmethod
    def begun(cls, path: Path) -> RecordedPool | None:
        """The first line of a journal; None if none was written to its end. Raises `ConfigError` for another file."""
        with suppress(OSError):  # said where the file is written
            if path.is_file() and any(SharedLines(path, BEGINS).new()):
                return cls.read(path)
        return None

    @property
    def guesses(self) -> Array | None:
        """What was guessed, shape [pairs]."""
        return None if self.guessed is None else np.array(self.guessed, dtype=float)

    def as_pool(self, path: Path) -> Pool:
        """The pool, without the texts. Raises `ConfigError` if the file was changed."""
        judged = np.array([grade for _, _, grade, _ in self.pairs], dtype=float)
        try:
            places = np.array([each for *_, each in self.pairs], dtype=np.int64)
            weights = np.array(self.weights)[places.reshape(len(self.pairs), len(self.configurations)).T]
        except (IndexError, OverflowError, ValueError) as error:
            raise ConfigError(f"{path}, line 1: cannot be read ({error})") from error
        pairs = [Pair(query_id, "", unit, _no_text) for query_id, unit, *_ in self.pairs]
        pool = Pool(self.configurations, pairs, weights, judged, self.queries, self.metric, self.k, self.guesses)
        if pool.digest != self.pool:
            raise ConfigError(f"{path}, line 1: what is judged is not what its digest says; the file was changed")
        return pool


def _no_text() -> Shown:
    return Shown("", "", "", "")


def recorded(pool: Pool) -> dict[str, Any]:
    """The pool as fields of `RecordedPool`."""
    weights = np.unique(pool.weights)
    judged = _without_nan(pool.judged)
    of_pairs = np.searchsorted(weights, pool.weights).T.tolist()
    pairs = [
        [pair.query_id, pair.unit, grade, row] for pair, grade, row in zip(pool.pairs, judged, of_pairs, strict=True)
    ]
    return {
        "configurations": [*pool.labels],
        "queries": pool.queries,
        "weights": weights.tolist(),
        "pairs": pairs,
        "guessed": None if pool.guessed is None else _without_nan(pool.guessed),
    }


def _without_nan(values: Array) -> list[float | None]:
    return [None if np.isnan(each) else each for each in values.tolist()]
