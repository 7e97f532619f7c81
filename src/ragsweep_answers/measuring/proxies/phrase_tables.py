"""The YAML files in which users list phrases that are looked for in texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ragsweep.core.errors import ConfigError
from ragsweep.core.parsing import MalformedError, from_yaml, read_text
from ragsweep.datasets.readers.fields import shown_value
from ragsweep.text.content_words import Phrases, phrases, stems

LARGEST_PHRASES_MB = 1


def read_table(path: Path) -> Any:
    """The value of a YAML file that a user may have written.

    Raises:
        ConfigError: It cannot be read, is larger than `LARGEST_PHRASES_MB` megabytes, or is not plain YAML.
    """
    try:
        return from_yaml(read_text(path, LARGEST_PHRASES_MB))
    except MalformedError as error:
        raise ConfigError(f"{path}: {error}") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror or error})") from error


def phrases_of(value: object, where: str) -> Phrases:
    """The phrases that a field of a YAML file lists.

    Raises:
        ConfigError: The value is not a list of texts that contain a word; `where` names its place.
    """
    if not isinstance(value, list) or not value:
        raise ConfigError(f"{where}: found {shown_yaml(value)}, expected a list of phrases")
    for phrase in value:
        if not isinstance(phrase, str) or not stems(phrase).strip():
            raise ConfigError(f"{where}: found {shown_yaml(phrase)}, expected a phrase of one word or more")
    return phrases(value)


def shown_yaml(value: object) -> str:
    """A value of a YAML file as shown in an error message."""
    if isinstance(value, str | int | float | list | dict | None):
        return "a list" if isinstance(value, list) and value else shown_value(value)
    return f"a {type(value).__name__}"  # such as a date
