"""The fields of a question that a model returns as JSON."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class QuestionFields(BaseModel):
    """A question about a passage.

    Attributes:
        question: The question.
        references: The sentences of the passage that answer it, copied.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    question: str
    references: list[str]
