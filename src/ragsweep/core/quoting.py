"""Settings as they are typed in a shell, for the commands that messages show."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

PLAIN = re.compile(r"[\w./:-]+", re.ASCII)


def typed(name: str, value: str | Sequence[str]) -> str:
    """A setting as it is typed in a shell, `name=value`, so that a configuration gets exactly this value."""
    shown = for_hydra(value) if isinstance(value, str) else f"[{','.join(map(for_hydra, value))}]"
    return shlex.quote(f"{name}={shown}")


def for_hydra(text: str) -> str:
    """A text as Hydra reads it back, in quotes if it has special characters or looks like a number, true or null."""
    from hydra.core.override_parser.types import Quote, QuotedString

    if PLAIN.fullmatch(text) and _is_read_as_text(text):
        return text
    text = re.sub(r"(\\*)\$\{", r"\1\1\\${", text)  # else OmegaConf fills in another setting
    return QuotedString(text, Quote.double).with_quotes()


def _is_read_as_text(text: str) -> bool:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        return bool(OverridesParser.create().parse_override(f"name=[{text}]").value() == [text])
    except HydraException:
        return False
