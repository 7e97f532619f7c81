"""Chain of thought."""

from __future__ import annotations

from dataclasses import dataclass

from ragsweep.models.language.language_model import Conversation
from ragsweep.models.language.writing import prompt_beside
from ragsweep_answers.answering.question import Answer, Question
from ragsweep_answers.answering.reasoning.dialogue import Dialogue

PROMPT = prompt_beside(__file__)


@dataclass(frozen=True)
class ChainOfThought:
    """Has the model think step by step before it answers (Wei et al. 2022, https://arxiv.org/abs/2201.11903)."""

    def answer(self, question: Question, model: Conversation) -> Answer:
        """The answer at the end of the chain."""
        return Dialogue(question, model).conclude(PROMPT)
