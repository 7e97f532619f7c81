"""Answers from an OpenAI-compatible endpoint, over HTTP, from a server that does not always behave."""

import json
import logging
import os
import resource
import sqlite3
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from answers.small_answers import OnePrompt, questions
from endpoint_server import TOKENS_IN, TOKENS_OUT, EndpointServer, Reply, answer, completion, defaults_of, problem
from omegaconf import OmegaConf

from ragsweep.core import progress
from ragsweep.core.digest import digest
from ragsweep.core.errors import ConfigError, ModelError
from ragsweep.core.project import PROJECT as PROJECT_FOLDER
from ragsweep.core.project import SWEEP_ID
from ragsweep.core.terminal import one_line
from ragsweep.models.language import kept_responses
from ragsweep.models.language.endpoint import say_spent
from ragsweep.models.language.language_model import Message
from ragsweep.models.language.openai_model import OpenAIModel
from ragsweep.store.stage_store import Store
from ragsweep_answers import PLUGIN
from ragsweep_answers.answering import LanguageModelAnswerer
from ragsweep_answers.answering.question import Answer, Reasoning
from ragsweep_answers.answering.reasoning import DirectReasoning

pytestmark = pytest.mark.extra("openai")
KEY = "sk-test-Zm9vYmFyYmF6cXV4"


@pytest.fixture
def printed(capfd):
    """What was printed since the last look, which never repeats the key."""

    def new():
        text = "".join(capfd.readouterr())
        assert KEY not in text
        return text

    return new


@pytest.fixture(autouse=True)
def nothing_repeats_the_key(tmp_path, monkeypatch, caplog, printed):
    """Every test: the key is in no file, log record or text that was printed. `failure` looks into the exceptions."""
    caplog.set_level(logging.DEBUG)
    for name in ("openai", "httpx", "httpcore", "httpx2", "httpcore2"):
        caplog.set_level(logging.DEBUG, name)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv(SWEEP_ID, str(tmp_path))  # a budget of its own
    yield
    printed()
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY.encode() not in files
    assert KEY not in caplog.text


@pytest.fixture
def server():
    with EndpointServer() as server:
        yield server


@pytest.fixture
def answerer(server, tmp_path):
    model = OpenAIModel(model="model", base_url=server.url, timeout_s=5, retries=1, store=Store(str(tmp_path)))
    return LanguageModelAnswerer(model, OnePrompt())


def with_settings(answerer, **settings):
    """With other settings of its own and of its model."""
    of_answerer = {name: settings.pop(name) for name in ("reasoning", "max_tokens") if name in settings}
    return replace(answerer, **of_answerer, language_model=replace(answerer.language_model, **settings))


def always(reply):
    return lambda prompt, times: reply


def replies(server, answerer, cases):
    """An answerer for each reply of a server, with a seed of its own so that it asks, and what else its case has."""
    for seed, (reply, *case) in enumerate(cases, 1):
        server.reply = reply if callable(reply) else always(reply)
        server.requests.clear()
        server.asked.clear()
        yield with_settings(answerer, seed=seed), *case


def letters(answers):
    return [answer.letter for answer in answers]


def failure(answerer, number=1):
    """The one line of the error that asking raises, after a search for the key in all that hangs on the error."""
    with pytest.raises(ModelError) as caught:
        answerer.answer(questions(number))
    assert KEY not in "".join(traceback.format_exception(caught.value))
    error = caught.value
    while error := error.__cause__ or error.__context__:  # the client's own errors carry the request
        assert type(error).__module__.startswith(("ragsweep.", "sqlite3", "builtins"))
        assert KEY not in f"{error!r} {vars(error)}"
    assert "\n" not in str(caught.value)
    return str(caught.value)


# What an endpoint that behaves is asked, and what becomes of its answers


