"""What answers take, in what circumstances, and whether that can be taken again."""

from __future__ import annotations

from typing import Literal

from ragsweep.core.timing import noting, put_together
from ragsweep_answers.answering import Answerer
from ragsweep_answers.answering.asking import timed_alone
from ragsweep_answers.answering.question import SaysIfPaid
from ragsweep_answers.measuring.answered import Answered
from ragsweep_answers.measuring.scores import AnswerTimes

AGAIN = "evaluation.latency=again: no answer is timed again, as"
EXISTS = f"{AGAIN} these exist already, and keep the times that they came with."
PAID = (
    f"{AGAIN} each would be paid for again, and may be another one: the times are those of the requests whose answers "
    "are kept."
)


def answer_times(
    answered: Answered, answerer: Answerer, latency: Literal["kept", "again"], *, recorded: bool
) -> AnswerTimes:
    """What the answers took, or a few of them, if they are to be taken again and can be.

    Args:
        answered: The answers.
        answerer: Gave them.
        latency: Whether to report the times of these answers, or to answer some of the questions again.
        recorded: Whether they exist already.
    """
    ms = [each.time_ms for each in answered.answers]
    if recorded:
        return AnswerTimes(ms, notice=EXISTS if latency == "again" else "")
    timed = [each.taken for each in answered.answers if each.time_ms is not None]
    taken = put_together(timed)
    kept = AnswerTimes(ms, taken._replace(queries=sum(each.queries for each in timed)) if taken.machines else taken)
    if latency == "kept":
        return kept
    if isinstance(answerer, SaysIfPaid) and answerer.paid:
        return kept._replace(notice=PAID)
    with noting() as noted:
        again = timed_alone(answerer, answered.questions, "latency")
    return AnswerTimes(again.tolist(), put_together(noted), of_all=False) if len(again) else kept
