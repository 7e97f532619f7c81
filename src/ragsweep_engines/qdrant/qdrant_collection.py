"""What a collection of Qdrant is asked and answers, whether it is in this process or on a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple, Protocol

from ragsweep.core.errors import ConfigError

SEARCHED_AT_ONCE = 64  # queries searched at once

# Modules that need the extra `qdrant`, and their packages
PACKAGES = {"qdrant_client": "qdrant-client", "qdrant_edge": "qdrant-edge-py"}

Fusion = Literal["rrf", "dbsf"]


class Query(NamedTuple):
    """The vectors of a query: dense, and sparse as positions and weights; None where it has none."""

    dense: list[float] | None
    sparse: tuple[list[int], list[float]] | None = None


class Hit(NamedTuple):
    """A point that was found."""

    point: Any
    score: float
    payload: Mapping[str, Any]


class Layout(NamedTuple):
    """What a collection has.

    Attributes:
        dense: The dimensions of its dense vectors by their names; the one without a name is "".
        sparse: The names of its sparse vectors.
        points: How many points it has.
        notes: Its metadata, which a server keeps.
    """

    dense: Mapping[str, int]
    sparse: frozenset[str]
    points: int
    notes: Mapping[str, Any]


@dataclass(frozen=True)
class SearchParams:
    """How a collection is searched.

    Attributes:
        vector: Name of the dense vector.
        sparse_vector: Name of the sparse vector.
        fusion: How the rankings of the two vectors are fused; None where one vector is searched.
        candidates: How many points of each ranking are fused.
        score_threshold: Points with a lower score are left out.
        filter: Values that a field of the payload may have, by the name of the field.
        exact: Whether every point is compared.
        ef: Candidates held while the graph is searched; None leaves it to Qdrant.
        payload: Fields of the payload that are returned; None returns all.
    """

    vector: str = ""
    sparse_vector: str = ""
    fusion: Fusion | None = None
    candidates: int = 100
    score_threshold: float | None = None
    filter: Mapping[str, Sequence[Any]] | None = None
    exact: bool = False
    ef: int | None = None
    payload: tuple[str, ...] | None = ()

    @property
    def with_payload(self) -> list[str] | bool:
        """The fields that Qdrant is asked to return, as its clients take them."""
        return True if self.payload is None else list(self.payload) or False


class Collection(Protocol):
    """A collection that can be searched."""

    def layout(self) -> Layout:
        """What it has."""
        ...

    def search(self, queries: Sequence[Query], manner: SearchParams, limit: int) -> list[list[Hit]]:
        """At most `limit` hits of every query, best first."""
        ...


def expect_packages(modules: Sequence[str], setting: str) -> None:
    """Raise `ConfigError` if a package that Qdrant needs is not installed."""
    missing = ", ".join(PACKAGES[module] for module in modules if find_spec(module) is None)
    if missing:
        raise ConfigError(f"{setting}: needs {missing}, not installed here; run pip install 'ragsweep[qdrant]'")
