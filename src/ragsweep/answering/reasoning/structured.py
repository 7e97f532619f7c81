"""Structured medical reasoning."""

from __future__ import annotations

from dataclasses import dataclass

from ragsweep.answering.question import Answer, Question
from ragsweep.answering.reasoning.dialogue import Dialogue
from ragsweep.answering.reasoning.prompt import prompt_beside
from ragsweep.retrieval.language_models.language_model import LanguageModel

PROMPT = prompt_beside(__file__)


@dataclass(frozen=True)
class StructuredReasoning:
    """Has the model reason in five steps: presentation, findings, differential diagnosis, guideline, conclusion.

    These are the steps that the completeness of a reasoning chain is measured by.
    """

    def answer(self, question: Question, model: LanguageModel) -> Answer:
        """The answer after the five steps."""
        return Dialogue(question, model).conclude(PROMPT)
