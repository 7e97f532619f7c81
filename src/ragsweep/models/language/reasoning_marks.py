"""Parts a model's text into its reasoning and what it says after it, by the marks that models set."""

from __future__ import annotations

import re
from typing import NamedTuple

from ragsweep.core.parsing import MalformedError, from_json
from ragsweep.text.sentences import is_within_sentence

NAMES = r"(?:seed:)?(?:think(?:ing)?|thoughts?|reasoning|analysis|scratchpad|reflection|(?:begin|end)_of_thought)"
MARK = re.compile(
    rf"(?P<open><(?:{NAMES})(?:\s[^<>]*)?>|\[THINK\]|◁think▷|<\|begin_of_thought\|>)"
    rf"|<(?:/\s*{NAMES}\s*)>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>",
    re.IGNORECASE,
)
UNFINISHED_END = re.compile(r"</(?:t(?:h(?:i(?:n(?:k(?:i(?:ng?)?)?)?)?)?)?)?$", re.IGNORECASE)  # a cut off end mark
CHANNEL = re.compile(r"<\|channel\|>\s*+(\w++)[^<]*+(?:<\|constrain\|>[^<]*+)?<\|message\|>")  # in linear time
CHANNEL_END = re.compile(r"<\|(?:end|return|call|start|channel)\|>")
BARE_CHANNELS = re.compile(r"\s*analysis(?=\W|[A-Z])(.*?)assistant\s*final(.*)", re.DOTALL)  # without special tokens
FINAL = "final"


class Split(NamedTuple):
    """The two parts of a text.

    Attributes:
        text: What is said after the reasoning; the whole text, unchanged, if it has no marks.
        reasoning: The reasoning without its marks.
    """

    text: str
    reasoning: str


def split(text: str) -> Split:
    """Part a text. A JSON object is left alone, whatever marks its texts contain.

    The start of the reasoning may be missing, as it may stand in the prompt, and so may its end: the response was cut
    off then, and says nothing after it.
    """
    if "<|channel|>" in text:
        return _of_channels(text)
    if bare := BARE_CHANNELS.fullmatch(text):
        return Split(bare[2].strip(), bare[1].strip())
    if UNFINISHED_END.search(text):
        return Split("", text.strip())
    if not MARK.search(text) or _is_json(text):
        return Split(text, "")
    said: list[str] = []
    thoughts: list[str] = []
    start, inside = 0, False
    for mark in MARK.finditer(text):
        piece = text[start : mark.start()]
        if mark["open"] and not inside and is_within_sentence(text, *mark.span()):  # which speaks of the mark
            said.append(text[start : mark.end()])
            start = mark.end()
            continue
        if mark["open"]:
            (thoughts if inside else said).append(piece)
        elif inside:
            thoughts.append(piece)
        else:  # the start stood in the prompt
            thoughts += [*said, piece]
            said = []
        start, inside = mark.end(), bool(mark["open"])
    (thoughts if inside else said).append(text[start:])
    return Split("".join(said).strip(), "\n".join(filter(None, map(str.strip, thoughts))))


def _of_channels(text: str) -> Split:
    """The parts of OpenAI's Harmony format, in which each channel has its name."""
    said: list[str] = []
    thoughts: list[str] = []
    for channel in CHANNEL.finditer(text):
        end = CHANNEL_END.search(text, channel.end())
        piece = text[channel.end() : end.start() if end else len(text)].strip()
        (said if channel[1] == FINAL else thoughts).append(piece)
    return Split("\n".join(said), "\n".join(thoughts))


def _is_json(text: str) -> bool:
    if not text.lstrip().startswith("{"):
        return False
    try:
        from_json(text)
    except MalformedError:
        return False
    return True
