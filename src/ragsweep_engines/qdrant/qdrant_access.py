"""The address and the key of a Qdrant server, and errors that never repeat the key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, NoReturn
from urllib.parse import urlsplit

from ragsweep.core.environment import variable
from ragsweep.core.errors import RetrieverError, first_line
from ragsweep.core.parsing import MalformedError, from_json
from ragsweep.core.terminal import one_line, shortened
from ragsweep_engines.server_address import ServerAddress

if TYPE_CHECKING:
    from qdrant_client import QdrantClient
    from qdrant_client.http.exceptions import UnexpectedResponse

URL, KEY = "QDRANT_URL", "QDRANT_API_KEY"  # in the environment, or in the file .env of the project folder
TIMEOUT_S = 60
UPLOAD_S = 600

_server = ServerAddress(URL, KEY, port=6333)


def without_key(text: str) -> str:
    """The text without the key, which a server may repeat."""
    return _server.without_key(text)


def has_server() -> bool:
    """Whether an address of a server is set."""
    return _server.is_set


def host() -> str:
    """The address of the server, as errors may show it."""
    return _server.host


def connect() -> QdrantClient:
    """A client of the server; it connects when it is asked something."""
    import warnings

    from qdrant_client import QdrantClient

    key = _server.secret()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a key sent without encryption
        return QdrantClient(url=host(), api_key=key or None, timeout=TIMEOUT_S, check_compatibility=False)


def upload(path: str, file: IO[bytes]) -> None:
    """Send a file to a path of the server, as a form: the client reads a whole file into memory.

    Raises:
        ApiException: As the client's own calls.
    """
    import httpx
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    key = variable(KEY)
    try:
        address, headers = host().rstrip("/"), {"api-key": key} if key else {}
        response = httpx.post(address + path, files={"snapshot": file}, headers=headers, timeout=UPLOAD_S)
    except httpx.HTTPError as error:
        raise ResponseHandlingException(error) from None
    if response.status_code != httpx.codes.OK:
        raise UnexpectedResponse.for_response(response)


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn an error of the client into one of ours, without the key, which a server may repeat.

    Args:
        what: What was asked for, such as `collection 'manuals'`.

    Raises:
        RetrieverError: The server cannot be reached, or refuses.
    """
    from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

    try:
        yield
    except UnexpectedResponse as error:
        _refused(error.status_code, _said(error), what)
    except ResponseHandlingException as error:
        _unreachable(error.source)
    except ApiException as error:
        _refused(None, type(error).__name__, what)


def _said(error: UnexpectedResponse) -> str:
    """What a server says of an error: its JSON has `status.error`."""
    content: bytes = error.content
    try:
        said = from_json(content.decode())["status"]["error"]
    except (UnicodeDecodeError, MalformedError, KeyError, TypeError):
        said = content.decode(errors="replace")
    return shortened(one_line(without_key(str(said)))) or error.reason_phrase


def _refused(status: int | None, said: str, what: str) -> NoReturn:
    where = f"{URL}: {host()}"
    if status in (401, 403):
        how = f"refuses the key in {KEY}" if variable(KEY) else f"wants a key; set {KEY}"
        raise RetrieverError(f"{where} {how} ({status}, for {what})") from None
    raise RetrieverError(f"{where} refuses {what} ({status}: {said})") from None


def _unreachable(error: Exception) -> NoReturn:
    reason = without_key(first_line(error)) or type(error).__name__
    if "timed out" in reason.lower() or "timeout" in type(error).__name__.lower():
        reason = f"does not answer within {TIMEOUT_S} s"
    elif "ssl" in reason.lower() or "certificate" in reason.lower():
        reason = f"does not speak TLS as https:// expects, or its certificate is not trusted ({reason})"
    elif urlsplit(host()).scheme == "http" and re.search("disconnected|reset by peer", reason):
        reason = f"hangs up; does it expect https://? ({reason})"
    else:
        reason = f"cannot be reached ({reason})"
    raise RetrieverError(f"{URL}: {host()} {reason}") from None
