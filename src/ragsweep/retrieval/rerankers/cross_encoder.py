"""Reranking by a cross-encoder, which reads the query and a passage together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar

import numpy as np

from ragsweep.core.arrays import Scores
from ragsweep.core.digest import digest, version
from ragsweep.core.errors import EncoderError
from ragsweep.core.limits import Between
from ragsweep.core.timing import timed
from ragsweep.models.encoders.model_files import digest_of_model
from ragsweep.models.encoders.torch_model import LIBRARIES, TorchModel, loaded
from ragsweep.retrieval.kinds import Reranker
from ragsweep.retrieval.ranking import Ranking, Search, ranked
from ragsweep.retrieval.rerankers.pair_scores import Pair, pair_scores, pairs_of
from ragsweep.store.identity import identity
from ragsweep.store.stage_store import Store


@dataclass(frozen=True)
class CrossEncoderReranker(TorchModel, Reranker):
    """Orders passages by the score that a sentence-transformers `CrossEncoder` gives them beside the query.

    The score is the model's output itself. Many models pass it through a sigmoid, which does not change the order but
    makes large scores equal. On the CPU, the score of a pair does not depend on the pairs beside it, not
    even in its last bit.

    Attributes:
        model, device, batch_size: See `TorchModel`.
        store: Keeps the scores of pairs and the rankings.
        candidates: How many passages of the first ranking are reranked; None reranks all.
    """

    formula: ClassVar[str] = "output of the cross-encoder for the query and the passage, before any sigmoid"
    model_class: ClassVar[str] = "CrossEncoder"
    group: ClassVar[str] = "reranker"
    reads_pairs = True
    at_least: ClassVar[Mapping[str, str]] = {"candidates": "k"}

    store: Store
    candidates: Annotated[int, Between(1)] | None = 100

    @cached_property
    def fingerprint(self) -> str:
        """Digest over the model's files and over what moves the last bits of a score."""
        libraries = {name: version(name) for name in LIBRARIES}
        return digest([digest_of_model(self.folder), self._kind, self._shapes, libraries])

    def rerank(self, search: Search, ranking: Ranking, depth: int) -> Ranking:
        """The passages of a ranking by the model's score, at most `depth` of them."""
        scores = pair_scores(search, ranking, self.scores, self.store, identity(self))
        latency_ms = timed(lambda row: self.scores(pairs_of(search, ranking, row)), len(search.queries))
        return ranked(ranking.passages, scores, depth, latency_ms)

    def scores(self, pairs: Sequence[Pair]) -> Scores:
        """The score of each pair of a query and a passage, shape [pairs]."""
        if not pairs:
            return np.empty(0)
        pairs = [(query.replace("\f", " "), passage.replace("\f", " ")) for query, passage in pairs]  # as encoders do
        model = loaded(self.model_class, self.folder, str(self.device), self.group, prepared=_with_one_score)
        prompt = model.prompts.get(model.default_prompt_name)
        outputs = self._computed(model, partial(_predict, model, prompt=prompt), pairs, prompt, grouped=True)
        return np.asarray(outputs, dtype=np.float64)


def _predict(model: Any, pairs: list[Pair], **options: Any) -> Any:
    import torch

    return model.predict(pairs, activation_fn=torch.nn.Identity(), show_progress_bar=False, **options)


def _with_one_score(model: Any) -> Any:
    if model.num_labels != 1:
        raise EncoderError(f"reranker.model: gives {model.num_labels} numbers for a pair, expected one score")
    return model
