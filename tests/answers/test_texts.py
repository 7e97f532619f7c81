"""Texts of models with the letter and the confidence that a careful reader finds in them."""

import json
import random
import re
from pathlib import Path

import pytest
from calls import calls_of

from ragsweep.datasets.model.cases import LETTERS, Option
from ragsweep_answers.answering.answer_frames import FRAMES
from ragsweep_answers.answering.answer_parsing import read_confidence, read_letter
from ragsweep_answers.answering.marked_sentences import lines_with_marks
from ragsweep_answers.answering.option_letters import Letters
from ragsweep_answers.answering.raw_text import plain_text

DATA = Path(__file__).parent / "data"


def options(texts):
    return tuple(map(Option, LETTERS, texts))


def rows(name):
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


DRUGS = options(("Aspirin", "Metoprolol", "Amoxicillin", "Intravenous heparin"))
TEXTS = rows("texts.jsonl")
DISCUSSIONS = (DATA / "discussions.txt").read_text(encoding="utf-8").splitlines()


def letter_of(text, row):
    return read_letter(text, options(row["options"]), row.get("shown", ""))


@pytest.mark.parametrize(
    "row", [row for row in TEXTS if row["group"] in ("issue", "shapes")], ids=lambda row: row["text"][:40]
)
def test_a_text_gives_the_letter_that_a_careful_reader_finds(row):
    assert letter_of(row["text"], row) == row["letter"]


@pytest.mark.parametrize("group", ["developed", "held out 1", "held out 2", "held out 3"])
def test_no_letter_is_wrong_and_few_are_unread(group):
    texts = [row for row in TEXTS if row["group"] == group]
    missed = [(found, row) for row in texts if (found := letter_of(row["text"], row)) != row["letter"]]
    assert [row for found, row in missed if found is not None] == []
    assert len(missed) <= 0.02 * len(texts)


@pytest.mark.usefixtures("long_work")
@pytest.mark.repeat(usual=1, soak=3)
def test_a_text_that_is_cut_off_gives_no_other_letter(repetition):
    for row in TEXTS:
        ends = [found.end() for found in re.finditer(r"\w+\b", row["text"]) if found.end() > 60]
        for end in ends[repetition::3] if "corrected" not in row else ():
            assert letter_of(row["text"][:end], row) in (None, row["letter"]), row["text"][:end]


def discussion(rng):
    """Sentences that discuss options and state no answer."""
    return "".join(rng.choice(DISCUSSIONS) + rng.choice("  \n") for _ in range(rng.randint(2, 7))).strip()


@pytest.mark.usefixtures("long_work")
def test_a_discussion_of_the_options_is_no_answer():
    rng = random.Random(0)
    for text in [*DISCUSSIONS, *(discussion(rng) for _ in range(400))]:
        assert read_letter(text, DRUGS) is None, text


@pytest.mark.parametrize(
    "end",
    ["Answer: {}", "Therefore, the correct answer is **{}**.", "I would choose {}.", r"\boxed{{{}}}", "{} is correct."],
)
def test_the_answer_after_a_discussion_is_read(end):
    rng = random.Random(0)
    for _ in range(50):
        text, letter = discussion(rng), rng.choice("ABCD")
        assert read_letter(f"{text}\n\n{end.format(letter)}", DRUGS) == letter, text


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: frame.example)
def test_each_form_of_a_statement_reads_its_example(frame):
    (line,) = lines_with_marks(plain_text(frame.example), Letters(DRUGS))
    assert re.search(frame.pattern, line, re.I)
    assert read_letter(frame.example, DRUGS) == "B"


PIECES = [
    *(
        " ",
        "\n",
        ",",
        "(",
        "*",
        "**",
        "#",
        "x",
        "> ",
        "- ",
        ": ",
        "{",
        "</",
        "<think>",
        "<|channel|>",
        r"\text{",
        r"\boxed{",
    ),
    *(
        "A, ",
        "A) ",
        "A\n",
        "A (",
        "(B",
        "I\t",
        "B是",
        "B is ",
        "no B ",
        "not A but ",
        "of A and B, ",
        "A and ",
        "i.e. ",
        "Ans. ",
    ),
    *(
        "answer ",
        "answer is ",
        "Answer: A\n",
        "the answer is not ",
        '"answer": ',
        "so ",
        "not ",
        "so the answer is ",
        "I think it is ",
    ),
    *(
        "best ",
        "most likely ",
        "most most ",
        "metoprolol ",
        "intravenous ",
        "the most appropriate drug ",
        "(a b) ",
        "答案",
    ),
]


@pytest.mark.usefixtures("long_work")
def test_a_text_four_times_as_long_takes_about_four_times_the_work():
    """Work that grows with the square of the length would be 16 times as much."""

    def calls(text):
        return calls_of(lambda: (read_letter(text, DRUGS), read_confidence(text)))

    calls("Answer: A")  # compiles the patterns
    starts = [*(("", piece) for piece in PIECES), ("Confidence", '"'), ("<|channel|>", "x")]
    lengths = (1000, 4000)
    grown = {start + piece: [calls(start + (piece * length)[:length]) for length in lengths] for start, piece in starts}
    assert {text: counts for text, counts in grown.items() if counts[1] > 5 * counts[0]} == {}
    assert max(long for _, long in grown.values()) > 100_000


@pytest.mark.parametrize("row", rows("confidences.jsonl"), ids=lambda row: repr(row["text"])[:40])
def test_only_words_about_the_answer_state_a_confidence(row):
    assert read_confidence(f"Answer: B\n{row['text']}") == pytest.approx(row["confidence"])
