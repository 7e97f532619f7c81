"""Address and key of an endpoint, and that nothing repeats the key."""

from __future__ import annotations

import os
import re
from io import StringIO
from urllib.parse import urlsplit

from ragsweep.core.errors import ConfigError, ModelError
from ragsweep.core.parsing import MalformedError, read_text
from ragsweep.core.project import project

LARGEST_MB = 1  # of a .env file
LEAST_SECRET = 8  # characters; shorter ones, such as EMPTY, are no secret and may be words of an answer


def check_access(base_url: str | None, api_key_env: str, model: str, group: str) -> None:
    """Refuse settings that hold a secret, which a run would record, without repeating them.

    Args:
        base_url: The address; None for OpenAI's own.
        api_key_env: Name of the variable that holds the key.
        model: Name of the model.
        group: The group of these settings, for error messages.

    Raises:
        ConfigError: The address has a user, a password or parameters, or is not an address; or the variable's name
            could be a key; or the address or the model's name contains the key.
        ModelError: The file `.env` cannot be read.
    """
    if not re.fullmatch("[A-Z][A-Z0-9_]*", api_key_env) or not ("_" in api_key_env or _key(api_key_env)):
        raise ConfigError(
            f"{group}.api_key_env: expected the name of an environment variable, such as OPENAI_API_KEY, and a name "
            "without _ only if it is set; the key itself must not be in the configuration, which every run records"
        )
    if base_url is not None:
        try:
            parts = urlsplit(base_url)
            known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:  # of a port that is not a number, and may be a password
            known = False
        if not known or not base_url.isprintable() or re.search(r"[@?#;=&%\s]", base_url):
            raise ConfigError(
                f"{group}.base_url: expected an address such as http://127.0.0.1:8000/v1, without user, password and "
                f"parameters, which would be recorded; the key belongs in the environment as {api_key_env}"
            )
    for name, value in (("base_url", base_url or ""), ("model", model)):
        if hidden(value, _key(api_key_env)) != value:
            raise ConfigError(f"{group}.{name}: contains the key in {api_key_env}, which would be recorded")


def api_key(name: str, group: str) -> str:
    """The key in a variable of the environment, or else of the file `.env` in the project folder.

    Raises:
        ModelError: There is none, or one that cannot be sent. The error does not repeat it.
    """
    found = _key(name)
    if not found:
        raise ModelError(
            f"{group}.api_key_env: {name} is not set; set it in the environment or in the file .env of the project "
            "folder, to any text if the server asks for no key"
        )
    if not re.fullmatch(r"[!-~]+", found):
        raise ModelError(f"{group}.api_key_env: {name} contains a character that no key has, such as a space")
    return found


def _key(name: str) -> str:
    return (os.environ.get(name) or _of_file(name) or "").strip()


def _of_file(name: str) -> str | None:
    from dotenv.parser import parse_stream

    path = project() / ".env"
    if not path.exists():
        return None
    try:
        text = read_text(path, LARGEST_MB)
    except (MalformedError, OSError) as error:
        flaw = str(error)
    else:
        values = [line.value for line in parse_stream(StringIO(text)) if line.key == name]
        if len(values) <= 1:
            return values[0] if values else None
        flaw = f"it sets {name} twice"
    raise ModelError(f"{path}: cannot be read ({flaw})")  # not from the error, which holds the content


def hidden(text: str, key: str) -> str:
    """The text without the key, which a server may repeat, also with characters in it that no terminal shows."""
    if len(key) < LEAST_SECRET:
        return text
    return re.sub(r"[^\s!-~]*".join(map(re.escape, key)), "***", text)
