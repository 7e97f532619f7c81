"""Texts that a language model writes, one for each prompt."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragsweep.models.language.language_model import Asking, Completion, LanguageModel, Message, Model

ITEM = re.compile(r"(?:[-*•]|\(?\d+[.):])\s+")  # how a line of a list begins
QUOTES = "\"'“”*"


def write_each(model: Model, prompts: Sequence[str], asking: Asking) -> list[Completion]:
    """What a model writes for each prompt. Of equal prompts, one is asked."""
    different = [*dict.fromkeys(prompts)]
    written = dict(zip(different, model.ask_each(different, _complete, asking), strict=True)) if different else {}
    return [written[prompt] for prompt in prompts]


def listed(text: str) -> list[str]:
    """The different lines of a text without the marks of a list; not one that announces others."""
    lines = [ITEM.sub("", line.strip(), count=1).strip().strip(QUOTES) for line in text.splitlines()]
    return [line for line in dict.fromkeys(lines) if line and not line.endswith(":")]


def _complete(prompt: str, model: LanguageModel) -> Completion:
    return model.complete([Message("user", prompt)])
