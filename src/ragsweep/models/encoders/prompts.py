"""Prompts: what precedes a text before a model reads it, by its role, such as `query: `."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

from ragsweep.core.errors import ConfigError
from ragsweep.core.terminal import say_once

T = TypeVar("T")

ROLES = ("query", "passage")
SEARCHING = "Represent this sentence for searching relevant passages: "


class Family(NamedTuple):
    """Models that were trained with the same prompts.

    Attributes:
        name: For the line that says that the prompts are used.
        models: A pattern of what the names of the models begin with, without their owner.
        query: Precedes a query.
        passage: Precedes a passage.
    """

    name: str
    models: str
    query: str
    passage: str = ""

    @property
    def prompts(self) -> Mapping[str, str]:
        """By role."""
        return {"query": self.query, "passage": self.passage}


# As their model cards say. Other models with such names take no prompts, or instructions: bge-m3, e5-large-instruct.
FAMILIES = (
    Family("e5", r"(multilingual-)?e5-(small|base|large)", "query: ", "passage: "),
    Family("bge", r"bge-(small|base|large)-en", SEARCHING),
    Family("bge", r"bge-(small|base|large)-zh", "为这个句子生成表示以用于检索相关文章："),  # noqa: RUF001
    Family("nomic", r"nomic-embed-text", "search_query: ", "search_document: "),
    Family("arctic", r"snowflake-arctic-embed(-[lm]-v2|2)", "query: "),
    Family("arctic", r"snowflake-arctic-embed", SEARCHING),
)


@dataclass(frozen=True, kw_only=True)
class Prompted:
    """A component that puts a prompt before each text that it encodes.

    Attributes:
        prompts: The prompt of a `query` and of a `passage`; an empty one is none. None is the model's own,
            or that of the family that the model belongs to by its name, which is printed.
    """

    prompts: Mapping[str, str | None] = field(default_factory=dict, hash=False)

    def prompt(self, role: str) -> str:
        """What precedes texts of a role."""
        return self.prompts[role] or ""

    def _fill_prompts(self, model: str, own: Mapping[str, str]) -> None:
        """Replace prompts that are None, so that what is used is what is logged.

        Args:
            model: A name, or a folder of that name.
            own: The prompts that the model's files have, by role.

        Raises:
            ConfigError: A prompt is of another role.
        """
        for role in self.prompts.keys() - {*ROLES}:
            raise ConfigError(f"encoder.prompts: found {role!r}, expected {' and '.join(ROLES)}")
        unset = [role for role in ROLES if self.prompts.get(role) is None]
        family = None if any(own.values()) else family_of(model)
        if family and (theirs := {role: family.prompts[role] for role in unset if family.prompts[role]}):
            named = ", ".join(f"{role} {prompt!r}" for role, prompt in theirs.items())
            without = " ".join(f"encoder.prompts.{role}=" for role in theirs)
            say_once(f"{model}: the prompts of {family.name} are used ({named}); {without} uses none")
        found = family.prompts if family else own
        filled = {role: found.get(role, "") if role in unset else self.prompts[role] for role in ROLES}
        object.__setattr__(self, "prompts", filled)


def family_of(model: str) -> Family | None:
    """The family that a model belongs to by its name; None if that is none of the known ones."""
    name = model.rstrip("/").rpartition("/")[2].lower()
    if "instruct" in name:  # others of these families: with instructions, or trained without any
        return None
    return next((each for each in FAMILIES if re.match(rf"{each.models}(?![a-z0-9])", name)), None)


def prompted_for(encoder: T, role: str) -> T:
    """The encoder without the prompt of the other role, which changes nothing that is encoded for this one."""
    if not isinstance(encoder, Prompted):
        return encoder
    return replace(encoder, prompts={each: encoder.prompt(each) if each == role else "" for each in ROLES})
