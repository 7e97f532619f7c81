"""Reads chat completions, and counts their tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragsweep.core.parsing import MalformedError, from_json
from ragsweep.models.language.endpoint_access import hidden
from ragsweep.models.language.reasoning_marks import split
from ragsweep.models.language.response import Cause, count, read_response
from ragsweep.models.language.sending import Kind, tokens_of

TOKEN_LIMITS = ("max_completion_tokens", "max_tokens")  # the names of one parameter, of which old servers know the last
LONGEST_MS = 10**9  # of a kept response


def is_response(found: Mapping[str, Any], *, start_will_do: bool = False) -> bool:
    """Whether a mapping is one that `Endpoint.send` could have returned, and is worth keeping.

    A text that was cut off is worth keeping only if its start will do.
    """
    if found.keys() - {"machines"} != {"text", "refused", "cause", "tokens_in", "tokens_out", "time_ms"}:
        return False
    text, cause = found["text"], found["cause"]
    if not isinstance(text, str) or not isinstance(found["refused"], bool):
        return False
    allowed = (None, Cause.REFUSED, *[Cause.CUT_OFF] * start_will_do)
    readable = found["refused"] or (text.strip() != "" and split(text).text == text)
    counts = all(found[name] is None or count(found[name]) is not None for name in ("tokens_in", "tokens_out"))
    time_ms = found["time_ms"]
    return readable and cause in allowed and counts and type(time_ms) in (int, float) and 0 <= time_ms <= LONGEST_MS


def prompt_tokens(request: Mapping[str, Any]) -> int:
    """Tokens of the prompt, roughly; for writing other than ASCII, the most that they may be."""
    return tokens_of("".join(message["content"] for message in request["messages"]))


def _read_chat(body: bytes, request: Mapping[str, Any], secrets: tuple[str, ...]) -> dict[str, Any]:
    """What counts of a chat completion."""
    try:
        completion = from_json(body.decode("utf-8-sig"), allow_nan=True)
    except UnicodeDecodeError as error:
        raise MalformedError("is no chat completion in UTF-8") from error
    except MalformedError as error:
        raise MalformedError("is no chat completion") from error
    found = read_response(completion)
    text = hidden(found.text.encode(errors="replace").decode(), *secrets)  # an invalid surrogate becomes ?
    tokens = {"tokens_in": found.tokens_in, "tokens_out": found.tokens_out}
    return {"text": text, "refused": found.cause is Cause.REFUSED, "cause": found.cause, **tokens}


def _most_tokens(request: Mapping[str, Any]) -> tuple[int, int]:
    return prompt_tokens(request), sum(int(request.get(name, 0)) for name in TOKEN_LIMITS)


CHAT = Kind("chat/completions", _most_tokens, _read_chat, filters=True, again=True)
