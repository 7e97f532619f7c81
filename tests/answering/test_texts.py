"""Texts of models with the letter and the confidence that a careful reader finds in them."""

import json
from pathlib import Path

import pytest

from ragsweep.answering.parsing import read_confidence, read_letter
from ragsweep.datasets.cases import Option

DATA = Path(__file__).parent / "data"
DRUGS = tuple(map(Option, "ABCD", ("Aspirin", "Metoprolol", "Amoxicillin", "Intravenous heparin")))


def rows(name):
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("row", rows("texts.jsonl"), ids=lambda row: repr(row["text"])[:40])
def test_a_text_gives_the_letter_that_a_careful_reader_finds(row):
    assert read_letter(row["text"], DRUGS) == row["letter"]


@pytest.mark.parametrize("row", rows("confidences.jsonl"), ids=lambda row: repr(row["text"])[:40])
def test_only_words_about_the_answer_state_a_confidence(row):
    assert read_confidence(f"Answer: B\n{row['text']}") == row["confidence"]
