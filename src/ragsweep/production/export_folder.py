"""The files of an exported retriever: how they are written, and how they are read from anybody."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Len
from omegaconf import OmegaConf

from ragsweep.core.errors import ConfigError
from ragsweep.core.json_records import from_record
from ragsweep.core.limits import Between, Text
from ragsweep.core.parsing import MalformedError, from_yaml, read_text
from ragsweep.core.terminal import one_line
from ragsweep.replay.trusted_record import set_setting

SETTINGS, CHECK, DECISION, CARD, INDEX = "retriever.yaml", "check.json", "decision.json", "README.md", "index"
LARGEST_MB = 10  # of a file that is read
QUESTIONS_CHECKED = 20
STAGES = ("query", "reranker", "dynamic_k")  # around the retriever; each may be absent
PARTS = ("corpus", "chunker", "ingest", "retriever", *STAGES, "returns")
LARGEST_K = 1000
LARGEST_DEPTH = 100_000


@dataclass(frozen=True)
class Origin:
    """Where a retriever comes from, and what it was measured on.

    Attributes:
        run: Id of the run.
        configuration: Name of the run.
        dataset: Name of the dataset.
        documents: How many documents there were.
        digest: Digest of their names, texts and pages.
    """

    run: str
    configuration: str
    dataset: str
    documents: int
    digest: str


@dataclass(frozen=True)
class RetrieverSettings:
    """The content of `retriever.yaml`.

    Attributes:
        schema: The version of the format.
        origin: Where it comes from.
        k: How many passages are returned.
        depth: How many passages are ranked at least before they are cut at `k`, as they were when it was measured.
        corpus: Reads the documents.
        chunker: Cuts them into passages.
        retriever: Ranks the passages.
        ingest: Says what is indexed for each passage besides its own text; None indexes that alone.
        query: Changes the queries first; None leaves them as they are.
        reranker: Reorders the first passages; None leaves their order.
        dynamic_k: Drops the last passages; None leaves them.
        returns: Says what is returned for a passage; None returns the passage.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    schema: Literal[1]
    origin: Origin
    k: Annotated[int, Between(1, LARGEST_K)]
    depth: Annotated[int, Between(1, LARGEST_DEPTH)]
    corpus: Mapping[str, Any]
    chunker: Mapping[str, Any]
    retriever: Mapping[str, Any]
    ingest: Mapping[str, Any] | None = None
    query: Mapping[str, Any] | None = None
    reranker: Mapping[str, Any] | None = None
    dynamic_k: Mapping[str, Any] | None = None
    returns: Mapping[str, Any] | None = None

    @property
    def parts(self) -> dict[str, Any]:
        """The components that there are, by name."""
        return {name: node for name in PARTS if (node := getattr(self, name)) is not None}


@dataclass(frozen=True)
class Question:
    """A question, and the ids of the passages that must come back, best first."""

    query: Text
    passages: tuple[str, ...]


@dataclass(frozen=True)
class Check:
    """The content of `check.json`: questions that were asked with this `k`."""

    schema: Literal[1]
    k: Annotated[int, Between(1, LARGEST_K)]
    questions: Annotated[tuple[Question, ...], Len(1)]


def write_settings(folder: Path, settings: RetrieverSettings) -> None:
    """Write `retriever.yaml`."""
    values = {name: value for name, value in asdict(settings).items() if value is not None}
    head = f"# {one_line(settings.origin.configuration)}: ragsweep.load reads it, ragsweep check asks it again\n"
    (folder / SETTINGS).write_text(head + OmegaConf.to_yaml(OmegaConf.create(values)), encoding="utf-8")


def read_settings(folder: Path, overrides: Mapping[str, Any]) -> RetrieverSettings:
    """The content of `retriever.yaml` with other values by their names; nothing in its components is checked.

    Raises:
        ConfigError: It cannot be read, or a setting is missing, wrong or unknown.
    """
    with _reading(folder / SETTINGS):
        nodes = from_yaml(read_text(folder / SETTINGS, LARGEST_MB))
        if not isinstance(nodes, dict):
            raise MalformedError(f"found {type(nodes).__name__}, expected the settings of a retriever")
    for name, value in overrides.items():
        set_setting(nodes, name, value)
    with _reading(folder / SETTINGS):
        return from_record(RetrieverSettings, json.dumps(nodes))


def write_check(folder: Path, k: int, questions: Sequence[Question]) -> None:
    """Write `check.json`."""
    text = json.dumps(asdict(Check(1, k, tuple(questions))), indent=1, ensure_ascii=False)
    (folder / CHECK).write_text(f"{text}\n", encoding="utf-8")


def read_check(folder: Path) -> Check:
    """The content of `check.json`. Raises `ConfigError` if it cannot be read."""
    with _reading(folder / CHECK):
        return from_record(Check, read_text(folder / CHECK, LARGEST_MB))


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    """Errors within the block become a `ConfigError` about this file."""
    try:
        yield
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read ({error.strerror or type(error).__name__})") from error
    except (MalformedError, TypeError, ValueError) as error:  # YAML has dates and infinite numbers, which JSON has not
        raise ConfigError(f"{file}: {one_line(str(error))}") from error
