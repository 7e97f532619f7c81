"""Clients of Milvus, in this process or of a server, and its errors in our words."""

from __future__ import annotations

import logging
import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from ragsweep.core.errors import RagsweepError, RetrieverError, first_line
from ragsweep_engines.engine_errors import in_our_words
from ragsweep_engines.server_address import ServerAddress
from ragsweep_engines.systems.asking import PassingError

SERVER = ServerAddress("MILVUS_URL", "MILVUS_TOKEN", port=19530)
SUFFIX = ".db"  # of what pymilvus takes for a folder of milvus-lite
UNREACHABLE = 2  # code of an error


def client_of(folder: Path) -> Any:
    """A client of the engine in this process, which writes into the folder as soon as it opens it."""
    return _client(str(folder))


def release(client: Any, folder: Path) -> None:
    """Close a client, and the engine in this process that has a folder open."""
    from milvus_lite.server_manager import server_manager_instance

    client.close()
    server_manager_instance.release_server(str(folder))


def client_of_server(database: str | None) -> Any:
    """A client of the server of MILVUS_URL; it connects at once."""
    return _client(SERVER.host, token=SERVER.secret(), db_name=database or "")


def explained(asking: str, path: Path | None) -> AbstractContextManager[None]:
    """Turns an error of pymilvus, gRPC or the engine into one of ours; the arguments are those of `in_our_words`."""
    return in_our_words(asking, path, SERVER, _of_server, lambda error: _said(error)[1])


def _of_server(error: BaseException, where: str, said: str) -> RagsweepError:
    if _said(error)[0] == UNREACHABLE:
        return PassingError(f"{where} cannot be reached ({said})")
    return RetrieverError(f"{where} refuses ({said})")


def _said(error: BaseException) -> tuple[int | None, str]:
    """The code of an error, if it has one, and its words."""
    if type(error).__module__ != "pymilvus.exceptions":
        return None, first_line(error)
    from pymilvus import MilvusException

    assert isinstance(error, MilvusException)
    return error.code, error.message


def _client(uri: str, **settings: str) -> Any:
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # it says of every idle connection that it is still there
    import pymilvus

    for name in ("pymilvus", "milvus_lite"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # they log a traceback of every error besides raising it
    return pymilvus.MilvusClient(uri, **settings)
