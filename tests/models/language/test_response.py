"""Reading a chat completion: the clean text, and why there is none."""

import pytest

from ragsweep.core.parsing import MalformedError, from_json
from ragsweep.models.language.reasoning_marks import split
from ragsweep.models.language.response import Cause, read_response


def read(content, finish="stop", **message):
    return read_response({"choices": [{"message": {"content": content, **message}, "finish_reason": finish}]})


@pytest.mark.parametrize(
    "content",
    [
        "B",
        "<think>A?</think>\n\nB",
        "A? no\n</think>\nB",
        "<thinking>A</thinking>B",
        "[THINK]A[/THINK]B",
        "<think>x <think> y</think>B",
        "<|channel|>analysis<|message|>A?<|end|><|start|>assistant<|channel|>final<|message|>B<|return|>",
        [{"type": "thinking", "thinking": [{"type": "text", "text": "A"}]}, {"type": "text", "text": "B"}],
    ],
)
def test_the_text_is_what_follows_the_reasoning(content):
    found = read(content)
    assert (found.text, found.cause) == ("B", None)


@pytest.mark.parametrize(
    ("completion", "cause"),
    [
        ((None, "length", {"reasoning_content": "long"}), Cause.CUT_OFF),
        (("<think>long", "MAX_TOKENS", {}), Cause.CUT_OFF),
        (("<think>long", "stop", {}), Cause.EMPTY),
        (("", None, {}), Cause.EMPTY),
        (('<tool_call>\n{"name": "f"}\n</tool_call>', "stop", {}), Cause.TOOL_CALL),
        (('[TOOL_CALLS][{"name": "f"}]', "stop", {}), Cause.TOOL_CALL),
        (("<function_calls>\n<invoke", "stop", {}), Cause.TOOL_CALL),
        ((None, "tool_calls", {"tool_calls": [{"function": {"name": "f"}}]}), Cause.TOOL_CALL),
        ((None, "stop", {"function_call": {"name": "f"}}), Cause.TOOL_CALL),
        (("B", "SAFETY", {}), Cause.REFUSED),
        ((None, "content_filter: RECITATION", {}), Cause.REFUSED),
        ((None, "stop", {"refusal": "no"}), Cause.REFUSED),
    ],
)
def test_a_response_without_usable_text_says_why(completion, cause):
    content, finish, message = completion
    found = read(content, finish, **message)
    assert (found.text, found.cause) == ("", cause)


@pytest.mark.parametrize("reason", ["error", "abort", "network_error", "insufficient_system_resource"])
def test_the_start_of_a_response_within_which_the_server_failed_is_none(reason):
    with pytest.raises(MalformedError, match=f"broke off at the server .*{reason}"):
        read("It could be A", reason)


def test_marks_in_the_texts_of_json_are_left_alone():
    text = '{"answer": "<think>A</think>B"}'
    assert read(text).text == text


def test_a_repeated_field_is_found_with_work_linear_in_the_fields():
    fields = ",".join(f'"k{number}":0' for number in range(100_000))
    with pytest.raises(MalformedError, match="'k99999' twice"):
        from_json(f'{{{fields},"k99999":1}}')


def test_a_mark_that_prose_speaks_of_cuts_nothing_off():
    assert split("The tag <think> is used. B").text == "The tag <think> is used. B"
