"""Divides what a model wrote into lines and sentences, with marks in place of the options that they name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragsweep.text.sentences import ABBREVIATION, QUOTED_SENTENCE_END
from ragsweep_answers.answering.answer_words import (
    ALL,
    ANSWER,
    ARTICLE,
    ASKS,
    BAD,
    DENIED,
    EXCEPT,
    GOOD,
    IS,
    NO,
    NONE,
    YES,
    M,
)
from ragsweep_answers.answering.option_letters import Letters

NEXT_QUESTION = re.compile(r"[ \t#>*]*(?:question|q|problem|human|user|instruction|exercise)\s*\d*\s*[:.]", re.I)
HEADING = re.compile(
    r"[^\w\ue000-\ue3ff]*(?:the\s+)?(?:my\s+)?(?:final\s+|correct\s+|best\s+|right\s+)?"
    rf"{ANSWER}[^\w?\ue000-\ue3ff]*",
    re.I,
)
LABELLED = re.compile(rf"\W*(?:(?:the|my|final|correct|best)\s+){{0,3}}{ANSWER}", re.I)  # Final answer: B
GOES_ON = re.compile(r"(?::|\bis|\bbe)[\s\"'(\[]*$", re.I)
ANSWER_DASH = re.compile(r"^\W*(?:ans\s*[.-]|answer\s*-)\s*(?=\W?[a-z]\b)", re.I)  # Ans-a, Ans.(C)
COMPARED = re.compile(
    rf"(?:^|(?<=[.;!?]\s))(?:between|of|among)\s+{M}\s*(?:,|and|or|und|oder)\s*{M},\s+(?=\W?{M})", re.I
)  # Of A and B,
NO_MARK = r"[^.!?;:\n\ue000-\ue3ff]"
GAP = rf"(?:(?!{DENIED}|rarely|seldom){NO_MARK})"  # without a word that turns the meaning round
IN_GENERAL = r"(?=\W*$|[.;!]|,?\s+(?:because|since|as)\b|です|的|습니다|,\s)"
EXCEPT_ONE = (  # and not another one, too
    rf"(?:(?:\bbut|{EXCEPT}|除了?)\s*{ARTICLE}?(?:a\s+)?[(]?(?P<{{0}}>{M})[)]?"
    rf"|(?P<{{0}}_first>{M})\s*(?:以外|를\s*제외하고))(?!\s*(?:,|and|und|et|y|e|o|or|и|、|和)\s*[(]?{M})"
)
EXCEPTION = re.compile(  # All except C are wrong. C以外はすべて間違いです。 None but C is right.
    "|".join(
        (
            rf"{ALL}{NO_MARK}{{0,40}}?{EXCEPT_ONE.format('amid')}{GAP}{{0,20}}?{BAD}{IN_GENERAL}",
            rf"^\W*{EXCEPT_ONE.format('before')}{NO_MARK}{{0,30}}?{ALL}{GAP}{{0,20}}?{BAD}{IN_GENERAL}",
            rf"{ALL}{GAP}{{0,30}}?{BAD}{NO_MARK}{{0,3}}?{EXCEPT_ONE.format('behind')}{IN_GENERAL}",
            rf"{NONE}{NO_MARK}{{0,20}}?{EXCEPT_ONE.format('only')}{NO_MARK}{{0,10}}?{GOOD}{IN_GENERAL}",
        )
    ),
    re.I,
)
ASKING = rf"(?:(?:{ANSWER}|{GOOD}|{IS}|{ASKS})[\s,'\u2019-]*+)"
ASKED_AND_ANSWERED = re.compile(  # Ist es C? Ja.
    rf"(?:^|(?<=[.?!]\s))[^\w?\ue000-\ue3ff]{{0,3}}(?P<asks>{ASKING}{{0,6}}+)[(]?(?P<mark>{M})[)]?\s*"
    rf"(?P<about>{ASKING}{{0,4}}+)\?\s*(?:(?P<yes>{YES})|{NO})"
    r"(?=\W*$|[.!]|です|,(?!\s*(?:but|and|or|if|aber|und|wenn|mais|et|pero|mas|ma|y|e|se|si|possibly|perhaps)\b))",
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
    for line in _of_questions(plain):
        if line == QUESTION:
            lines.append(line)
            open_line = False
            continue
        marked = letters.marked(ANSWER_DASH.sub("Answer: ", ABBREVIATION.sub(r"\1", " ".join(line.split()))))
        marked = COMPARED.sub("", LISTED.sub(r"\1: ", VERB_AFTER_STOP.sub(r"\1 ", marked)))
        marked = NUMBERED.sub(_numbered, marked)
        marked = ASKED_AND_ANSWERED.sub(_answered, EXCEPTION.sub(_the_exception, marked))
        if open_line and not LABELLED.match(marked):
            lines[-1] = f"{lines[-1]} {QUOTED.sub('', marked, count=1) if QUOTED.match(marked) else marked}"
        else:
            lines.append(marked)
        heading = HEADING.fullmatch(marked)
        if heading and not open_line:
            lines[-1] = "Answer:"
        open_line = not open_line and bool(heading or GOES_ON.search(marked))
    return [ENUMERATOR.sub("", line) for line in lines]


def _of_questions(plain: str) -> Iterator[str]:
    """The lines that are not blank; for one that begins another question a mark, and then an answer on this line."""
    for line in filter(str.strip, LINE.findall(plain)):
        if not NEXT_QUESTION.match(line):
            yield line
            continue
        yield QUESTION
        _, label, answer = line.rpartition(" Answer:")
        if label:
            yield f"Answer:{answer}"


def _the_exception(found: re.Match[str]) -> str:
    """A sentence that states the only option that another one excepts."""
    negated = re.search(r"\bnot\s*$", found.string[: found.start()], re.I)
    mark = next(group for group in found.groups() if group and re.fullmatch(M, group))
    return found[0] if negated else f"the answer is {mark}"


def _answered(found: re.Match[str]) -> str:
    """A question about an option and its answer as one sentence."""
    asks = found["asks"] or found["about"]  # not "A? No. C? Yes.", of which the question is not known
    return f"{found['mark']}: {'yes' if found['yes'] else 'no'}" if asks else found[0]


def _numbered(found: re.Match[str]) -> str:
    """A line of a numbered list without the number, or, where the number may be that of an option, without its end."""
    return found["mark"] if found["mark"] else f"{found['number']}) "


def sentences_with_marks(lines: Sequence[str]) -> Iterator[Sentence]:
    """The sentences of lines with marks, in order."""
    for number, line in enumerate(lines):
        parts = [part for part in QUOTED_SENTENCE_END.split(line) if part.strip()]
        for part in parts:
            yield Sentence(part, number, len(parts) == 1)
