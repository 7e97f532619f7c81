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
    from dotenv import dotenv_values

    path = project() / ".env"
    if not path.exists():
        return None
    try:
        return dotenv_values(stream=StringIO(read_text(path, LARGEST_ENV_MB)), interpolate=False).get(name)
    except (MalformedError, OSError) as error:
        raise ConfigError(f"{path}: cannot be read ({error})") from None  # the error could hold the content