def test_a_request_asks_for_the_fields_of_an_answer_which_has_its_cost_and_its_exchange(server, answerer):
    server.reply = always(replace(answer("A"), after_s=0.2))
    [given] = answerer.answer(questions(1))
    assert (given.letter, given.confidence, given.tokens_in, given.tokens_out) == ("A", 0.75, TOKENS_IN, TOKENS_OUT)
    assert 200 <= given.time_ms < 5000
    [exchange] = given.exchanges
    assert (exchange.prompt, json.loads(exchange.response)["answer"]) == ("Is this question 0?", "A")
    [request] = server.requests
    form = request.pop("response_format")
    messages = [{"role": "system", "content": "Answer."}, {"role": "user", "content": "Is this question 0?"}]
    usual = {"max_completion_tokens": 1024, "temperature": 0, "seed": 0}
    assert request == {"model": "model", "messages": messages, **usual}
    assert (form["type"], form["json_schema"]["strict"]) == ("json_schema", True)
    schema = form["json_schema"]["schema"]
    assert sorted(schema["required"]) == sorted(schema["properties"]) == ["answer", "cited", "confidence", "steps"]
    assert schema["properties"]["answer"]["enum"] == ["A", "B"]  # the letters of this question
    assert schema["additionalProperties"] is False
    assert server.key == KEY


BODY = {"reasoning_effort": "low", "chat_template_kwargs": {"enable_thinking": False}}
SENT = [  # a setting, and what it changes in the request
    ("model", "other", {"model": "other"}),
    ("temperature", 0.5, {"temperature": 0.5}),
    ("temperature", None, {"temperature": None}),
    ("seed", 7, {"seed": 7}),
    ("seed", None, {"seed": None}),
    ("max_tokens", 9, {"max_completion_tokens": 9}),
    ("max_tokens_as", "max_tokens", {"max_tokens": 1024, "max_completion_tokens": None}),
    ("structured", False, {"response_format": None}),
    ("reasoning", OnePrompt("Please. "), {}),
    ("headers", {"X-Tier": "flex"}, {}),
    ("query", {"api-version": "2024-10-21"}, {}),
    ("extra_body", BODY, BODY),
]


def test_a_setting_that_changes_the_request_asks_again_once_and_no_other_does(server, answerer, monkeypatch):
    answerer.answer(questions(1))
    for number, (setting, value, sent) in enumerate(SENT, 2):
        changed = with_settings(answerer, **{setting: value})
        for _ in range(2):
            changed.answer(questions(1))
        assert len(server.requests) == number, setting
        assert {name: server.requests[-1].get(name) for name in sent} == sent
        assert setting not in changed.language_model.without_effect
        assert server.path == "/v1/chat/completions" + "?api-version=2024-10-21" * (setting == "query")
    monkeypatch.setenv("OTHER_KEY", f"{KEY}-other")
    changed = {"max_tokens_total": 10, "concurrency": 1, "timeout_s": 1, "retries": 0}
    changed |= {"headers_env": {"api-key": "OTHER_KEY"}, "api_key_env": None}
    unchanged = with_settings(answerer, **changed)
    assert {*changed, "repeat"} == {*unchanged.language_model.without_effect}  # of the first repeat
    assert letters(unchanged.answer(questions(1))) == ["B"]
    assert len(server.requests) == 1 + len(SENT)
    with EndpointServer() as other:
        with_settings(answerer, base_url=f"{other.url}/").answer(questions(1))
        with_settings(answerer, base_url=other.url).answer(questions(1))  # the same address
        assert len(other.requests) == 1


def test_equal_prompts_are_sent_once_and_no_more_at_once_than_the_setting_says(server, answerer):
    server.reply = always(replace(answer(), after_s=0.1))
    assert letters(with_settings(answerer, concurrency=3).answer(questions(12) * 4)) == ["B"] * 48
    assert (len(server.requests), server.at_once) == (12, 3)


# No answer is never a letter

MISSING = '{"confidence": 0.9, "steps": [], "cited": []}'
MALFORMED = ["The answer is B.", '{"answer": "B", "confidence": 0.9, "st', '["B"]', "[" * 100_000, MISSING]
MALFORMED += ['{"answer": 2, "confidence": 0.9, "steps": [], "cited": []}']
NO_ANSWERS = [  # a reply, the responses of the exchanges, and the requests for asking twice
    (completion(None, refusal="I cannot help with that."), [""], 1),
    (completion('{"answer": "B"', finish="content_filter"), [""], 1),
    (problem(400, "the prompt triggered the policy", code="content_filter"), [""], 1),
    *((completion(content), [content, content], 2) for content in MALFORMED),
    (completion(""), ["", ""], 4),  # is not kept
]


