"""Divides what a model wrote into lines and sentences, with marks in place of the options that they name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragsweep.text.sentences import ABBREVIATION, QUOTED_SENTENCE_END
from ragsweep_answers.answering.answer_words import ANSWER, BAD, EXCEPT, GOOD, IS, M
from ragsweep_answers.answering.option_letters import Letters

NEXT_QUESTION = re.compile(r"[ \t#>*]*(?:question|q|problem|human|user|instruction|exercise)\s*\d*\s*[:.]", re.I)
HEADING = re.compile(
    r"[^\w\ue000-\ue3ff]*(?:the\s+)?(?:my\s+)?(?:final\s+|correct\s+|best\s+|right\s+)?"
    rf"{ANSWER}[^\w?\ue000-\ue3ff]*",
    re.I,
)
LABELLED = re.compile(rf"\W*(?:(?:the|my|final|correct|best)\s+){{0,3}}{ANSWER}", re.I)  # Final answer: B
GOES_ON = re.compile(r"(?::|\bis|\bbe)[\s\"'(\[]*$", re.I)
ANSWER_DASH = re.compile(r"^\W*(?:ans|answer)\s*-\s*(?=\W?[a-z]\b)", re.I)  # Ans-a
COMPARED = re.compile(rf"^(?:between|of|among)\s+{M}\s*(?:,|and|or|und|oder)\s*{M},\s+(?=\W?{M})", re.I)  # Of A and B,
ALL_WRONG_BUT = re.compile(  # All except C are wrong
    rf"\b(?:all|every\w*)\s*(?:(?!{EXCEPT})\w+\s+){{0,4}}?,?\s*(?:but|{EXCEPT})\s*({M})"
    rf",?\s*(?:{IS})?\s*(?:{BAD})",
    re.I,
)
ASKED_AND_AFFIRMED = re.compile(  # Ist es C? Ja.
    rf"(?:^|(?<=[.?!]\s))\W{{0,3}}(?:is\s+(?:(?:it|this|(?:the\s+)?(?:correct\s+)?answer)\s+)?|ist\s+es\s+|est-ce\s+|es\s+|é\s+|è\s+)({M})"
    r"(?:\s+(?:correct|right|the\s+(?:correct\s+)?answer))?\s*\?\s+(?:yes|ja|oui|sí|sim|sì)\b(?=\W*$|[.!]\s|,?\s+because\b)",
    re.I,
)
QUOTED = re.compile(r"[>#\s-]+(?=\S)")  # the marks of a quote, a heading or a list
ENUMERATOR = re.compile(
    r"(?<=:\s)\(?(?:\d{1,2}|[ivx]{1,4}|[\u03b1-\u03c9])[.)]\s+(?=[\ue200-\ue2ff])"
)  # is: 2) Malaria
QUESTION = "\0"  # stands for a line that begins another question
NUMBERED = re.compile(r"^(?P<number>\d{1,2})[.)]\s+(?P<mark>[\ue000-\ue1ff])?")
LINE = re.compile(r"[^\n]{1,1999}(?:\s|\Z)|[^\n]{1,2000}")  # longer ones are read in parts, so that time stays linear
VERB_AFTER_STOP = re.compile(rf"({M})\.\s+(?=(?-i:está|é|è|es|est|ist|is|was|não|no|n'est)\s)", re.I)  # A. está correta
LISTED = re.compile(rf"^([^\w\ue000-\ue3ff]*{M})\.\s+(?=(?:this\s+is\s+)?(?:{GOOD}|{BAD}|no\b|not\b))", re.I)


class Sentence(NamedTuple):
    """A sentence of a text, with marks for the options."""

    text: str
    line: int
    is_line: bool


def lines_with_marks(plain: str, letters: Letters) -> list[str]:
    """The lines with marks. A line that ends in a colon, and a heading, go on in the next one."""
    lines: list[str] = []
    open_line = False
    for line in LINE.findall(plain):
        if not line.strip():
            continue
        if NEXT_QUESTION.match(line):
            lines.append(QUESTION)
            open_line = False
            continue
        marked = letters.marked(ANSWER_DASH.sub("Answer: ", ABBREVIATION.sub(r"\1", " ".join(line.split()))))
        marked = NUMBERED.sub(_numbered, COMPARED.sub("", LISTED.sub(r"\1: ", VERB_AFTER_STOP.sub(r"\1 ", marked))))
        marked = ASKED_AND_AFFIRMED.sub(r"\1: yes", ALL_WRONG_BUT.sub(r"the answer is \1", marked))
        if open_line and not LABELLED.match(marked):
            lines[-1] = f"{lines[-1]} {QUOTED.sub('', marked, count=1) if QUOTED.match(marked) else marked}"
        else:
            lines.append(marked)
        heading = HEADING.fullmatch(marked)
        if heading and not open_line:
            lines[-1] = "Answer:"
        open_line = not open_line and bool(heading or GOES_ON.search(marked))
    return [ENUMERATOR.sub("", line) for line in lines]


def _numbered(found: re.Match[str]) -> str:
    """A line of a numbered list without the number, or, where the number may be that of an option, without its end."""
    return found["mark"] if found["mark"] else f"{found['number']}) "


def sentences_with_marks(lines: Sequence[str]) -> Iterator[Sentence]:
    """The sentences of lines with marks, in order."""
    for number, line in enumerate(lines):
        parts = [part for part in QUOTED_SENTENCE_END.split(line) if part.strip()]
        for part in parts:
            yield Sentence(part, number, len(parts) == 1)
