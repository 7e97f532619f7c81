"""A retriever that waits for a test, so that the test finds the run at work; run.py finds it by `ENVIRONMENT`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from ragsweep.retrieval import Ranking, Search, SparseRetriever

ENVIRONMENT = {"PYTHONPATH": str(Path(__file__).parent)}


def held_by(file: Path) -> list[str]:
    """The overrides for BM25 that waits as long as the file is there."""
    return ["retriever=sparse", "retriever._target_=held.HeldRetriever", f"+retriever.while_there={file}"]


@dataclass(frozen=True)
class HeldRetriever(SparseRetriever):
    """BM25 that waits as long as a file is there."""

    while_there: str = ""

    def rank(self, search: Search, depth: int) -> Ranking:
        """Rank the passages for every query, at most `depth` of them."""
        try:
            while Path(self.while_there).exists():
                time.sleep(0.1)
        except BaseException as error:
            raise ImportError("half imported") from error  # as a compiled module does that is interrupted
        return super().rank(search, depth)
