"""Whole runs on servers that behave as public ones do: what is read of them, and what is said where they refuse."""

import numpy as np
import pytest
from answers.one_prompt import questions
from application import PROJECT
from endpoint_server import EndpointServer, completion
from hydra import compose, initialize_config_dir
from small import QUERIES, arguments

from ragsweep.config.walk import Walk
from ragsweep.core.errors import ModelError
from ragsweep.core.project import SWEEP_ID, register_resolvers
from ragsweep.experiment import Experiment

pytestmark = pytest.mark.extra("openai")
FIELDS = '{"steps": ["r"], "cited": [1], "answer": "A", "confidence": %s}'
THOUGHT = "<think>\nThe user wants something about zebras.\nThe answer is B? No.\n</think>\n\n"
PHRASINGS = "\n".join(
    f"{row}. phrasing {number} about vaccines" for row, number in enumerate(("one", "two", "three"), 1)
)
PASSAGE = "The cold chain of vaccines needs a refrigerator between two and eight degrees."


def of(server, model):
    """The settings that choose a model behind a server."""
    return ["language_model=openai", f"language_model.model={model}", f"language_model.base_url={server.url}"]


@pytest.fixture
def measure(tmp_path, monkeypatch):
    """The measurement of a configuration whose models stand behind a server that replies in this way."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-12345678")
    monkeypatch.setenv(SWEEP_ID, str(tmp_path))
    register_resolvers()

    def measure(reply, *overrides):
        with EndpointServer(reply) as server:
            places = [f"store.path={tmp_path}/{server.server_port}", "retriever=sparse", "evaluation.resamples=100"]
            with initialize_config_dir(str(PROJECT / "conf"), version_base="1.3"):
                config = compose("config", [*of(server, "m"), *places, *overrides])
            measurement = Experiment.of(config).measure()
        return measurement, server

    return measure


@pytest.fixture
def answers(measure):
    """The measurement of answers without controls."""
    usual = ["task=answers", "answerer=llm", "evaluation.controls=[]"]
    return lambda reply, *overrides: measure(reply, *usual, *overrides)


@pytest.mark.parametrize(
    ("group", "overrides"),
    [
        ("language_model", ["task=answers", "answerer=llm"]),
        ("language_model", ["query=hyde"]),
        ("encoder", ["retriever=dense", "encoder=openai", "encoder.model=m"]),
    ],
)
def test_a_missing_key_is_named_before_any_work(monkeypatch, tmp_path, group, overrides):
    monkeypatch.setenv("OPENAI_API_KEY", "")
    register_resolvers()
    usual = ["language_model=openai", "language_model.model=m", f"store.path={tmp_path}"]
    with initialize_config_dir(str(PROJECT / "conf"), version_base="1.3"):
        experiment = Experiment.of(compose("config", [*usual, *overrides]))
    with pytest.raises(ModelError, match=rf"^{group}\.api_key_env: OPENAI_API_KEY is not set"):
        experiment.check_keys()


def test_a_run_without_a_key_is_not_begun(application):
    found = application.run("query=hyde", "language_model=openai", "language_model.model=m", OPENAI_API_KEY="")
    assert found.returncode
    assert found.stderr.count("OPENAI_API_KEY is not set") == 1
    assert application.runs() == []


@pytest.mark.parametrize("structured", ["true", "false"])
def test_responses_that_are_cut_off_stop_the_run_and_are_not_the_models_fault(answers, structured):
    cut_off = completion(None, finish="length", reasoning_content="Let me think about this at length. " * 50)
    asked = []

    def reply(prompt, times):
        asked.append(prompt)
        return cut_off

    with pytest.raises(
        ModelError, match=r"1\d cut off.* which says nothing of what the model knows; a larger answerer\.max_tokens"
    ):
        answers(reply, f"language_model.structured={structured}")
    assert 10 <= len(asked) <= 10 + 8  # that are on their way at the same time


@pytest.mark.parametrize(("query", "ndcg"), [("multi", 0.0422), ("hyde", 0.4351)])
def test_what_a_model_thinks_is_not_searched_for(measure, query, ndcg):
    """The values were measured with a server that sends the same texts without what the model thought before."""

    def reply(thought):
        return lambda prompt, times: completion(thought + (PHRASINGS if "different ways" in prompt else PASSAGE))

    found = [measure(reply(thought), f"query={query}")[0] for thought in ("", THOUGHT)]
    plain, thoughtful = ([*each.files["ranking.trec"]] for each in found)
    assert plain == thoughtful
    assert [round(each.values["ndcg"], 4) for each in found] == [ndcg] * 2


def test_an_endpoint_of_azure_is_reached_by_settings(monkeypatch, tmp_path):
    """As docs/strategies.md says it; what changes no response counts in no digest."""
    monkeypatch.setenv("AZURE_KEY", "0123456789abcdef")
    register_resolvers()
    with EndpointServer(lambda prompt, times: completion(FIELDS % "0.7")) as server:
        with initialize_config_dir(str(PROJECT / "conf"), version_base="1.3"):
            config = compose(
                "config",
                [
                    *("task=answers", "answerer=llm", *of(server, "mine"), f"store.path={tmp_path}"),
                    *("+language_model.query.api-version=2024-10-21", "language_model.api_key_env=null"),
                    *("+language_model.headers_env.api-key=AZURE_KEY", "+language_model.headers.X-Title=mine"),
                    *(
                        "+language_model.extra_body.reasoning_effort=low",
                        "+language_model.headers.X-Tier=flex",
                    ),
                ],
            )
        walk = Walk(config)
        answerer = walk.build("answerer")
        settings = walk.settings_of("answerer")
        answerer.answer(questions(1))
    assert server.path == "/v1/chat/completions?api-version=2024-10-21"
    assert (server.headers["api-key"], server.headers["Authorization"]) == ("0123456789abcdef", None)
    assert server.requests[0]["reasoning_effort"] == "low"
    given = {"query.api-version", "extra_body.reasoning_effort", "headers.X-Tier"}
    assert {f"language_model.{name}" for name in given} <= settings.keys()
    assert not [name for name in settings if "headers_env" in name]


def test_rankings_of_queries_that_a_model_rewrites_are_measured_again(measure, tmp_path):
    """Each repeat has a hypothetical passage of its own: at first one about fever, then the same for each question."""
    data = arguments(tmp_path / "data")
    settings = [*data, "query=hyde", "language_model.temperature=1", "repeats=3", "store.enabled=true"]
    found, server = measure(lambda prompt, times: completion(f"{PASSAGE} fever" if times == 1 else "iron"), *settings)
    repeated = found.facts["repeated"]["ndcg"]
    assert len(server.requests) == 3 * len(QUERIES)
    assert len({*repeated["means"]}) == 2
    assert repeated["means"][1] == repeated["means"][2]
    assert found.values["ndcg"] == pytest.approx(np.mean(repeated["means"]))
    assert found.sections["Repeats"]