def test_a_refusal_is_no_answer_and_a_malformed_answer_is_asked_for_once_more(server, answerer):
    for unsure, responses, requests in replies(server, answerer, NO_ANSWERS):
        for _ in range(2):
            [given] = unsure.answer(questions(1))
            assert (given.letter, [exchange.response for exchange in given.exchanges]) == (None, responses)
        assert len(server.requests) == requests, responses


def test_the_second_request_says_what_was_wrong_costs_as_well_and_counts_unless_it_has_no_text(server, answerer):
    server.reply = lambda prompt, times: answer("A") if "JSON" in prompt else completion(MISSING)
    for _ in range(2):
        [given] = answerer.answer(questions(1))
        assert (given.letter, given.tokens_in, given.tokens_out) == ("A", 2 * TOKENS_IN, 2 * TOKENS_OUT)
    assert given.exchanges[1].prompt.startswith("system: Answer.\n\nuser: Is this question 0?")
    assert len(server.requests) == 2
    first, correction = server.requests[1]["messages"][-2:]
    assert first == {"role": "assistant", "content": MISSING}
    assert "answer: Field required" in correction["content"]

    def corrected(second):
        return lambda prompt, times: second if "JSON that was asked" in prompt else completion("Answer: B")

    seconds = [completion(None, refusal="No."), completion("Let us", finish="length"), completion("")]
    cases = [(corrected(second),) for second in seconds]
    for [direct] in replies(server, with_settings(answerer, reasoning=DirectReasoning()), cases):
        [given] = direct.answer(questions(1))
        assert (given.letter, given.causes, given.tokens_in) == ("B", (), 2 * TOKENS_IN)
        assert len(server.requests) == len(given.exchanges) == 2


def test_a_thought_is_no_part_of_an_answer_and_tokens_that_cannot_be_are_not_known(server, answerer):
    usages = [{"prompt_tokens": -1, "completion_tokens": 10**12}, {"prompt_tokens": "7"}, {"x": 1}]
    cases = [(completion("<think>\nB? No.\n</think>\n\nA", usage=usage),) for usage in usages]
    for [counting] in replies(server, with_settings(answerer, structured=False), cases):
        [given] = counting.answer(questions(1))
        assert (given.letter, given.tokens_in, given.tokens_out) == ("A", None, None)


# Failures that may pass, and failures that do not

PASSING = [
    problem(429, "slow down"),
    Reply(b"<html>busy</html>", 503),
    replace(answer(), missing_bytes=100),
    replace(answer(), hangs_up=True),
    replace(answer(), after_s=0.8),
    problem(429, Retry_After="1"),
]
OF_KEY = "the key in the variable OPENAI_API_KEY (language_model.api_key_env)"
UNSEEN = [
    f"{KEY[:3]}{unseen}{KEY[3:9]}{unseen}{KEY[9:]}" for unseen in ("\u200b", "\0", "\x1b", "\xad", "\u202e\ufeff")
]
CUT = problem(400, f"bad key {KEY}").body
FINAL = [  # a reply, and what is said of it
    (problem(400, "context too long"), "400 context too long; 30 questions left"),
    (problem(401, f"Incorrect key: {KEY}"), f"401 {OF_KEY} is not accepted: Incorrect key: ***; "),
    (problem(403, f"{KEY[:9]}*** may not"), f"403 {OF_KEY} may not do this; "),
    (problem(403, f"No rights for ...{KEY[-4:]}"), f"403 {OF_KEY} may not do this; "),
    (problem(403, "Country not supported"), f"403 {OF_KEY} may not do this: Country not supported; "),
    (problem(404, "no such model"), "404 no such model; "),
    (Reply(b'{"detail": [{"msg": "no such field"}]}', 422), '422 [{"msg": "no such field"}]; '),
    (Reply(b"no such page", 404), "404 no such page; "),
    (Reply(b'{"type": "message", "content": []}'), "the response broke off"),
    (Reply(b'{"choices": []}'), "the response broke off"),
    (Reply(b'{"choices": [{"finish_reason": "error", "message": {"content": "It"}}]}'), "the response broke off"),
    (Reply(b"<html><title>Sign in</title>"), "the response cannot be read"),
    (Reply(b'{"error": {"message": "overloaded"}}'), "the response is an error: overloaded; "),
    (Reply(b""), "the response cannot be read"),
    (Reply(b"[" * 100_000), "the response cannot be read"),
    *((problem(400, f"bad key {key}"), "400 bad key ***; ") for key in (KEY, *UNSEEN)),
    (problem(400, "x" * 190 + KEY), "400 xxx"),  # is cut in the middle of the key
]


