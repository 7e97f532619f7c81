"""Reranks passages by how likely a language model finds the question after having read the passage."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from ragsweep.core.arrays import NOTHING
from ragsweep.core.errors import ConfigError, RetrieverError
from ragsweep.core.hardware import cores
from ragsweep.core.limits import Between
from ragsweep.core.terminal import counted, verb
from ragsweep.core.timing import sample
from ragsweep.datasets.model.collection import readable
from ragsweep.models.language.language_model import (
    Asking,
    LanguageModel,
    LocalModel,
    Message,
    ScoresOptions,
    TooLongError,
)
from ragsweep.retrieval.ranking import Ranking, Search, ranked
from ragsweep.retrieval.ranking_checks import expect_method
from ragsweep.store.code import name_of
from ragsweep.store.stage_store import NO_STORE, Store

PROMPT = "Passage: {}\nPlease write a question based on this passage."  # that of UPR
ASKING = Asking("reranker", max_tokens=1)  # writes nothing


class Pair(NamedTuple):
    """A query and a passage."""

    query: str
    passage: str


class Score(NamedTuple):
    """How well a passage explains a query.

    Attributes:
        value: Mean log-likelihood of the query's tokens.
        time_ms: How long it took when it was computed.
        cut: Whether only the beginning of the passage was read.
    """

    value: float
    time_ms: float
    cut: bool


@dataclass(frozen=True)
class LikelihoodReranker:
    """Query likelihood (Ponte and Croft 1998) under a language model, without training (UPR, arXiv:2204.07496).

    The score of a passage is the mean log-likelihood of the query's tokens as the question that the model writes about
    this passage. Each pair of a query and a passage is computed once, and kept for good: a killed run goes on where it
    was, and a sweep over `candidates` computes no pair twice. A passage that is longer than the model's context is
    halved until it fits, with a warning.

    Attributes:
        model: Tells how likely a text is, as models on this machine do. Endpoints cannot.
        candidates: How many passages of the first ranking are reranked; None reranks all.
        store: Keeps the rankings.
    """

    formula: ClassVar[str] = "mean log-likelihood of the query's tokens after the passage"
    at_least: ClassVar[Mapping[str, str]] = {"candidates": "k"}

    model: LocalModel
    candidates: Annotated[int, Between(1)] | None = 10
    store: Store = NO_STORE

    def __post_init__(self) -> None:
        expect_method(self.model, "ask_each", "reranker.model")
        if not isinstance(self.model, LocalModel):
            raise ConfigError(
                f"reranker.model: {name_of(self.model)} does not tell how likely a given text is (a chat returns no "
                "logprobs of what is sent), which reranker=likelihood needs; use language_model=smollm2"
            )

    def rerank(self, search: Search, ranking: Ranking, depth: int) -> Ranking:
        """Order the candidates by the likelihood of the query.

        A query alone costs what its pairs took when they were computed, with a pair at a time on each core.
        """
        candidates = ranking.passages
        queries, ranks = np.nonzero(candidates != NOTHING)
        pairs = [
            Pair(search.queries[query], search.passages[passage])
            for query, passage in zip(queries.tolist(), candidates[queries, ranks].tolist(), strict=True)
        ]
        distinct = list(dict.fromkeys(pairs))
        found = dict(zip(distinct, self.model.ask_each(distinct, _score, ASKING), strict=True))
        if cut := sum(score.cut for score in found.values()):
            warnings.warn(
                f"reranker: {counted(cut, 'passage')} with a query {verb(cut, 'are')} longer than the "
                f"{self.model.context:,} tokens "
                "that the model reads; only their beginnings count",
                stacklevel=2,
            )
        scores = np.full(candidates.shape, -np.inf)
        scores[queries, ranks] = [found[pair].value for pair in pairs]
        times_ms = np.bincount(queries, [found[pair].time_ms for pair in pairs], len(search.queries))
        at_once = np.clip(np.bincount(queries, minlength=len(search.queries)), 1, cores())
        return ranked(candidates, scores, depth, (times_ms / at_once)[sample(len(search.queries))])


def _score(pair: Pair, model: LanguageModel) -> Score:
    if not isinstance(model, ScoresOptions):
        raise RetrieverError("reranker.model: does not tell how likely a given text is")
    passage = read = readable(pair.passage)
    while True:
        try:
            scores = model.option_scores([Message("user", PROMPT.format(read))], [pair.query])
        except TooLongError as error:
            if not read:
                raise RetrieverError(f"reranker: a query is {error}") from None
            read = read[: len(read) // 2]
            continue
        [total], [tokens] = scores.log_likelihoods, scores.tokens or (1,)
        return Score(total / tokens, scores.time_ms, read != passage)
