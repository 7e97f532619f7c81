"""Checks what an answerer returns before anything is measured."""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose, isfinite

from ragsweep.core.errors import Terminated
from ragsweep.models.language.response import Cause
from ragsweep.store.code import kind_of
from ragsweep_answers.answering.question import Answer, Answerer, AnswererError, Question

SUM_ERROR = 1e-6  # by how much probabilities may miss a sum of 1


def answer(answerer: Answerer, questions: Sequence[Question], left_out: Sequence[str | None] = ()) -> list[Answer]:
    """Answer the questions.

    Args:
        answerer: Answers them.
        questions: What is asked.
        left_out: The ids of further questions of the dataset, which recorded answers may be of.

    Raises:
        AnswererError: What the answerer returned is not an answer to each question.
        RuntimeError: The answerer called `sys.exit`.
    """
    try:
        answers = answerer.answer_some(questions, left_out) if left_out else answerer.answer(questions)
    except Terminated:
        raise
    except SystemExit as error:  # ending the process is not for an answerer to decide
        raise RuntimeError(f"{kind_of(answerer)} called sys.exit({error.code!r})") from error
    if not isinstance(answers, list | tuple) or len(answers) != len(questions):
        found = f"{len(answers)} answers" if isinstance(answers, list | tuple) else type(answers).__name__
        raise AnswererError(f"{kind_of(answerer)}: returned {found}, expected a list of {len(questions)} answers")
    for question, each in zip(questions, answers, strict=True):
        if problem := _problem(question, each):
            raise AnswererError(f"{kind_of(answerer)}: question {question.question_id!r}: {problem}")
    return list(answers)


def _problem(question: Question, given: object) -> str:
    """What is wrong with an answer; empty if nothing is."""
    if not isinstance(given, Answer):
        return f"returned {type(given).__name__}, expected an Answer"
    if given.letter is not None and (len(given.letter) != 1 or given.letter not in question.letters):
        return f"the letter {given.letter!r} is not an option ({question.letters}); None is no answer"
    if given.confidence is not None and not 0 <= given.confidence <= 1:
        return f"the confidence {given.confidence!r} is not within 0 to 1"
    values = given.probabilities
    if values and (len(values) != len(question.options) or not all(map(isfinite, values))):
        return f"probabilities: found {values!r}, expected {len(question.options)} finite numbers"
    if values and not (min(given.probabilities) >= 0 and _is_one(sum(given.probabilities))):
        return f"probabilities: found {given.probabilities!r}, expected numbers of at least 0 that add up to 1"
    if unknown := [each for each in given.causes if each not in [*Cause]]:
        return f"causes: found {unknown[0]!r}, expected {', '.join(Cause)}"
    for name in ("tokens_in", "tokens_out", "time_ms"):
        value = getattr(given, name)
        if value is not None and not (isfinite(value) and value >= 0):
            return f"{name}: found {value!r}, expected a number of at least 0"
    return ""


def _is_one(total: float) -> bool:
    return isclose(total, 1, abs_tol=SUM_ERROR)
