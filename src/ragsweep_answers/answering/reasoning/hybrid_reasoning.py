"""The agreement of several reasoning methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum
from statistics import mean

from ragsweep.core.errors import ConfigError
from ragsweep.models.language.language_model import Conversation
from ragsweep.store.component import expect_kind
from ragsweep_answers.answering.question import Answer, Question, Reasoning
from ragsweep_answers.answering.reasoning.dialogue import costs_of


@dataclass(frozen=True)
class HybridReasoning(Reasoning):
    """Has several methods answer and takes the letter with the largest weight.

    The vote of a method weighs as much as its stated confidence. A method that states none weighs as much as the others
    do on average. Of letters with the same weight, the one with more votes wins, then the first one.

    Attributes:
        methods: By names of your choice.
    """

    methods: Mapping[str, Reasoning]

    def __post_init__(self) -> None:
        if not self.methods:
            raise ConfigError("reasoning.methods: found none, expected at least one")
        for name, method in self.methods.items():
            expect_kind(method, Reasoning, f"reasoning.methods.{name}")

    def answer(self, question: Question, model: Conversation) -> Answer:
        """The chosen letter, None if no method came to an answer.

        Its confidence is the share of the methods that chose it. A method without an answer has chosen no letter.
        """
        answers = {name: method.answer(question, model) for name, method in self.methods.items()}
        letter = _chosen([answer for answer in answers.values() if answer.letter])
        agreeing = [answer for answer in answers.values() if letter and answer.letter == letter]
        reasonings = (
            f"{name}: {answer.letter or 'no answer'}\n{answer.reasoning}".strip() for name, answer in answers.items()
        )
        return Answer(
            letter,
            len(agreeing) / len(answers) if letter else None,
            reasoning="\n\n".join(reasonings),
            cited=tuple(dict.fromkeys(unit for answer in agreeing for unit in answer.cited)),
            lost=tuple(dict.fromkeys(field for answer in answers.values() for field in answer.lost)),
            unread="" if letter else next((answer.unread for answer in answers.values() if answer.unread), ""),
            **costs_of(answers.values()),
        )


def _chosen(votes: list[Answer]) -> str | None:
    """The letter with the largest weight; None if nobody voted."""
    usual = mean([vote.confidence for vote in votes if vote.confidence is not None] or [1.0])
    weights: dict[str, list[float]] = {}
    for vote in votes:
        weights.setdefault(str(vote.letter), []).append(usual if vote.confidence is None else vote.confidence)

    def strength(letter: str) -> tuple[float, int]:
        return round(fsum(weights[letter]), 9), len(weights[letter])  # .1 + .2 and .3 are the same weight

    return max(sorted(weights), key=strength, default=None)
