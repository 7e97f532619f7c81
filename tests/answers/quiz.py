"""Twelve questions, and the logs of real tools that asked a small language model; `data/README.md` says how."""

import json
from pathlib import Path

from ragsweep.datasets.model.cases import LETTERS, Option
from ragsweep_answers.answering.question import Question

DATA = Path(__file__).parent / "data"
CASES = [json.loads(line) for line in (DATA / "cases.jsonl").read_text(encoding="utf-8").splitlines()]
QUESTIONS = [Question(case["id"], "", case["question"], tuple(map(Option, LETTERS, case["options"]))) for case in CASES]
CORRECT = {case["id"]: case["answer"] for case in CASES}
REPORTED = json.loads((DATA / "reported.json").read_text(encoding="utf-8"))


def is_correct(answers):
    """Whether each answer is correct, in the order of the cases."""
    return [answer.letter == CORRECT[case["id"]] for case, answer in zip(CASES, answers, strict=True)]


def accuracy(answers):
    return sum(is_correct(answers)) / len(CASES)
