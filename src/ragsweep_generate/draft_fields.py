"""The fields of a question that a model returns as JSON."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator


class QuestionFields(BaseModel):
    """A question about a passage. Other fields are ignored, and a single reference may stand outside a list.

    Attributes:
        question: The question.
        references: The sentences of the passage that answer it, copied.
    """

    model_config = ConfigDict(extra="ignore", strict=True, json_schema_extra={"additionalProperties": False})

    question: str
    references: list[str]

    @model_validator(mode="before")
    @classmethod
    def _as_asked_for(cls, given: Any) -> Any:
        """The fields of the only object of a list, also in upper case; those of the first of several questions."""
        fields = _of_first(given)
        references = fields.get("references", fields.get("reference")) or []
        return {**fields, "references": [references] if isinstance(references, str) else references}


def _of_first(given: Any) -> dict[str, Any]:
    """The fields of an object, or of the first one of a list, by their names in lower case."""
    while isinstance(given, list) and given:
        given = given[0]
    fields = {name.lower(): value for name, value in given.items()} if isinstance(given, dict) else {}
    return _of_first(fields["questions"]) if isinstance(fields.get("questions"), list) else fields
