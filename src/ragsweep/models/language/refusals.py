"""Reads why a server refuses a request, from the bodies that servers send, and names the settings that help."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ragsweep.core.parsing import MalformedError, from_json
from ragsweep.core.terminal import one_line

ABOUT_KEYS = {401: "is not accepted", 403: "may not do this"}  # by status
FORBIDDEN, NOT_FOUND, TOO_LARGE = 403, 404, 413
BAD_REQUEST = (400, 422)
FAULT_WITHIN = 40  # characters between the name of a parameter and what is wrong with it
SHOWN_OF_TEXT = 40  # characters
FAULT = (
    r"(?:unsupported|not (?:\w+ )?support\w*|n't support|unknown|unrecogni[sz]ed|unexpected|must (?:be|contain)|"
    r"enabled only|conversion failed|type error|"
    r"extra(?:_forbidden| (?:input|field|parameter)s?)|not (?:permitted|allowed|available|enabled)|invalid|unavailable|"
    r"cannot find|cannot both|may only|failed to|deprecated|no longer)"
)
TOO_LONG = re.compile(
    r"context[ _](?:length|window|size)|too long|too many tokens|too large to process|token limit|(?:less|fewer) than "
    r"\d+ tokens|tokens.{0,40}must be <=|max(?:imum)?[ _](?:input|sequence|model)[ _]len|"
    r"exceed\w* .{0,40}(?:length|tokens)|max_\w*tokens.{0,20}(?:> \d|should be)|"
    r"is too large: \d+\. this model supports",
    re.IGNORECASE,
)

TOO_MANY = re.compile(
    r"batch[ _]size (?:\d|is invalid|of \d)|max(?:imum)? (?:allowed )?(?:client )?batch|array too long|(?:too many|"
    r"(?:at most|maximum of|more than|up to) \d+) (?:inputs|texts|documents|items|instances|strings)",
    re.IGNORECASE,
)
NO_MODEL = re.compile(
    r"(?:invalid|unknown|unrecogni[sz]ed|no such) model|模型不存在|"
    r"\bmodel\b.{0,60}(?:not (?:found|exist)|is invalid|decommissioned)",
    re.IGNORECASE,
)
NO_KEY = re.compile(r"api[ _-]?key.{0,20}(?:not valid|invalid|missing)|invalid api[ _-]?key", re.IGNORECASE)
FILTERED = re.compile(  # of Azure, LiteLLM, DashScope, DeepSeek, OpenRouter: the prompt is refused for what it says
    r"content[ _]?filter|content management policy|content[ _]?policy[ _]?violation|data_?inspection_?failed|"
    r"content exists risk|inappropriate content|safety system|"
    r"(?:input|prompt|content|messages?|request)\b.{0,40}\bflagged",  # not the account
    re.IGNORECASE,
)
NAMES_PARAMETER = re.compile(  # Unknown parameter: 'content_filter'
    r"(?:parameter|argument|field|property|key|input)s?\b[\s:'\"`]{0,5}content_?filter|"
    r"content_?filter\w*[\s:'\"`]{1,5}(?:is\s+)?(?:an?\s+)?(?:extra|unknown|unexpected|unrecogni[sz]ed|unsupported|invalid|not)\b",
    re.IGNORECASE,
)
ANY_NAME = ("message", "detail", "reason", "errors", "msg", "title")  # of the field with the words of an error
TITLE = re.compile(r"<title[^<>]*>([^<]{1,200})", re.IGNORECASE)


class RefusedParameter(NamedTuple):
    """A parameter of a request that some servers refuse.

    Attributes:
        names: What messages call it, as a regular expression.
        help: The setting that does without it, with its group.
        may_be_meant: Whether it may be meant by a message that names no parameter.
    """

    names: str
    help: str
    may_be_meant: bool = False


PARAMETERS = {
    "response_format": RefusedParameter(
        r"response[_ ]format(?:\.\w+)*|json[_ ]schema|generate JSON|structured[ _]outputs?|guided[ _]\w+|grammars?",
        "{group}.structured=false does without a JSON schema, which some servers do not know",
        may_be_meant=True,
    ),
    "dimensions": RefusedParameter(
        r"dimensions|matryoshka",
        "{group}.dimensions=null does without this parameter, which some models do not know",
        may_be_meant=True,
    ),
    "temperature": RefusedParameter("temperature", "{group}.temperature=null leaves it to the endpoint"),
    "seed": RefusedParameter("seed", "{group}.seed=null sends none"),
    "max_completion_tokens": RefusedParameter(
        "max_completion_tokens", "{group}.max_tokens_as=max_tokens is what old servers call it"
    ),
    "max_tokens": RefusedParameter(
        "max_tokens", "{group}.max_tokens_as=max_completion_tokens is what newer models call it"
    ),
}


class Refusal(NamedTuple):
    """Why a server refuses a request.

    Attributes:
        message: Its words; the whole body where they are not found in it.
        code: Its code; None if there is none.
        about: The message, with the code and the parameter that it is about.
    """

    message: str
    code: object
    about: str


def read_refusal(body: bytes) -> Refusal:
    """What the body of an error says."""
    text = body.decode("utf-8-sig", errors="replace")
    try:
        error = from_json(text)
    except MalformedError:
        title = TITLE.search(text) if text.lstrip().startswith("<") else None
        said = f"{one_line(title[1])} (a web page)" if title else text
        return Refusal(said, None, said)
    if isinstance(error, list) and error:  # Gemini
        error = error[0]
    if isinstance(error, dict):
        error = error.get("error") or error
    if not isinstance(error, dict):
        said = _said(error)
        return Refusal(said, None, said)
    error = {name.lower(): value for name, value in error.items()}
    said = _said(next((error[name] for name in ANY_NAME if error.get(name)), ""))
    metadata = error.get("metadata")
    if isinstance(metadata, dict) and metadata.get("raw"):  # OpenRouter's, of the server behind it
        said = f"{said}: {_said(metadata['raw'])}"
    code, parameter = error.get("code"), error.get("param")
    return Refusal(said, code, f"{said}\n{code} {parameter or ''}".rstrip() if isinstance(code, str) else said)


def read_error(body: bytes) -> Refusal | None:
    """What a response with status 200 says that is no result: an error, or something else; None of a result."""
    try:
        found = from_json(body.decode("utf-8-sig", errors="replace"), allow_nan=True)
    except MalformedError:
        return read_refusal(body or b"it is empty")
    if isinstance(found, dict) and (found.get("error") or found.get("object") == "error"):
        return read_refusal(body)
    match found:
        case {"choices": [{"error": error}, *_]} if error:  # OpenRouter's, of a server behind it
            return read_refusal(json.dumps({"error": error}).encode())
    is_result = isinstance(found, dict) and found.get("data")
    return None if is_result else Refusal(json.dumps(found), None, "")


def is_too_long(refusal: Refusal, status: int) -> bool:
    """Whether a text of the request is longer than the server reads."""
    return status == TOO_LARGE or bool(TOO_LONG.search(refusal.about))


def is_filtered(refusal: Refusal, status: int) -> bool:
    """Whether the server refuses a prompt for what it says, which is a response."""
    names_parameter = NAMES_PARAMETER.search(refusal.message)
    return status in (*BAD_REQUEST, FORBIDDEN) and bool(FILTERED.search(refusal.about) and not names_parameter)


def about_keys(status: int, settings: Sequence[str], group: str) -> str:
    """What a status of `ABOUT_KEYS` means. The server's own message may repeat a part of a key.

    Args:
        status: The status.
        settings: Those that name the variables of the keys that were sent.
        group: Of the settings.
    """
    if not settings:
        return f"no key was sent; set {group}.api_key_env or {group}.headers_env to the variable that holds it"
    keys = "the key in the variable" if len(settings) == 1 else "a key in one of the variables"
    return f"{keys} {', '.join(settings)} {ABOUT_KEYS[status]}"


def help_of(refusal: Refusal, status: int, request: Mapping[str, Any], group: str) -> str:
    """The settings that help, each after a semicolon; empty if none is known to."""
    return "".join(f"; {each.format(group=group)}" for each in _helps(refusal, status, request))


def _helps(refusal: Refusal, status: int, request: Mapping[str, Any]) -> Iterator[str]:
    if status == NOT_FOUND or (status in BAD_REQUEST and NO_MODEL.search(refusal.message)):
        yield "check {group}.base_url and {group}.model"
    if status in BAD_REQUEST and NO_KEY.search(refusal.message):
        yield "check the variable that {group}.api_key_env names"
    if "api version" in refusal.message:
        yield "set a later {group}.api_version"
    if "enable_thinking must be" in refusal.message:
        yield "+{group}.extra_body.enable_thinking=false does that"
    texts = request.get("input")
    too_many = TOO_MANY.search(refusal.about) is not None
    if (
        isinstance(texts, list)
        and len(texts) > 1
        and (too_many or (status == TOO_LARGE and not TOO_LONG.search(refusal.about)))
    ):
        yield "a smaller {group}.batch_size sends fewer texts at once"
        if too_many:
            return
    if is_too_long(refusal, status):
        yield _shorter(request)
        return
    known = {name: parameter for name, parameter in PARAMETERS.items() if name in request}
    at_fault = [parameter.help for parameter in known.values() if _is_at_fault(parameter, refusal.about)]
    yield from at_fault
    if not at_fault and status in (*BAD_REQUEST, NOT_FOUND) and (not refusal.message or _names_none(refusal.about)):
        yield from (parameter.help for parameter in known.values() if parameter.may_be_meant)


def _is_at_fault(parameter: RefusedParameter, text: str) -> bool:
    """Whether a message says that something is wrong with a parameter, within a sentence."""
    name, between = rf"(?<!\w)(?:{parameter.names})(?!\w)", rf"(?:(?!\.\s|\n|; ).){{0,{FAULT_WITHIN}}}?"
    return bool(re.search(rf"{name}{between}{FAULT}|{FAULT}{between}{name}", text, re.IGNORECASE))


def _names_none(text: str) -> bool:
    """Whether a message says that a parameter is wrong, but not which one."""
    pattern = rf"(?:{FAULT}|support the requested) (?:parameter|argument|field)s?\W*(?:$|\n)"
    return bool(re.search(pattern, text.strip(), re.IGNORECASE))


def _shorter(request: Mapping[str, Any]) -> str:
    """What makes a request shorter."""
    texts = request.get("input")
    if not isinstance(texts, list):
        return "a smaller k, chunker.size or max_tokens makes the request shorter"
    longest = max(texts, key=len)
    shown = one_line(longest[:SHOWN_OF_TEXT]).replace("{", "{{").replace("}", "}}")
    which = "the only text" if len(texts) == 1 else f"the longest of the {len(texts)} texts"
    return (
        f"{which} of this request has {len(longest):,} characters "
        f"({shown!r} ...): make passages shorter by chunker.size, or send less of them by {{group}}.truncate"
    )


def _said(part: object) -> str:
    """The words of an error: FastAPI lists places with messages, and Mistral has them in an object, or in its JSON."""
    if isinstance(part, str) and part.lstrip().startswith(("{", "[")):
        try:
            part = from_json(part)
        except MalformedError:
            return str(part)
    if isinstance(part, list):
        return "; ".join(map(_said, part))
    if isinstance(part, dict) and isinstance(part.get("msg"), str):
        place = part.get("loc")
        return ".".join(map(str, place)) + ": " + part["msg"] if isinstance(place, list) else str(part["msg"])
    if isinstance(part, dict):
        inner = part.get("detail") or part.get("message") or part.get("error")
        return _said(inner) if inner else json.dumps(part)
    return part if isinstance(part, str) else json.dumps(part)
