"""Indexes of embeddings: exact search, and the approximate indexes of FAISS, which trade recall for speed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from ragsweep.core.digest import version
from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Between
from ragsweep.core.progress import progress
from ragsweep.models.encoders.encoder import Embeddings
from ragsweep.retrieval.indexes.exact import ExactSearch, canonical_scores
from ragsweep.retrieval.ranking import Ranking, ranked
from ragsweep.store.code import code_of
from ragsweep.store.component import Component
from ragsweep.store.stage_store import Arrays

Nearest = Callable[[Embeddings, int], Ranking]  # (queries of shape [queries, dimensions], depth) -> ranking
Keep = Callable[[Sequence[Any], Callable[[], Arrays]], Arrays]  # (build settings, build) -> index, new or stored

CODES = 256  # of a subquantizer: one byte


class Index(Component, ABC):
    """A way to search embeddings; write your own as a class that inherits from this one.

    Its attributes must tell its rankings apart, and `libraries` names the packages whose versions do.
    """

    chooses_by_depth: ClassVar[bool] = False  # whether it orders only as many candidates as are asked for
    passages_needed: ClassVar[int] = 1  # the fewest that it takes

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
class HnswIndex(Index):
    """A graph of near neighbours, searched from the top of its layers down (Malkov & Yashunin, arXiv:1603.09320).

    One thread builds it, because several threads would insert in a different order each time. With n cores, that takes
    n times as long.

    Attributes:
        m: Neighbours of a passage; twice as many on the lowest layer.
        ef_construction: Candidates held while a passage is inserted.
        ef_search: Candidates held while a query is answered; also the most passages that are retrieved.
    """

    libraries: ClassVar[tuple[str, ...]] = ("faiss-cpu",)
    at_least: ClassVar[Mapping[str, str]] = {"ef_search": "k"}

    m: Annotated[int, Between(2, 512)] = 32
    ef_construction: Annotated[int, Between(1, 1_000_000)] = 200
    ef_search: Annotated[int, Between(1, 1_000_000)] = 128

    def open(self, passages: Embeddings, keep: Keep) -> Nearest:
        """Build the graph, or take the stored one."""

        def build() -> Arrays:
            import faiss

            index = faiss.IndexHNSWFlat(passages.shape[1], self.m, faiss.METRIC_INNER_PRODUCT)
            index.hnsw.efConstruction = self.ef_construction
            return _built(index, passages)

        index = _loaded(keep([code_of(self), self.m, self.ef_construction, version("faiss-cpu")], build))
        index.hnsw.efSearch = self.ef_search
        # All candidates, also for a smaller depth: which of two equal passages FAISS drops depends on the processor.
        return lambda queries, depth: _approximate(index, passages, queries, self.ef_search, depth)


@dataclass(frozen=True)
class IvfPqIndex(Index):
    """Passages in lists around centroids, each kept as a short code (Jégou et al. 2011, doi:10.1109/TPAMI.2010.57).

    One thread trains and builds it, so that the result does not depend on the number of cores.

    Attributes:
        lists: Centroids, and lists of the passages nearest to each.
        probes: Lists that are searched for a query.
        subquantizers: Bytes of a passage's code; they divide the dimensions evenly.
        refine: How many passages are compared by their embeddings, as a multiple of those asked for.
        seed: Of the training.
    """

    libraries: ClassVar[tuple[str, ...]] = ("faiss-cpu",)
    chooses_by_depth: ClassVar[bool] = True
    passages_needed: ClassVar[int] = CODES

    lists: Annotated[int, Between(1, 1_000_000)] = 64
    probes: Annotated[int, Between(1, 1_000_000)] = 8
    subquantizers: Annotated[int, Between(1)] = 48
    refine: Annotated[int, Between(1, 1000)] = 1
    seed: Annotated[int, Between(0)] = 0

    def __post_init__(self) -> None:
        if self.probes > self.lists:
            raise ConfigError(f"index.probes: found {self.probes}, expected at most index.lists ({self.lists})")

    def open(self, passages: Embeddings, keep: Keep) -> Nearest:
        """Train and build the lists, or take the stored ones; raises `ConfigError` if there are too few passages."""
        count, dimensions = passages.shape
        if dimensions % self.subquantizers:
            divisors = [str(number) for number in range(1, dimensions + 1) if dimensions % number == 0]
            raise ConfigError(
                f"index.subquantizers: found {self.subquantizers}, expected a divisor of the encoder's {dimensions} "
                f"dimensions ({', '.join(divisors)})"
            )
        if count < CODES:
            raise ConfigError(f"index=ivf_pq: needs {CODES} passages to train on and has {count}; set index=exact")
        if count < self.lists:
            raise ConfigError(f"index.lists: found {self.lists}, expected at most the {count} passages")

        def build() -> Arrays:
            import faiss

            kind = f"IVF{self.lists},PQ{self.subquantizers}"
            index: Any = faiss.index_factory(dimensions, kind, faiss.METRIC_INNER_PRODUCT)
            index.do_polysemous_training = False  # takes minutes, for a search mode that is not used here
            for clustering in (index.cp, index.pq.cp):
                clustering.seed = self.seed % 2**31  # FAISS has 32 bits
                clustering.min_points_per_centroid = 1  # FAISS warns below 39; recall is measured here
            return _built(index, passages)

        settings = [self.lists, self.subquantizers, self.seed]
        index = _loaded(keep([code_of(self), *settings, version("faiss-cpu")], build))
        index.nprobe = self.probes
        return lambda queries, depth: _approximate(index, passages, queries, min(self.refine * depth, count), depth)


def _built(index: Any, passages: Embeddings) -> Arrays:
    import faiss

    with _one_thread(), progress(f"building an index of {len(passages):,} passages"):
        index.train(passages)
        index.add(passages)
    return {"index": faiss.serialize_index(index)}


def _loaded(kept: Arrays) -> Any:
    import faiss

    return faiss.deserialize_index(np.array(kept["index"]))


@contextmanager
def _one_thread() -> Iterator[None]:
    import faiss

    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)


def _approximate(index: Any, passages: Embeddings, queries: Embeddings, wanted: int, depth: int) -> Ranking:
    """What a FAISS index finds, ranked by exact scores. FAISS also uses -1 for "no passage"."""
    _, found = index.search(np.ascontiguousarray(queries), wanted)
    return ranked(found, canonical_scores(queries, passages, found), depth)
