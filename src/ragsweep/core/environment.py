"""Variables of the environment, or else of the file `.env` in the project folder: addresses and keys."""

from __future__ import annotations

import os
from io import StringIO

from ragsweep.core.errors import ConfigError
from ragsweep.core.parsing import MalformedError, read_text
from ragsweep.core.project import project

LARGEST_ENV_MB = 1


def variable(name: str) -> str:
    """The value of a variable without the space around it, empty if it is not set.

    Raises:
        ConfigError: The file `.env` cannot be read. The error does not repeat its content.
    """
    return (os.environ.get(name) or _of_file(name) or "").strip()


def _of_file(name: str) -> str | None:
    from dotenv.parser import parse_stream

    path = project() / ".env"
    if not path.exists():
        return None
    try:
        text = read_text(path, LARGEST_ENV_MB)
    except (MalformedError, OSError) as error:
        flaw = str(error)
    else:
        values = [line.value for line in parse_stream(StringIO(text)) if line.key == name]
        if len(values) <= 1:
            return values[0] if values else None
        flaw = f"it sets {name} twice"
    raise ConfigError(f"{path}: cannot be read ({flaw})")  # not from the error, which holds the content
