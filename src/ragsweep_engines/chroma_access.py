"""Clients of Chroma, in this process or of a server, and its errors in our words."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from ragsweep.core.errors import ConfigError, RagsweepError, RetrieverError
from ragsweep_engines.engine_errors import in_our_words
from ragsweep_engines.server_address import ServerAddress
from ragsweep_engines.systems.asking import PassingError

SERVER = ServerAddress("CHROMA_URL", "CHROMA_API_KEY", port=8000)
MAY_PASS = ("InternalError", "RateLimitError", "QuotaError")
ABOUT_KEYS = ("ChromaAuthError", "AuthorizationError")


def client_of(folder: Path) -> Any:
    """A client of the engine in this process, which writes into the folder as soon as it opens it."""
    import chromadb

    return chromadb.PersistentClient(str(folder), _settings())


def client_of_server(tenant: str | None, database: str | None) -> Any:
    """A client of the server of CHROMA_URL; it asks the server at once."""
    import chromadb

    key = SERVER.secret()
    named = {"tenant": tenant, "database": database}
    return chromadb.HttpClient(
        SERVER.host,  # may have a path
        headers={"x-chroma-token": key} if key else None,
        settings=_settings(),
        **{name: value for name, value in named.items() if value is not None},
    )


def explained(asking: str, path: Path | None) -> AbstractContextManager[None]:
    """Turns an error of Chroma into one of ours; the arguments are those of `in_our_words`."""
    return in_our_words(asking, path, SERVER, _of_server)


def _of_server(error: BaseException, where: str, said: str) -> RagsweepError:
    name = type(error).__name__
    if name in ABOUT_KEYS:
        return ConfigError(f"{where} refuses the key in {SERVER.key}")
    passes = name in MAY_PASS or isinstance(error, TimeoutError) or type(error).__module__.startswith("httpx")
    if passes or "Could not connect" in said:
        return PassingError(f"{where} cannot be used ({said})")
    return RetrieverError(f"{where} refuses ({said})")


def _settings() -> Any:
    from chromadb.config import Settings

    return Settings(_env_file=None, anonymized_telemetry=False)  # a file .env is that of the user's application
