"""Reading what a model wrote: the clean text of a chat completion, lists and passages, and why there is none."""

from types import SimpleNamespace

import pytest

from ragsweep.core.parsing import MalformedError
from ragsweep.models.language.response import Cause, is_refusal, json_in, read_choice, without_thoughts
from ragsweep.models.language.writing import listed, prose


def read(content, finish="stop", refusal=None, tool_calls=None):
    message = SimpleNamespace(content=content, refusal=refusal, tool_calls=tool_calls)
    return read_choice(SimpleNamespace(message=message, finish_reason=finish))


def test_the_text_is_what_follows_the_thoughts():
    contents = [
        "B",
        "<think>A?</think>\n\nB",
        "A? no\n</think>\nB",
        "<thinking>A</thinking>B",
        [{"type": "thinking", "thinking": [{"type": "text", "text": "A"}]}, {"type": "text", "text": "B"}],
    ]
    assert [read(content) for content in contents] == [("B", None)] * len(contents)


WITH_RAW_MARKS = [
    "<think>long",
    "[THINK]A[/THINK]B",
    "◁think▷A◁/think▷B",
    "<think>x <think> y</think>B</think>",
    "<|channel|>analysis<|message|>A?<|end|><|start|>assistant<|channel|>final<|message|>B<|return|>",
    "<|begin_of_thought|>A<|end_of_thought|>B",
    "The answer is B. <think>Or is it A?",
]
WITHOUT_TEXT = [  # a response, and why it cannot be used
    *(((text,), Cause.EMPTY) for text in WITH_RAW_MARKS),  # a thought states no answer: a wrong letter is worse
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
]


def test_a_response_without_usable_text_says_why():
    assert [(response, read(*response)) for response, cause in WITHOUT_TEXT if read(*response) != ("", cause)] == []


def test_the_start_of_a_text_that_was_cut_off_is_given_but_not_where_the_server_failed():
    assert read("It is", "length") == ("It is", Cause.CUT_OFF)
    with pytest.raises(MalformedError, match="broke off at the server"):
        read("It could be A", "error")


def test_marks_in_the_texts_of_json_are_left_alone():
    text = '{"answer": "<think>A</think>B"}'
    assert read(text) == (text, None)
    assert without_thoughts(text) == text


REFUSALS = {
    "I cannot answer this question.": True,
    "As an AI language model, I cannot provide medical advice.": True,
    "Sorry, I can\u2019t assist with that request.": True,
    "I cannot give medical advice. However, the correct answer is B.": False,
    "I'm sorry, but the answer is B.": False,
    "I cannot recommend iron enough. Take it daily.": False,
    "I am sorry to say that tea stops iron.": False,
    "I cannot answer this. " * 30: False,
}


def test_a_text_refuses_if_it_does_nothing_else():
    assert {text: is_refusal(text) for text in REFUSALS} == REFUSALS


def test_json_is_read_without_what_is_around_it():
    for around in ("{}", "```json\n{}\n```", "Here it is: {} Good luck!", "<think>a</think>{}"):
        assert json_in(around.replace("{}", '{"a": [1,\n 2,]}')) == {"a": [1, 2]}


LINES = ["What stops pallor fast?", "How is pallor treated?", "Which drug ends pallor?"]
PROSE = "Iron tablets are taken with lemon water."


def test_a_list_is_its_lines_alone():
    for mark in ("", "1. ", "2) ", "- ", "* ", "• ", "**1.** "):
        assert listed("\n".join(f"{mark}{line}" for line in LINES)) == LINES, mark
        announced = "Here they are:\n\n" + "\n".join(f"{mark}{line}" for line in (*LINES, LINES[0]))
        assert listed(announced) == LINES, mark


def test_a_passage_is_what_was_asked_for_alone():
    texts = [
        PROSE,
        f"Passage: {PROSE}",
        f"**Passage:** {PROSE}",
        f"Here is a passage that answers the question:\n\n{PROSE}",
        f"```\n{PROSE}\n```",
        f'"{PROSE}"',
        f"<passage>{PROSE}</passage>",
        PROSE.replace(" are", "\nare"),
    ]
    assert [text for text in texts if prose(text) != PROSE] == []
    for text in ("Iron: 5 mg\nZinc: 3 mg", "Here is how iron is taken: with water."):
        assert prose(text) == " ".join(text.split())


def test_of_a_refusal_nothing_is_searched_for():
    refusal = "I'm sorry, but I can't help with that."
    assert not listed(refusal)
    assert not prose(refusal)
