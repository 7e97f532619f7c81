"""The prompts, from the text files beside this module, and how a response to them is read."""

from __future__ import annotations

import re

from ragsweep.core.parsing import MalformedError
from ragsweep.core.terminal import one_line, shortened
from ragsweep.models.language.language_model import Message
from ragsweep.models.language.response import json_in
from ragsweep.models.language.writing import ITEM, MARK, as_data, prompt_beside
from ragsweep_generate.drafts import UNANSWERABLE, Draft, Request

TYPES = ("factual", "procedural", "reason", "comparison")
PARTS = ("question", UNANSWERABLE, "json", "text", "sentence", *TYPES)
PROMPTS = {part: prompt_beside(__file__, f"_{part}") for part in PARTS}

NOT_AS_ASKED = "it is not in the form that was asked for"
REFUSED = "the model refused, or returned nothing"
LINE = re.compile(  # **Question:** a?, 1. Question: a?, and ### Question above it
    r"^(?:[\s*_#>-]|\d+[.)]\s)*(question|references?)(?:\s*\d*[^\w?]*?:[\s*_]*(.*)|[\s*_]*\d*[\s*_]*()$)", re.IGNORECASE
)
TAG = re.compile(r"<(/?)(question|references?)>", re.IGNORECASE)
QUOTED = "\"'“”\u2018\u2019«»"


def prompt_of(request: Request, *, as_json: bool) -> str:
    """What a model is told for a request: the passage, the task and the form of the response.

    The passage is one line, so that no line of it can pass for a part of the prompt, and the marks of chat templates in
    it are broken up.
    """
    passage = MARK.sub("< ", one_line(request.source.text))
    task = PROMPTS[UNANSWERABLE]
    if request.query_type != UNANSWERABLE:
        task = PROMPTS["question"].replace("{type}", PROMPTS[request.query_type])
    return f"Passage: {passage}\n\n{task}\n\n{PROMPTS['json' if as_json else 'text']}"


def chat_about(sentence: str) -> list[Message]:
    """A chat that asks for a question that a sentence answers, by examples: a small model follows no longer task."""
    task, *examples = PROMPTS["sentence"].split("\n\n")
    chat = [Message("system", task)]
    for example in examples:
        shown, question = example.splitlines()
        chat += [Message("user", shown), Message("assistant", question.removeprefix("Question: "))]
    return [*chat, Message("user", f"Sentence: {as_data(sentence)}")]


def draft_of_json(text: str) -> Draft:
    """The draft in JSON, which may stand among other text, such as a code fence."""
    from pydantic import ValidationError

    from ragsweep_generate.draft_fields import QuestionFields

    try:
        fields = QuestionFields.model_validate(json_in(text))
    except (MalformedError, ValidationError):
        return _not_as_asked(text)
    return Draft(fields.question, tuple(fields.references))


def draft_of_text(text: str) -> Draft:
    """The draft in lines that begin with `Question:` and `Reference:`; also of a model that returned JSON instead."""
    if "{" in text and "}" in text:
        return draft_of_json(text)
    parts: list[tuple[str, str]] = []
    below = ""  # the label that the next lines belong to
    for line in TAG.sub(_line_of_tag, text).splitlines():
        if match := LINE.match(line):
            name, value = match[1].lower(), (match[2] or "").strip()
            below = "" if value else name
        else:
            name, value = below, ITEM.sub("", line.strip(), count=1)
            has_line = bool(parts) and parts[-1][0] == name
            ends = name != "references" if value else has_line  # several lines may be references, up to a blank one
            below = "" if ends else below
        parts += [(name, value)] * bool(name and value)
    questions = [value for name, value in parts if name == "question" and value]
    if len(questions) != 1:
        return _not_as_asked(text)
    return Draft(questions[0], tuple(value for name, value in parts if name.startswith("reference") and value))


def _not_as_asked(text: str) -> Draft:
    return Draft("", flaw=f"{NOT_AS_ASKED}: {shortened(one_line(text))!r}" if text.strip() else REFUSED)


def _line_of_tag(tag: re.Match[str]) -> str:
    """<question> begins a line with a label."""
    return "\n" if tag[1] else f"\n{tag[2]}: "


def question_in(text: str) -> str:
    """The question in a response that should be one: its first line with a question mark, or else its first line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    line = next((line for line in lines if "?" in line), lines[0] if lines else "")
    if match := LINE.match(line):
        line = match[2] or ""
    line = line.strip().strip(QUOTED).strip()
    return line[: line.index("?") + 1] if "?" in line else line
