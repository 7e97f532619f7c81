"""The fields of an answer that a model returns as JSON."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, WithJsonSchema, create_model, model_validator

NUMBER = {"type": "number", "minimum": 0, "maximum": 1}


class AnswerFields(BaseModel):
    """An answer to a multiple-choice question.

    A model writes the fields in this order, so that it reasons before it commits itself to a letter. It is asked for
    all of them, in these types. What it returns is good enough without any of them but the answer: `json_answer` reads
    each of the others by itself.

    Attributes:
        steps: The reasoning, one step each.
        cited: Numbers of the passages that the reasoning uses, as in the prompt, from 1.
        answer: Letter of the chosen option.
        confidence: Probability that this option is correct, 0 to 1.
    """

    model_config = ConfigDict(extra="ignore", strict=True, json_schema_extra={"additionalProperties": False})

    steps: Annotated[Any, WithJsonSchema({"type": "array", "items": {"type": "string"}})]
    cited: Annotated[Any, WithJsonSchema({"type": "array", "items": {"type": "integer"}})]
    answer: str
    confidence: Annotated[Any, WithJsonSchema(NUMBER)]

    @model_validator(mode="before")
    @classmethod
    def _with_all_fields(cls, given: Any) -> Any:
        """Fields that are missing are null. They may be in upper case, and those of the only object of a list."""
        given = given[0] if isinstance(given, list) and len(given) == 1 else given
        if not isinstance(given, dict):
            return given
        return {"steps": None, "cited": None, "confidence": None} | {name.lower(): given[name] for name in given}


@cache
def fields_of(letters: str) -> type[AnswerFields]:
    """The fields of an answer to a question whose options have these letters: the schema allows no other ones.

    A server that does not follow the schema is not asked again for a letter, as `json_answer` reads "B. Metoprolol".
    """
    answer = Annotated[str, WithJsonSchema({"type": "string", "enum": [*letters]})]
    return create_model("AnswerFields", __base__=AnswerFields, __doc__=AnswerFields.__doc__, answer=(answer, ...))
