"""Chat completions: what counts of their requests and responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragsweep.core.parsing import MalformedError, from_json
from ragsweep.retrieval.language_models.access import hidden
from ragsweep.retrieval.language_models.sending import FILTERED, Kind, count, tokens_of

TOKEN_LIMITS = ("max_completion_tokens", "max_tokens")  # the names of one parameter, of which old servers know the last
LONGEST_MS = 10**9  # of a kept response
USAGE = {"in": "prompt", "out": "completion"}


def is_response(found: Mapping[str, Any]) -> bool:
    """Whether a mapping is one that `Endpoint.send` could have returned."""
    if found.keys() != {"text", "refused", "tokens_in", "tokens_out", "time_ms"}:
        return False
    texts = isinstance(found["text"], str) and isinstance(found["refused"], bool)
    counts = all(found[name] is None or count(found[name]) is not None for name in ("tokens_in", "tokens_out"))
    time_ms = found["time_ms"]
    return texts and counts and type(time_ms) in (int, float) and 0 <= time_ms <= LONGEST_MS


def prompt_tokens(request: Mapping[str, Any]) -> int:
    """Tokens of the prompt, roughly; for writing other than ASCII, the most that they may be."""
    return tokens_of("".join(message["content"] for message in request["messages"]))


def _read_chat(body: bytes, request: Mapping[str, Any], key: str) -> dict[str, Any]:
    """What counts of a chat completion."""
    try:
        completion = from_json(body.decode(), allow_nan=True)
        choice = completion["choices"][0]
        message, usage = choice["message"], completion.get("usage") or {}
        content = message.get("content") or ""
        refused = bool(message.get("refusal")) or choice.get("finish_reason") == FILTERED
        text = hidden(content.encode(errors="replace").decode(), key)  # half a character becomes ?
        tokens = {f"tokens_{way}": count(usage.get(f"{what}_tokens")) for way, what in USAGE.items()}
    except (UnicodeDecodeError, MalformedError, LookupError, TypeError, AttributeError) as error:
        raise MalformedError("is no chat completion") from error
    return {"text": "" if refused else text, "refused": refused, **tokens}


def _most_tokens(request: Mapping[str, Any]) -> tuple[int, int]:
    return prompt_tokens(request), sum(int(request.get(name, 0)) for name in TOKEN_LIMITS)


CHAT = Kind("chat/completions", _most_tokens, _read_chat, filters=True, again=True)
