"""Reasoning methods that ask once."""

from __future__ import annotations

from dataclasses import dataclass

from ragsweep.models.language.language_model import Conversation
from ragsweep.models.language.writing import prompt_beside
from ragsweep_answers.answering.question import Answer, Question, Reasoning
from ragsweep_answers.answering.reasoning.dialogue import Dialogue

DIRECT, COT, STRUCTURED = (prompt_beside(__file__, part) for part in ("_direct", "_cot", "_structured"))


@dataclass(frozen=True)
class DirectReasoning(Reasoning):
    """Chooses the letter that the model finds most likely after "Answer:".

    A model that cannot tell how likely a letter is answers by one completion.
    """

    def answer(self, question: Question, model: Conversation) -> Answer:
        """The most likely letter, the first of equals, with the probability of each among the letters."""
        from scipy.special import softmax

        dialogue = Dialogue(question, model)
        scores = dialogue.scores(DIRECT, "Answer:", [f" {letter}" for letter in question.letters])
        if scores is None:
            return dialogue.conclude(DIRECT)
        letter = question.letters[scores.index(max(scores))]
        return dialogue.answer(letter, probabilities=tuple(softmax(scores).tolist()))


@dataclass(frozen=True)
class ChainOfThought(Reasoning):
    """Has the model think step by step before it answers (Wei et al. 2022, https://arxiv.org/abs/2201.11903)."""

    def answer(self, question: Question, model: Conversation) -> Answer:
        """The answer at the end of the chain."""
        return Dialogue(question, model).conclude(COT)


@dataclass(frozen=True)
class StructuredReasoning(Reasoning):
    """Has the model reason in five steps: presentation, findings, differential diagnosis, guideline, conclusion.

    These are the steps that the completeness of a reasoning chain is measured by.
    """

    def answer(self, question: Question, model: Conversation) -> Answer:
        """The answer after the five steps."""
        return Dialogue(question, model).conclude(STRUCTURED)
