"""The address and the key of a server of the user's, in variables, and texts that never repeat the key."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from ragsweep.core.environment import variable
from ragsweep.core.errors import ConfigError
from ragsweep.core.terminal import say_once
from ragsweep.models.language.endpoint_access import hidden

LOCAL = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class ServerAddress:
    """Where a server is, as variables of the environment or of the file `.env` of the project folder say.

    Attributes:
        url: Name of the variable with the address.
        key: Name of the variable with the key.
        port: Where an address has none.
    """

    url: str
    key: str
    port: int

    @property
    def is_set(self) -> bool:
        """Whether there is an address."""
        return bool(variable(self.url))

    @property
    def host(self) -> str:
        """The address, as errors may show it.

        Raises:
            ConfigError: It is not set, is not an address, or has a user, a password or parameters in it.
        """
        url = variable(self.url)
        if not url:
            raise ConfigError(
                f"{self.url}: is not set; set it in the environment or in the file .env of the project folder"
            )
        try:
            parts = urlsplit(url)
            known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
            bare = not (parts.username or parts.password or parts.query or parts.fragment)
        except ValueError:  # of a port that is not a number, and may be a password
            known = bare = False
        if not (known and bare and url.isprintable()) or self.without_key(url) != url:
            raise ConfigError(
                f"{self.url}: expected an address such as http://127.0.0.1:{self.port} or https://HOST:{self.port}, "
                f"without user, password and parameters; the key belongs in {self.key}"
            )
        return url if parts.port else urlunsplit(parts._replace(netloc=f"{parts.netloc}:{self.port}"))

    def secret(self) -> str:
        """The key, empty if there is none; says where it is sent without encryption.

        Raises:
            ConfigError: It is none that can be sent.
        """
        key, parts = variable(self.key), urlsplit(self.host)
        if key and not (key.isascii() and key.isprintable() and " " not in key):
            raise ConfigError(f"{self.key}: contains a character that no key has, such as a space")
        if key and parts.scheme == "http" and parts.hostname not in LOCAL:
            say_once(f"{self.url}: {parts.hostname} gets the key without encryption; use https:// if the server has it")
        return key

    def without_key(self, text: str) -> str:
        """The text without the key, which a server may repeat."""
        return hidden(text, variable(self.key))
