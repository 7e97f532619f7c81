"""Address and key of an endpoint, and that nothing repeats the key."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from ragsweep.core.environment import variable
from ragsweep.core.errors import ConfigError, ModelError

LEAST_SECRET = 8  # characters; shorter ones, such as EMPTY, are no secret and may be words of an answer


def check_access(base_url: str | None, api_key_env: str, model: str, group: str) -> None:
    """Refuse settings that hold a secret, which a run would record, without repeating them.

    Args:
        base_url: The address; None for OpenAI's own.
        api_key_env: Name of the variable that holds the key.
        model: Name of the model.
        group: The group of these settings, for error messages.

    Raises:
        ConfigError: The address has a user, a password or parameters, or is not an address; the variable's name could
            be a key; the address or the model's name contains the key; or the file `.env` cannot be read.
    """
    if not re.fullmatch("[A-Z][A-Z0-9_]*", api_key_env) or not ("_" in api_key_env or variable(api_key_env)):
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
        if hidden(value, variable(api_key_env)) != value:
            raise ConfigError(f"{group}.{name}: contains the key in {api_key_env}, which would be recorded")


def api_key(name: str, group: str) -> str:
    """The key in a variable of the environment, or else of the file `.env` in the project folder.

    Raises:
        ConfigError: The file `.env` cannot be read.
        ModelError: There is none, or one that cannot be sent. The error does not repeat it.
    """
    found = variable(name)
    if not found:
        raise ModelError(
            f"{group}.api_key_env: {name} is not set; set it in the environment or in the file .env of the project "
            "folder, to any text if the server asks for no key"
        )
    if not re.fullmatch(r"[!-~]+", found):
        raise ModelError(f"{group}.api_key_env: {name} contains a character that no key has, such as a space")
    return found


def hidden(text: str, key: str) -> str:
    """The text without the key, which a server may repeat, also with characters in it that no terminal shows."""
    if len(key) < LEAST_SECRET:
        return text
    return re.sub(r"[^\s!-~]*".join(map(re.escape, key)), "***", text)
