"""Ask a language model for a text per prompt, and extract the requested part of each text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ragsweep.core.terminal import one_line
from ragsweep.models.language.language_model import Asking, Completion, LanguageModel, Message
from ragsweep.models.language.response import is_refusal

ITEM = re.compile(r"^(?:[-*•]\s+|\(?\d+[.):]\s+|\*\*\d+[.)]?\*\*[.)]?\s+)")  # how a line of a list begins
FENCE = re.compile(r"```.*|---+|===+")  # a line of the form alone
LABEL = re.compile(r"^\W{0,2}(?:passage|answer|summary|context)\W{0,2}?:\W{0,2}\s", re.IGNORECASE)
TAG = re.compile(r"</?[A-Za-z]\w*>")
QUOTES = "\"'“”*"
BRACKETS = str.maketrans("[]", "()")
MARK = re.compile(r"<(?![\s\d.])")  # how the marks of chat templates begin, such as <|im_start|> and </s>; not "<5"


def write_each(model: LanguageModel, prompts: Sequence[str], asking: Asking) -> list[Completion]:
    """Ask a model for a text per prompt. Equal prompts are sent once."""
    different = [*dict.fromkeys(prompts)]
    written = model.ask_each(different, lambda prompt, asked: asked.complete([Message("user", prompt)]), asking)
    by_prompt = dict(zip(different, written, strict=True))
    return [by_prompt[prompt] for prompt in prompts]


def listed(text: str) -> list[str]:
    """The different lines of a text without the marks of a list; not those that announce others, nor a refusal."""
    lines = [TAG.sub("", ITEM.sub("", line)).strip().strip(QUOTES) for line in _lines(text)]
    return [line for line in dict.fromkeys(map(str.strip, lines)) if line and not line.endswith(":")]


def prose(text: str) -> str:
    """The text in one line without announcement, label and code fence; "" for a refusal."""
    lines = _lines(text)
    lines = lines[1:] if len(lines) > 1 and lines[0].endswith(":") else lines
    line = LABEL.sub("", TAG.sub("", " ".join(" ".join(lines).split())))
    return line[1:-1] if len(line) > 1 and {line[0], line[-1]} <= {*QUOTES} and line[0] not in line[1:-1] else line


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


def _lines(text: str) -> list[str]:
    """The lines of a text that are not of its form alone; none of a refusal."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return [] if is_refusal(text) else [line for line in lines if not FENCE.fullmatch(line)]
