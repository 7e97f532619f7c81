"""What is searched for of what a model wrote: lists and passages in the forms in which models write them."""

import pytest

from ragsweep.models.language.writing import listed, prose

LINES = ["What stops pallor fast?", "How is pallor treated?", "Which drug ends pallor?"]
PROSE = "Iron tablets are taken with lemon water."


@pytest.mark.parametrize("mark", ["", "1. ", "2) ", "- ", "* ", "• ", "**1.** "])
def test_a_list_is_its_items_alone(mark):
    assert listed("\n".join(f"{mark}{line}" for line in LINES)) == LINES
    assert listed("Here they are:\n\n" + "\n".join(f"{mark}{line}" for line in (*LINES, LINES[0]))) == LINES


@pytest.mark.parametrize(
    "text",
    [
        PROSE,
        f"Passage: {PROSE}",
        f"**Passage:** {PROSE}",
        f"Here is a passage that answers the question:\n\n{PROSE}",
        f"```\n{PROSE}\n```",
        f'"{PROSE}"',
        f"<passage>{PROSE}</passage>",
        PROSE.replace(" are", "\nare"),
    ],
)
def test_a_passage_is_what_was_asked_for_alone(text):
    assert prose(text) == PROSE


@pytest.mark.parametrize("read", [listed, prose])
def test_of_a_refusal_nothing_is_searched_for(read):
    assert not read("I'm sorry, but I can't help with that.")


@pytest.mark.parametrize("text", ["Iron: 5 mg\nZinc: 3 mg", "Here is how iron is taken: with water."])
def test_a_passage_with_colons_stays_whole(text):
    assert prose(text) == " ".join(text.split())
