"""Databases that somebody else has filled: the query's vector, and the rows that are found for it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from ragsweep.core.errors import ConfigError
from ragsweep.models.encoders.embeddings import embed, encoding_ms
from ragsweep.models.encoders.encoder import Encoder
from ragsweep.retrieval.ranking_checks import check_encoder
from ragsweep.retrieval.results import Answers
from ragsweep.store.identity import identity
from ragsweep_engines.asking import RunningRetriever
from ragsweep_engines.result_reading import results_of

SAMPLED_ROWS = 200

Row = Mapping[str, Any]  # the fields of a row, by name
Vector = Sequence[float]


class Table(NamedTuple):
    """A table, or a collection, that can be searched.

    Attributes:
        name: For errors, such as `collection 'manuals'`.
        sample: A few of its rows.
        dimensions: Of the vectors that are searched; None if that is not known, or none are.
        search: The rows for a query and its vector, best first, with a `score` that is higher for a better one. The
            vector is empty where none are searched.
    """

    name: str
    sample: Sequence[Row]
    dimensions: int | None
    search: Callable[[str, Vector], Sequence[Row]]


@dataclass(frozen=True, kw_only=True)
class DatabaseRetriever(RunningRetriever):
    """A database that somebody else has filled with passages and their vectors.

    Attributes:
        encoder: Embeds the queries; must be the one that embedded the passages.
    """

    encoder: Encoder

    def __post_init__(self) -> None:
        super().__post_init__()
        check_encoder(self.encoder)

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Digest of the address of its server."""

    def check(self) -> None:
        """Raise an error if the database cannot be used, or does not have what the settings name."""
        with self._opened_table():
            pass

    def answers(self, queries: Sequence[str], depth: int) -> Answers:
        """The rows for each query. Raises `UnansweredError` for one that fails for good."""
        if not self._searches_vectors:
            return super().answers(queries, depth)
        texts = [*dict.fromkeys(queries)]
        self._vectors.update(zip(texts, embed(self.encoder, self.store, texts, "query").tolist(), strict=True))
        answers = super().answers(queries, depth)
        encoding = encoding_ms(self.encoder, self.store, texts)
        if not len(encoding):
            return answers
        encoding = np.where(np.isnan(encoding), np.nanmean(encoding), encoding)  # others take about as long
        encoding_of = dict(zip(texts, encoding.tolist(), strict=True))
        return answers._replace(latency_ms=answers.latency_ms + [encoding_of[query] for query in queries])

    @property
    def _asked_with(self) -> Sequence[object]:
        encoder = identity(self.encoder) if self._searches_vectors else None
        return [*super()._asked_with, encoder]

    @contextmanager
    def _opened(self) -> Iterator[Callable[[str], Any]]:
        with self._opened_table() as table:

            def search(query: str) -> Sequence[Row]:
                vector = self._vectors.get(query, ())
                if vector and table.dimensions not in (None, len(vector)):
                    raise ConfigError(
                        f"encoder: embeds in {len(vector)} dimensions, and {table.name} has {table.dimensions}; "
                        "expected the encoder that embedded its passages"
                    )
                return table.search(query, vector)

            yield search

    @contextmanager
    def _opened_table(self) -> Iterator[Table]:
        """The table, open for as long as queries are asked."""
        with ExitStack() as opened:
            table = self._open(opened)
            if not table.sample:
                raise ConfigError(f"{table.name} is empty")
            self._check_fields([results_of(table.sample, self._fields)])
            yield table

    @cached_property
    def _vectors(self) -> dict[str, Vector]:
        """The vectors of the queries that are asked."""
        return {}

    @property
    def _searches_vectors(self) -> bool:
        return True

    @abstractmethod
    def _open(self, opened: ExitStack) -> Table:
        """Open what is searched; `opened` closes what has to be closed. Raises `RagsweepError` if it cannot."""


def flat(filters: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """The values of a filter by their whole names: Hydra makes mappings within one another of a name with dots."""
    values: dict[str, Any] = {}
    for name, value in filters.items():
        values |= flat(value, f"{before}{name}.") if isinstance(value, Mapping) else {f"{before}{name}": value}
    return values


def check_package(module: str, setting: str, extra: str) -> None:
    """Raise `ConfigError` if a package is not installed, whose module has its name."""
    if find_spec(module) is None:
        raise ConfigError(f"{setting}: needs {module}, not installed here; run pip install 'ragsweep[{extra}]'")
