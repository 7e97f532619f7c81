"""Asks an answerer about one kind of evidence, so that it cannot join it with what it is asked about another kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragsweep.core.digest import digest
from ragsweep_answers.answering.answer_checks import answer
from ragsweep_answers.answering.copies import fresh
from ragsweep_answers.answering.question import Answer, Answerer, AnswererError, Question

ID_LENGTH = 16


def ask_apart(answerer: Answerer, questions: Sequence[Question], part: str) -> list[Answer]:
    """Answers of a fresh copy of an answerer, in the order of the questions.

    The questions come in an order, and with ids, that are others for each part, so neither leads from the evidence of
    one part to that of another. Only their texts are the same.

    Args:
        answerer: What is asked. It is not called itself.
        questions: What it is asked.
        part: Names these questions with this evidence. The answerer does not see it.

    Raises:
        AnswererError: As of `answer`, with the ids of the questions as they are here.
    """
    hidden, asked = _hidden(questions, part)
    try:
        answers = answer(fresh(answerer), asked)
    except AnswererError as error:
        text = str(error)
        for shown, question in hidden.items():
            text = text.replace(shown, question.question_id)
        raise AnswererError(text) from error
    by_id = {hidden[shown].question_id: given for shown, given in zip(hidden, answers, strict=True)}
    return [by_id[each.question_id] for each in questions]


def _hidden(questions: Sequence[Question], part: str) -> tuple[dict[str, Question], list[Question]]:
    """Questions by other ids, in the order of these, and the same questions with these ids."""
    hidden = {digest([part, each.question_id])[:ID_LENGTH]: each for each in questions}
    hidden = dict(sorted(hidden.items()))
    return hidden, [replace(each, question_id=shown) for shown, each in hidden.items()]
