"""Reranking by a language model, which grades each passage for the query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np

from ragsweep.core.arrays import NOTHING, Scores
from ragsweep.core.limits import Between
from ragsweep.models.language.language_model import (
    Asking,
    Completion,
    Conversation,
    LanguageModel,
    MaxTokens,
    Message,
    most_tokens,
)
from ragsweep.models.language.response import grade_in
from ragsweep.models.language.writing import as_data
from ragsweep.retrieval.kinds import Reranker
from ragsweep.retrieval.ranking import Ranking, Search, ranked
from ragsweep.retrieval.rerankers.pair_scores import Pair
from ragsweep.store.component import expect_kind

PROMPT = """\
Query: {query}

Text: {text}

How well does the text answer the query, from 0 for not at all to {highest} for completely? Reply with JSON alone, \
such as {{"grade": 0}}."""
GRADE_TOKENS = 64  # of a response


@dataclass(frozen=True)
class LanguageModelReranker(Reranker):
    """Orders passages by the grade that a language model gives each for the query, and then as they were.

    Each query and passage is one prompt, and its response is kept, so that no pair is graded twice. Passages without a
    readable grade come after all graded ones; the report says how many there were.

    Attributes:
        language_model: Gives the grades.
        highest: The best grade; 0 is the worst.
        candidates: How many passages of the first ranking are graded; None grades all.
        max_tokens: The most tokens of a response; None takes 64. A model that writes its thoughts needs more.
    """

    at_least: ClassVar[Mapping[str, str]] = {"candidates": "k"}

    language_model: LanguageModel
    highest: Annotated[int, Between(1, 10)] = 3
    candidates: Annotated[int, Between(1)] | None = 20
    max_tokens: MaxTokens | None = None

    def __post_init__(self) -> None:
        expect_kind(self.language_model, LanguageModel, "reranker.language_model")
        most = most_tokens(self.language_model, self.max_tokens, GRADE_TOKENS, "reranker")
        object.__setattr__(self, "max_tokens", most)

    @property
    def formula(self) -> str:
        """How the score is made."""
        return f"grade by the language model, from 0 to {self.highest}, minus a part below 1 that grows with the rank"

    def rerank(self, search: Search, ranking: Ranking, depth: int) -> Ranking:
        """The passages of a ranking by their grades, at most `depth` of them."""
        queries, ranks = np.nonzero(ranking.passages != NOTHING)
        passages = ranking.passages[queries, ranks].tolist()
        replies = self._graded(
            [
                (search.queries[query], search.passages[passage])
                for query, passage in zip(queries, passages, strict=True)
            ]
        )
        scores = np.full(ranking.passages.shape, -np.inf)
        scores[queries, ranks] = self._grades(replies) - ranks / (ranks + 1)
        costs_ms = [reply.time_ms for reply in replies]
        times_ms = np.bincount(queries, costs_ms, len(search.queries)).astype(np.float64)
        return ranked(ranking.passages, scores, depth, times_ms)

    def sections(self) -> Mapping[str, Sequence[str]]:
        """How many passages have no readable grade, for the report."""
        unread = int((self._grades([*self._replies.values()]) < 0).sum())
        lost = f"The language model gave no readable grade to {unread:,} of {len(self._replies):,} passages for a query"
        return {"Reranking": [f"{lost}; they come after all graded ones."]} if unread else {}

    @cached_property
    def _replies(self) -> dict[Pair, Completion]:
        """What the model returned in this process: a run needs it several times, and a store may be off."""
        return {}

    def _graded(self, pairs: Sequence[Pair]) -> list[Completion]:
        assert self.max_tokens is not None  # since __post_init__
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._replies]
        form = grade_form(self.highest)
        asking = Asking("reranker", self.max_tokens, lambda pair: form, item="passage")
        self._replies.update(zip(new, self.language_model.ask_each(new, self._ask, asking), strict=True))
        return [self._replies[pair] for pair in pairs]

    def _ask(self, pair: Pair, model: Conversation) -> Completion:
        query, text = map(as_data, pair)
        prompt = PROMPT.format(query=query, text=text, highest=self.highest)
        return model.complete([Message("user", prompt)], as_json=model.structured)

    def _grades(self, replies: Sequence[Completion]) -> Scores:
        """The grade in each reply, shape [replies]; -1 where it is none from 0 to the highest."""
        grades = [grade_in(reply.text, self.highest) for reply in replies]
        return np.array([-1 if grade is None else grade for grade in grades], np.float64)


def grade_form(highest: int) -> Any:
    """The fields of a reply: a whole number from 0 to `highest`."""
    from pydantic import ConfigDict, Field, create_model

    grade = (int, Field(strict=True, ge=0, le=highest))
    return create_model("Grade", __config__=ConfigDict(extra="forbid"), grade=grade)
