"""Reranking by a cross-encoder, which reads the query and a passage together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from ragsweep.core.arrays import Scores
from ragsweep.core.digest import digest, version
from ragsweep.core.errors import EncoderError
from ragsweep.core.hardware import fastest_device
from ragsweep.core.limits import Between, Text
from ragsweep.core.timing import sample, timed
from ragsweep.models.encoders.model_files import digest_of_model, model_folder
from ragsweep.models.encoders.model_running import (
    GROUP,
    LIBRARIES,
    WIDTH,
    by_threads,
    check_device,
    groups_of,
    in_batches,
    loaded,
    settings_of,
)
from ragsweep.retrieval.ranking import Ranking, Search, ranked
from ragsweep.retrieval.rerankers.pair_scores import Pair, pair_scores, pairs_of
from ragsweep.store.identity import identity
from ragsweep.store.store import Store


@dataclass(frozen=True)
class CrossEncoderReranker:
    """Orders passages by the score that a sentence-transformers `CrossEncoder` gives them beside the query.

    The score is the model's output itself. Many models pass it through a sigmoid, which does not change the order but
    makes large scores equal. On the CPU, the score of a pair does not depend on the pairs beside it, not
    even in its last bit.

    Attributes:
        model: A name on the Hugging Face hub, or a folder.
        store: Keeps the scores of pairs and the rankings.
        device: `cpu`, `cuda`, `cuda:1`, `mps`; None takes the fastest there is.
        batch_size: Pairs scored at once on an accelerator.
        candidates: How many passages of the first ranking are reranked; None reranks all.
    """

    formula: ClassVar[str] = "output of the cross-encoder for the query and the passage, before any sigmoid"
    at_least: ClassVar[Mapping[str, str]] = {"candidates": "k"}  # `candidates` must not be smaller than `k`

    model: Text
    store: Store
    device: Text | None = None
    batch_size: Annotated[int, Between(1)] = 32
    candidates: Annotated[int, Between(1)] | None = 100

    def __post_init__(self) -> None:
        if self.device is None:  # what is used is what is logged
            object.__setattr__(self, "device", fastest_device())
        elif self._kind not in ("cpu", fastest_device()):  # else torch will say, when the model is loaded
            with settings_of("reranker"):
                check_device(str(self.device))

    @property
    def _kind(self) -> str:
        return str(self.device).partition(":")[0]

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Settings that have no effect on this device."""
        return ("batch_size",) if self._kind == "cpu" else ()

    @cached_property
    def folder(self) -> Path:
        """Where the model's files are; raises `ConfigError` where they cannot be had."""
        with settings_of("reranker"):
            return model_folder(self.model, "CrossEncoder")

    @cached_property
    def fingerprint(self) -> str:
        """Digest over the model's files and over what moves the last bits of a score."""
        shapes = [GROUP, WIDTH] if self._kind == "cpu" else [self.batch_size]
        libraries = {name: version(name) for name in LIBRARIES}
        with settings_of("reranker"):
            return digest([digest_of_model(self.folder), self._kind, shapes, libraries])

    def rerank(self, search: Search, ranking: Ranking, depth: int) -> Ranking:
        """The passages of a ranking by the model's score, at most `depth` of them."""
        scores = pair_scores(search, ranking, self.scores, self.store, identity(self))
        rows = sample(len(search.queries)).tolist()
        latency_ms = timed(lambda row: self.scores(pairs_of(search, ranking, row)), rows)
        return ranked(ranking.passages, scores, depth, latency_ms)

    def scores(self, pairs: Sequence[Pair]) -> Scores:
        """The score of each pair of a query and a passage, shape [pairs]."""
        if not pairs:
            return np.empty(0)
        pairs = [(query.replace("\f", " "), passage.replace("\f", " ")) for query, passage in pairs]  # as encoders do
        with settings_of("reranker"):
            model = _load(self.folder, str(self.device))
            prompt = model.prompts.get(model.default_prompt_name)
            if self._kind == "cpu":
                groups, options = groups_of(model, pairs, prompt)
                found = by_threads(partial(_predict, model, batch_size=GROUP, **options), pairs, groups)
            else:
                found = in_batches(model, partial(_predict, model, batch_size=self.batch_size, prompt=prompt), pairs)
        return np.asarray(found, dtype=np.float64)


def _predict(model: Any, pairs: list[Pair], **options: Any) -> Any:
    import torch

    return model.predict(pairs, activation_fn=torch.nn.Identity(), show_progress_bar=False, **options)


@cache
def _load(folder: Path, device: str) -> Any:
    model = loaded("CrossEncoder", folder, device)
    if model.num_labels != 1:
        raise EncoderError(f"encoder.model: {folder} gives {model.num_labels} numbers for a pair, expected one score")
    return model
