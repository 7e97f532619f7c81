"""Why servers refuse requests: bodies that users of public servers have reported, and the settings that help."""

import json

import pytest

from ragsweep.models.language.refusals import about_keys, help_of, is_filtered, is_too_long, read_refusal

CHAT = {
    "model": "m",
    "messages": [{"role": "user", "content": "Is there fever? Take the temperature of the patient."}],
    "max_completion_tokens": 1024,
    "temperature": 0,
    "seed": 0,
    "response_format": {"type": "json_schema"},
}
OLD = {"max_tokens" if name == "max_completion_tokens" else name: value for name, value in CHAT.items()}
TEXTS = {"model": "m", "input": ["short", "a long passage about {iron} " * 9], "dimensions": 64}

TEMPERATURE, SEED, TEXT = "g.temperature=null", "g.seed=null", "g.structured=false"
TO_OLD, TO_NEW, DIMENSIONS = "g.max_tokens_as=max_tokens", "g.max_tokens_as=max_completion_tokens", "g.dimensions=null"
SHORTER, PASSAGE, FEWER = "max_tokens makes", "g.truncate", "g.batch_size"
SETTINGS = (FEWER, TEMPERATURE, SEED, TEXT, TO_OLD, TO_NEW, DIMENSIONS, SHORTER, PASSAGE)


def openai(message, parameter=None, code=None):
    return {"error": {"message": message, "type": "invalid_request_error", "param": parameter, "code": code}}


def extra(*names, **more):
    """What pydantic says of fields that it does not know."""
    msg = "Extra inputs are not permitted"
    return [{"type": "extra_forbidden", "loc": ["body", name], "msg": msg, "input": 0, **more} for name in names]


def mistral(message):
    return {"object": "error", "message": message, "type": "invalid_request_error", "param": None, "code": None}


