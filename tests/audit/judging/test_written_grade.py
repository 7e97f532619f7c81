"""The grade in what a model replies when it is asked for a number alone."""

import json
from pathlib import Path

import pytest

from ragsweep_audit.judging.written_grade import grade_in

GRADES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "grades.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("row", GRADES, ids=lambda row: f"{row['text'][:40]} of {row['highest']}")
def test_a_reply_gives_the_grade_that_a_careful_reader_finds(row):
    assert grade_in(row["text"], row["highest"]) == row["grade"]
