"""Texts that a language model writes, one for each prompt."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragsweep.core.parsing import MalformedError
from ragsweep.models.language.declining import declines
from ragsweep.models.language.language_model import Asking, Completion, LanguageModel, Message, Model
from ragsweep.models.language.written_json import json_in

ITEM = re.compile(  # how a line of a list begins
    r"^(?:[-*•\u2013>]\s+|\(?\d+[.):]\s+|\*\*\d+[.)]?\*\*[.)]?\s+|[①-⑳]\s*|\d+、\s*)"
)
LABEL = re.compile(  # Phrasing 1: and **Question 2** -
    r"^\W{0,2}(?:question|query|(?:re)?phrasing|version|alternative|option|variant|paraphrase)\s*\d+\s*\*{0,2}[:.)-]\*{0,2}\s",
    re.IGNORECASE,
)
OF_FORM = re.compile(r"(?:```|---|===|#+\s|\|[\s:|-]+$).*")  # a line of a fence, a rule, a heading, the rule of a table
TABLE_HEAD = re.compile(r"^\|.*\n(?=\|[ \t:|-]+$)", re.MULTILINE)
BEGINS_JSON = re.compile(r"^[ \t]*[\[{]", re.MULTILINE)
TAG = re.compile(r"</?[A-Za-z]\w*>")
ANNOUNCED = re.compile(
    r"(?:sure|certainly|of course|okay|absolutely)\s*(?:[!,.:]|$)|(?:here(?:'s| is| are)|below (?:is|are))\s", re.I
)
CLOSING = re.compile(r"(?:let me know|I hope|hope this|feel free|is there anything|would you like)\b", re.IGNORECASE)
REFUSAL = re.compile(
    r"(?:I'm|I am) (?:very )?sorry,|sorry,|unfortunately, I (?:cannot|can't)|as an AI\b|"
    r"(?:es )?tut mir leid,|(?:je suis )?désolée?,|lo siento,|mi dispiace,|desculpe,|"
    r"к сожалению, я|(?:很|非常)?抱歉|对不起|申し訳|죄송|"
    r"I(?:'m| am)? (?:cannot|can't|can not|unable to|not able to) "
    r"(?:assist|help(?! but\b| \w+ing\b)|answer|provide|comply|do that|create)",
    re.IGNORECASE,
)
UNABLE = re.compile(
    r"\b(?:ca(?:n|nno|n no)'?t|won't|unable|not able|kann|p(?:eux|uis) pas|no puedo|n[oã][no]? posso|не могу)\b|"
    r"无法|不能|できません|수 없",
    re.IGNORECASE,
)
OFFERS_ANSWER = re.compile(  # I cannot give medical advice, but the answer is B
    r"\banswers?\s*(?:is|are|:|would)|\b(?:but|however),?\s+(?!I\b|as an AI\b)|"
    r"\([A-Z]\)|\b[B-Z][).:]|\boption\s+[A-Z]\b|question:|[{\[]",
    re.IGNORECASE,
)
LONGEST_REFUSAL = 400  # characters
NAMED = re.compile(r"^\W{0,2}(?:passage|answer|summary|context)\W{0,2}?:\W{0,2}\s", re.IGNORECASE)
QUOTES = "\"'“”*"


def write_each(model: Model, prompts: Sequence[str], asking: Asking) -> list[Completion]:
    """What a model writes for each prompt. Of equal prompts, one is asked."""
    different = [*dict.fromkeys(prompts)]
    written = dict(zip(different, model.ask_each(different, _complete, asking), strict=True)) if different else {}
    return [written[prompt] for prompt in prompts]


def listed(text: str) -> list[str]:
    """The different lines of a text, or the texts of its JSON, without the marks of a list.

    Lines that announce others, refuse, or say goodbye are left out.
    """
    lines = _of_json(text) or [
        TAG.sub("", LABEL.sub("", _without_mark(line, place))).strip().strip(QUOTES)
        for place, line in enumerate(_said(text))
    ]
    return [line for line in dict.fromkeys(map(str.strip, lines)) if line and not line.endswith(":")]


def prose(text: str) -> str:
    """What a model wrote, in one line, without words that announce it, a code fence and JSON around it."""
    texts = _of_json(text)
    line = " ".join(" ".join(texts if len(texts) == 1 else _said(text, headings=True)).split())
    line = NAMED.sub("", TAG.sub("", line))
    return line[1:-1] if len(line) > 1 and {line[0], line[-1]} <= {*QUOTES} and line[0] not in line[1:-1] else line


def is_refusal(text: str) -> bool:
    """Whether a text does nothing but refuse, in words."""
    text = text.strip().replace("\u2019", "'")
    refuses = (REFUSAL.match(text) and UNABLE.search(text)) or declines(text)
    return len(text) <= LONGEST_REFUSAL and bool(refuses) and not OFFERS_ANSWER.search(text)


def _said(text: str, *, headings: bool = False) -> list[str]:
    """The lines of a text without those that are about it; none of a refusal."""
    lines = [each.strip() for each in TABLE_HEAD.sub("", text).splitlines() if each.strip()]
    lines = [each for each in lines if (headings and each.startswith("#")) or not OF_FORM.fullmatch(each)]
    first = lines[0].replace("\u2019", "'") if lines else ""
    if not lines or REFUSAL.match(first) or declines(first):
        return []
    if len(lines) > 1 and ANNOUNCED.match(lines[0]) and not lines[0].endswith("?"):
        lines = lines[1:]
    while len(lines) > 1 and CLOSING.match(lines[-1]):
        lines = lines[:-1]
    return lines


def _without_mark(line: str, place: int) -> str:
    """A line without the mark of a list; a letter is one where it counts the lines, but not in "C. difficile"."""
    if line.startswith("|"):
        return line.strip("| ").rpartition("|")[2].strip()
    letter = chr(ord("a") + place)
    return ITEM.sub("", re.sub(rf"^(?:{letter}\)|{letter.upper()}[.)](?=\s+[^a-z]))\s+", "", line), count=1)


def _of_json(text: str) -> list[str]:
    """The texts in a JSON list or object; none if it is anything else."""
    if not BEGINS_JSON.search(text):
        return []
    try:
        values = [json_in(text)]
    except MalformedError:
        return []
    texts: list[str] = []
    for value in values:
        if isinstance(value, dict | list):
            values += value.values() if isinstance(value, dict) else value
        elif isinstance(value, str):
            texts.append(value)
        else:
            return []
    return texts


def _complete(prompt: str, model: LanguageModel) -> Completion:
    return model.complete([Message("user", prompt)])