def gemini(*names):
    message = "\n".join(f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.' for name in names)
    violations = [{"description": line} for line in message.splitlines()]
    details = [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": violations}]
    return [{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT", "details": details}}]


VLLM = (
    "[{'type': 'extra_forbidden', 'loc': ('body', 'max_completion_tokens'), 'msg': 'Extra inputs are not permitted'}]"
)
TOO_MANY = "maximum context length is 8192 tokens, however you requested 8610 tokens (8610 in your prompt; 0 for the"
ROWS = {
    "OpenAI, a reasoning model": (
        (400, CHAT),
        openai("Unsupported parameter: 'temperature' is not supported with this model.", "temperature"),
        {TEMPERATURE},
    ),
    "OpenAI, another value": (
        (400, CHAT),
        openai(
            "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) is supported.",
            "temperature",
            "unsupported_value",
        ),
        {TEMPERATURE},
    ),
    "OpenAI, only param and code": ((400, CHAT), openai("Bad request.", "seed", "unknown_parameter"), {SEED}),
    "OpenAI, the new name": (
        (400, OLD),
        openai(
            "Unsupported parameter: 'max_tokens' is not supported here. Use 'max_completion_tokens' instead.",
            "max_tokens",
            "unsupported_parameter",
        ),
        {TO_NEW},
    ),
    "Azure, an old API version": (
        (400, CHAT),
        openai(
            "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
            "response_format",
        ),
        {TEXT},
    ),
    "Mistral": ((422, CHAT), mistral({"detail": extra("max_completion_tokens")}), {TO_OLD}),
    "Mistral, in JSON": ((422, CHAT), mistral(json.dumps({"detail": extra("seed")})), {SEED}),
    "Mistral, a list": ((422, CHAT), mistral(extra("response_format")), {TEXT}),
    "FastAPI": ((422, CHAT), {"detail": extra("store", "max_completion_tokens", "seed")}, {TO_OLD, SEED}),
    "vLLM, printed by Python": ((400, CHAT), mistral(VLLM), {TO_OLD}),
    "vLLM, no grammar": ((400, CHAT), mistral("guided decoding is not supported by this engine"), {TEXT}),
    "Gemini": ((400, CHAT), gemini("frequency_penalty", "seed"), {SEED}),
    "Gemini, temperature": ((400, CHAT), gemini("temperature"), {TEMPERATURE}),
    "DeepSeek": ((400, CHAT), openai("This response_format type is unavailable now"), {TEXT}),
    "DeepSeek, before": (
        (422, CHAT),
        openai(
            "Failed to deserialize the JSON body into the target type: response_format: response_format.type "
            "`json_schema` is unavailable now at line 1 column 1193"
        ),
        {TEXT},
    ),
    "OpenRouter": (
        (400, CHAT),
        {
            "error": {
                "message": "Provider returned error",
                "code": 400,
                "metadata": {"raw": json.dumps(openai("Unsupported parameter: 'seed' is not supported"))},
            }
        },
        {SEED},
    ),
    "TGI": ((422, CHAT), {"error": "Input validation error: `temperature` must be strictly positive"}, {TEMPERATURE}),
    "a proxy with another status": ((500, CHAT), openai("unknown field `seed`"), {SEED}),
    "nothing is named": ((400, CHAT), openai("Unknown parameter."), {TEXT}),
    "no words": ((400, CHAT), {}, {TEXT}),
    "another parameter": ((422, CHAT), {"detail": extra("stop")}, set()),
    "a number is named": ((400, CHAT), openai("temperature: 0, seed: 0, but the engine has crashed"), set()),
    "the question is quoted": (
        (400, CHAT),
        openai("Invalid prompt: it was flagged. Is there fever? Take the temperature of the patient."),
        set(),
    ),
    "too long": ((400, CHAT), openai(f"This model's {TOO_MANY}", None, "context_length_exceeded"), {SHORTER}),
    "too long for vLLM": (
        (400, CHAT),
        mistral("'max_completion_tokens' is too large: 1024. This model's maximum context length is 512 tokens"),
        {SHORTER},
    ),
    "no dimensions": ((400, TEXTS), openai("This model does not support specifying dimensions."), {DIMENSIONS}),
    "no dimensions in vLLM": (
        (400, TEXTS),
        mistral(
            "Model does not support matryoshka representation, changing output dimensions will lead to poor results."
        ),
        {DIMENSIONS},
    ),
    "both temperature and top_p": (
        (400, CHAT),
        openai("`temperature` and `top_p` cannot both be specified for this model."),
        {TEMPERATURE},
    ),
    "llama.cpp, a schema that it cannot read": ((400, CHAT), openai("failed to parse grammar"), {TEXT}),
    "too long for TGI": (
        (422, CHAT),
        {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 1500"},
        {SHORTER},
    ),
    "many texts for TEI": ((413, TEXTS), {"error": "batch size 64 > maximum allowed batch size 32"}, {FEWER}),
    "many texts for DashScope": (
        (400, TEXTS),
        openai("Value error, batch size is invalid, it should not be larger than 10.: input.contents"),
        {FEWER},
    ),
    "many texts for OpenAI": (
        (400, TEXTS),
        openai("Invalid 'input': array too long. Expected an array with maximum length 10", "input"),
        {FEWER},
    ),
    "a long passage": ((400, TEXTS), openai(f"This model's {TOO_MANY}"), {PASSAGE}),
    "a long passage for TEI": (
        (413, TEXTS),
        {
            "error": "Input validation error: `inputs` must have less than 512 tokens. Given: 534",
            "error_type": "Validation",
        },
        {PASSAGE},
    ),
    "a long passage for Ollama": ((400, TEXTS), openai("the input length exceeds the context length"), {PASSAGE}),
    "a long passage for llama.cpp": (
        (500, TEXTS),
        openai("input is too large to process. increase the physical batch size"),
        {PASSAGE},
    ),
}


@pytest.mark.parametrize(("asked", "body", "settings"), ROWS.values(), ids=ROWS)
def test_a_refusal_names_the_settings_that_help_and_no_others(asked, body, settings):
    status, request = asked
    found = read_refusal(json.dumps(body).encode())
    said = help_of(found, status, request, "g")
    assert {each for each in SETTINGS if each in said} == settings
    assert is_too_long(found, status) is bool(settings & {SHORTER, PASSAGE}) or FEWER in settings


def test_a_passage_that_is_too_long_is_shown_with_its_length():
    said = help_of(read_refusal(json.dumps(openai(TOO_MANY)).encode()), 400, TEXTS, "g")
    assert "the longest of the 2 texts of this request has 252 characters" in said
    assert "a long passage about {iron}" in said
    assert "chunker.size" in said
    alone = help_of(read_refusal(json.dumps(openai(TOO_MANY)).encode()), 400, {"input": ["short"]}, "g")
    assert "the only text of this request has 5 characters" in alone


def test_a_web_page_is_shown_by_its_title():
    page = b"<html>\r\n<head><title>502 Bad\nGateway</title></head><body>nginx</body></html>"
    assert read_refusal(page).message == "502 Bad Gateway (a web page)"


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_not_accepted_is_named_by_the_settings_that_held_it(status):
    both = ["g.api_key_env", "g.headers_env.api-key"]
    said = [about_keys(status, settings, "g") for settings in ([], both[:1], both[1:], both)]
    assert said[0].startswith("no key was sent")
    assert [[name in each for name in both] for each in said[1:]] == [[True, False], [False, True], [True, True]]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": {"message": "no such model", "code": "x"}}, "no such model"),
        ([{"error": {"code": 400, "message": "API key not valid", "status": "INVALID_ARGUMENT"}}], "API key not valid"),
        ({"detail": "Not Found"}, "Not Found"),
        ({"detail": extra("seed")}, "body.seed: Extra inputs are not permitted"),
        (mistral({"detail": [{"loc": ["body", "n"], "msg": "too large"}]}), "body.n: too large"),
        (mistral(json.dumps({"detail": extra("n")})), "body.n: Extra inputs are not permitted"),
        ({"object": "error", "message": "maximum context length", "code": 40303}, "maximum context length"),
        ({"error": "no such model"}, "no such model"),
        ({"errors": [{"message": "no such account", "code": 7003}]}, "no such account"),
        ({"error": {"message": {"error": {"message": "inner"}}}}, "inner"),
        ("plain", "plain"),
        ("<b>plain", "<b>plain"),
        ({"message": "{not JSON"}, "{not JSON"),
    ],
)
def test_the_words_of_a_refusal_are_read_from_any_servers_body(body, said):
    assert read_refusal(json.dumps(body).encode()).message == said


HINTS = [
    (400, {"error": {"message": 'invalid format: expected "json" or a JSON schema'}}, TEXT),
    (400, {"error": {"code": 400, "message": "JSON schema conversion failed:\nUnrecognized schema: {}"}}, TEXT),
    (400, {"error": "'response_format.type' must be 'json_schema' or 'text'"}, TEXT),
    (400, openai("Failed to generate JSON. Please adjust your prompt.", code="json_validate_failed"), TEXT),
    (400, openai("'messages' must contain the word 'json', to use 'response_format' of type 'json_object'."), TEXT),
    (404, {"error": {"message": "No endpoints found that support the requested parameters", "code": 404}}, TEXT),
    (400, {"errors": [{"code": "json_type_error", "message": "Json field type error: seed"}]}, SEED),
    (400, openai("response_format value as json_schema is enabled only for api versions 2024-08-01"), "g.api_version"),
    (400, openai("max_tokens: 100000 > 8192, which is the maximum allowed number"), SHORTER),
    (400, {"code": "InvalidParameter", "message": "Range of max_tokens should be [1, 8192]"}, SHORTER),
    (400, mistral("Invalid model: foo"), "g.model"),
    (400, {"code": "invalid argument", "error": "Model grok-x does not exist or your team has no access"}, "g.model"),
    (400, {"Message": "The provided model identifier is invalid."}, "g.model"),
    (400, openai("模型不存在"), "g.model"),
    (400, [{"error": {"code": 400, "message": "API key not valid. Please pass a valid one."}}], "g.api_key_env"),
    (400, openai("parameter.enable_thinking must be set to false for non-streaming calls"), "g.extra_body.enable_thin"),
]


@pytest.mark.parametrize(("status", "body", "hint"), HINTS, ids=[each[2] for each in HINTS])
def test_what_other_servers_refuse_has_a_hint_too(status, body, hint):
    assert hint in help_of(read_refusal(json.dumps(body).encode()), status, CHAT, "g")


@pytest.mark.parametrize(
    ("status", "message", "filtered"),
    [
        (400, openai("The response was filtered due to Azure OpenAI's content management policy."), True),
        (400, openai("litellm.BadRequestError: litellm.ContentPolicyViolationError: AzureException"), True),
        (400, {"code": "DataInspectionFailed", "message": "Input text data may contain unsafe words."}, True),
        (400, openai("Content Exists Risk", code="invalid_request_error"), True),
        (403, openai('Your input was flagged for "violence".', code=403), True),
        (403, openai("Your account was flagged for potential abuse.", code="account_deactivated"), False),
        (400, openai("Rejected as a result of our safety system.", code="content_policy_violation"), True),
        (403, openai("You are not allowed to use this model"), False),
        (400, openai("Unsupported parameter: 'safety_settings'"), False),
        (400, openai("Unknown parameter: content_filter"), False),
        (422, {"detail": [{"loc": ["body", "content_filter"], "msg": "Extra inputs are not permitted"}]}, False),
        (400, openai("got an unexpected keyword argument 'content_filter_level'"), False),
        (400, openai("The prompt triggered the content filter", code="content_filter"), True),
        (500, openai("content_filter is down"), False),
    ],
)
def test_a_prompt_that_is_refused_for_what_it_says_is_told_from_other_refusals(status, message, filtered):
    assert is_filtered(read_refusal(json.dumps(message).encode()), status) is filtered
