"""Tree of thoughts."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import exp
from typing import Annotated, NamedTuple

from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Between
from ragsweep.models.language.language_model import Conversation
from ragsweep.models.language.writing import as_data, prompt_beside
from ragsweep_answers.answering.question import Answer, Question, Reasoning
from ragsweep_answers.answering.reasoning.dialogue import Dialogue

FIRST, CONTINUE, RATE, ANSWER = (prompt_beside(__file__, part) for part in ("", "_continue", "_rate", "_answer"))
DIGITS = "0123456789"


class Line(NamedTuple):
    """A line of thought and how well the model rates it, from 0 to 1."""

    thoughts: tuple[str, ...]
    rating: float


@dataclass(frozen=True)
class TreeOfThoughts(Reasoning):
    """Thinks along several lines, drops those that the model rates lowest, and answers from the best.

    A breadth-first search of Yao et al. 2023 (https://arxiv.org/abs/2305.10601) for models that always return the same
    for the same prompt: lines differ since each considers another option first.

    Attributes:
        branches: How many lines there are at first, at most one for each option.
        keep: How many lines are kept each time all have been rated.
        depth: How many thoughts a line has.
    """

    branches: Annotated[int, Between(1, 26)] = 3
    keep: Annotated[int, Between(1, 26)] = 1
    depth: Annotated[int, Between(1, 10)] = 2

    def __post_init__(self) -> None:
        if self.keep > self.branches:
            raise ConfigError(f"reasoning.keep: found {self.keep}, expected at most reasoning.branches={self.branches}")

    def answer(self, question: Question, model: Conversation) -> Answer:
        """The answer from the line with the highest rating, the first of equals.

        Its confidence is what the model states, or else the rating.
        """
        dialogue = Dialogue(question, model)
        lines = [Line((), 0.0)]
        for level in range(self.depth):
            tasks = [FIRST.replace("{letter}", letter) for letter in question.letters[: self.branches]]
            grown = [
                (*line.thoughts, dialogue.complete(_about(line.thoughts, task)))
                for line in lines
                for task in ([CONTINUE] if level else tasks)
            ]
            rated = [Line(thoughts, _rating(dialogue, thoughts)) for thoughts in grown]
            lines = sorted(rated, key=lambda line: -line.rating)[: self.keep]
        best = lines[0]
        answer = dialogue.conclude(_about(best.thoughts, ANSWER))
        cited = dict.fromkeys([*dialogue.cited_in("\n".join(best.thoughts)), *answer.cited])
        stated = best.rating if answer.letter and answer.confidence is None else answer.confidence
        reasoning = "\n\n".join([*best.thoughts, answer.reasoning])
        return replace(answer, confidence=stated, reasoning=reasoning, cited=tuple(cited))


def _about(thoughts: tuple[str, ...], task: str) -> str:
    """A task that follows a line of thought."""
    shown = " ".join(map(as_data, thoughts))
    return f"Line of thought: {shown}\n\n{task}" if thoughts else task


def _rating(dialogue: Dialogue, thoughts: tuple[str, ...]) -> float:
    """How well the model rates a line of thought, from 0 to 1.

    The mean of the digits 0 to 9, weighted by how likely the model finds each. A model that cannot tell writes a digit;
    if it writes none or several, the rating is 0.
    """
    task = _about(thoughts, RATE)
    scores = dialogue.scores(task, "Rating: ", DIGITS)
    if scores is None:
        digits = re.findall(r"(?<![\w.,/-])\d(?![\w%]|[.,]\d)", dialogue.complete(task))  # one in "7/9", none in "85%"
        return int(digits[0]) / 9 if len(digits) == 1 else 0.0
    weights = [exp(score - max(scores)) for score in scores]
    return sum(digit * weight for digit, weight in enumerate(weights)) / sum(weights) / 9
