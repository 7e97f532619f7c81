"""Reads a chat completion: its text, its reasoning, its tool calls, its tokens, and why the text cannot be used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ragsweep.core.parsing import MalformedError
from ragsweep.models.language.reasoning_marks import Split, split

MOST_TOKENS = 10**9  # that a response may claim
USAGE = {"in": ("prompt_tokens", "input_tokens"), "out": ("completion_tokens", "output_tokens")}
REASONING = ("reasoning_content", "reasoning", "thinking")  # fields of a message
THOUGHTS = ("thinking", "reasoning", "redacted_thinking")  # types of a part of a message
TEXT_FIELDS = ("text", "output_text")


class Cause(StrEnum):
    """Why a response has no usable text, other than that the model did not know better."""

    CUT_OFF = "cut_off"
    EMPTY = "empty"
    TOOL_CALL = "tool_call"
    REFUSED = "refused"


CAUSE_NAMES = {cause: cause.replace("_", " ") for cause in Cause}  # in words
FINISH_REASONS = {  # in lower case, of OpenAI, Anthropic, Gemini, Mistral and Bedrock
    **dict.fromkeys(("length", "max_tokens", "model_length", "max_output_tokens", "incomplete"), Cause.CUT_OFF),
    **dict.fromkeys(("model_context_window_exceeded",), Cause.CUT_OFF),
    **dict.fromkeys(("content_filter", "content_filtered", "safety", "refusal", "recitation"), Cause.REFUSED),
    **dict.fromkeys(("prohibited_content", "blocklist", "spii", "guardrail_intervened", "sensitive"), Cause.REFUSED),
    **dict.fromkeys(("tool_calls", "function_call", "tool_use", "malformed_function_call"), Cause.TOOL_CALL),
}

TOOL_TEXT = re.compile(  # a tool call that the server passed on as text, of Qwen, Mistral, Llama, DeepSeek, Kimi
    r"\s*(?:<\|?tool_calls?(?:_section_begin)?\|?>|\[TOOL_CALLS\]|<\|python_tag\|>|<function(?:=\w+|_calls)>|<\uff5ctool|<tool_code>)"
)
BROKEN_OFF = ("error", "abort", "network_error", "insufficient_system_resource")  # of OpenRouter, vLLM, GLM, DeepSeek


@dataclass(frozen=True)
class Response:
    """What a server says about its response.

    Attributes:
        text: What the model wrote after it had reasoned; empty if it refused.
        reasoning: What it wrote before, as far as the server tells.
        tool_calls: The names of the tools that it called; there are none that it could call.
        cause: Why the text cannot be used; None if it can. A text that was cut off is given, as its start may do.
        tokens_in: Tokens of the prompt; None if not known.
        tokens_out: Tokens of the response; None if not known.
    """

    text: str
    reasoning: str = ""
    tool_calls: tuple[str, ...] = ()
    cause: Cause | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None


def read_response(completion: Any) -> Response:
    """The first choice of a chat completion.

    Raises:
        MalformedError: It is no chat completion, or the server failed within it.
    """
    try:
        choice = completion["choices"][0]
        reason = str(choice.get("finish_reason")).lower().partition(":")[0]  # content_filter: SAFETY
        if reason in BROKEN_OFF or choice.get("error"):
            raise MalformedError(f"broke off at the server (finish_reason {reason})")
        finish = FINISH_REASONS.get(reason)
        message = choice.get("message")
        if message is None and finish is None:
            raise MalformedError("is no chat completion")
        message, usage = message or {}, completion.get("usage") or {}
        content, thoughts, refusal = _parts(message.get("content"))
        tools = _tools(message)
        tokens = {f"tokens_{way}": _first_count(usage, names) for way, names in USAGE.items()}
        said = [part for name in REASONING if isinstance(part := message.get(name), str)]
    except (LookupError, TypeError, AttributeError) as error:
        raise MalformedError("is no chat completion") from error
    found = split(content)
    refused = bool(refusal or message.get("refusal")) or finish is Cause.REFUSED
    cause = Cause.REFUSED if refused else _cause(found, finish, tools)
    reasoning = "\n\n".join(filter(None, [*said, thoughts, found.reasoning]))
    text = "" if cause in (Cause.REFUSED, Cause.TOOL_CALL) else found.text
    return Response(text, reasoning, tools, cause, **tokens)


def count(value: object) -> int | None:
    """A number of tokens that a server claims; None if it cannot be one."""
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None


def _cause(found: Split, finish: Cause | None, tools: tuple[str, ...]) -> Cause | None:
    if finish is Cause.CUT_OFF:
        return finish
    is_tool_call = TOOL_TEXT.match(found.text) is not None
    if found.text.strip() and not is_tool_call:
        return None
    return Cause.TOOL_CALL if tools or is_tool_call or finish is Cause.TOOL_CALL else Cause.EMPTY


def _parts(content: Any) -> tuple[str, str, str]:
    """The text, the reasoning and the refusal in the content of a message: a text, or a list of parts."""
    if content is None or isinstance(content, str):
        return content or "", "", ""
    if not isinstance(content, list):
        raise TypeError
    texts, thoughts, refusals = [], [], []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif part.get("type") in THOUGHTS or part.get("thought") is True:
            inner = part.get("thinking") or part.get("reasoning") or part.get("text")
            thoughts.append(_parts(inner)[0] if isinstance(inner, str | list) else "")
        elif part.get("type") == "refusal":
            refusals.append(str(part.get("refusal") or "refused"))
        elif part.get("type", "text") in TEXT_FIELDS:
            texts.append(_parts(part["text"])[0])
    return "".join(texts), "\n".join(thoughts), "\n".join(refusals)


def _tools(message: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the called tools, also in the old field for a single one."""
    calls = [call.get("function") or call for call in message.get("tool_calls") or ()]
    calls += [message["function_call"]] if message.get("function_call") else []
    return tuple(str(call.get("name") or "") for call in calls)


def _first_count(usage: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    return next((count(usage[name]) for name in names if name in usage), None)
