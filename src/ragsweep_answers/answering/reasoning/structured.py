"""Structured medical reasoning."""

from __future__ import annotations

from dataclasses import dataclass

from ragsweep.models.language.language_model import Conversation
from ragsweep.models.language.writing import prompt_beside
from ragsweep_answers.answering.question import Answer, Question
from ragsweep_answers.answering.reasoning.dialogue import Dialogue

PROMPT = prompt_beside(__file__)


@dataclass(frozen=True)
class StructuredReasoning:
    """Has the model reason in five steps: presentation, findings, differential diagnosis, guideline, conclusion.

    These are the steps that the completeness of a reasoning chain is measured by.
    """

    def answer(self, question: Question, model: Conversation) -> Answer:
        """The answer after the five steps."""
        return Dialogue(question, model).conclude(PROMPT)
