"""What is searched for of what a model wrote: lists and passages in the forms in which models write them."""

import json
from pathlib import Path

import pytest

from ragsweep.models.language.writing import is_refusal, listed, prose

WRITTEN = [
    json.loads(line) for line in Path(__file__).with_name("written.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("row", [row for row in WRITTEN if "lines" in row], ids=lambda row: row["text"][:40])
def test_a_list_is_its_items_alone(row):
    assert listed(row["text"]) == row["lines"]


@pytest.mark.parametrize("row", [row for row in WRITTEN if "prose" in row], ids=lambda row: row["text"][:40])
def test_a_passage_is_what_was_asked_for_alone(row):
    assert prose(row["text"]) == row["prose"]


@pytest.mark.parametrize("row", [row for row in WRITTEN if "refuses" in row], ids=lambda row: row["text"][:40])
def test_a_text_refuses_if_it_does_nothing_else(row):
    assert is_refusal(row["text"]) == row["refuses"]
