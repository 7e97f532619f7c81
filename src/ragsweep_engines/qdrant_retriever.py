"""Search a collection of a Qdrant server as it is: its own chunks are measured."""

from __future__ import annotations

import re
import tarfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NoReturn
from urllib.parse import quote, urlsplit, urlunsplit

from ragsweep.core.digest import digest
from ragsweep.core.errors import ConfigError, RetrieverError, first_line
from ragsweep.core.limits import Between, OwnData, Text
from ragsweep.core.progress import progress
from ragsweep.core.project import variable
from ragsweep.core.terminal import one_line, say_once, shortened, some_of
from ragsweep.models.language.endpoint_access import hidden, is_plain_address
from ragsweep_engines.asking import PassingError, passes
from ragsweep_engines.databases import SAMPLED_ROWS, DatabaseRetriever, Row, Table, Vector, check_package, flat
from ragsweep_engines.result_reading import results_of

if TYPE_CHECKING:
    from qdrant_client import QdrantClient
    from qdrant_client.http.exceptions import UnexpectedResponse
    from qdrant_client.http.models import CollectionInfo, VectorParams

URL, KEY = "QDRANT_URL", "QDRANT_API_KEY"  # in the environment, or in the file .env of the project folder
PORT = 6333
LOCAL = ("localhost", "127.0.0.1", "::1")
RESTORE_S = 3600  # of a snapshot


