"""Which questions can be understood without their text."""

import csv
import json

import pytest
from application import PROJECT

from ragsweep.text.dependent_questions import flaw_of_context

POINTING = [
    "What does the passage say about iron?",
    "What does the above section say about it?",
    "According to the article, what is the dose of iron?",
    "According to the table, which dose does a child need?",
    "Which drug is mentioned below?",
    "Which of the drugs listed above lowers fever?",
    "What does the author recommend for fever?",
]
ALONE = [
    "How much paracetamol does a child of 10 kg need?",
    "How is anaemia treated, and is it dangerous?",
    "Which test finds malaria, as described in the text?",
    "A tired, pale woman: what should the officer give her?",
    "Her feet are swollen by evening and her head aches: what is wrong?",
    "What is the text message service of the health centre for?",
    "Is iron that was opened last year still safe?",
    "Can zinc be given below the age of two months?",
    "What slows the passage of urine?",
]


def pointing(questions):
    return [question for question in questions if flaw_of_context(question)]


def test_a_question_that_points_to_its_text_cannot_stand_alone():
    assert pointing([*POINTING, *ALONE]) == POINTING


def asked_in(file, key):
    return [row[key] for row in json.loads(file.read_text())]


def test_every_question_of_the_manual_stands_alone():
    assert pointing(asked_in(PROJECT / "data/cho_manual/test_queries.json", "query")) == []


@pytest.mark.real_data
def test_every_question_of_published_datasets_stands_alone(real_data):
    questions = asked_in(real_data / "financebench/test_queries.json", "query")
    with (real_data / "scifact/queries.jsonl").open() as file:
        questions += [json.loads(line)["text"] for line in file]
    with (real_data / "chunking_evaluation/questions_df.csv").open(newline="") as file:
        questions += [row["question"] for row in csv.DictReader(file)]
    assert len(questions) > 1300
    assert pointing(questions) == []
