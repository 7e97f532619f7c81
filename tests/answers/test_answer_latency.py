"""In what circumstances answers were timed, and which of them can be timed again."""

import json
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from endpoint_server import EndpointServer, answer
from small import CASES, case_arguments

from ragsweep.core.timing import TIMED_QUERIES, asked_anew
from ragsweep.datasets.model.cases import Case, Option
from ragsweep.models.language.smollm2 import SmolLM2Model
from ragsweep.statistics import Groups
from ragsweep.store.stage_store import Store
from ragsweep_answers.answering import Answer, LanguageModelAnswerer, Question
from ragsweep_answers.answering import answer as answers_of
from ragsweep_answers.answering.reasoning import DirectReasoning
from ragsweep_answers.measuring.answer_timing import answer_times
from ragsweep_answers.measuring.answered import Answered
from ragsweep_answers.testing import QUESTIONS

MS = "latency/mean_ms"
OPTIONS = (Option("A", "one"), Option("B", "two"))


@dataclass(frozen=True)
class Slow:
    """Takes some milliseconds for each question; says that they took none."""

    ms: float = 5

    def answer(self, questions):
        time.sleep(self.ms / 1000 * len(questions))
        return [Answer("A", time_ms=0.0) for _ in questions]


def answered(answerer, number):
    cases = [Case(str(place), "", f"{place}?", OPTIONS, "A") for place in range(number)]
    asked = [Question(case.query_id, "", case.question, case.options) for case in cases]
    return Answered(cases, asked, answers_of(answerer, asked), "none", Groups.none(number))


@pytest.mark.parametrize("number", [3, 40])
def test_a_few_questions_are_answered_again_one_at_a_time(number):
    times = answer_times(answered(Slow(), number), Slow(), "again", recorded=False)
    assert len(times.ms) == times.taken.queries == min(number, TIMED_QUERIES)
    assert min(times.ms) >= 5
    assert times.taken.at_once == 1
    assert times.taken.machines
    assert not times.of_all


def test_times_of_an_answerer_that_notes_no_circumstances_have_unknown_ones():
    times = answer_times(answered(Slow(0), 3), Slow(0), "kept", recorded=False)
    assert list(times.ms) == [0, 0, 0]
    assert times.taken.machines == ()


@pytest.mark.parametrize(("latency", "says"), [("kept", False), ("again", True)])
def test_answers_that_exist_already_are_not_timed_again_and_that_is_said(latency, says):
    times = answer_times(answered(Slow(0), 3), Slow(0), latency, recorded=True)
    assert list(times.ms) == [0, 0, 0]
    assert times.taken is None
    assert bool(times.notice) == says


@pytest.mark.extra("local")
def test_a_local_model_keeps_the_circumstances_and_computes_anew_only_when_asked(tmp_path):
    store = Store(str(tmp_path / "store"))
    answerer = LanguageModelAnswerer(SmolLM2Model(store), DirectReasoning())
    questions = list(QUESTIONS[:2])
    first, kept = answerer.answer(questions), answerer.answer(questions)
    assert [each.taken for each in kept] == [each.taken for each in first]
    assert all(each.taken.machines and each.taken.ms == each.time_ms for each in first)
    file = next(Path(store.path).glob("answers.sqlite"))
    before = file.read_bytes()
    with asked_anew():
        again = answerer.answer(questions)
    assert again == [replace(each, time_ms=new.time_ms) for each, new in zip(first, again, strict=True)]
    assert all(new.taken.first > old.taken.last for old, new in zip(first, again, strict=True))
    assert file.read_bytes() == before


class Server(EndpointServer):
    """Says A."""

    def opened(self, request, key):
        super().opened(request, key)
        return answer("A")


@pytest.mark.extra("openai")
def test_what_was_paid_for_is_not_asked_again_for_its_time_and_that_is_said(application, tmp_path):
    with Server() as server:
        asked = ["answerer=llm", "language_model=openai", "language_model.model=model", "evaluation.controls=[]"]
        usual = [*case_arguments(tmp_path / "cases"), *asked, f"language_model.base_url={server.url}"]
        usual += ["retriever=sparse", f"store.path={tmp_path / 'store'}", "language_model.concurrency=4"]
        said = []
        for settings in ([], [], ["evaluation.latency=again"]):
            process = application.start(*usual, *settings, OPENAI_API_KEY="sk-test")
            _, err = process.communicate(timeout=120)
            assert process.returncode == 0, err
            said.append("evaluation.latency=again" in err)
            requests = len(server.requests)
    runs = application.runs()
    measures = [
        json.loads((application.artifacts(run) / "results/evaluation.json").read_text())["measures"] for run in runs
    ]
    taken = [each[MS]["taken"] for each in measures]
    assert said == [False, False, True]
    assert requests <= 2 * len(CASES)
    assert taken[0] == taken[1] == taken[2]
    assert (taken[0]["queries"], taken[0]["at_once"]) == (len(CASES), 4)
    assert taken[0]["machines"] == ["the endpoint 127.0.0.1"]
    assert len({run.data.metrics[MS] for run in runs}) == 1
    assert len({run.data.tags["config.digest"] for run in runs}) == 1
