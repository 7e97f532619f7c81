"""Which questions can be understood without their passage."""

import pytest

from ragsweep.generation.sentences import sentences, telling
from ragsweep.generation.wording import flaw_of_context, flaw_of_form


@pytest.mark.parametrize(
    "question",
    [
        "What does the passage say about iron?",
        "What does the author recommend for fever?",
        "What does it say about this?",
        "When should it be given to a child?",
        "What are these tablets for?",
        "Why is she referred to the hospital?",
        "Which of the drugs listed above lowers fever?",
        "According to the table, which dose does a child need?",
        "What follows from that?",
        "What does this mean for a newborn?",
    ],
)
def test_a_question_that_points_to_its_passage_cannot_stand_alone(question):
    assert flaw_of_context(question)


@pytest.mark.parametrize(
    "question",
    [
        "How much paracetamol does a child of 10 kg need?",
        "How should vaccines be stored before they are given?",
        "Which test shows that a woman is anaemic?",
        "A tired, pale woman: what should the officer give her?",
        "What is the text message service of the health centre for?",
        "Is iron that was opened last year still safe?",
        "keywords iron tea milk",
    ],
)
def test_a_question_that_names_its_subject_stands_alone(question):
    assert flaw_of_context(question) is None


@pytest.mark.parametrize(
    ("question", "flaw"),
    [
        ("  ", "it is empty"),
        ("What is it?", "fewer than 2 words of content"),
        ("why " * 100, "more than 300"),
        ("What is \ud800 iron tea?", "surrogate"),
    ],
)
def test_a_text_that_is_no_question_is_refused(question, flaw):
    assert flaw in flaw_of_form(question)


def test_sentences_are_cut_at_full_stops_headings_and_list_items():
    prose = "Most babies need nothing more than\nwarmth. Is it crying?"
    text = f"Care of the baby\n{prose}\n1 Dry the body.\n• Keep warm 2.5 kg."
    assert [text[start:end] for start, end in sentences(text)] == [
        "Care of the baby",
        "Most babies need nothing more than\nwarmth.",
        "Is it crying?",
        "Dry the body.",
        "Keep warm 2.5 kg.",
    ]


def test_headings_are_asked_for_only_where_there_is_nothing_else():
    heading = "Care of small newborn babies at home"
    prose = "Feed a small baby every two hours with breast milk."
    both = f"{heading}\n{prose}"
    assert [both[start:end] for start, end in telling(both)] == [prose]
    assert [heading[start:end] for start, end in telling(heading)] == [heading]
