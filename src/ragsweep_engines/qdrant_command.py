"""Show what is in Qdrant: the collections, one of them, or the chunks of a document. Nothing is changed there.

ragsweep qdrant                                      # the collections of the server
ragsweep qdrant manuals                              # its points, vectors, status and indexes of fields
ragsweep qdrant manuals --document papers/land.pdf   # the chunks of a document: number from 0, id and text

The server is that of QDRANT_URL (and QDRANT_API_KEY), set in the environment or in the file .env of the project folder.
Exit status: 2 where the server cannot be asked, or has no such collection or document.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ragsweep.app.commands import parser_of

if TYPE_CHECKING:
    from qdrant_client import QdrantClient
    from qdrant_client.http.models import Filter, Record

TIMEOUT_S = 60
AT_ONCE = 100  # points of a request


def main() -> int:
    """Print what the arguments ask for."""
    parser = parser_of("qdrant", __doc__)
    parser.add_argument("collection", nargs="?", help="name of a collection; default: list all")
    parser.add_argument("--document", help="list its chunks")
    parser.add_argument("--field", help="field of the payload with the document; default: the first of a usual name")
    given = parser.parse_args()
    if given.document is not None and given.collection is None:
        parser.error("--document: expected a collection before it")

    from ragsweep.core.terminal import one_line
    from ragsweep_engines.databases import check_package
    from ragsweep_engines.qdrant_retriever import connect, our_errors

    check_package("qdrant_client", "ragsweep qdrant", "qdrant")
    client = connect(TIMEOUT_S)
    try:
        with our_errors(f"collection {given.collection!r}" if given.collection else "its collections"):
            for line in _lines(client, given.collection, given.document, given.field):
                print(one_line(line))
    finally:
        client.close()
    return 0


def _lines(client: QdrantClient, collection: str | None, document: str | None, field: str | None) -> Iterator[str]:
    if collection is None:
        return iter(sorted(listed.name for listed in client.get_collections().collections))
    return about(client, collection) if document is None else chunks(client, collection, document, field)


def about(client: QdrantClient, collection: str) -> Iterator[str]:
    """A description of a collection, line by line."""
    from ragsweep_engines.qdrant_retriever import host, vectors_of

    info = client.get_collection(collection)
    dense = vectors_of(info)
    indexes = [f"{path} ({field.data_type.value})" for path, field in info.payload_schema.items()]
    yield f"collection: {collection}, on {host()}"
    yield f"status: {info.status.value}"
    yield f"points: {info.points_count or 0:,}"
    named = [f"{name or '(no name)'}, {one.size} dimensions, {one.distance.value}" for name, one in dense.items()]
    yield f"vectors: {'; '.join(named) or 'none'}; {info.indexed_vectors_count or 0:,} are in an index"
    yield f"sparse vectors: {', '.join(info.config.params.sparse_vectors or {}) or 'none'}"
    yield f"indexes of fields: {', '.join(indexes) or 'none'}"


def chunks(client: QdrantClient, collection: str, document: str, field: str | None) -> Iterator[str]:
    """The chunks of a document, in the order in which the server lists them.

    Raises:
        RetrieverError: No field of the points names a document, or none has this document.
    """
    from qdrant_client import models

    from ragsweep.core.errors import RetrieverError
    from ragsweep.core.terminal import some_of
    from ragsweep_engines.databases import SAMPLED_ROWS
    from ragsweep_engines.qdrant_retriever import row_of
    from ragsweep_engines.result_reading import Fields, results_of

    sample, _ = client.scroll(collection, limit=SAMPLED_ROWS, with_payload=True)
    read = results_of([*map(row_of, sample)], Fields(source=field))
    if not (names := read.fields.get("source")):
        names_read = some_of(read.names) or "none"
        raise RetrieverError(f"--field: no point has a document in {field or 'a usual name'} (there is {names_read})")
    condition: Any = models.FieldCondition(key=names[0], match=models.MatchValue(value=document))
    points = [*_points(client, collection, models.Filter(must=[condition]))]
    if not points:
        documents = some_of(dict.fromkeys(one.source for one in read.results))
        raise RetrieverError(f"--document: no point has {document!r} in {names[0]} (there is {documents})")
    for number, result in enumerate(results_of([*map(row_of, points)], Fields()).results):
        yield f"{number} (id {result.ids[0]}): {result.text}"


def _points(client: QdrantClient, collection: str, condition: Filter) -> Iterator[Record]:
    offset, is_last = None, False
    while not is_last:
        page: dict[str, Any] = {"limit": AT_ONCE, "offset": offset, "with_payload": True}
        points, offset = client.scroll(collection, scroll_filter=condition, **page)
        yield from points
        is_last = offset is None
