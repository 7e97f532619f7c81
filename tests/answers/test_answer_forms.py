"""Reading the letter of an answer from a text: the documented forms, and nothing else."""

import json
import random
import re
import signal
from collections import defaultdict
from pathlib import Path

import pytest
from application import PROJECT
from calls import calls_of
from hypothesis import example, given
from hypothesis import strategies as st

from ragsweep.datasets.model.cases import LETTERS, Option
from ragsweep_answers.answering.answer_forms import matched_letter, option_of, pattern_of, read_letter
from ragsweep_answers.answering.json_answer import number_of, read_confidence

DATA = Path(__file__).parent / "data"
ROWS = [json.loads(line) for line in (DATA / "texts.jsonl").read_text(encoding="utf-8").splitlines()]
DISCUSSIONS = (DATA / "discussions.txt").read_text(encoding="utf-8").splitlines()


def options(*texts):
    return tuple(map(Option, LETTERS, texts))


DRUGS = options("Aspirin", "Metoprolol", "Amoxicillin", "Intravenous heparin")


def test_each_text_of_the_table_gives_its_letter_or_none():
    """Where `careful` is the letter that a careful reader finds, the text has no documented form."""
    found = [(row["text"], row["letter"], read_letter(row["text"], options(*row["options"]))) for row in ROWS]
    assert [row for row in found if row[1] != row[2]] == []


@pytest.mark.usefixtures("long_work")
def test_a_text_that_is_cut_off_gives_no_other_letter():
    wrong = []
    for row in ROWS:
        known = (None, row["letter"], row.get("careful"))
        for end in (found.end() for found in re.finditer(r"\w+\b", row["text"]) if found.end() > 60):
            letter = read_letter(row["text"][:end], options(*row["options"]))
            wrong += [(row["text"][:end], letter)] if letter not in known else []
    assert wrong == []


def test_the_forms_of_the_documents_are_read():
    page = (PROJECT / "docs/answers.md").read_text(encoding="utf-8")
    table = page.partition("## What is read from a text")[2].partition("\n## ")[0]
    forms = re.findall(r"^\| ``? ?(.+?) ?``? \|", table, re.M)
    assert len(forms) == 8
    letters = {form: read_letter("Rate control.\n" + form.replace("\\n", "\n"), DRUGS) for form in forms}
    assert letters == dict.fromkeys(forms, "B")


@pytest.mark.parametrize(
    ("value", "letter"),
    [
        ("B", "B"),
        (" (b).", "B"),
        ("Option B", "B"),
        ("**B) Metoprolol**", "B"),
        ("metoprolol.", "B"),
        ("B) Aspirin", None),
        ("Metoprolol tartrate", None),
        ("E", None),
        ("A or B", None),
        ("", None),
    ],
)
def test_an_option_is_a_letter_its_exact_text_or_both(value, letter):
    assert option_of(value, DRUGS) == letter


@pytest.mark.parametrize("end", ["Answer: {}", "So the answer is ({}).", r"\boxed{{{}}}", "<answer>{}</answer>", "{}"])
def test_the_answer_after_a_discussion_is_read_and_a_discussion_has_none(end):
    rng = random.Random(0)
    for text in [
        *DISCUSSIONS,
        *("".join(rng.choice(DISCUSSIONS) + rng.choice("  \n") for _ in range(5)) for _ in range(80)),
    ]:
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


def test_the_end_of_a_very_long_text_is_read():
    assert read_letter("A\n" + "Pale. " * 20_000 + "The answer is B.", DRUGS) == "B"
    assert read_letter("Answer: B\n" + "Pale. " * 20_000, DRUGS) is None


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("Answer:\nA) Aspirin\nB) Metoprolol\nC) Amoxicillin", None),  # the options once more
        ("Answer: A\n\nProblem: A is contraindicated in asthma.\n\nAnswer: B", "B"),
        ('{"choice": "None"}', None),
        *((f"Answer: A\n{behind}", None) for behind in ("Final: B", "I change my mind: B", "Revised answer - B")),
        *((f"Answer: A\n{behind}", None) for behind in ("My final choice is B.", "However, B is better.")),
        ("Answer: B\nA is wrong, since it thins the blood.", "B"),
    ],
)
def test_what_stands_behind_a_form_can_take_it_back_and_what_is_listed_is_no_answer(text, letter):
    assert read_letter(text, options("Aspirin", "Metoprolol", "Amoxicillin", "None")) == letter


@pytest.mark.parametrize("text", ["q{}x", "answer{}x", "{}x the answer is B.", "Answer: A\n{}x", "Confidence: 5{}x"])
@pytest.mark.parametrize("piece", [" ", ", ", "1", "\n"])
def test_no_text_holds_a_run_for_long(text, piece):
    """Each took half a minute or more with a pattern that tries every length of a repetition."""
    signal.signal(signal.SIGALRM, lambda *_: pytest.fail("too long"))
    signal.alarm(10)
    try:
        long = text.format(piece * (48_000 // len(piece)))
        read_letter(long, DRUGS)
        read_confidence(long)
        number_of(long.partition(": ")[2])
    finally:
        signal.alarm(0)


def test_a_pattern_replaces_the_forms():
    pattern = pattern_of(r"Final: (\w+)")
    texts = ["Final: A\nFinal: B", "Final: metoprolol", "Answer: B", "<think>Final: B</think>no", "Final: E"]
    assert [matched_letter(text, DRUGS, pattern) for text in texts] == ["B", "B", None, None, None]


PIECES = ["\n", "(", "*", "# ", "A) ", "A\n", "B is ", "not ", "answer ", "answer:\n", "the answer is ", "Answer: A\n"]
PIECES += [
    '"answer": ',
    '"answer": "',
    "{",
    "<think>",
    "<answer>",
    r"\boxed{",
    r"\text{",
    "so, ",
    "Q:",
    "```",
    "1. ",
    "if. ",
]


@pytest.mark.usefixtures("long_work")
def test_a_text_four_times_as_long_takes_about_four_times_the_work():
    """Work that grows with the square of the length would be 16 times as much."""
    read_letter("Answer: A", DRUGS)
    counts = defaultdict(list)
    for piece in PIECES:
        for length in (1000, 4000):
            text = (piece * length)[:length]
            counts[piece].append(calls_of(lambda text=text: read_letter(text, DRUGS)))
    assert {piece: (few, many) for piece, (few, many) in counts.items() if many > 5 * few + 1000} == {}
