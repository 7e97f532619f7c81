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
FIELDS = '{"steps": ["r"], "cited": [1], "answer": "A", "confidence": 0.7}'
THOUGHT = "<think>\nThe user wants something about zebras.\nThe answer is B? No.\n</think>\n\n"
PHRASINGS = "\n".join(
    f"{row}. phrasing {number} about vaccines" for row, number in enumerate(("one", "two", "three"), 1)
)
PASSAGE = "The cold chain of vaccines needs a refrigerator between two and eight degrees."


@pytest.fixture
def configured(tmp_path, monkeypatch, cache):
    """The configuration that asks a model with these overrides."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-12345678")
    monkeypatch.setenv(SWEEP_ID, str(tmp_path))
    register_resolvers()

    def configured(*overrides):
        usual = ["language_model=openai", "language_model.model=m", f"store.path={cache}", "encoder=wordllama"]
        with initialize_config_dir(str(PROJECT / "conf"), version_base="1.3"):
            return compose("config", [*usual, *overrides])

    return configured


@pytest.fixture
def measure(configured):
    """The measurement of a configuration whose models stand behind a server that replies in this way."""

    def measure(reply, *overrides):
        with EndpointServer(reply) as server:
            usual = [f"language_model.base_url={server.url}", "retriever=sparse", "evaluation.resamples=100"]
            return Experiment.of(configured(*usual, *overrides)).measure(), server

    return measure


def test_a_missing_key_is_named_before_any_work(monkeypatch, configured):
    monkeypatch.setenv("OPENAI_API_KEY", "")
    dense = ["retriever=dense", "encoder=openai", "encoder.model=m"]
    groups = [("language_model", ["task=answers", "answerer=llm"]), ("language_model", ["query=hyde"])]
    for group, overrides in [*groups, ("encoder", dense)]:
        experiment = Experiment.of(configured(*overrides))
        with pytest.raises(ModelError, match=rf"^{group}\.api_key_env: OPENAI_API_KEY is not set"):
            experiment.check_keys()


def test_a_run_without_a_key_is_not_begun(application):
    model = ["language_model=openai", "language_model.model=m"]
    process = application.script_here("run", "query=hyde", *model, OPENAI_API_KEY="")
    assert process.returncode
    assert process.stderr.count("OPENAI_API_KEY is not set") == 1
    assert application.runs() == []


@pytest.mark.parametrize("structured", ["true", "false"])
def test_responses_that_are_cut_off_stop_the_run_and_are_not_the_models_fault(measure, structured):
    cut_off = completion(None, finish="length", reasoning_content="Let me think about this at length. " * 50)
    asked = []

    def reply(prompt, times):
        asked.append(prompt)
        return cut_off

    answers = ["task=answers", "answerer=llm", "evaluation.controls=[]", f"language_model.structured={structured}"]
    advice = r"1\d cut off.* which says nothing of what the model knows; a larger answerer\.max_tokens"
    with pytest.raises(ModelError, match=advice):
        measure(reply, *answers)
    assert 10 <= len(asked) <= 10 + 8  # that are on their way at the same time


@pytest.mark.parametrize(("query", "ndcg"), [("multi", 0.0422), ("hyde", 0.4351)])
def test_what_a_model_thinks_is_not_searched_for(measure, query, ndcg):
    """The values were measured with a server that sends the same texts without what the model thought before."""

    def reply(thought):
        return lambda prompt, times: completion(thought + (PHRASINGS if "different ways" in prompt else PASSAGE))

    measured = [measure(reply(thought), f"query={query}")[0] for thought in ("", THOUGHT)]
    plain, thoughtful = ([*measurement.files["ranking.trec"]] for measurement in measured)
    assert plain == thoughtful
    assert [round(measurement.values["ndcg"], 4) for measurement in measured] == [ndcg] * 2


def test_an_endpoint_of_azure_is_reached_by_settings(monkeypatch, configured):
    """As docs/strategies.md says it; what changes no response counts in no digest."""
    monkeypatch.setenv("AZURE_KEY", "0123456789abcdef")
    azure = ["query.api-version=2024-10-21", "headers_env.api-key=AZURE_KEY", "headers.X-Title=mine"]
    azure += ["extra_body.reasoning_effort=low", "headers.X-Tier=flex"]
    overrides = ["task=answers", "answerer=llm", "language_model.api_key_env=null"]
    overrides += [f"+language_model.{setting}" for setting in azure]
    with EndpointServer(lambda prompt, times: completion(FIELDS)) as server:
        walk = Walk(configured(f"language_model.base_url={server.url}", *overrides))
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
    measured, server = measure(
        lambda prompt, times: completion(f"{PASSAGE} fever" if times == 1 else "iron"), *settings
    )
    repeated = measured.facts["repeated"]["ndcg"]
    assert len(server.requests) == 3 * len(QUERIES)
    assert len({*repeated["means"]}) == 2
    assert repeated["means"][1] == repeated["means"][2]
    assert measured.values["ndcg"] == pytest.approx(np.mean(repeated["means"]))
    assert measured.sections["Repeats"]
