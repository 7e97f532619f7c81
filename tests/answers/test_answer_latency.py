"""With which machine answers were timed."""

import json

import pytest
from endpoint_server import EndpointServer, answer
from small import CASES, case_arguments

from ragsweep.core.hardware import machine
from ragsweep.models.language.smollm2 import SmolLM2Model
from ragsweep.store.stage_store import Store
from ragsweep_answers.answering import LanguageModelAnswerer
from ragsweep_answers.answering.reasoning import DirectReasoning
from ragsweep_answers.testing import QUESTIONS

MS = "latency/mean_ms"


@pytest.mark.extra("local")
def test_a_local_model_keeps_its_time_and_machine(tmp_path):
    answerer = LanguageModelAnswerer(SmolLM2Model(Store(str(tmp_path / "store"))), DirectReasoning())
    first, kept = (answerer.answer(list(QUESTIONS[:2])) for _ in range(2))
    assert [(each.time_ms, each.machines) for each in kept] == [(each.time_ms, (machine(),)) for each in first]


class Server(EndpointServer):
    """Says A."""

    def opened(self, request, key):
        super().opened(request, key)
        return answer("A")


@pytest.mark.extra("openai")
def test_an_endpoint_is_the_machine_of_its_responses_and_is_not_asked_again(application, tmp_path):
    with Server() as server:
        asked = ["answerer=llm", "language_model=openai", "language_model.model=model", "evaluation.controls=[]"]
        usual = [*case_arguments(tmp_path / "cases"), *asked, f"language_model.base_url={server.url}"]
        usual += ["retriever=sparse", f"store.path={tmp_path / 'store'}"]
        for _ in range(2):
            process = application.start(*usual, OPENAI_API_KEY="sk-test")
            _, err = process.communicate(timeout=120)
            assert process.returncode == 0, err
        requests = len(server.requests)
    runs = application.runs()
    measures = [
        json.loads((application.artifacts(run) / "results/evaluation.json").read_text())["measures"] for run in runs
    ]
    assert [each[MS]["machines"] for each in measures] == 2 * [["the endpoint 127.0.0.1"]]
    assert requests <= 2 * len(CASES)
    assert len({run.data.metrics[MS] for run in runs}) == 1
