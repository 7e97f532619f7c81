"""The recipes of docs/recipes.md, on logs that Inspect AI and lm-evaluation-harness themselves made."""

import json

import pytest
from answers.quiz import CASES, DATA, QUESTIONS, REPORTED, accuracy, is_correct
from application import PROJECT

from ragsweep.core.errors import DatasetError
from ragsweep_answers.answering.recorded_answers import RecordedAnswerer

PAGE = (PROJECT / "docs/recipes.md").read_text(encoding="utf-8")
LOGS = PAGE.partition("### Logs of Inspect")[2]
INSPECT, HARNESS = [text.partition("\n```")[0] for text in LOGS.split("```python\n")[1:3]]


@pytest.fixture
def answers(tmp_path, monkeypatch):
    """The answers that a recipe writes, of a log in place of the one that it names."""

    def run(recipe, log):
        monkeypatch.chdir(tmp_path)
        for named in ("quiz.eval", "samples_quiz.jsonl"):
            recipe = recipe.replace(named, str(DATA / log))
        exec(compile(recipe, "recipe", "exec"), {})
        return RecordedAnswerer("answers.jsonl").answer(QUESTIONS)

    return run


@pytest.mark.extra("recipes")
@pytest.mark.parametrize("name", ["quiz", "quiz_shuffled_prompt"])
def test_the_accuracy_of_a_log_of_inspect_is_the_one_that_inspect_reports(answers, name):
    found = answers(INSPECT, f"{name}.eval")
    assert accuracy(found) == REPORTED["inspect-ai 0.3.285"][name]
    assert "ANSWER" in found[0].reasoning


@pytest.mark.extra("recipes")
def test_a_log_of_inspect_with_shuffled_options_is_refused(answers):
    with pytest.raises(DatasetError, match=r"the field 'options' is .*'Rome', 'Paris'"):
        answers(INSPECT, "quiz_shuffled_dataset.eval")


@pytest.mark.parametrize(("name", "metric"), [("choice", "acc"), ("text", "acc")])
def test_each_answer_of_a_log_of_the_harness_is_right_where_the_harness_says_so(answers, name, metric):
    log = f"samples_quiz_{name}.jsonl"
    found = answers(HARNESS, log)
    rows = [json.loads(line) for line in (DATA / log).read_text(encoding="utf-8").splitlines()]
    scored = {row["doc"]["id"]: bool(row[metric]) for row in rows}
    assert is_correct(found) == [scored[case["id"]] for case in CASES]
    assert accuracy(found) == REPORTED["lm-eval 0.4.13"][f"quiz_{name}"]["acc,none"]
    assert all(0.2 < answer.confidence <= 1 for answer in found)


def test_generated_texts_of_the_harness_have_the_accuracy_that_it_reports(answers):
    reported = REPORTED["lm-eval 0.4.13"]["quiz_generate"]["exact_match,strict"]
    assert accuracy(answers(HARNESS.replace("'none'", "'strict'"), "samples_quiz_generate.jsonl")) == reported
