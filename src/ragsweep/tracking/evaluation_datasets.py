"""Reads MLflow's EvaluationDatasets, which lie in the database of a tracking store."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import mlflow
from mlflow.entities import EvaluationDataset

from ragsweep.core.errors import DatasetError, TrackingError, first_line
from ragsweep.core.terminal import one_line, shortened
from ragsweep.tracking.client import Client
from ragsweep.tracking.place import own_store
from ragsweep.tracking.tracking_store import UNREACHABLE, existing_store


class EvaluationRecord(NamedTuple):
    """A row: the arguments of an application, what is expected of it, and tags."""

    inputs: Mapping[str, Any]
    expectations: Mapping[str, Any]
    tags: Mapping[str, Any]


def read_evaluation_dataset(name: str, uri: str | None = None) -> list[EvaluationRecord]:
    """The rows of the EvaluationDataset of this name.

    Args:
        name: Its name.
        uri: The tracking store; None for the project's own.

    Raises:
        DatasetError: There is none, or several have this name.
        TrackingError: The store cannot be read.
    """
    uri = uri or own_store()[0]
    with _store(name, uri):
        found = _named(existing_store(uri), name)
        if len(found) != 1:
            raise DatasetError(f"questions.dataset: {uri} has {len(found)} datasets {name!r}, expected one")
        return [
            EvaluationRecord(each.inputs or {}, each.expectations or {}, each.tags or {}) for each in found[0].records
        ]


def _named(client: Client, name: str) -> list[EvaluationDataset]:
    if not re.fullmatch(r"[\w.\- /]{1,200}", name):
        found = shortened(one_line(name))
        raise DatasetError(f"dataset {found!r}: expected a name of at most 200 letters, digits, spaces and _ - . /")
    return list(client.search_datasets(filter_string=f"name = '{name}'"))


@contextmanager
def _store(name: str, uri: str) -> Iterator[None]:
    """Let datasets reach their records: MLflow looks for these in its default store, whatever store they came from."""
    before = mlflow.get_tracking_uri() if mlflow.is_tracking_uri_set() else None
    try:
        mlflow.set_tracking_uri(uri)
        yield
    except UNREACHABLE as error:
        raise TrackingError(f"dataset {name!r}: cannot be used in {uri} ({first_line(error)})") from error
    finally:
        mlflow.set_tracking_uri(before)