def test_a_failure_that_may_pass_is_tried_again_after_the_wait_that_a_server_asks_for_but_not_for_hours(
    server, answerer
):
    cases = [(lambda prompt, times, reply=reply: reply if times == 1 else answer(),) for reply in PASSING]
    for [patient] in replies(server, with_settings(answerer, timeout_s=0.5), cases):
        server.times.clear()
        assert letters(patient.answer(questions(1))) == ["B"]
        assert len(server.requests) == 2
    first, second = server.times
    assert second - first >= 1
    server.reply = always(problem(429, "enough", Retry_After="86400"))
    assert "429 enough; 1 question left" in failure(answerer)
    assert len(server.requests) == 3


def test_a_failure_that_cannot_pass_is_one_line_without_a_key_and_stops_the_others(server, answerer):
    for failing, expected in replies(server, with_settings(answerer, concurrency=2, retries=6), FINAL):
        line = failure(failing, number=30)
        assert line.startswith(f"{server.url}: {expected}")
        assert "30 questions left" in line
        assert [part for part in (KEY[:9], KEY[-4:]) if part in line] == []
        assert len(server.requests) <= 4
    cut_at = CUT.index(KEY.encode()) + 12
    server.reply = always(replace(problem(400), body=CUT[:cut_at], missing_bytes=len(CUT) - cut_at))
    assert KEY[:9] not in failure(with_settings(answerer, retries=0))
    with EndpointServer() as other:
        server.reply = always(problem(307, Location=f"{other.url}/chat/completions"))
        assert "307 a redirect, which is not followed" in failure(answerer)
        assert other.requests == []
    assert failure(with_settings(answerer, base_url=other.url)).startswith(f"{other.url}: cannot be reached")


@dataclass(frozen=True)
class Long(Reasoning):
    """Asks many things, one after another; fails at the first question after one answer."""

    def answer(self, question, model):
        for step in range(40):
            completion = model.complete([Message("user", f"{question.question} {step}")])
            if completion.text and question.question_id == "q0":
                raise ZeroDivisionError
        return Answer("A")


def test_an_error_of_the_reasoning_method_is_raised_as_it_is_and_stops_the_others(server, answerer):
    server.reply = always(replace(answer(), after_s=0.02))
    with pytest.raises(ZeroDivisionError):
        with_settings(answerer, reasoning=Long(), concurrency=2).answer(questions(2))
    assert len(server.requests) < 20


# Nothing is asked or paid for twice


def test_a_server_that_dies_is_asked_only_for_what_is_missing(server, answerer):
    server.reply = lambda prompt, times: replace(answer(), hangs_up=len(server.requests) >= 6)
    assert "7 questions left" in failure(with_settings(answerer, concurrency=1, retries=1), number=12)
    answered = {prompt for prompt, times in server.asked.items() if times == 1}
    server.shutdown()
    server.server_close()
    with EndpointServer(port=server.server_port) as again:
        assert letters(answerer.answer(questions(12))) == ["B"] * 12
        assert len(answered) == 5
        assert not answered & again.asked.keys()
        assert len(again.requests) == 7


def test_a_ctrl_c_while_questions_are_handed_out_stops_the_rest(server, answerer, monkeypatch):
    interrupted, handed_out = threading.Event(), []

    class Pool(ThreadPoolExecutor):
        def submit(self, work, item):
            handed_out.append(item)
            if len(handed_out) == 30:
                interrupted.set()
                raise KeyboardInterrupt
            return super().submit(work, item)

    server.reply = lambda prompt, times: replace(answer("A"), hangs_up=not interrupted.wait(60))
    monkeypatch.setattr(progress, "ThreadPoolExecutor", Pool)
    with pytest.raises(KeyboardInterrupt):
        answerer.answer(questions(30))
    assert len(server.requests) < 29