@dataclass(frozen=True, kw_only=True)
class QdrantRetriever(DatabaseRetriever):
    """A collection of the server of QDRANT_URL (and QDRANT_API_KEY), of which only keyword indexes are ever made.

    Attributes:
        collection: Its name.
        vector: Name of the dense vector; "" is the one without a name; None searches none.
        sparse_vector: Name of the sparse vector; the server's BM25 makes that of the query. None searches none.
        language: Of the stop words and stems of the sparse vector.
        fusion: How Qdrant makes one ranking of dense and sparse: of ranks, or of scores scaled by their distribution.
        candidates: Points of each of the two that are fused.
        score_threshold: Points with a lower score are not retrieved.
        filter: Values that a field of the payload may have, by its name (`metadata.file_path`).
        exact: Compares every point.
        ef_search: Candidates held while the graph is searched; None leaves it to Qdrant.
        snapshot: File from which the collection is restored if it is absent.
    """

    cuts: ClassVar[Sequence[str]] = ("score_threshold", "filter")

    collection: OwnData
    vector: str | None = ""
    sparse_vector: Text | None = None
    language: Text = "english"
    fusion: Literal["rrf", "dbsf"] | None = None
    candidates: Annotated[int, Between(1, 10_000)] = 100
    score_threshold: float | None = None
    filter: Mapping[str, Any] | None = None
    exact: bool = False
    ef_search: Annotated[int, Between(1, 1_000_000)] | None = None
    snapshot: Text | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_package("qdrant_client", "retriever=qdrant", "qdrant")
        is_fused = self.vector is not None and self.sparse_vector is not None
        if self.vector is None and self.sparse_vector is None:
            raise ConfigError("retriever.vector: null, and so is sparse_vector; expected the name of one of them")
        if is_fused != (self.fusion is not None):
            expected = "rrf or dbsf for a dense and a sparse vector" if is_fused else "null for one vector"
            raise ConfigError(f"retriever.fusion: found {self.fusion or 'null'}, expected {expected}")

    @property
    def without_effect(self) -> tuple[str, ...]:  # type: ignore[override]  # depends on what is searched
        """Settings of a search that is not made."""
        return (
            *DatabaseRetriever.without_effect,
            "snapshot",
            *(() if self.vector is not None else ("encoder",)),
            *(() if self.sparse_vector is not None else ("language",)),
            *(() if self.fusion else ("candidates",)),
            *(("ef_search",) if self.exact else ()),
        )

    @property
    def fingerprint(self) -> str:
        """Digest of the address, which has no key."""
        return digest(host())

    @property
    def _name(self) -> str:
        return f"qdrant {self.collection}"

    @property
    def _searches_vectors(self) -> bool:
        return self.vector is not None

    def _open(self, opened: ExitStack) -> Table:
        if self.snapshot is not None:
            check_snapshot(Path(self.snapshot))
        client, name = connect(self.timeout_s), f"collection {self.collection!r}"
        opened.callback(client.close)
        with our_errors(name):
            restored = not client.collection_exists(self.collection)
            if restored:
                self._restore(client)
            info = client.get_collection(self.collection)
            sample, _ = client.scroll(self.collection, limit=SAMPLED_ROWS, with_payload=True)
        rows = [row_of(point) for point in sample]
        sources = results_of(rows, self._fields).fields.get("source", ()) if restored else ()
        texts = [path for path, value in flat(self.filter or {}).items() if isinstance(value, str | list | tuple)]
        for path in dict.fromkeys([*texts, *sources]):
            if path not in info.payload_schema and re.fullmatch(r"[\w.]+", path):
                self._index(client, path)
        say_once(f"Qdrant {name}: {info.points_count or 0:,} points, status {info.status.value}")
        params = info.config.params
        vectors = vectors_of(info)
        for setting, wanted, vector_names in (
            ("vector", self.vector, [*vectors]),
            ("sparse_vector", self.sparse_vector, [*(params.sparse_vectors or {})]),
        ):
            if wanted is not None and wanted not in vector_names:
                names = some_of(vector_names) or "none"
                raise RetrieverError(f"retriever.{setting}: {name} has no {wanted!r} (there is {names})")
        size = vectors[self.vector].size if self.vector is not None else None
        return Table(name, rows, size, lambda query, vector: self._points(client, query, vector))

    def _points(self, client: QdrantClient, query: str, vector: Vector) -> list[Row]:
        """The points for a query, best first."""
        from qdrant_client import models

        asked: list[dict[str, Any]] = []
        if self.vector is not None:
            asked.append({"query": [*vector], "using": self.vector or None})
        if self.sparse_vector is not None:
            words = models.Document(text=query, model="qdrant/bm25", options={"language": self.language})
            asked.append({"query": words, "using": self.sparse_vector})
        conditions = self._conditions()
        params = models.SearchParams(hnsw_ef=None if self.exact else self.ef_search, exact=self.exact)
        how: dict[str, Any] = {**asked[0], "query_filter": conditions, "search_params": params}
        if self.fusion is not None:
            of_each = {"limit": self.candidates, "filter": conditions, "params": params}
            prefetch = [models.Prefetch(**one, **of_each) for one in asked]
            how = {"query": models.FusionQuery(fusion=models.Fusion(self.fusion)), "prefetch": prefetch}
        with our_errors(f"collection {self.collection!r}"):
            response = client.query_points(
                self.collection, limit=self.depth, score_threshold=self.score_threshold, with_payload=True, **how
            )
        return [{**row_of(point), "score": point.score} for point in response.points]

    def _conditions(self) -> Any:
        from qdrant_client import models

        def match(value: Any) -> Any:
            several = isinstance(value, Sequence) and not isinstance(value, str)
            return models.MatchAny(any=[*value]) if several else models.MatchValue(value=value)

        fields: list[Any] = [
            models.FieldCondition(key=name, match=match(value)) for name, value in flat(self.filter or {}).items()
        ]
        return models.Filter(must=fields) if fields else None

    def _restore(self, client: QdrantClient) -> None:
        """Upload the snapshot, and wait until the server has made the collection of it."""
        import httpx
        from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

        if self.snapshot is None:
            names = some_of(sorted(listed.name for listed in client.get_collections().collections)) or "none"
            where = f"{URL}: {host()} has no collection {self.collection!r} (there is {names})"
            raise RetrieverError(f"retriever.collection: {where}; set retriever.snapshot to restore it")
        check_snapshot(Path(self.snapshot))
        key = variable(KEY)
        address = f"{host().rstrip('/')}/collections/{quote(self.collection, safe='')}/snapshots/upload"
        with progress(f"restoring the collection {self.collection!r}"), Path(self.snapshot).open("rb") as file:
            try:  # the client would read the whole file into memory
                headers = {"api-key": key} if key else {}
                response = httpx.post(address, files={"snapshot": file}, headers=headers, timeout=RESTORE_S)
            except httpx.HTTPError as error:
                raise ResponseHandlingException(error) from None
            if response.status_code != httpx.codes.OK:
                raise UnexpectedResponse.for_response(response)
            ends = time.monotonic() + RESTORE_S
            while client.get_collection(self.collection).status != "green":
                if time.monotonic() > ends:
                    raise RetrieverError(f"collection {self.collection!r}: is not green {RESTORE_S} s after its upload")
                time.sleep(1)

    def _index(self, client: QdrantClient, path: str) -> None:
        """Make a keyword index of a field, without which some servers do not filter; a key that only reads may not."""
        from qdrant_client import models

        try:
            with our_errors(f"a keyword index of {path!r}"):
                client.create_payload_index(self.collection, path, models.PayloadSchemaType.KEYWORD)
        except RetrieverError as error:
            say_once(str(error))


