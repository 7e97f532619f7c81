"""What must hold of language models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel

from ragsweep.core.timing import UNKNOWN
from ragsweep.models.language.language_model import (
    Asking,
    Completion,
    LanguageModel,
    LocalModel,
    Message,
    PaidModel,
    ScoresOptions,
    TooLongError,
)
from ragsweep.store.identity import identity
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.testing.component import ComponentContract

PROMPTS = ("What is the capital of France?", "Name a metal.", "Is zinc given in diarrhoea? Reply with JSON.")
CONTINUATIONS = (" Paris", " a city of seven hills", " Paris")


class Reply(BaseModel):
    """The fields that a structured model is asked for."""

    said: str


class LanguageModelContract(ComponentContract):
    """What must hold of a language model. What it offers besides is checked where it does.

    Attributes:
        prompts: What it is asked.
        asking: How; few tokens, so that a model that runs on this machine has an end.
    """

    prompts: ClassVar[Sequence[str]] = PROMPTS
    asking: ClassVar[Asking] = Asking("test", max_tokens=6, returns="reply", fields=lambda item: Reply)

    def test_every_item_has_the_result_of_its_own(self, made: Any) -> None:
        """In the order of the items, with known or unknown tokens."""
        results = made.ask_each(self.prompts, lambda item, model: (item, _complete(item, model)), self.asking)
        assert [item for item, _ in results] == [*self.prompts]
        for _, said in results:
            assert isinstance(said.text, str)
            assert all(tokens is None or tokens >= 0 for tokens in (said.tokens_in, said.tokens_out))
            assert isfinite(said.time_ms)
            assert said.time_ms >= 0

    def test_no_items_have_no_results(self, made: Any) -> None:
        """As of a dataset of which nothing is asked."""
        assert made.ask_each([], _complete, self.asking) == []

    def test_a_prompt_has_the_same_response_beside_any_others(self, store: Store) -> None:
        """And from another object with the same settings. Only the time may differ."""
        made, alone = self.make(store), self.make(NO_STORE)
        together = made.ask_each(self.prompts, _complete, self.asking)
        single = [alone.ask_each([prompt], _complete, self.asking)[0] for prompt in self.prompts]
        assert [each._replace(time_ms=0, machines=UNKNOWN) for each in single] == [
            each._replace(time_ms=0, machines=UNKNOWN) for each in together
        ]

    def test_an_error_of_the_work_is_raised_as_it_is(self, made: Any) -> None:
        """Whoever asks knows what it means."""

        def fail(item: str, model: LanguageModel) -> Completion:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            made.ask_each(self.prompts, fail, self.asking)

    def test_json_is_returned_where_the_model_says_so(self, made: Any) -> None:
        """And where fields were asked for."""
        [said] = made.ask_each(self.prompts[-1:], _as_json, self.asking)
        assert (said is not None) == made.structured
        if said:
            Reply.model_validate_json(said.text)
        assert made.ask_each(self.prompts[-1:], _as_json, replace(self.asking, fields=None)) == [None]

    def test_what_it_returned_can_be_found_again(self, store: Store) -> None:
        """The same settings give the same identity."""
        assert identity(self.make(store)) == identity(self.make(store))

    def test_a_model_on_this_machine_tells_how_likely_a_text_is(self, made: Any) -> None:
        """One that is no `LocalModel` does not."""
        [scores] = made.ask_each(self.prompts[:1], _scores, self.asking)
        assert (scores is not None) == isinstance(made, LocalModel)
        if scores:
            assert all(isfinite(each) and each <= 0 for each in scores.log_likelihoods)
            assert [each == scores.log_likelihoods[0] for each in scores.log_likelihoods] == [True, False, True]

    def test_a_model_on_this_machine_has_limits(self, made: Any) -> None:
        """A response ends at `max_tokens`, and a prompt that does not fit is refused."""
        if isinstance(made, LocalModel):
            assert 0 < made.usual_tokens <= made.context // 2
            [short] = made.ask_each(self.prompts[:1], _complete, replace(self.asking, max_tokens=1))
            assert short.tokens_out == 1
            with pytest.raises(TooLongError, match="longer than"):
                made.ask_each(["word " * made.context], _complete, self.asking)

    def test_a_model_that_is_paid_for_says_what_was_spent(self, made: Any) -> None:
        """What it has returned is not paid for again."""
        if isinstance(made, PaidModel):
            before = made.spent
            made.ask_each(self.prompts, _complete, self.asking)
            spent = made.spent
            assert spent > before
            made.ask_each(self.prompts, _complete, self.asking)
            assert made.spent == spent


def _complete(prompt: str, model: LanguageModel) -> Completion:
    return model.complete([Message("user", prompt)])


def _as_json(prompt: str, model: LanguageModel) -> Completion | None:
    return model.complete([Message("user", prompt)], as_json=True) if model.structured else None


def _scores(prompt: str, model: LanguageModel) -> Any:
    if not isinstance(model, ScoresOptions):
        return None
    return model.option_scores([Message("user", prompt), Message("assistant", "It is")], CONTINUATIONS)
