"""What can be a question, and which sentences are asked for."""

# ruff: noqa: RUF001

import pytest

from ragsweep_generate.draft_checks import flaw_of_form
from ragsweep_generate.extractive import telling


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


def test_headings_are_asked_for_only_where_there_is_nothing_else():
    heading = "Care of small newborn babies at home"
    prose = "Feed a small baby every two hours with breast milk."
    both = f"{heading}\n{prose}"
    assert [both[start:end] for start, end in telling(both)] == [prose]
    assert [heading[start:end] for start, end in telling(heading)] == [heading]


def test_sentences_without_spaces_can_be_asked_for():
    text = "图书馆周一至周五上午九点开门，周末不开放。借书证丢失后请到服务台补办。是。"
    assert [text[start:end] for start, end in telling(text)] == text.partition("是")[0].replace("。", "。 ").split()
    assert flaw_of_form("图书馆几点开门？") is None