def row_of(point: Any) -> Row:
    """The fields of a point: its id and its payload."""
    return {"id": point.id, **(point.payload or {})}


def vectors_of(info: CollectionInfo) -> dict[str, VectorParams]:
    """The dense vectors of a collection by name; "" is the one without a name."""
    vectors = info.config.params.vectors
    return vectors if isinstance(vectors, dict) else {"": vectors} if vectors else {}


def connect(timeout_s: float) -> QdrantClient:
    """A client of the server; it connects when it is asked something."""
    from qdrant_client import QdrantClient

    key, url = variable(KEY), host()
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise ConfigError(f"{KEY}: contains a character that no key has, such as a space")
    if key and url.startswith("http:") and urlsplit(url).hostname not in LOCAL:
        say_once(f"{URL}: {urlsplit(url).hostname} gets the key without encryption; use https:// if the server has it")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a key sent without encryption
        least = max(1, int(timeout_s))
        # As if in Qdrant's cloud: texts go to the server, which has BM25, and are not embedded here.
        return QdrantClient(
            url=url, api_key=key or None, timeout=least, check_compatibility=False, cloud_inference=True
        )


def host() -> str:
    """The address of the server, as errors may show it.

    Raises:
        ConfigError: It is not set, is not an address, or has a user, a password or parameters in it.
    """
    url = variable(URL)
    if not url:
        raise ConfigError(f"{URL}: is not set; set it in the environment or in the file .env of the project folder")
    if not is_plain_address(url) or without_key(url) != url:
        raise ConfigError(
            f"{URL}: expected an address such as http://127.0.0.1:{PORT} or https://HOST:{PORT}, without user, "
            f"password and parameters; the key belongs in {KEY}"
        )
    parts = urlsplit(url)
    return url if parts.port else urlunsplit(parts._replace(netloc=f"{parts.netloc}:{PORT}"))


def without_key(text: str) -> str:
    """The text without the key, which a server may repeat."""
    return hidden(text, variable(KEY))


def check_snapshot(snapshot: Path) -> None:
    """Raise `RetrieverError` if a file is not the snapshot of a collection, which is an archive with its segments."""
    try:
        with tarfile.open(snapshot, "r:") as archive:
            has_segments = any(re.match(r"(\./)?(\d+/)?segments/", member.name) for member in archive)
    except (OSError, tarfile.TarError) as error:
        raise RetrieverError(f"retriever.snapshot: {snapshot} cannot be read ({first_line(error)})") from None
    if not has_segments:
        raise RetrieverError(f"retriever.snapshot: {snapshot} has no segments; expected a snapshot of a collection")


@contextmanager
def our_errors(asked: str) -> Iterator[None]:
    """Turn an error of the client into one of ours, without the key.

    Args:
        asked: What was asked for, such as `collection 'manuals'`.

    Raises:
        PassingError: The server cannot be reached, or may answer later.
        RetrieverError: It refuses.
    """
    from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

    try:
        yield
    except UnexpectedResponse as error:
        _refused(error, asked)
    except ResponseHandlingException as error:
        reason = without_key(first_line(error.source)) or type(error.source).__name__
        raise PassingError(f"{URL}: {host()} cannot be reached ({reason})") from None
    except ApiException as error:
        raise PassingError(f"{URL}: {host()} does not answer for {asked} ({type(error).__name__})") from None


def _refused(error: UnexpectedResponse, asked: str) -> NoReturn:
    status, where = error.status_code or 0, f"{URL}: {host()}"
    if status in (401, 403):
        how = f"refuses the key in {KEY}" if variable(KEY) else f"wants a key; set {KEY}"
        raise RetrieverError(f"{where} {how} ({status}, for {asked})") from None
    message = shortened(one_line(without_key(error.content.decode(errors="replace")))) or error.reason_phrase
    kind = PassingError if passes(status) else RetrieverError
    raise kind(f"{where} refuses {asked} ({status}: {message})") from None
