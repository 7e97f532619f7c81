"""Texts of prompts, and texts of others within them."""

from __future__ import annotations

import re
from pathlib import Path

from ragsweep.core.terminal import one_line

BRACKETS = str.maketrans("[]", "()")
MARK = re.compile(r"<(?![\s\d.])")  # how the marks of chat templates begin, such as <|im_start|> and </s>; not "<5"


def prompt_beside(module: str, part: str = "") -> str:
    """The prompt in the text file beside a module, without white space around it.

    The digest of the code covers text files whose names begin with the module's name, so a changed prompt is another
    configuration.

    Args:
        module: The module's `__file__`.
        part: Follows the module's name in the name of the file, such as `_rate`.
    """
    path = Path(module)
    return path.with_name(f"{path.stem}{part}.txt").read_text(encoding="utf-8").strip()


def as_data(text: str) -> str:
    """A text in one line that cannot be taken for a part of the prompt.

    What begins a line in the prompt, such as "Question:", cannot begin one in the text. Brackets become parentheses,
    since the prompt numbers passages as "[2]" and some chat templates use "[INST]". Marks of other chat templates, such
    as "<|im_start|>", are broken up by a space.
    """
    return MARK.sub("< ", one_line(text).translate(BRACKETS))
