"""Errors of an engine in our words, whether it is in this process or a server of the user's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ragsweep.core.errors import RagsweepError, RetrieverError, first_line
from ragsweep_engines.server_address import ServerAddress

OfServer = Callable[[BaseException, str, str], RagsweepError]


@contextmanager
def in_our_words(
    asking: str,
    path: Path | None,
    server: ServerAddress,
    of_server: OfServer,
    words_of: Callable[[BaseException], str] = first_line,
) -> Iterator[None]:
    """Turn an error of an engine into one of ours.

    Args:
        asking: What asks it, such as `index=chroma`.
        path: The folder that is open; None for the server.
        server: The address of the server.
        of_server: The error for one of the server: takes it, where it comes from, and what it says without the key.
        words_of: What an error says.

    Raises:
        PassingError: It may pass.
        RetrieverError: It does not.
    """
    try:
        yield
    except (KeyboardInterrupt, SystemExit, RagsweepError):
        raise
    except BaseException as error:  # Chroma panics where files are damaged
        said = server.without_key(words_of(error)) or type(error).__name__
        if path is not None:
            raise RetrieverError(f"{asking}: {path} cannot be used ({said})") from None
        raise of_server(error, f"{asking}: {server.url} {server.host}", said) from None
