"""Answers by SmolLM2-135M-Instruct, a small language model that comes as a package and runs on the CPU."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import Annotated, ClassVar

from ragsweep.core.errors import AnswererError
from ragsweep.core.limits import Between
from ragsweep.core.progress import advance, progress
from ragsweep.core.terminal import counted, one_line, shortened
from ragsweep.models.language.smollm2 import CONTEXT, SmolLM2, TooLongError, in_threads
from ragsweep.models.language.smollm2_files import LIBRARIES, check_packages
from ragsweep.store.store import Store
from ragsweep_answers.answering.question import Answer, Question, Reasoning


@dataclass(frozen=True)
class SmolLM2Answerer:
    """Answers with SmolLM2-135M-Instruct (https://arxiv.org/abs/2502.02737, weights of 4 bits, computed in 32 bits).

    It always takes the most likely token. Each question is computed alone and in one thread, so on one kind of CPU its
    answer is the same to the last bit in any company, order and number of threads.

    Attributes:
        reasoning: How it comes to an answer.
        store: Keeps the converted model and, for good, every response.
        max_tokens: Of one response. A response that is cut off often has no answer.
    """

    reasoning: Reasoning
    store: Store
    max_tokens: Annotated[int, Between(1, CONTEXT // 2)] = 128

    libraries: ClassVar[tuple[str, ...]] = LIBRARIES

    def __post_init__(self) -> None:
        check_packages("answerer")

    def answer(self, questions: Sequence[Question]) -> list[Answer]:
        """An answer for each question.

        If a prompt is longer than the model's context, the last passages of the question are left out, with a warning.

        Raises:
            AnswererError: A question is too long even without its passages.
            ModelError: The model cannot be loaded.
        """
        with progress(f"answering {counted(len(questions), 'question')}", len(questions)):
            answered = in_threads(questions, self._answer)
        cut = [question for question, (_, left_out) in zip(questions, answered, strict=True) if left_out]
        if cut:
            first = shortened(one_line(cut[0].question))
            warnings.warn(
                f"answerer: {counted(len(cut), 'question')} (such as {first!r}) and their passages are longer than the "
                f"{CONTEXT:,} tokens that SmolLM2 reads; their last passages were left out",
                stacklevel=2,
            )
        return [answer for answer, _ in answered]

    def _answer(self, question: Question, stop: Event) -> tuple[Answer, int]:
        """The answer, and how many passages were left out."""
        model = SmolLM2(self.store, self.max_tokens, stop)
        for kept in range(len(question.evidence), -1, -1):
            try:
                answer = self.reasoning.answer(replace(question, evidence=question.evidence[:kept]), model)
            except TooLongError:
                continue
            advance(1)
            return answer, len(question.evidence) - kept
        raise AnswererError(
            f"answerer: question {question.question_id!r} is longer than the {CONTEXT:,} tokens that SmolLM2 reads"
        )
