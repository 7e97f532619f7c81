"""The prompts, from the text files beside this module, and how a response to them is read."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, ValidationError

from ragsweep.core.parsing import MalformedError
from ragsweep.core.terminal import one_line, shortened
from ragsweep.models.language.response import json_in
from ragsweep.models.language.writing import MARK, prompt_beside
from ragsweep_generate.drafts import UNANSWERABLE, Draft, Request

TYPES = ("factual", "procedural", "reason", "comparison")
PARTS = ("question", UNANSWERABLE, "json", *TYPES)
PROMPTS = {part: prompt_beside(__file__, f"_{part}") for part in PARTS}

NOT_AS_ASKED = "it is not in the form that was asked for"
REFUSED = "the model refused, or returned nothing"


class QuestionFields(BaseModel):
    """A question about a passage, as a model returns it. Other fields are ignored.

    Attributes:
        question: The question.
        references: The sentences of the passage that answer it, copied.
    """

    model_config = ConfigDict(extra="ignore", strict=True, json_schema_extra={"additionalProperties": False})

    question: str
    references: list[str]


def prompt_of(request: Request) -> str:
    """What a model is told for a request: the passage, the task and the form of the response.

    The passage is one line, so that no line of it can pass for a part of the prompt, and the marks of chat templates in
    it are broken up.
    """
    passage = MARK.sub("< ", one_line(request.source.text))
    task = PROMPTS[UNANSWERABLE]
    if request.query_type != UNANSWERABLE:
        task = PROMPTS["question"].replace("{type}", PROMPTS[request.query_type])
    return f"Passage: {passage}\n\n{task}\n\n{PROMPTS['json']}"


def draft_of(text: str) -> Draft:
    """The draft in JSON, which may stand among other text, such as a code fence."""
    try:
        fields = QuestionFields.model_validate(json_in(text))
    except (MalformedError, ValidationError):
        return Draft("", flaw=f"{NOT_AS_ASKED}: {shortened(one_line(text))!r}" if text.strip() else REFUSED)
    return Draft(fields.question, tuple(fields.references))
