"""What is read of an answer in JSON, and what an endpoint is asked again for."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.models.language.language_model import Asking, Completion, LanguageModel, Message
from ragsweep.models.language.response import without_thoughts
from ragsweep_answers.answering.answer_forms import spoken
from ragsweep_answers.answering.json_answer import AnswerFields, read_json_answer

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(["steps", "cited", "confidence", "other"]), ANYTHING))
def test_whatever_the_other_fields_are_the_answer_is_read(fields):
    found = read_json_answer(json.dumps({**fields, "answer": "B"}))
    assert found.answer == "B"
    assert found.confidence is None or 0 <= found.confidence <= 1
    given_fields = {name for name, value in fields.items() if value is not None} - {"other"}
    assert set(found.lost) <= given_fields
    assert set(found.missing) == {"steps", "cited", "confidence"} - given_fields


@pytest.mark.parametrize("text", ["", "B", "[]", "{", '{"answer": 1}', '{"answer": "A", "answer": "B"}', '"B"'])
def test_what_is_no_object_with_an_answer_has_no_fields(text):
    assert read_json_answer(text) is None


@pytest.mark.parametrize("around", ["{}", " {}\n", "```json\n{}\n```", "```\n{}```", "<think>A? {{B}}</think>\n{}"])
def test_an_object_may_stand_in_a_code_block_or_after_thoughts(around):
    found = read_json_answer(around.format('{"answer": "B", "confidence": 85}'))
    assert (found.answer, found.lost) == ("B", ("confidence",))


def test_confidences_are_divided_by_their_scale_unless_they_have_a_percent_sign():
    texts = [json.dumps({"answer": "B", "confidence": value}) for value in (7, "7", "70%", 11)]
    assert [read_json_answer(text, scale=10).confidence for text in texts] == [0.7, 0.7, 0.7, None]


class Replies(LanguageModel):
    """Returns one text after another."""

    structured = True

    def __init__(self, *texts):
        self.texts, self.asked = [*texts], 0

    def complete(self, messages, max_tokens, form=None):
        self.asked += 1
        return Completion(self.texts.pop(0), 1, 1, 1.0)


def asked(*texts):
    """The text that a model with these responses gives, and how often it was asked."""
    model = Replies(*texts)
    work = lambda item, about: about.complete([Message("user", "?")], as_json=True).text  # noqa: E731
    return model.ask_each(["?"], work, Asking("test", 9, lambda item: AnswerFields))[0], model.asked


@pytest.mark.parametrize(
    "fields", [{"confidence": 85}, {"cited": ["1"]}, {"more": 1}, {"steps": None}, {"confidence": "0.7"}, {}]
)
def test_an_endpoint_is_not_asked_again_for_an_answer_that_can_be_read(fields):
    text, requests = asked(json.dumps({"answer": "A", **fields}))
    assert (requests, read_json_answer(text).answer) == (1, "A")
    assert read_json_answer(text).lost == read_json_answer(json.dumps({"answer": "A", **fields})).lost


def test_an_endpoint_is_asked_again_for_an_answer_that_is_missing():
    text, requests = asked('{"confidence": 1}', '{"answer": "A"}')
    assert (requests, read_json_answer(text).answer) == (2, "A")


def test_the_schema_asks_for_every_field_in_its_type():
    schema = AnswerFields.model_json_schema()
    assert schema["required"] == [*schema["properties"]] == ["steps", "cited", "answer", "confidence"]
    assert schema["additionalProperties"] is False
    confidence = {name: schema["properties"]["confidence"][name] for name in ("type", "minimum", "maximum")}
    assert confidence == {"type": "number", "minimum": 0, "maximum": 1}
    assert {name: each["type"] for name, each in schema["properties"].items()} == {
        "steps": "array",
        "cited": "array",
        "answer": "string",
        "confidence": "number",
    }


OBJECT = '{"answer": "B", "confidence": 0.7}'


@pytest.mark.parametrize(
    "text",
    [
        "<think>Is it A?",
        f"<think>{OBJECT}",
        "<|channel|>analysis<|message|>The answer is A.",
        "◁think▷A",
    ],
)
def test_no_reader_takes_a_thought_without_its_end_for_an_answer(text):
    assert without_thoughts(text) == ""
    assert spoken(text) == ""
    assert read_json_answer(text) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The answer is B. <think>Or is it A?", ""),
        ("[THINK]A[/THINK]B", ""),
        ("<reasoning>Is it A?</reasoning>\n<answer>B</answer>", "<answer>B</answer>"),
    ],
)
def test_a_text_with_raw_marks_is_not_read(text, said):
    assert without_thoughts(text) == said
    assert spoken(text).strip() == said
