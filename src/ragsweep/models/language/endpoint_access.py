"""Address, headers and keys of an endpoint, and that nothing repeats a key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple
from urllib.parse import urlsplit

from ragsweep.core.errors import ConfigError, ModelError
from ragsweep.core.limits import Header, KeyName
from ragsweep.core.project import variable
from ragsweep.core.terminal import one_line, shortened
from ragsweep.store.component import Component

ABOUT_KEYS = {401: "is not accepted", 403: "may not do this"}  # by status
LONGEST_MESSAGE = 300  # characters of what a server says
LEAST_PART = 4  # characters of a part of a key
LEAST_SECRET = 8  # characters; shorter ones, such as EMPTY, are no secret and may be words of an answer
HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # RFC 9110, 5.6.2
OWN_HEADERS = ("host", "content-type", "content-length", "accept-encoding", "transfer-encoding", "connection")
KEY = re.compile(  # a name in lower case, with _ between its words
    r"authori[sz]|authenti|cookie|secret|passw|passphrase|credential|signature|connection_?str|auth(?![a-z])|"
    r"(?<![a-z])(?:bearers?|jwts?|pwd)(?![a-z])|(?<![a-z])sessions?$|"
    r"(?:api|access|auth|bearer|hf|private|refresh|session|subscription)_?(?:key|token)s?(?![a-z])|"
    r"(?<![a-z])(?:key|token)_?\d*$"
)
NO_KEY = re.compile(  # of caches and of vocabularies
    r"(?:^|_)(?:cache_key|(?:bos|cls|end|eos|mask|pad|per|sep|special|start|stop|unk)_token)$"
)
VALUE_OF_KEY = re.compile(  # as it is sent, in an address, as a signed token, or with the prefix of a service
    r"(?:^|[:=])\s*bearer\s+\S|^\s*(?:basic\s+[a-z0-9+/]{8,}={0,2}|(?:token|apikey|api-key|digest)\s+\S+)\s*$|"
    r"[a-z][a-z0-9+.-]*://[^\s/?#@]*:[^\s/?#@]+@|"
    r"(?<![\w-])(?:(?-i:eyJ)[\w-]{8,}\.[\w-]+\.[\w-]+|"
    r"(?:(?:sk|xai|nvapi)-|(?:gsk|hf|gh[pousr]|github_pat)_)(?=[\w-]*\d)[\w-]{16,}|"
    r"(?-i:AKIA[0-9A-Z]{16}|AIza[\w-]{35}))",
    re.IGNORECASE,
)


class Access(NamedTuple):
    """The headers and keys that a server expects.

    Attributes:
        headers: Of every request, with the keys.
        secrets: What nothing may repeat.
        settings: Those that name the variables of the keys that are sent.
    """

    headers: Mapping[str, str]
    secrets: tuple[str, ...]
    settings: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class KeyedServer(Component):
    """Base of components that ask a server, which may want keys. No run records a key, and no error repeats one.

    Attributes:
        group: The group of the settings, for messages.
        api_key_env: Name of the variable that holds the key, in the environment or in `.env` of the project folder.
            It is sent as `Authorization: Bearer`. None sends none.
        headers: Further headers. With others, everything is asked for again.
        headers_env: Names of the variables that hold further headers, by the header, such as `api-key`.
    """

    group: ClassVar[str]

    api_key_env: KeyName | None = None
    headers: Mapping[str, Header] = field(default_factory=dict)
    headers_env: Mapping[str, KeyName] = field(default_factory=dict)

    @property
    def access(self) -> Access:
        """The headers of a request, and the keys in them.

        Raises:
            ConfigError: The file `.env` cannot be read.
            ModelError: A variable is not set, or holds what cannot be sent. The error does not repeat it.
        """
        headers, secrets, settings = dict(self.headers), list[str](), {}
        if self.api_key_env is not None:
            setting = f"{self.group}.api_key_env"
            key = _value(self.api_key_env, setting, "[!-~]+", f"{setting}=null sends no key")
            headers = {"Authorization": f"Bearer {key}", **headers}
            secrets.append(key)
            settings["authorization"] = f"{self.api_key_env} ({setting})"
        for name, variable_name in self.headers_env.items():
            setting = f"{self.group}.headers_env.{name}"
            value = _value(variable_name, setting, "[ -~]+", f"without {setting} none is sent")
            headers = {other: text for other, text in headers.items() if other.lower() != name.lower()} | {name: value}
            secrets += _parts(value)
            settings[name.lower()] = f"{variable_name} ({setting})"
        return Access(headers, tuple(secrets), tuple(settings.values()))

    def check_access(self, address: str | None, setting: str, sent: Mapping[str, Any]) -> None:
        """Refuse settings that cannot be sent, or that hold a key, which a run would record, without repeating it.

        Args:
            address: The address; None for the usual one.
            setting: That of the address.
            sent: Further settings that are sent: a mapping, or None, each.

        Raises:
            ConfigError: The address has a user, a password or parameters, or is not an address; the name of a variable
                could be a key; a header cannot be sent; a setting has a key, or what may be one; or the file `.env`
                cannot be read.
        """
        variables = {"api_key_env": self.api_key_env} if self.api_key_env else {}
        variables |= {f"headers_env.{name}": value for name, value in self.headers_env.items()}
        for part, name in variables.items():
            if not re.fullmatch("[A-Z][A-Z0-9_]*", name) or not ("_" in name or variable(name)):
                raise ConfigError(
                    f"{self.group}.{part}: expected the name of an environment variable, such as OPENAI_API_KEY, and a "
                    "name without _ only if it is set; the key itself must not be in the configuration, which every "
                    "run records"
                )
        if not (address is None or is_plain_address(address)):
            raise ConfigError(
                f"{self.group}.{setting}: expected an address such as http://127.0.0.1:8000/v1, without user, password "
                "and parameters, which would be recorded; the key belongs in an environment variable, and is sent as a "
                "header"
            )
        for part, value in {setting: {"": address or ""}, "headers": self.headers, **sent}.items():
            text = "\n".join(texts_in(value))
            for name in variables.values():
                if hidden(text, *_parts(variable(name))) != text:
                    raise ConfigError(f"{self.group}.{part}: contains the key in {name}, which would be recorded")
            if secret := likely_key(value):
                raise ConfigError(
                    f"{self.group}.{part}: {secret} may be a key, and every run records it; send keys as headers, by "
                    "headers_env, which names the environment variables that hold them"
                )
        for part, values in {"headers": self.headers, "headers_env": self.headers_env}.items():
            for name, value in values.items():
                if not HEADER.fullmatch(name) or name.lower() in OWN_HEADERS:
                    raise ConfigError(f"{self.group}.{part}: {name!r} is not the name of a header that can be set")
                if not re.fullmatch(r"[!-~]([ -~]*[!-~])?", value):
                    raise ConfigError(f"{self.group}.{part}.{name}: contains a character that no header has")

    def about_keys(self, status: int, access: Access) -> str:
        """An error message for a status of `ABOUT_KEYS`: which key was refused, or that none was sent."""
        if not access.settings:
            settings = f"{self.group}.api_key_env or {self.group}.headers_env"
            return f"no key was sent; set {settings} to the variable that holds it"
        keys = "the key in the variable" if len(access.settings) == 1 else "a key in one of the variables"
        return f"{keys} {', '.join(access.settings)} {ABOUT_KEYS[status]}"


def is_plain_address(address: str) -> bool:
    """Whether a text is the address of a server, without user, password and parameters."""
    try:
        parts = urlsplit(address)
        is_known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # of a port that is not a number, and may be a password
        return False
    return is_known and address.isprintable() and not re.search(r"[@?#;=&%\s]", address)


def words_of(error: Any, access: Access) -> str:
    """The message in a server's error, without keys that it repeats."""
    error = error.get("error", error) if isinstance(error, dict) else error or ""
    message = (error.get("message") or error.get("detail") or error) if isinstance(error, dict) else error
    message = hidden(message if isinstance(message, str) else json.dumps(message), *access.secrets)
    return shortened(one_line(message), LONGEST_MESSAGE)


