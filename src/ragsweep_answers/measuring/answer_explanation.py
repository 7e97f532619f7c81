"""Explains the answer to one case: question, evidence, prompts, answer, and what would have been right."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator

from ragsweep.core.terminal import one_line
from ragsweep.datasets.model.cases import Case
from ragsweep.tasks.task import Record
from ragsweep_answers.answering import Answer, Evidence, Question

LONGEST_PASSAGE = 300  # characters
LONGEST_TEXT = 4000
INDENT = "    "


def explanation(
    record: Record, case: Case, question: Question, answer: Answer, relevant: Collection[str], *, width: int
) -> Iterator[str]:
    """The answer to one case of a recorded run, line by line.

    Args:
        record: What was recorded.
        case: The case.
        question: What the answerer is asked, with the evidence.
        answer: Its answer now.
        relevant: The relevant units of the case.
        width: Columns of the terminal.
    """
    yield from (f"{one_line(record.name)} ({one_line(record.run_id)}), case {one_line(case.query_id)}", "")
    yield from _wrapped(case.case, width)
    yield from _wrapped(question.question, width)
    for option in case.options:
        marks = _marks(correct=option.letter == case.correct, answered=option.letter == answer.letter)
        yield from _wrapped(f"{option.letter}) {option.text}{marks}", width)
    yield from ("", *_outcome(record, case, answer), "")
    evidence = question.evidence or [Evidence(unit, "") for unit in answer.retrieved or ()]
    if not evidence:
        yield "no evidence was given"
    for number, passage in enumerate(evidence, start=1):
        marks = _marks(relevant=passage.unit in relevant, cited=passage.unit in answer.cited)
        yield f"[{number}] {one_line(passage.unit)}{marks}"
        yield from _wrapped(textwrap.shorten(passage.text, LONGEST_PASSAGE, placeholder=" ..."), width, INDENT)
    if missed := sorted({*relevant} - {passage.unit for passage in evidence}):
        yield f"relevant, but not in the evidence: {', '.join(map(one_line, missed))}"
    texts = {"reasoning:": answer.reasoning} if answer.reasoning and not answer.exchanges else {}
    for number, exchange in enumerate(answer.exchanges, start=1):
        prompt = f"prompt {number} of {len(answer.exchanges)}:"
        texts |= {prompt: exchange.prompt, f"response {number}:": exchange.response}
    for heading, text in texts.items():
        yield from ("", heading)
        shown = text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]} ..."
        for line in shown.splitlines():
            yield from _wrapped(line, width, INDENT) or [""]


def _outcome(record: Record, case: Case, answer: Answer) -> Iterator[str]:
    outcome = "right" if answer.letter == case.correct else f"wrong, correct is {case.correct}"
    if case.correct is None:
        outcome = "the documents do not answer this: every answer is wrong"
    yield f"answer: {answer.letter or 'no answer could be read'} ({outcome})"
    table = record.per_query
    for recorded in table[table["query_id"].astype(str) == case.query_id].to_dict("records"):
        if (recorded.get("answer", answer.letter) or None) != answer.letter:
            other = one_line(str(recorded["answer"] or "none"))
            yield f"the run recorded another answer: {other}. What follows is of the answer now"
            return
        yield from (
            f"{name}: {one_line(str(recorded[name]))}" for name in ("confidence", "error") if recorded.get(name)
        )


def _marks(**marks: bool) -> str:
    """The names of those that hold, in brackets."""
    named = ", ".join(name for name, holds in marks.items() if holds)
    return f" ({named})" if named else ""


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(one_line(text), max(width, 40), initial_indent=indent, subsequent_indent=indent)
