"""A collection of Qdrant that somebody else has filled, searched as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

from ragsweep.core.digest import digest
from ragsweep.core.errors import ConfigError, RetrieverError
from ragsweep.core.limits import Between, OwnData, Text
from ragsweep.core.progress import progress
from ragsweep.core.terminal import say_once, some_of, verb
from ragsweep.core.timing import timed
from ragsweep.models.encoders.embeddings import embed, encoding_ms
from ragsweep.models.encoders.encoder import Encoder
from ragsweep.retrieval.kinds import Method, Ranker, Trace
from ragsweep.retrieval.ranking import Ranking, Search, searching
from ragsweep.retrieval.ranking_checks import expect_method
from ragsweep.store.code import code_of
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep_engines.folder_copies import digest_of
from ragsweep_engines.qdrant import embedded, existing
from ragsweep_engines.qdrant import qdrant_access as access
from ragsweep_engines.qdrant.matching import FIELDS, Matcher, ranking_of
from ragsweep_engines.qdrant.qdrant_collection import Collection, Fusion, Hit, Query, SearchParams, expect_packages

TRIED_DEPTH = 100  # searched to before a run is recorded
PAYLOAD = {"text": "content", "source": "file_path", "page": None, "passage": None}


@dataclass(frozen=True)
class QdrantRetriever(Ranker):
    """The hits of an existing collection, in their order and with their scores. The collection is only read.

    A hit counts as the passage of the dataset that its payload names, or as a passage of the page or document that it
    names. Where the collection has more points of a page than the dataset has passages, the last of them are left out
    and later hits move up, as `evaluation.collapse=before_cutoff` counts. What was left out is printed.

    Attributes:
        collection: Its name.
        encoder: Embeds the queries; must be the one that embedded the points.
        embeddings: Keeps the embeddings of the queries. Rankings are not kept, since a collection can change.
        path: Folder with the collection; None takes the server of QDRANT_URL, or what was restored into the store.
        server: Whether to use the server of QDRANT_URL; None uses it if it is set and `path` is not.
        vector: Name of the dense vector; "" is the one without a name; None searches none.
        sparse_vector: Name of the sparse vector, made by Qdrant's BM25; None searches none.
        language: Of the stop words and stems of the sparse vector.
        fusion: How Qdrant makes one ranking of dense and sparse: reciprocal ranks with k = 2, or scores scaled by their
            distribution.
        candidates: How many points of each of the two are fused; also the most that are then retrieved.
        score_threshold: Points with a lower score are not retrieved.
        filter: Values that a field of the payload may have, by the name of the field.
        exact: Compares every point.
        ef_search: Candidates held while the graph is searched; None leaves it to Qdrant.
        payload: Names of the fields that have a point's text, source, page and passage id; null for none.
        snapshot: File from which the collection is restored if it is absent.
    """

    role: ClassVar[str] = "qdrant"
    finds_by_name: ClassVar[bool] = True
    cuts: ClassVar[Sequence[str]] = ("score_threshold", "filter")

    collection: OwnData
    encoder: Encoder
    embeddings: Store = NO_STORE
    path: Text | None = None
    server: bool | None = None
    vector: str | None = ""
    sparse_vector: Text | None = None
    language: Text = "english"
    fusion: Fusion | None = None
    candidates: Annotated[int, Between(1, 10_000)] = 100
    score_threshold: float | None = None
    filter: Mapping[str, Any] | None = None
    exact: bool = False
    ef_search: Annotated[int, Between(1, 1_000_000)] | None = None
    payload: Mapping[str, Text | None] = field(default_factory=lambda: dict(PAYLOAD))
    snapshot: Text | None = None

    def __post_init__(self) -> None:
        expect_method(self.encoder, "encode", "encoder")
        expect_packages(["qdrant_edge"] if self.sparse_vector else [], "retriever=qdrant")
        if self.server is None:  # what is used is what is logged
            object.__setattr__(self, "server", self.path is None and access.has_server())
        expect_packages(["qdrant_client" if self.server else "qdrant_edge"], "retriever=qdrant")
        for name in set(self.payload) - {*FIELDS}:
            raise ConfigError(f"retriever.payload: found {name!r}, expected {', '.join(FIELDS)}")
        if not any(self.payload.get(name) for name in ("source", "passage")):
            raise ConfigError("retriever.payload: expected the name of the field with the source, or with the passage")
        both = self.vector is not None and self.sparse_vector is not None
        if self.vector is None and self.sparse_vector is None:
            raise ConfigError("retriever.vector: null, and so is sparse_vector; expected the name of one of them")
        if both != (self.fusion is not None):
            expected = "rrf or dbsf for a dense and a sparse vector" if both else "null for one vector"
            raise ConfigError(f"retriever.fusion: found {self.fusion or 'null'}, expected {expected}")

    @property
    def libraries(self) -> tuple[str, ...]:
        """The package that searches, or makes the sparse vectors of the queries."""
        return ("qdrant-edge-py",) if not self.server or self.sparse_vector else ()

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Settings that have no effect; the fingerprint stands for the content of the collection."""
        return (
            "path",
            "snapshot",
            *(() if self.vector is not None else ("encoder",)),
            *(() if self.fusion else ("candidates",)),
            *(() if self.sparse_vector else ("language",)),
            *(("ef_search",) if self.exact else ()),
        )

    @property
    def at_least(self) -> Mapping[str, str]:
        """Settings that must not be smaller than another one."""
        return {"candidates": "k"} if self.fusion else {}

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the collection: of its files; of one on a server, of its layout and number of points."""
        if self.server:
            layout = self._opened.layout()
            return digest(
                [self.collection, layout.dense, sorted(layout.sparse), layout.points, layout.notes, *self._own]
            )
        return digest([digest_of(self._shard), *self._own])

    @property
    def method(self) -> Method:
        """For reports: the name of the collection."""
        return Method(f"qdrant {self.collection}")

    def check(self, search: Search) -> None:
        """Search the collection, and say what does not fit.

        Raises:
            RetrieverError: The collection is absent, empty or lacks a vector or a field; or the dataset does not know
                what it found.
        """
        if misplaced := self._rank(search, TRIED_DEPTH)[1]:
            say_once(misplaced)

    def sections(self, search: Search) -> Mapping[str, Sequence[str]]:
        """What the report says of points whose texts are not those of their pages."""
        misplaced = self._rank(search, TRIED_DEPTH)[1]
        return {"Points of other pages": [misplaced]} if misplaced else {}

    def rank(self, search: Search, depth: int) -> Ranking:
        """The hits for every query, at most `depth` of them."""
        ranking, _ = self._rank(search, depth)
        queries = self._queries(search.queries)
        search_ms = timed(lambda row: self._opened.search([queries[row]], self._manner, depth), len(search.queries))
        encoded = encoding_ms(self.encoder, self.embeddings, search.queries) if self.vector is not None else 0
        return replace(ranking, latency_ms=search_ms + encoded)

    def trace(self, search: Search, query: int) -> Trace:
        """How a query got its ranking."""
        return Trace(formula=f"as Qdrant scores it in {self.collection}")

    @property
    def _own(self) -> list[Any]:
        """What decides a ranking besides the collection."""
        encoder = [code_of(self.encoder), self.encoder.fingerprint] if self.vector is not None else None
        return [vars(self._manner), self.language, dict(self.payload), encoder]

    @property
    def _manner(self) -> SearchParams:
        values = {
            name: tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else (value,)
            for name, value in (self.filter or {}).items()
        }
        return SearchParams(
            vector=self.vector or "",
            sparse_vector=self.sparse_vector or "",
            fusion=self.fusion,
            candidates=self.candidates,
            score_threshold=self.score_threshold,
            filter=values or None,
            exact=self.exact,
            ef=None if self.exact else self.ef_search,
            payload=tuple(sorted({name.partition(".")[0] for name in self.payload.values() if name})),
        )

    @cached_property
    def _opened(self) -> Collection:
        """The collection, restored from the snapshot if it is absent."""
        if not self.server:
            return existing.opened_copy(self._shard)
        return existing.on_server(self.collection, self.snapshot)

    @cached_property
    def _shard(self) -> Path:
        """The folder of the shard, restored from the snapshot if it is absent."""
        if self.path is None and not self.embeddings.enabled:
            raise ConfigError("retriever.path: null; expected a folder, or QDRANT_URL in the environment for a server")
        place = Path(self.path or Path(self.embeddings.path) / "engines" / self.role / "restored").resolve()
        shard = existing.shard_of(place, self.collection)
        if shard is None and self.snapshot is not None:
            existing.restore(Path(self.snapshot), place / self.collection)
            shard = existing.shard_of(place, self.collection)
        if shard is None:
            raise existing.absent(place, self.collection)
        return shard

    def _queries(self, texts: Sequence[str]) -> list[Query]:
        dense: Sequence[list[float] | None] = [None] * len(texts)
        if self.vector is not None:
            dense = embed(self.encoder, self.embeddings, texts, "query").tolist()
        sparse: Sequence[tuple[list[int], list[float]] | None] = [None] * len(texts)
        if self.sparse_vector is not None:
            sparse = embedded.bm25_queries(texts, self.language)
        return [Query(*vectors) for vectors in zip(dense, sparse, strict=True)]

    @cached_property
    def _kept(self) -> dict[Any, tuple[Ranking, str]]:
        """The rankings of this object, and what is said of points that do not fit: needed when checked and ranked."""
        return {}

    def _rank(self, search: Search, depth: int) -> tuple[Ranking, str]:
        if search.names is None:
            raise RetrieverError("retriever=qdrant: what is searched has no names, so that no hit can be found in it")
        names = search.names()
        if names.several_units and self.payload.get("page"):
            raise RetrieverError("retriever=qdrant: passages have several pages; expected chunker.across_pages=false")
        key = (search.digest, search.names_digest, depth)
        if key not in self._kept or search.names_digest is None:
            matcher = Matcher(names, search.passages, self.payload)
            queries = self._queries(search.queries)
            self._check_layout(queries)
            with progress(searching(search.passages, queries), len(queries)):
                hits = self._opened.search(queries, self._manner, depth)
            if self.vector is not None and self.fusion is None:
                existing.check_scores(self.collection, self.vector, hits)
            self._check_payload(queries, hits)
            self._kept[key] = self._matched(matcher, hits)
        return self._kept[key]

    def _matched(self, matcher: Matcher, hits: Sequence[Sequence[Hit]]) -> tuple[Ranking, str]:
        rows = [matcher.passages(row) for row in hits]
        if matcher.unknown:
            count, all_hits = matcher.unknown.total(), sum(map(len, hits))
            raise RetrieverError(
                f"collection {self.collection!r}: {count:,} of {all_hits:,} hits {verb(count, 'are')} nothing "
                f"that the dataset knows ({some_of(matcher.unknown)}); "
                "check retriever.payload, or leave them out with retriever.filter"
            )
        if matcher.repeated:
            say_once(
                f"collection {self.collection!r}: {matcher.repeated:,} hits left out, since all passages of their page "
                "or document are ranked before them; later hits move up"
            )
        said = matcher.misplaced()
        return ranking_of(rows), f"Collection {self.collection!r}: {said}." if said else ""

    def _check_layout(self, queries: Sequence[Query]) -> None:
        """Raise an error if the collection does not have the vectors that are searched."""
        layout, what = self._opened.layout(), f"collection {self.collection!r}"
        dense = ", ".join(f"{name!r} of {size} dimensions" for name, size in sorted(layout.dense.items())) or "none"
        if not layout.points:
            raise RetrieverError(f"{what}: is empty")
        if self.vector is not None and self.vector not in layout.dense:
            raise RetrieverError(f"retriever.vector: {what} has no dense vector {self.vector!r} (it has {dense})")
        if self.sparse_vector is not None and self.sparse_vector not in layout.sparse:
            there = some_of(sorted(layout.sparse)) or "none"
            raise RetrieverError(
                f"retriever.sparse_vector: {what} has no sparse vector {self.sparse_vector!r} (it has {there})"
            )
        [first, *_] = queries
        if first.dense is not None and self.vector is not None and len(first.dense) != layout.dense[self.vector]:
            raise RetrieverError(
                f"encoder: embeds in {len(first.dense)} dimensions, but vector {self.vector!r} of {what} has "
                f"{layout.dense[self.vector]}; expected the encoder that embedded its points"
            )

    def _check_payload(self, queries: Sequence[Query], rows: Sequence[Sequence[Hit]]) -> None:
        """Raise an error if no hit has one of the fields that the settings name."""
        hits = [hit for row in rows for hit in row]
        for what, name in self.payload.items():
            if name and hits and not any(name.partition(".")[0] in hit.payload for hit in hits):
                query = next(query for query, row in zip(queries, rows, strict=True) if row)
                [whole] = self._opened.search([query], replace(self._manner, payload=None), 1)
                there = some_of(sorted({field for hit in whole for field in hit.payload}))
                raise RetrieverError(
                    f"retriever.payload.{what}: no point that was found has {name!r} (there is {there}); "
                    "expected the name of a field, or null"
                )
