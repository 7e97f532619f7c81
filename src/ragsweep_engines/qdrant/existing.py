"""Collections that somebody else has filled: found, restored from a snapshot if they are absent, and never written."""

from __future__ import annotations

import re
import shutil
import tarfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from filelock import FileLock

from ragsweep.core.errors import ConfigError, RetrieverError, first_line
from ragsweep.core.terminal import one_line, shortened
from ragsweep_engines.folder_copies import copy_of, digest_of
from ragsweep_engines.qdrant.embedded import LOCK, PARTIAL, EdgeCollection
from ragsweep_engines.qdrant.qdrant_access import host
from ragsweep_engines.qdrant.qdrant_collection import Hit
from ragsweep_engines.qdrant.server import ServerCollection

SEGMENTS, LOCAL_MODE = "segments", "meta.json"
MOST_FILES, MOST_BYTES = 100_000, 10**13  # in a snapshot
SHOWN_NAMES = 5  # names in a message
SETTING = "retriever.snapshot"


def shard_of(place: Path, collection: str) -> Path | None:
    """The folder of the shard of a collection, as the engine or a server keeps it; None if there is none.

    Raises:
        ConfigError: The name cannot be that of a folder.
        RetrieverError: It has several shards, or is of the local mode of qdrant-client.
    """
    if not re.fullmatch(r"[^/\\\0]{1,255}", collection) or collection in (".", ".."):
        raise ConfigError(f"retriever.collection: found {collection!r}, expected the name of a collection")
    if (place / LOCAL_MODE).is_file():
        raise RetrieverError(
            f"retriever.path: {place} is of qdrant-client's local mode, which keeps pickled objects that are not read "
            "here; upload its points to a server, or store them with qdrant-edge-py"
        )
    folder = place / collection
    if (folder / SEGMENTS).is_dir():
        return folder
    shards = [path.parent for path in folder.glob(f"*/{SEGMENTS}") if path.parent.name.isdecimal()]
    if len(shards) > 1:
        raise RetrieverError(f"retriever.path: {folder} has {len(shards)} shards, expected one; use its server")
    return shards[0] if shards else None


def absent(place: Path, collection: str) -> RetrieverError:
    """The error that a folder does not have a collection, or only what is left of it."""
    if (place / collection).is_dir():
        return RetrieverError(
            f"retriever.collection: {place / collection} has no {SEGMENTS}, so it is not a collection, or a damaged "
            "one; restore it, or set another retriever.path"
        )
    names = sorted(path.name for path in place.iterdir() if path.is_dir()) if place.is_dir() else []
    return RetrieverError(
        f"retriever.collection: {place} has no collection {collection!r} ({_some(names)}); set retriever.path or "
        "retriever.snapshot, or QDRANT_URL for a server"
    )


def on_server(name: str, snapshot: str | None) -> ServerCollection:
    """A collection on the server, which is made of the snapshot if it is absent.

    Raises:
        RetrieverError: It is absent, and there is no snapshot, or not a valid one.
    """
    collection = ServerCollection(name)
    if not collection.exists():
        if snapshot is None:
            where = f"QDRANT_URL: {host()} has no collection {name!r} ({_some(collection.others())})"
            raise RetrieverError(f"retriever.collection: {where}; set retriever.snapshot to restore it")
        check_snapshot(Path(snapshot))
        collection.restore(Path(snapshot))
    return collection


def opened_copy(shard: Path) -> EdgeCollection:
    """A copy of a shard, open: the engine writes into the files that it opens. It is deleted with the object."""
    copy = copy_of(shard, digest_of(shard), "qdrant")
    collection = EdgeCollection(Path(copy.name))
    weakref.finalize(collection, copy.cleanup)
    return collection


