"""What a collection of Qdrant is asked and answers, whether it is in this process or on a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple, Protocol

from ragsweep.core.errors import ConfigError
from ragsweep.retrieval.indexes.engine import Corpus

POINTS_AT_ONCE = 512  # points written at once
SEARCHED_AT_ONCE = 64  # queries searched at once
SOURCE, TEXT = "source", "text"  # payload of the points that are ours

# Modules that need the extra `qdrant`, and their packages
PACKAGES = {"dotenv": "python-dotenv", "qdrant_client": "qdrant-client", "qdrant_edge": "qdrant-edge-py"}

Quantize = Literal["int8", "binary"]
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
class Graph:
    """How a collection of ours is indexed.

    Attributes:
        m: Neighbours of a point in the graph; 0 builds none.
        ef_construct: Candidates held while a point is inserted.
        quantize: Precision of the vectors that are searched first; None searches the vectors themselves.
    """

    m: int
    ef_construct: int
    quantize: Quantize | None


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


def batches(corpus: Corpus, *, with_text: bool) -> Iterator[tuple[range, list[list[float]], list[dict[str, str]]]]:
    """The points of a corpus, some at a time: their ids, which are the passages' positions, vectors and payload."""
    for start in range(0, len(corpus.texts), POINTS_AT_ONCE):
        ids = range(start, min(start + POINTS_AT_ONCE, len(corpus.texts)))
        payload: list[dict[str, str]] = [{} for _ in ids]
        for point, fields in zip(ids, payload, strict=True):
            if corpus.documents is not None:
                fields[SOURCE] = corpus.documents[point]
            if with_text:
                fields[TEXT] = corpus.texts[point]
        yield ids, corpus.embeddings[start : ids.stop].tolist(), payload


def expect_packages(modules: Sequence[str], setting: str) -> None:
    """Raise `ConfigError` if a package that Qdrant needs is not installed."""
    missing = ", ".join(PACKAGES[module] for module in modules if find_spec(module) is None)
    if missing:
        raise ConfigError(f"{setting}: needs {missing}, not installed here; run pip install 'ragsweep[qdrant]'")
