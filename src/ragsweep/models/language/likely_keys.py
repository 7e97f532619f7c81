"""What is probably a key, by its name or by itself: a run would record it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

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
