"""Tests of language models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel

from ragsweep.core.errors import ModelError
from ragsweep.core.timing import UNKNOWN
from ragsweep.models.language.language_model import (
    Asking,
    Completion,
    Conversation,
    Message,
    TooLongError,
)
from ragsweep.store.identity import identity
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.testing.component import ComponentContract

PROMPTS = ("What is the capital of France?", "Name a metal.", "Is zinc given in diarrhoea? Reply with JSON.")
CONTINUATIONS = (" Paris", " a city of seven hills", " Paris")


class Reply(BaseModel):
    """The fields that a structured model is asked for."""

    reply: str


class LanguageModelContract(ComponentContract):
    """Tests of a language model. Optional abilities are tested where it has them.

    Attributes:
        prompts: What it is asked.
        asking: How; few tokens, so that a model that runs on this machine has an end.
    """

    prompts: ClassVar[Sequence[str]] = PROMPTS
    asking: ClassVar[Asking] = Asking("test", max_tokens=6, form=lambda item: Reply)

    def test_every_item_has_the_result_of_its_own(self, made: Any) -> None:
        results = made.ask_each(self.prompts, lambda item, model: (item, _complete(item, model)), self.asking)
        assert [item for item, _ in results] == [*self.prompts]
        for _, completion in results:
            assert isinstance(completion.text, str)
            assert all(tokens is None or tokens >= 0 for tokens in (completion.tokens_in, completion.tokens_out))
            assert isfinite(completion.time_ms)
            assert completion.time_ms >= 0

    def test_no_items_have_no_results(self, made: Any) -> None:
        assert made.ask_each([], _complete, self.asking) == []

    def test_a_prompt_has_the_same_response_beside_any_others(self, store: Store) -> None:
        """And from another object with the same settings. Only the time may differ."""
        made, alone = self.make(store), self.make(NO_STORE)
        together = made.ask_each(self.prompts, _complete, self.asking)
        single = [alone.ask_each([prompt], _complete, self.asking)[0] for prompt in self.prompts]
        for one, other in zip(single, together, strict=True):
            assert one._replace(time_ms=0, machines=UNKNOWN) == other._replace(time_ms=0, machines=UNKNOWN)

    def test_an_error_of_the_work_is_raised_as_it_is(self, made: Any) -> None:

        def fail(item: str, model: Conversation) -> Completion:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            made.ask_each(self.prompts, fail, self.asking)

    def test_json_is_returned_where_the_model_says_so(self, made: Any) -> None:
        [completion] = made.ask_each(self.prompts[-1:], _as_json, self.asking)
        assert (completion is not None) == made.structured
        if completion:
            Reply.model_validate_json(completion.text)
        assert made.ask_each(self.prompts[-1:], _as_json, replace(self.asking, form=None)) == [None]

    def test_what_it_returned_can_be_found_again(self, store: Store) -> None:
        assert identity(self.make(store)) == identity(self.make(store))

    def test_how_likely_a_text_is_is_told_of_each_continuation(self, made: Any) -> None:
        [scores] = made.ask_each(self.prompts[:1], _scores, self.asking)
        if scores is not None:
            assert all(isfinite(score) and score <= 0 for score in scores.log_likelihoods)
            assert [score == scores.log_likelihoods[0] for score in scores.log_likelihoods] == [True, False, True]

    def test_a_model_with_a_context_has_limits(self, made: Any) -> None:
        """A response ends at `max_tokens`, and a prompt that does not fit is refused."""
        if made.context is not None:
            assert made.usual_tokens is None or 0 < made.usual_tokens <= made.context // 2
            [short] = made.ask_each(self.prompts[:1], _complete, replace(self.asking, max_tokens=1))
            assert short.tokens_out == 1
            with pytest.raises(TooLongError, match="longer than"):
                made.ask_each(["word " * made.context], _complete, self.asking)

    def test_a_failure_stops_the_rest(self, made: Any) -> None:

        def fail(item: str, model: Conversation) -> Completion:
            raise ModelError("it is gone")

        with pytest.raises(ModelError, match=f"it is gone; {len(self.prompts)} questions left"):
            made.ask_each(self.prompts, fail, self.asking)


def _complete(prompt: str, model: Conversation) -> Completion:
    return model.complete([Message("user", prompt)])


def _as_json(prompt: str, model: Conversation) -> Completion | None:
    return model.complete([Message("user", prompt)], as_json=True) if model.structured else None


def _scores(prompt: str, model: Conversation) -> Any:
    return model.option_scores([Message("user", prompt), Message("assistant", "It is")], CONTINUATIONS)
