"""Asks an answerer about one kind of evidence, so that it cannot join it with what it is asked about another kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragsweep.answering.checks import answer
from ragsweep.answering.question import Answer, Answerer, Question
from ragsweep.core.copies import fresh
from ragsweep.core.digest import digest
from ragsweep.core.errors import AnswererError

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
    hidden = {digest([part, each.question_id])[:ID_LENGTH]: each for each in questions}
    order = sorted(hidden)
    try:
        answers = answer(fresh(answerer), [replace(hidden[each], question_id=each) for each in order])
    except AnswererError as error:
        text = str(error)
        for shown, question in hidden.items():
            text = text.replace(shown, question.question_id)
        raise AnswererError(text) from error
    by_id = {hidden[shown].question_id: given for shown, given in zip(order, answers, strict=True)}
    return [by_id[each.question_id] for each in questions]
