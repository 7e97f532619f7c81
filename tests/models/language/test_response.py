"""Reading a chat completion: the clean text, and why there is none."""

from types import SimpleNamespace

import pytest

from ragsweep.core.parsing import MalformedError
from ragsweep.models.language.response import Cause, is_refusal, json_in, read_choice, without_thoughts


def read(content, finish="stop", refusal=None, tool_calls=None):
    message = SimpleNamespace(content=content, refusal=refusal, tool_calls=tool_calls)
    return read_choice(SimpleNamespace(message=message, finish_reason=finish))


@pytest.mark.parametrize(
    "content",
    [
        "B",
        "<think>A?</think>\n\nB",
        "A? no\n</think>\nB",
        "<thinking>A</thinking>B",
        [{"type": "thinking", "thinking": [{"type": "text", "text": "A"}]}, {"type": "text", "text": "B"}],
    ],
)
def test_the_text_is_what_follows_the_thoughts(content):
    assert read(content) == ("B", None)


@pytest.mark.parametrize(
    "text",
    [
        "<think>long",
        "[THINK]A[/THINK]B",
        "◁think▷A◁/think▷B",
        "<think>x <think> y</think>B</think>",
        "<|channel|>analysis<|message|>A?<|end|><|start|>assistant<|channel|>final<|message|>B<|return|>",
        "<|begin_of_thought|>A<|end_of_thought|>B",
        "The answer is B. <think>Or is it A?",
    ],
)
def test_a_text_with_raw_marks_cannot_be_used(text):
    """A thought states no answer: a wrong letter is worse than none."""
    assert read(text) == ("", Cause.EMPTY)


@pytest.mark.parametrize(
    ("response", "cause"),
    [
        ((None, "length"), Cause.CUT_OFF),
        (("<think>long", "length"), Cause.CUT_OFF),
        (("", None), Cause.EMPTY),
        (('<tool_call>\n{"name": "f"}\n</tool_call>', "stop"), Cause.TOOL_CALL),
        (('[TOOL_CALLS][{"name": "f"}]', "stop"), Cause.TOOL_CALL),
        ((None, "stop", None, [{"function": {"name": "f"}}]), Cause.TOOL_CALL),
        ((None, "function_call"), Cause.TOOL_CALL),
        (("B", "content_filter"), Cause.REFUSED),
        ((None, "stop", "no"), Cause.REFUSED),
        (("I'm sorry, but I can't help with that.", "stop"), Cause.REFUSED),
    ],
)
def test_a_response_without_usable_text_says_why(response, cause):
    assert read(*response) == ("", cause)


def test_the_start_of_a_text_that_was_cut_off_is_given():
    assert read("It is", "length") == ("It is", Cause.CUT_OFF)


def test_the_start_of_a_response_within_which_the_server_failed_is_none():
    with pytest.raises(MalformedError, match="broke off at the server"):
        read("It could be A", "error")


def test_marks_in_the_texts_of_json_are_left_alone():
    text = '{"answer": "<think>A</think>B"}'
    assert read(text) == (text, None)
    assert without_thoughts(text) == text


@pytest.mark.parametrize(
    ("text", "refuses"),
    [
        ("I cannot answer this question.", True),
        ("As an AI language model, I cannot provide medical advice.", True),
        ("Sorry, I can\u2019t assist with that request.", True),
        ("I cannot give medical advice. However, the correct answer is B.", False),
        ("I'm sorry, but the answer is B.", False),
        ("I cannot recommend iron enough. Take it daily.", False),
        ("I am sorry to say that tea stops iron.", False),
        ("I cannot answer this. " * 30, False),
    ],
)
def test_a_text_refuses_if_it_does_nothing_else(text, refuses):
    assert is_refusal(text) == refuses


@pytest.mark.parametrize("around", ["{}", "```json\n{}\n```", "Here it is: {} Good luck!", "<think>a</think>{}"])
def test_json_is_read_without_what_is_around_it(around):
    assert json_in(around.replace("{}", '{"a": [1,\n 2,]}')) == {"a": [1, 2]}
