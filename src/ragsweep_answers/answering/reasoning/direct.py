"""The answer at once, without reasoning."""

from __future__ import annotations

from dataclasses import dataclass

from ragsweep.models.language.language_model import Conversation
from ragsweep.models.language.writing import prompt_beside
from ragsweep_answers.answering.question import Answer, Question
from ragsweep_answers.answering.reasoning.dialogue import Dialogue

PROMPT = prompt_beside(__file__)


@dataclass(frozen=True)
class DirectReasoning:
    """Chooses the letter that the model finds most likely after "Answer:".

    A model that cannot tell how likely a letter is answers by one completion.
    """

    def answer(self, question: Question, model: Conversation) -> Answer:
        """The most likely letter, the first of equals, with the probability of each among the letters."""
        from scipy.special import softmax

        dialogue = Dialogue(question, model)
        scores = dialogue.scores(PROMPT, "Answer:", [f" {letter}" for letter in question.letters])
        if scores is None:
            return dialogue.conclude(PROMPT)
        letter = question.letters[scores.index(max(scores))]
        return dialogue.answer(letter, probabilities=tuple(softmax(scores).tolist()))
