"""The recipes of docs/recipes.md: logs that Inspect AI and lm-evaluation-harness themselves made, and PubMedQA.

The logs are of twelve questions that the tools asked a small language model; `data/README.md` says how.
"""

import json
from pathlib import Path

import pytest
from application import PROJECT

from ragsweep.core.errors import DatasetError
from ragsweep.datasets import Case, Option
from ragsweep.datasets.model.cases import LETTERS
from ragsweep.testing import DatasetContract
from ragsweep_answers.answering.question import Question
from ragsweep_answers.answering.recorded_answers import RecordedAnswerer

DATA = Path(__file__).parent / "data"
CASES = [json.loads(line) for line in (DATA / "cases.jsonl").read_text(encoding="utf-8").splitlines()]
QUESTIONS = [Question(case["id"], "", case["question"], tuple(map(Option, LETTERS, case["options"]))) for case in CASES]
REPORTED = json.loads((DATA / "reported.json").read_text(encoding="utf-8"))
PAGE = (PROJECT / "docs/recipes.md").read_text(encoding="utf-8")


def blocks(text):
    """The Python code of a part of the page."""
    return [block.partition("\n```")[0] for block in text.split("```python\n")[1:]]


INSPECT, HARNESS = blocks(PAGE.partition("### Logs of Inspect")[2])[:2]


def is_correct(answers):
    """Whether each answer is correct, in the order of the cases."""
    return [answer.letter == case["answer"] for answer, case in zip(answers, CASES, strict=True)]


def accuracy(answers):
    return sum(is_correct(answers)) / len(CASES)


@pytest.fixture
def answers(tmp_path, monkeypatch):
    """The answers that a recipe writes, of a log in place of the one that it names."""

    def run(recipe, log):
        monkeypatch.chdir(tmp_path)
        for example in ("quiz.eval", "samples_quiz.jsonl"):
            recipe = recipe.replace(example, str(DATA / log))
        exec(compile(recipe, "recipe", "exec"), {})
        return RecordedAnswerer("answers.jsonl").answer(QUESTIONS)

    return run


@pytest.mark.extra("recipes")
def test_the_accuracy_of_a_log_of_inspect_is_the_one_that_inspect_reports(answers):
    for name in ("quiz", "quiz_shuffled_prompt"):
        read = answers(INSPECT, f"{name}.eval")
        assert accuracy(read) == REPORTED["inspect-ai 0.3.285"][name]
        assert "ANSWER" in read[0].reasoning
    with pytest.raises(DatasetError, match=r"the field 'options' is .*'Rome', 'Paris'"):
        answers(INSPECT, "quiz_shuffled_dataset.eval")


def test_each_answer_of_a_log_of_the_harness_is_right_where_the_harness_says_so(answers):
    reported = REPORTED["lm-eval 0.4.13"]
    for name in ("choice", "text"):
        log = f"samples_quiz_{name}.jsonl"
        read = answers(HARNESS, log)
        rows = [json.loads(line) for line in (DATA / log).read_text(encoding="utf-8").splitlines()]
        scored = {row["doc"]["id"]: bool(row["acc"]) for row in rows}
        assert is_correct(read) == [scored[case["id"]] for case in CASES]
        assert accuracy(read) == reported[f"quiz_{name}"]["acc,none"]
        assert all(0.2 < answer.confidence <= 1 for answer in read)
    generated = answers(HARNESS.replace("'none'", "'strict'"), "samples_quiz_generate.jsonl")
    assert accuracy(generated) == reported["quiz_generate"]["exact_match,strict"]


# PubMedQA

[RECIPE] = [block for block in blocks(PAGE) if block.startswith("# pubmedqa.py")]
PUBMEDQA = {"__name__": "pubmedqa"}
exec(compile(RECIPE, "pubmedqa.py", "exec", dont_inherit=True), PUBMEDQA)
ENTRIES = {  # as in ori_pqal.json
    "21645374": {"QUESTION": "Does iron help?", "CONTEXTS": ["Anaemia is common.", "Ninety took iron."],
                 "LONG_ANSWER": "Iron helps.", "final_decision": "yes"},
    "9": {"QUESTION": "Does tea help?", "CONTEXTS": ["Some drank tea."], "final_decision": "maybe"},
}  # fmt: skip


class TestPubMedQA(DatasetContract):
    component = PUBMEDQA["PubMedQA"]

    @pytest.fixture(autouse=True)
    def dataset(self, tmp_path):
        (tmp_path / "ori_pqal.json").write_text(json.dumps(ENTRIES))
        type(self).settings = {"path": str(tmp_path / "ori_pqal.json")}

    def test_the_abstract_of_a_question_is_its_relevant_document(self):
        collection = self.component(**self.settings).load()
        options = tuple(map(Option, LETTERS, ("yes", "no", "maybe")))
        rows = {"21645374": ("Does iron help?", "A"), "9": ("Does tea help?", "C")}
        assert collection.cases == tuple(Case(name, "", text, options, right) for name, (text, right) in rows.items())
        texts = ["\n".join(entry["CONTEXTS"]) for entry in ENTRIES.values()]
        assert [document.text for document in collection.documents] == texts
        judged = [(judgment.query_id, judgment.unit) for judgment in collection.judgments]
        assert judged == [("21645374",) * 2, ("9",) * 2]
