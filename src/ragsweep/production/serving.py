"""Serves an exported retriever as a model of MLflow's registry, which names this module as its loader.

The model holds the exported folder and no code. What the folder may not name itself, such as documents elsewhere or a
model of a hub, comes from whoever starts the server.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ragsweep.production.loaded_retriever import LoadedRetriever
from ragsweep.production.loading import load
from ragsweep.replay.trusted_record import composed_today
from ragsweep.tracking.registry import as_mlflow_errors

if TYPE_CHECKING:
    import pandas as pd

SETTINGS = "RAGSWEEP_SETTINGS"  # in the environment of a server: settings of retriever.yaml, as of `ragsweep check`


class ServedRetriever:
    """A retriever as MLflow calls it."""

    def __init__(self, retriever: LoadedRetriever) -> None:
        self._retriever = retriever

    def predict(self, data: pd.DataFrame, params: Mapping[str, Any] | None = None) -> list[list[dict[str, Any]]]:
        """The hits for each query, best first.

        Args:
            data: Has a column `query`.
            params: `k`, the most hits for a query; without it, the number that was measured.

        Raises:
            MlflowException: A query is blank, or `k` is not from 1 to 1000.
        """
        k = (params or {}).get("k")
        with as_mlflow_errors():
            answers = self._retriever.search_all([*data["query"]], k if k is None else int(k))
        return [[asdict(hit) for hit in hits] for hits in answers]


def _load_pyfunc(data_path: str) -> ServedRetriever:
    """Load a model of the registry; MLflow calls a loader by this name."""
    _, settings = composed_today(shlex.split(os.environ.get(SETTINGS, "")))
    return ServedRetriever(load(data_path, overrides=settings))