def repeats_part(text: str, access: Access) -> bool:
    """Whether a text has a part of a key, of which servers show the ends."""
    parts = (key[start : start + LEAST_PART] for key in access.secrets for start in range(len(key)))
    return any(len(part) == LEAST_PART and part in text for part in parts)


def _value(name: str, setting: str, allowed: str, otherwise: str) -> str:
    """The value of a variable; `otherwise` is what to do where there is none."""
    value = variable(name)
    if not value:
        place = "set it in the environment or in the file .env of the project folder"
        raise ModelError(f"{setting}: {name} is not set; {place}; {otherwise}")
    if not re.fullmatch(allowed, value):
        raise ModelError(f"{setting}: {name} contains a character that no key has, such as a space")
    return value


def _parts(value: str) -> list[str]:
    """A secret header, and the key in it, such as that after `Bearer`."""
    return [value, *value.split()]


def hidden(text: str, *keys: str) -> str:
    """The text without the keys, which a server may repeat, also with characters in them that no terminal shows."""
    for key in keys:
        if len(key) >= LEAST_SECRET:
            text = re.sub(r"[^\s!-~]*".join(map(re.escape, key)), "***", text)
    return text


def is_named_like_key(name: str) -> bool:
    """Whether a header or a field of this name probably holds a key."""
    words = re.sub(r"[\W_]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)).lower()
    return bool(KEY.search(words)) and not NO_KEY.search(words)


def is_like_key(value: str) -> bool:
    """Whether a text holds a key as it is sent (`Bearer ...`) or issued (`sk-...`), or an address with a password."""
    return bool(VALUE_OF_KEY.search(value))


def likely_key(fields: Any) -> str | None:
    """The name of the first field that is probably a key, at any depth; None if there is none."""
    return next((name for name, value in _named(fields, "") if _is_likely(name, value)), None)


def texts_in(fields: Any) -> Iterator[str]:
    """All names and values of fields, at any depth, as texts."""
    for name, value in _named(fields, ""):
        yield name
        if not isinstance(value, Mapping | list | tuple):
            yield str(value)


def _is_likely(name: str, value: object) -> bool:
    if isinstance(value, Mapping) and name.lower() == "authentication":  # of Azure's data sources; its fields tell
        return False
    return is_named_like_key(name) or (isinstance(value, str) and is_like_key(value))


def _named(fields: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Each field with its name, those in it too; what is in a list has the name of the list."""
    if isinstance(fields, Mapping):
        for key, value in fields.items():
            yield str(key), value
            yield from _named(value, str(key))
    elif isinstance(fields, list | tuple):
        for value in fields:
            yield name, value
            yield from _named(value, name)
