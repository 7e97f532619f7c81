"""Reading the letter of an answer from a text or from JSON: the documented forms, and nothing else."""

import json
import random
import re
import signal
from collections import defaultdict
from itertools import product
from pathlib import Path

import pytest
from application import PROJECT
from calls import calls_of
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from ragsweep.datasets.model.cases import LETTERS, Option
from ragsweep_answers.answering.answer_letters import matched_letter, option_of, pattern_of, read_letter, spoken
from ragsweep_answers.answering.json_answer import AnswerFields, number_of, read_confidence, read_json_answer

DATA = Path(__file__).parent / "data"
ROWS = [json.loads(line) for line in (DATA / "texts.jsonl").read_text(encoding="utf-8").splitlines()]
DISCUSSIONS = (DATA / "discussions.txt").read_text(encoding="utf-8").splitlines()


def options(*texts):
    return tuple(map(Option, LETTERS, texts))


DRUGS = options("Aspirin", "Metoprolol", "Amoxicillin", "Intravenous heparin")


def test_each_text_of_the_table_gives_its_letter_or_none():
    """Where `careful` is the letter that a careful reader finds, the text has no documented form."""
    read = [(row["text"], row["letter"], read_letter(row["text"], options(*row["options"]))) for row in ROWS]
    assert [row for row in read if row[1] != row[2]] == []


@pytest.mark.usefixtures("long_work")
def test_a_text_that_is_cut_off_gives_no_other_letter():
    wrong = []
    for row in ROWS:
        allowed = (None, row["letter"], row.get("careful"))
        for end in (word.end() for word in re.finditer(r"\w+\b", row["text"]) if word.end() > 60):
            letter = read_letter(row["text"][:end], options(*row["options"]))
            wrong += [(row["text"][:end], letter)] if letter not in allowed else []
    assert wrong == []


def test_the_forms_of_the_documents_are_read():
    page = (PROJECT / "docs/answers.md").read_text(encoding="utf-8")
    table = page.partition("## What is read from a text")[2].partition("\n## ")[0]
    forms = re.findall(r"^\| ``? ?(.+?) ?``? \|", table, re.M)
    assert len(forms) == 8
    letters = {form: read_letter("Rate control.\n" + form.replace("\\n", "\n"), DRUGS) for form in forms}
    assert letters == dict.fromkeys(forms, "B")


def test_the_answer_after_a_discussion_is_read_and_a_discussion_has_none():
    for end in ("Answer: {}", "So the answer is ({}).", r"\boxed{{{}}}", "<answer>{}</answer>", "{}"):
        rng = random.Random(0)
        mixed = ("".join(rng.choice(DISCUSSIONS) + rng.choice("  \n") for _ in range(5)) for _ in range(80))
        for text in [*DISCUSSIONS, *mixed]:
            assert read_letter(text, DRUGS) is None, text
            letter = rng.choice("ABCD")
            assert read_letter(f"{text}\n\n{end.format(letter)}", DRUGS) in (None, letter), text
        assert read_letter(f"The rate is high.\n\n{end.format('B')}", DRUGS) == "B"


WORDS = "A a I B C D E hepatitis B vitamin C the of fever is was cells E. coli C. difficile, D-dimer 12 A. no".split()


@given(st.text() | st.lists(st.sampled_from(WORDS), min_size=3).map(" ".join), st.integers(2, 26))
@example("\ue002", 2)
def test_a_letter_is_that_of_an_option(text, count):
    assert read_letter(text, options(*map(str, range(count)))) in {None, *LETTERS[:count]}


@given(st.lists(st.sampled_from(WORDS), min_size=3, max_size=12).map(" ".join))
def test_prose_without_a_form_has_no_letter(text):
    assert read_letter(f"{text} patients", DRUGS) is None


def test_the_end_of_a_long_text_is_read_an_option_alone_and_a_pattern_in_place_of_the_forms():
    assert read_letter("A\n" + "Pale. " * 20_000 + "The answer is B.", DRUGS) == "B"
    assert read_letter("Answer: B\n" + "Pale. " * 20_000, DRUGS) is None
    letters = dict.fromkeys(["B", " (b).", "Option B", "**B) Metoprolol**", "metoprolol."], "B")
    letters |= dict.fromkeys(["B) Aspirin", "Metoprolol tartrate", "E", "A or B", ""])
    assert {value: option_of(value, DRUGS) for value in letters} == letters
    texts = ["Final: A\nFinal: B", "Final: metoprolol", "Answer: B", "<think>Final: B</think>no", "Final: E"]
    pattern = pattern_of(r"Final: (\w+)")
    assert [matched_letter(text, DRUGS, pattern) for text in texts] == ["B", "B", None, None, None]


