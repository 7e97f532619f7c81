"""Indexes of embeddings: exact search, and the indexes of FAISS, which trade recall for speed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np

from ragsweep.core.digest import version
from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Between, Text
from ragsweep.core.progress import progress
from ragsweep.models.encoders.encoder import Embeddings
from ragsweep.retrieval.indexes.exact import ExactSearch, canonical_scores
from ragsweep.retrieval.ranking import Ranking, ranked
from ragsweep.store.code import code_of
from ragsweep.store.component import Component
from ragsweep.store.stage_store import Arrays

Nearest = Callable[[Embeddings, int], Ranking]  # (queries of shape [queries, dimensions], depth) -> ranking
Keep = Callable[[Sequence[Any], Callable[[], Arrays]], Arrays]  # (build settings, build) -> index, new or stored

DIVISIBLE = 26_880  # dimensions that every usual number of bytes of a code divides


class Index(Component, ABC):
    """A way to search embeddings; write your own as a class that inherits from this one.

    Its attributes must tell its rankings apart, and `libraries` names the packages whose versions do.
    """

    chooses_by_depth: ClassVar[bool] = False  # whether it orders only as many candidates as are asked for

    @abstractmethod
    def open(self, passages: Embeddings, keep: Keep) -> Nearest:
        """Make passages of shape [passages, dimensions] searchable; `keep` returns an index that was built earlier."""

    def check(self) -> None:
        """Raise an error if it cannot be used, before anything is recorded."""


@dataclass(frozen=True)
class ExactIndex(Index):
    """Compares every query with every passage."""

    def open(self, passages: Embeddings, keep: Keep) -> Nearest:
        """Needs no index: builds nothing."""
        return ExactSearch(passages)


@dataclass(frozen=True)
class FaissIndex(Index):
    """An index of FAISS, by the names that FAISS has for it and for its parameters; what it finds gets exact scores.

    One thread builds it, so that the result does not depend on the number of cores.

    Attributes:
        factory: What is built (https://github.com/facebookresearch/faiss/wiki/The-index-factory): `Flat` compares every
            passage, `HNSW32` is a graph in which a passage has 32 neighbours, `IVF64,PQ48` has 64 lists of codes of 48
            bytes, `SQ8` has one byte for each dimension.
        build: Parameters of the building, such as `efConstruction`.
        search: Parameters of the search, such as `efSearch` or `nprobe`.
        refine: How many passages are compared by their embeddings, as a multiple of those asked for.
    """

    libraries: ClassVar[tuple[str, ...]] = ("faiss-cpu",)
    chooses_by_depth: ClassVar[bool] = True

    factory: Text
    build: Mapping[str, float] = field(default_factory=dict)
    search: Mapping[str, float] = field(default_factory=dict)
    refine: Annotated[int, Between(1, 1000)] = 1

    def check(self) -> None:
        """Raise `ConfigError` for names that FAISS does not know."""
        _set(self._made(DIVISIBLE), self.search, "search")

    def open(self, passages: Embeddings, keep: Keep) -> Nearest:
        """Train and build the index, or take the stored one; raises `ConfigError` if FAISS refuses the passages."""

        def built() -> Arrays:
            import faiss

            index = self._made(passages.shape[1])
            with _one_thread(), progress(f"building an index of {len(passages):,} passages"), _refused("factory"):
                index.train(passages)
                index.add(passages)
            return {"index": faiss.serialize_index(index)}

        import faiss

        kept = keep([code_of(self), self.factory, dict(self.build), version("faiss-cpu")], built)
        index = faiss.deserialize_index(np.array(kept["index"]))
        _set(index, self.search, "search")

        def nearest(queries: Embeddings, depth: int) -> Ranking:
            """FAISS uses -1 for "no passage", too."""
            _, candidates = index.search(np.ascontiguousarray(queries), min(self.refine * depth, len(passages)))
            return ranked(candidates, canonical_scores(queries, passages, candidates), depth)

        return nearest

    def _made(self, dimensions: int) -> Any:
        """An empty index of FAISS."""
        import faiss

        with _refused("factory"):
            index = faiss.index_factory(dimensions, self.factory, faiss.METRIC_INNER_PRODUCT)
        lists: Any = faiss.try_extract_index_ivf(index)
        for part in (index, lists and faiss.downcast_index(lists)):
            if part is not None and hasattr(part, "do_polysemous_training"):
                part.do_polysemous_training = False  # takes minutes, for a search mode that is not used here
        _set(index, self.build, "build")
        return index


def _set(index: Any, parameters: Mapping[str, float], setting: str) -> None:
    import faiss

    with _refused(setting):
        for name, value in parameters.items():
            faiss.ParameterSpace().set_index_parameter(index, name, value)


@contextmanager
def _refused(setting: str) -> Iterator[None]:
    """Says which setting FAISS refuses; its errors begin with the place in its code."""
    try:
        yield
    except RuntimeError as error:
        raise ConfigError(f"index.{setting}: FAISS {str(error).rpartition(': ')[2]}") from error


@contextmanager
def _one_thread() -> Iterator[None]:
    import faiss

    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)
