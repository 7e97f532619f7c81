"""Prompts: what precedes a text before a model reads it, by its role, such as `query: `."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import get_args

from ragsweep.core.errors import ConfigError
from ragsweep.core.terminal import say_once
from ragsweep.models.encoders.encoder import Encoder, Role

ROLES: tuple[Role, ...] = get_args(Role)
SEARCHING = "Represent this sentence for searching relevant passages: "

# Models that were trained with prompts, as their model cards say: the name of their family, what the models' names
# begin with, and the prompts of queries and passages. Others with such names have none: bge-m3, e5-large-instruct.
FAMILIES = (
    ("e5", r"(multilingual-)?e5-(small|base|large)", "query: ", "passage: "),
    ("bge", r"bge-(small|base|large)-en", SEARCHING, ""),
    ("bge", r"bge-(small|base|large)-zh", "为这个句子生成表示以用于检索相关文章：", ""),  # noqa: RUF001
    ("nomic", r"nomic-embed-text", "search_query: ", "search_document: "),
    ("arctic", r"snowflake-arctic-embed(-[lm]-v2|2)", "query: ", ""),
    ("arctic", r"snowflake-arctic-embed", SEARCHING, ""),
)


def usual_prompts(model: str, own: Mapping[str, str]) -> tuple[str, Mapping[str, str]]:
    """The prompts that a model is used with, by role, and the name of the family that has them.

    Args:
        model: A name, or a folder of that name.
        own: The prompts that the model's files have, by role; if there are any, they count, and the family is empty.
    """
    name = model.rstrip("/").rpartition("/")[2].lower()
    if not any(own.values()) and "instruct" not in name:  # those have instructions, or were trained without any
        for family, models, *prompts in FAMILIES:
            if re.match(rf"{models}(?![a-z0-9])", name):
                return family, dict(zip(ROLES, prompts, strict=True))
    return "", own


@dataclass(frozen=True, kw_only=True)
class Prompted(Encoder):
    """An encoder that puts a prompt before each text.

    Attributes:
        prompts: The prompt of a `query` and of a `passage`; an empty one is none. None is the model's own,
            or that of the family that the model belongs to by its name, which is printed.
    """

    prompts: Mapping[str, str | None] = field(default_factory=dict, hash=False)

    def prompt(self, role: Role) -> str:
        """The prompt that precedes texts of a role."""
        return self.prompts[role] or ""

    def for_role(self, role: Role) -> Encoder:
        """The encoder without the prompt of the other role."""
        return replace(self, prompts={name: self.prompt(name) if name == role else "" for name in ROLES})

    def _fill_prompts(self, model: str, own: Mapping[str, str]) -> None:
        """Replace prompts that are None, so that what is used is what is logged; see `usual_prompts`."""
        for role in self.prompts.keys() - {*ROLES}:
            raise ConfigError(f"encoder.prompts: found {role!r}, expected {' and '.join(ROLES)}")
        family, usual = usual_prompts(model, own)
        filled = {role: usual.get(role, "") for role in ROLES if self.prompts.get(role) is None}
        if family and (theirs := {role: prompt for role, prompt in filled.items() if prompt}):
            named = ", ".join(f"{role} {prompt!r}" for role, prompt in theirs.items())
            without = " ".join(f"encoder.prompts.{role}=" for role in theirs)
            say_once(f"{model}: the prompts of {family} are used ({named}); {without} uses none")
        object.__setattr__(self, "prompts", {role: filled.get(role, self.prompts.get(role)) for role in ROLES})