def test_no_text_holds_a_run_for_long():
    """Each took half a minute or more with a pattern that tries every length of a repetition."""
    texts = ["q{}x", "answer{}x", "{}x the answer is B.", "Answer: A\n{}x", "Confidence: 5{}x"]
    signal.signal(signal.SIGALRM, lambda *_: pytest.fail("too long"))
    signal.alarm(20)
    try:
        for text, piece in product(texts, [" ", ", ", "1", "\n"]):
            long = text.format(piece * (48_000 // len(piece)))
            read_letter(long, DRUGS)
            read_confidence(long)
            number_of(long.partition(": ")[2])
    finally:
        signal.alarm(0)


PIECES = ["\n", "(", "*", "# ", "A) ", "A\n", "B is ", "not ", "answer ", "answer:\n", "the answer is ", "Answer: A\n"]
PIECES += ['"answer": ', '"answer": "', "{", "<think>", "<answer>", r"\boxed{", r"\text{", "so, ", "Q:"]
PIECES += ["```", "1. ", "if. "]


@pytest.mark.usefixtures("long_work")
def test_a_text_four_times_as_long_takes_about_four_times_the_work():
    """Work that grows with the square of the length would be 16 times as much."""
    read_letter("Answer: A", DRUGS)
    counts = defaultdict(list)
    for piece, length in product(PIECES, (1000, 4000)):
        text = (piece * length)[:length]
        counts[piece].append(calls_of(lambda text=text: read_letter(text, DRUGS)))
    assert {piece: (few, many) for piece, (few, many) in counts.items() if many > 5 * few + 1000} == {}


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(["steps", "cited", "confidence", "other"]), ANYTHING))
def test_whatever_the_other_fields_are_the_answer_is_read(fields):
    read = read_json_answer(json.dumps({**fields, "answer": "B"}))
    assert read.answer == "B"
    assert read.confidence is None or 0 <= read.confidence <= 1
    stated = {name for name, value in fields.items() if value is not None} - {"other"}
    assert set(read.lost) <= stated
    assert set(read.missing) == {"steps", "cited", "confidence"} - stated


def test_json_is_an_object_with_an_answer_and_thoughts_are_none():
    texts = ["", "B", "[]", "{", '{"answer": 1}', '{"answer": "A", "answer": "B"}', '"B"']
    assert [text for text in texts if read_json_answer(text) is not None] == []
    for around in ("{}", " {}\n", "```json\n{}\n```", "```\n{}```", "<think>A? {{B}}</think>\n{}"):
        read = read_json_answer(around.format('{"answer": "B", "confidence": 85}'))
        assert (read.answer, read.lost) == ("B", ("confidence",))
    scaled = [json.dumps({"answer": "B", "confidence": value}) for value in (7, "7", "70%", 11)]
    assert [read_json_answer(text, scale=10).confidence for text in scaled] == [0.7, 0.7, 0.7, None]
    thoughts = ["<think>Is it A?", '<think>{"answer": "B"}', "<|channel|>analysis<|message|>The answer is A."]
    for text in [*thoughts, "◁think▷A", "The answer is B. <think>Or is it A?", "[THINK]A[/THINK]B"]:
        assert (spoken(text), read_json_answer(text)) == ("", None), text
    assert spoken("<reasoning>Is it A?</reasoning>\n<answer>B</answer>") == "<answer>B</answer>"


def test_the_schema_asks_for_every_field_in_its_type_and_only_an_answer_must_be_there():
    schema = AnswerFields.model_json_schema()
    types = {"steps": "array", "cited": "array", "answer": "string", "confidence": "number"}
    assert schema["required"] == [*schema["properties"]] == [*types]
    assert schema["additionalProperties"] is False
    assert {name: field["type"] for name, field in schema["properties"].items()} == types
    assert schema["properties"]["confidence"].items() >= {"minimum": 0, "maximum": 1}.items()
    further = [{"confidence": 85}, {"cited": ["1"]}, {"more": 1}, {"steps": None}, {"confidence": "0.7"}, {}]
    assert [AnswerFields.model_validate({"answer": "A", **fields}).answer for fields in further] == ["A"] * 6
    with pytest.raises(ValidationError, match="answer"):
        AnswerFields.model_validate({"confidence": 1})