def stored(answerer):
    return closing(sqlite3.connect(Path(answerer.language_model.store.path) / "answers.sqlite", isolation_level=None))


def test_once_a_response_cannot_be_kept_no_other_one_is_paid_for(server, answerer):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))  # of any file: stands for a full disk
    try:
        line = failure(with_settings(answerer, concurrency=1), number=40)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    with stored(answerer) as connection:
        [(count,)] = connection.execute("SELECT count(*) FROM responses")
    assert count == len(server.requests) - 1
    assert "kept responses: cannot use" in line
    assert f"{40 - count} questions left; start again with tracking.resume=true" in line
    assert letters(answerer.answer(questions(40))) == ["B"] * 40
    assert sorted(server.asked.values()) == [1] * 39 + [2]


def test_nothing_is_asked_where_nothing_can_be_kept_or_what_is_kept_is_locked(server, answerer, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    nowhere = with_settings(answerer, store=Store(str(tmp_path / "file" / "store")))
    assert "kept responses: cannot use" in failure(nowhere)
    assert server.requests == []
    answerer.answer(questions(1))
    monkeypatch.setattr(kept_responses, "PATIENCE_S", 0.1)
    with stored(answerer) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert "kept responses: cannot use" in failure(answerer)
    assert len(server.requests) == 1


def test_a_kept_response_that_is_none_is_asked_for_again(server, answerer):
    changes = [{"text": 5}, {"text": None}, {"tokens_in": "5"}, {"tokens_out": -1}, {"tokens_out": 10**400}]
    changes += [{"time_ms": "x"}, {"time_ms": 10**400}, {"other": 1}, {"cause": "tired"}, None]
    answerer.answer(questions(1))
    for number, change in enumerate(changes, 2):
        with stored(answerer) as connection:
            [(text,)] = connection.execute("SELECT response FROM responses")
            text = json.dumps({} if change is None else json.loads(text) | change)
            connection.execute("UPDATE responses SET response = ?, checksum = ?", (text, digest(text)))
        with pytest.warns(UserWarning, match="a kept response is damaged"):
            assert letters(answerer.answer(questions(1))) == ["B"]
        assert len(server.requests) == number


# Spending


def test_no_request_is_sent_once_the_limit_is_spent_and_a_new_start_goes_on(server, answerer, monkeypatch):
    limited = with_settings(answerer, max_tokens_total=500, concurrency=4)
    for start in range(2):
        monkeypatch.setenv(SWEEP_ID, f"{answerer.language_model.store.path} {start}")
        before = len(server.requests)
        line = failure(limited, number=30)
        spent = (len(server.requests) - before) * (TOKENS_IN + TOKENS_OUT)
        assert 500 <= spent < 500 + 4 * (TOKENS_IN + TOKENS_OUT)  # of those that were on their way
        assert " of 500 tokens are spent" in line
        assert line.endswith("start again with tracking.resume=true")
        of_another_run = with_settings(limited, reasoning=OnePrompt("Please. "))  # of the same start
        assert f"{spent} of 500 tokens are spent" in failure(of_another_run)
    assert letters(with_settings(limited, max_tokens_total=None).answer(questions(30))) == ["B"] * 30
    assert set(server.asked.values()) == {1}


def test_a_response_counts_as_the_most_that_it_may_cost_where_nobody_says_what_it_did(server, answerer, monkeypatch):
    limited = with_settings(answerer, structured=False, max_tokens=100, max_tokens_total=200, concurrency=1)
    never_came = replace(answer(), after_s=0.4), {"timeout_s": 0.2, "retries": 0}
    for number, (reply, settings) in enumerate([(completion("B", usage={"prompt_tokens": -1}), {}), never_came]):
        monkeypatch.setenv(SWEEP_ID, f"{answerer.language_model.store.path} {number}")
        server.reply = always(reply)
        server.requests.clear()
        lines = [failure(with_settings(limited, seed=number, **settings), number=4) for _ in range(3)]
        assert ["no response within" in line for line in lines[:2]] == [number == 1] * 2
        assert "of 200 tokens are spent" in lines[2]
        assert len(server.requests) == 2


def test_what_was_spent_is_said_in_one_line(server, answerer, printed):
    for number in (2, 3):
        answerer.answer(questions(number))
    say_spent()
    spent = f"{3 * TOKENS_IN} tokens in and {3 * TOKENS_OUT} out"
    assert printed() == f"model: 3 requests to {server.url}, {spent}\n"
    answerer.answer(questions(3))
    say_spent()
    assert printed() == ""


def test_asking_stops_after_ten_unusable_responses_in_a_row_and_keeps_none_of_them(server, answerer):
    for number, structured in enumerate((True, False), 1):
        asking = with_settings(answerer, structured=structured)
        one_by_one = with_settings(asking, concurrency=1)
        server.reply = always(completion(None, finish="length", reasoning_content="long"))
        server.requests.clear()
        line = failure(one_by_one, number=24)
        assert "10 responses in a row have no usable text (10 cut off, of 10 responses)" in line
        assert "which says nothing of what the model knows; a larger answerer.max_tokens lets" in line
        assert len(server.requests) == 10
        server.reply = always(answer() if structured else completion("B"))
        assert letters(asking.answer(questions(24))) == ["B"] * 24
        server.reply = always(completion("I\u2019m sorry, but I can\u2019t assist with that request."))
        assert "10 refused, of 10 responses" in failure(with_settings(one_by_one, seed=number), number=24)


def test_what_is_asked_again_does_not_stop_asking_where_most_is_kept(server, answerer, printed):
    """Of 64 responses, 21 are cut off each time: a third, of which the second start asks for nothing else."""
    cut = {f"Is this question {number}?" for number in range(0, 63, 3)}
    server.reply = lambda prompt, times: completion("", finish="length") if {*prompt.splitlines()} & cut else answer()
    first = letters(answerer.answer(questions(64)))
    assert first.count(None) == 21
    assert "21 cut off, of 64 responses" in printed()
    server.requests.clear()
    assert letters(answerer.answer(questions(64))) == first
    assert len(server.requests) == 21


# Where the key comes from, and where it goes


def test_what_is_kept_needs_no_key(server, answerer, monkeypatch):
    model = answerer.language_model
    answerer.answer(questions(2))
    monkeypatch.delenv("OPENAI_API_KEY")
    assert letters(answerer.answer(questions(2))) == ["B", "B"]
    model.check_keys(model.store)
    for other in (replace(model, model="other"), replace(model, store=Store(f"{model.store.path}/other"))):
        with pytest.raises(ModelError, match="OPENAI_API_KEY is not set"):
            other.check_keys(other.store)
    for key in (None, "", "  "):
        if key is not None:
            monkeypatch.setenv("OPENAI_API_KEY", key)
        line = failure(answerer, number=3)
        assert "OPENAI_API_KEY is not set; set it in the environment or in the file .env" in line
    assert len(server.requests) == 2


def test_the_key_may_stand_in_a_file_of_the_project(server, answerer, tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("project")  # outside the folder that is searched for the key
    (folder / ".env").write_text(f"# keys\nOPENAI_API_KEY='{KEY}-of-file'\nOTHER=${{HOME}}\n")
    monkeypatch.setenv(PROJECT_FOLDER, str(folder))
    answerer.answer(questions(1))
    assert server.key == KEY  # the environment comes first
    monkeypatch.delenv("OPENAI_API_KEY")
    answerer.answer(questions(2))
    assert server.key == f"{KEY}-of-file"
    assert "OTHER" not in os.environ
    with_settings(answerer, api_key_env="OTHER").answer(questions(3))
    assert server.key == "${HOME}"
    for content in (b"\xff\xfe", b"#" * 1_100_000):
        (folder / ".env").write_bytes(content)
        with pytest.raises(ConfigError, match=r"\.env: cannot be read"):
            answerer.answer(questions(4))


def test_the_headers_and_keys_of_the_settings_are_sent_and_no_header_of_the_environment(server, answerer, monkeypatch):
    for name, value in {"ORG_ID": "secret", "PROJECT_ID": "secret", "CUSTOM_HEADERS": "X-Secret: secret"}.items():
        monkeypatch.setenv(f"OPENAI_{name}", value)
    monkeypatch.setenv("GATEWAY_KEY", f"{KEY}-of-gateway")
    given = {"headers": {"X-Title": "mine"}, "headers_env": {"api-key": "GATEWAY_KEY"}}
    with_settings(answerer, **given).answer(questions(1))
    assert server.headers["X-Title"] == "mine"
    assert (server.headers["api-key"], server.key) == (f"{KEY}-of-gateway", KEY)
    with_settings(answerer, **given, api_key_env=None).answer(questions(2))
    assert server.headers["Authorization"] is None
    monkeypatch.setenv("GATEWAY_KEY", f"Token {KEY}-of-gateway")
    with_settings(answerer, headers_env={"authorization": "GATEWAY_KEY"}).answer(questions(3))
    assert server.headers.get_all("Authorization") == [f"Token {KEY}-of-gateway"]
    monkeypatch.setenv("TOKEN", f"{KEY}-of-token")  # a variable without an underscore in its name
    with_settings(answerer, api_key_env="TOKEN").answer(questions(4))
    assert server.key == f"{KEY}-of-token"
    assert "secret" not in str(dict(server.headers))


def test_keys_of_headers_are_named_where_they_are_missing_or_refused(server, answerer, monkeypatch):
    azure = with_settings(answerer, api_key_env=None, headers_env={"api-key": "AZURE_KEY"})
    line = failure(azure)
    assert "language_model.headers_env.api-key: AZURE_KEY is not set" in line
    assert "any text" not in line
    monkeypatch.setenv("AZURE_KEY", KEY)
    server.reply = always(problem(401, "no access"))
    refused = "401 the key in the variable AZURE_KEY (language_model.headers_env.{}) is not accepted"
    assert refused.format("api-key") in failure(azure)
    instead = with_settings(answerer, headers_env={"authorization": "AZURE_KEY"})  # of that of api_key_env
    assert refused.format("authorization") in failure(instead)


def test_the_address_in_the_environment_is_used_where_none_is_set_and_said(server, answerer, monkeypatch, printed):
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    addressed = with_settings(answerer, base_url=None)
    assert addressed.language_model.base_url == server.url
    assert f"language_model.base_url: {server.url}, from OPENAI_BASE_URL" in printed()
    with EndpointServer() as other:
        with_settings(answerer, base_url=other.url).answer(questions(2))
        assert (len(other.requests), len(server.requests)) == (2, 0)
    monkeypatch.setenv("OPENAI_BASE_URL", f"https://user:{KEY}@example.org")
    with pytest.raises(ConfigError, match=r"^language_model\.base_url: expected an address"):
        with_settings(answerer, base_url=None)


# No key is repeated


def test_a_server_that_repeats_a_key_reaches_no_file(server, answerer, monkeypatch):
    server.reply = always(answer("A", steps=[f"your key is {KEY}"]))
    [given] = answerer.answer(questions(1))
    assert "your key is ***" in given.exchanges[0].response
    gateway = with_settings(answerer, structured=False, headers_env={"api-key": "GATEWAY_KEY"})
    repeated = [(value, key) for value in ("{}", "Bearer {}") for key in (KEY, *UNSEEN)]
    for seed, (value, key) in enumerate(repeated):
        monkeypatch.setenv("GATEWAY_KEY", value.format(KEY[::-1]))
        server.reply = always(completion(f"your keys are {key} and {KEY[::-1]}"))
        [given] = with_settings(gateway, seed=seed).answer(questions(1))
        assert given.exchanges[0].response == "your keys are *** and ***"
        assert KEY not in one_line(given.exchanges[0].response)
        server.reply = always(problem(400, f"bad key {KEY[::-1]}"))
        assert "400 bad key ***" in failure(with_settings(gateway, seed=99))


def test_a_short_key_does_not_change_what_is_answered_and_one_that_cannot_be_sent_is_not_repeated(
    answerer, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "B")
    assert letters(answerer.answer(questions(1))) == ["B"]
    for key in (f"{KEY} {KEY}", f"{KEY}é", f"{KEY}\n{KEY}"):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        assert "OPENAI_API_KEY contains a character that no key has" in failure(answerer, number=2)


SECRETS = [  # a setting, a value that holds a secret or cannot be sent, and where the message says so
    ("headers", {"Authorization": "Bearer gsk_0123456789"}, "headers: Authorization may be a key"),
    ("headers", {"X-Api-Key": "gsk_0123456789"}, "headers: X-Api-Key may be a key"),
    ("headers", {"X-Title": f"of {KEY}"}, "headers: contains the key in OPENAI_API_KEY"),
    ("headers", {"X-Title": "a\r\nHost: b"}, "headers.X-Title: contains a character"),
    ("headers", {"Host": "example.org"}, "headers: 'Host' is not the name"),
    ("headers", {"X-Title": "Bearer gsk_0123456789"}, "headers: X-Title may be a key"),
    ("headers_env", {"api-key": "gsk_0123456789"}, "headers_env.api-key: expected the name of an environment"),
    ("query", {"api-key": "gsk_0123456789"}, "query: api-key may be a key"),
    ("query", {"v": "sk-0123456789abcdefgh"}, "query: v may be a key"),
    ("query", {"v": KEY}, "query: contains the key in OPENAI_API_KEY"),
    ("extra_body", {"temperature": 1}, "extra_body: temperature belongs to language_model.temperature"),
    ("extra_body", {"source": [{"api_key": "gsk_0123456789"}]}, "extra_body: api_key may be a key"),
    ("extra_body", {"user": KEY}, "extra_body: contains the key in OPENAI_API_KEY"),
    ("extra_body", {"tools": [{"url": "https://u:gsk_0@h/v1"}]}, "extra_body: url may be a key"),
    *(("base_url", address, "base_url: ") for address in (
        f"https://user:{KEY}@example.org/v1", f"https://{KEY}@example.org", f"https://example.org/v1?api_key={KEY}",
        f"https://example.org/v1#{KEY}", f"https://user:{KEY}", f"ftp://{KEY}", KEY, "http://", f"http://[{KEY}/v1",
        f"https://example.org/{KEY}/v1", "https://example.org/v1;key=gsk_0123456789",
        "https://example.org/v1%3Fkey%3Dgsk_0123456789",
    )),
    ("model", KEY, "model: "),
    *(("api_key_env", name, "api_key_env: ") for name in (KEY, "AKIAIOSFODNN7EXAMPLE", "gsk_0123456789")),
]  # fmt: skip


def test_settings_that_hold_a_secret_or_cannot_be_sent_are_refused(answerer, monkeypatch):
    for setting, value, place in SECRETS:
        with pytest.raises(ConfigError) as caught:
            with_settings(answerer, **{setting: value})
        assert str(caught.value).startswith(f"language_model.{place}")
        shown = "".join(traceback.format_exception(caught.value))
        assert [secret for secret in (KEY, "gsk_", "AKIA") if secret in shown] == []
    monkeypatch.setenv("OPENAI_API_KEY", 'pass"word\\1')  # has characters that JSON escapes
    for body in ({"user": 'of pass"word\\1'}, {"a": [{'pass"word\\1': 1}]}):
        with pytest.raises(ConfigError, match=r"^language_model\.extra_body: contains the key in OPENAI_API_KEY"):
            with_settings(answerer, extra_body=body)


# Settings of the answerer


def test_the_configuration_has_every_setting_and_a_method_that_cannot_answer_is_refused(answerer):
    node = OmegaConf.to_container(OmegaConf.load(PLUGIN.conf / "answerer" / "llm.yaml"), resolve=False)
    assert node.pop("_target_") == "ragsweep_answers.answering.LanguageModelAnswerer"
    assert node == {**{name: f"${{{name}}}" for name in node}, "max_tokens": None}
    assert {*node} == {*defaults_of(LanguageModelAnswerer)}
    with pytest.raises(ConfigError, match=r"reasoning: .* does not inherit"):
        with_settings(answerer, reasoning=object())
