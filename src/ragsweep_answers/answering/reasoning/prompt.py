"""The text that shows a question to a language model: the passages, the case, the question and the options."""

from __future__ import annotations

from ragsweep.models.language.writing import as_data
from ragsweep_answers.answering.question import Question


def described(question: Question) -> str:
    """The passages, numbered from 1, the case, the question and the options."""
    passages = [f"[{number}] {as_data(each.text)}" for number, each in enumerate(question.evidence, 1)]
    options = [f"{option.letter}. {as_data(option.text)}" for option in question.options]
    blocks = [
        "\n".join(["Passages:", *passages]) if passages else "",
        f"Case: {as_data(question.case)}" if question.case else "",
        f"Question: {as_data(question.question)}",
        "\n".join(["Options:", *options]),
    ]
    return "\n\n".join(block for block in blocks if block)