def restore(snapshot: Path, folder: Path) -> None:
    """Unpack a snapshot of a collection or a shard into a folder that is absent: completely, or not at all.

    Raises:
        RetrieverError: The file is not a snapshot, has several shards, or has entries that a snapshot does not have.
    """
    import qdrant_edge

    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(folder.name + LOCK)):
        if folder.exists():  # another worker was first
            return
        partial = folder.with_name(folder.name + PARTIAL)
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        try:
            with _readable(snapshot):
                _write_shard(snapshot, partial / "shard.tar", shutil.disk_usage(partial).free)
                qdrant_edge.EdgeShard.unpack_snapshot(str(partial / "shard.tar"), str(partial / "shard"))
                EdgeCollection(partial / "shard").layout()  # the engine can open it
            (partial / "shard").rename(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def check_snapshot(snapshot: Path) -> None:
    """Raise `RetrieverError` if a file is not a snapshot that could be restored."""
    with _readable(snapshot), tarfile.open(snapshot, "r:") as archive:
        _members(archive, snapshot, MOST_BYTES)


def _write_shard(snapshot: Path, target: Path, room: int) -> None:
    """Write the only shard of a snapshot as a snapshot of its own: that of a collection has it in a folder, `0/`."""
    with tarfile.open(snapshot, "r:") as archive, tarfile.open(target, "w:") as shard:
        for name, member in _members(archive, snapshot, room):
            plain = tarfile.TarInfo(name)
            plain.size, plain.type = member.size, member.type
            shard.addfile(plain, archive.extractfile(member) if member.isfile() else None)


def _members(archive: tarfile.TarFile, snapshot: Path, room: int) -> list[tuple[str, tarfile.TarInfo]]:
    """The entries of the only shard with their names in it, after all entries were checked."""
    entries: dict[str, tarfile.TarInfo] = {}
    size = 0
    for member in archive:
        path = PurePosixPath(member.name)
        if path.is_absolute() or ".." in path.parts or "\\" in member.name:
            raise _refused(snapshot, f"has an entry outside of its folder, {member.name!r}")
        if not (member.isfile() or member.isdir()):
            raise _refused(snapshot, f"has an entry that is neither file nor folder, {member.name!r}")
        size += member.size
        if len(entries) >= MOST_FILES or size > room:
            raise _refused(
                snapshot, f"has more than {MOST_FILES:,} entries, or more bytes than the {room:,} that it may have"
            )
        if member.isfile() and path.suffix == ".tar":
            content = archive.extractfile(member)
            assert content is not None
            size += _size_of_segment(content, snapshot)
        entries[path.as_posix()] = member
    shards = {""} if any(name.startswith(f"{SEGMENTS}/") for name in entries) else set()
    shards |= {name.partition("/")[0] + "/" for name in entries if re.match(rf"\d+/{SEGMENTS}/", name)}
    if len(shards) != 1:
        raise _refused(snapshot, f"has {len(shards)} shards, expected one")
    [prefix] = shards
    return [
        (name.removeprefix(prefix), member)
        for name, member in entries.items()
        if name.startswith(prefix) and name not in (".", prefix.rstrip("/"))
    ]


def _size_of_segment(content: IO[bytes], snapshot: Path) -> int:
    """The bytes that the archive of a segment unpacks to."""
    with tarfile.open(fileobj=content, mode="r:") as archive:
        size = 0
        for number, member in enumerate(archive):
            path = PurePosixPath(member.name)
            if (
                number > MOST_FILES
                or not (member.isfile() or member.isdir())
                or path.is_absolute()
                or ".." in path.parts
            ):
                raise _refused(snapshot, f"has a segment with an unexpected entry, {member.name!r}")
            size += member.size
    return size


def _some(names: list[str]) -> str:
    if not names:
        return "it has none"
    return shortened(one_line(f"there is {', '.join(names[:SHOWN_NAMES])}")) + (
        ", ..." if len(names) > SHOWN_NAMES else ""
    )


def _refused(snapshot: Path, why: str) -> RetrieverError:
    return RetrieverError(f"{SETTING}: {snapshot} {shortened(one_line(why))}")


@contextmanager
def _readable(snapshot: Path) -> Iterator[None]:
    if not snapshot.is_file():
        raise RetrieverError(f"{SETTING}: {snapshot} is not a file; expected a snapshot of a collection")
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # the engine raises plain exceptions
        if isinstance(error, RetrieverError) and str(error).startswith(SETTING):
            raise
        raise _refused(snapshot, f"cannot be restored ({first_line(error)})") from error


def check_scores(collection: str, vector: str, rows: Sequence[Sequence[Hit]]) -> None:
    """Raise an error if every hit scores 0, as it does where the vectors of a damaged collection are all 0."""
    if {hit.score for row in rows for hit in row} == {0}:
        raise RetrieverError(
            f"collection {collection!r}: every hit of every query scores 0, so the vectors {vector!r} "
            "are all 0, or those of another encoder; the collection is damaged, or was filled without vectors"
        )
