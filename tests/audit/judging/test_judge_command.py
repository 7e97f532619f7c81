"""`ragsweep judge` from the questions to a decision, and the judgments back in a file that a sweep runs on."""

import html
import io
import json
import os
import re
import signal
import sys
import urllib.request

import pytest
from endpoint_server import EndpointServer, completion
from sklearn.metrics import cohen_kappa_score

from ragsweep.core.errors import RagsweepError
from ragsweep.models.language.response import grade_in
from ragsweep_audit.commands.judge import main


@pytest.fixture
def data(settings):
    return settings(0)


@pytest.fixture
def judge(data, tmp_path, monkeypatch, capsys):
    """Run the command in this process; its status and what it prints."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        given = {argument.partition("=")[0] for argument in arguments}
        defaults = [setting for setting in data if setting.partition("=")[0] not in given]
        monkeypatch.setattr(sys, "argv", ["ragsweep judge", *defaults, *arguments])
        status, captured = main(), capsys.readouterr()
        return status, captured.err + captured.out

    return run


@pytest.fixture
def typing(application, data, monkeypatch):
    """Run the command in this process with these keys as its input."""

    def run(keys, *arguments):
        monkeypatch.setattr(sys, "stdin", io.StringIO(keys))
        return application.script_here("judge", *data, *arguments)

    return run


@pytest.mark.usefixtures("long_work")
def test_a_simulated_judge_decides_and_the_decision_is_computed_again(judge, corpus):
    status, output = judge("--from", str(corpus / "judgments.qrels"))
    assert status == 0
    decided = output.splitlines()[-5:-1]
    again, repeated = judge("--from", str(corpus / "judgments.qrels"), "--verify")
    assert (again, repeated.splitlines()[-4:]) == (0, decided)


def test_a_person_at_the_terminal_is_asked_and_the_judgments_are_a_dataset(application, data, typing):
    process = typing("1 0 ? u 0 1 x q", "--out", "judged.tsv")
    assert process.returncode == 1, process.stderr
    assert "Question: How is" in process.stdout
    assert "Not decided after 4 judgments" in process.stdout
    assert "a sweep on it measures too low" in process.stdout
    assert len((application.home / "judged.tsv").read_text().splitlines()) == 1 + 4
    settings = [setting for setting in data if not setting.startswith("retriever.k1")]
    process = application.script_here("run", *settings, "dataset.qrels=judged.tsv")
    assert process.returncode == 0, process.stderr


def test_a_second_judge_is_refused_while_one_is_asked(application, data, typing):
    reading, writing = os.pipe()
    first = application.begin("judge", *data, stdin=reading)
    while not first.stdout.readline().startswith("Relevant?"):
        pass
    second = typing("1 0 1 q", "--judge", "kim")
    assert second.returncode == 2
    assert "judged.jsonl: is in use by another ragsweep judge" in second.stderr.splitlines()[-1]
    os.write(writing, b"1\n")
    while not first.stdout.readline().startswith("Relevant?"):
        pass
    first.send_signal(signal.SIGINT)
    ended = first.communicate(timeout=60)[0]
    os.close(writing)
    os.close(reading)
    assert "1 judgment kept" in ended
    assert typing("0 q", "--judge", "kim").returncode == 1
    record = json.loads((application.home / "judged.decision.json").read_text())
    assert record["judged"]["judgments"] == 2


def test_a_page_that_is_killed_goes_on_where_it_was(application, data):
    def opened():
        process = application.begin("judge", *data, "--page")
        return process, next(line for line in process.stdout if "Judge at" in line).split()[2]

    def shown(address):
        return urllib.request.urlopen(address).read().decode()

    def give(address, page, answer):
        """The page that the browser is led to."""
        [asked] = re.findall(r'name="asked" value="(.*?)"', page)
        return urllib.request.urlopen(address, f"asked={asked}&answer={answer}".encode()).read().decode()

    def question(page):
        return re.findall(r'<(?:h1|p) id="(?:query|where)">(.*?)</', page)

    process, address = opened()
    second = give(address, shown(address), "1")
    process.kill()
    process.communicate()
    process, address = opened()
    page = shown(address)
    assert question(page) == question(second)
    assert 'role="status">after 1: ' in page
    ended = give(address, page, "q")
    printed = process.communicate()[0]
    assert all(html.unescape(line) in printed for line in re.findall("<p>(.*?)</p>", ended))
    assert "<p>Not decided after 1 judgment" in ended
    assert process.returncode == 1


def model_at(server, tmp_path):
    """The settings of a model at this server, and a store of its responses."""
    model = ["language_model=openai", "language_model.model=m", f"language_model.base_url={server.url}"]
    return [*model, "language_model.api_key_env=null", f"store.path={tmp_path}/store"]


@pytest.mark.extra("openai")
@pytest.mark.usefixtures("processes")
def test_guesses_are_asked_once_kept_in_the_journal_and_compared_with_the_judge(judge, corpus, tmp_path):
    def reply(prompt, times):
        return completion(f'{{"grade": {len(prompt) % 2}}}' if len(prompt) % 5 else "I cannot say.")

    source = "--from", str(corpus / "judgments.qrels")
    with EndpointServer(reply) as server:
        model = model_at(server, tmp_path)
        status, output = judge(*source, "--guess", *model)
        asked = len(server.requests)
        assert (status, judge(*source, "--guess", *model)[0]) == (0, 0)
        assert judge(*source, "--guess", *model, "--journal", "other.jsonl")[0] == 0
        assert len(server.requests) == asked > 0
    with pytest.raises(RagsweepError, match="was begun with guesses of another language model"):
        judge(*source, "--guess", *[setting.replace("model=m", "model=other") for setting in model])
    record = json.loads((tmp_path / "simulated.decision.json").read_text())["judged"]["guesses"]
    head, *events = [json.loads(line) for line in (tmp_path / "simulated.jsonl").read_text().splitlines()]
    guesses = {tuple(pair[:2]): guess for pair, guess in zip(head["pairs"], head["guessed"], strict=True)}
    draws = {event["number"]: (event["query_id"], event["unit"]) for event in events if event["event"] == "draw"}
    answers = [event for event in events if event["event"] == "answer" and not event["again"]]
    pairs = [(answer["grade"], guesses[draws[answer["number"]]]) for answer in answers]
    pairs = [(grade, guess) for grade, guess in pairs if guess is not None]
    assert 0 < len(pairs) <= len(answers)
    assert record["kappa"] == pytest.approx(cohen_kappa_score(*zip(*pairs, strict=True)))
    assert record["by_grade"]["1"] == {"judged": sum(grade for grade, _ in pairs), "same": pairs.count((1, 1))}
    assert f"equals the judgment in {record['same']} of {record['judged']} cases" in output
    assert f"kappa {record['kappa']:.2f}" in output
    again, verified = judge(*source, "--verify")
    assert again == 0
    assert f"kappa {record['kappa']:.2f}" in verified
    judge(*source, "--journal", "without.jsonl")
    with pytest.raises(RagsweepError, match="was begun without guesses"):
        judge(*source, "--guess", "--journal", "without.jsonl")


@pytest.mark.extra("openai")
@pytest.mark.usefixtures("processes")
def test_a_damaged_journal_is_refused_before_the_model_guesses(judge, corpus, tmp_path):
    damaged = tmp_path / "damaged.jsonl"
    with EndpointServer(lambda prompt, times: completion('{"grade": 1}')) as server:
        given = ["--from", str(corpus / "judgments.qrels"), "--guess", *model_at(server, tmp_path)]
        for content in ('{"schema": 1}\n', "my notes", '{"schema": 1, "strategy": "race", "met\n'):
            damaged.write_text(content)
            with pytest.raises(RagsweepError, match="is no journal"):
                judge(*given, "--journal", "damaged.jsonl")
        assert not server.requests
        damaged.write_text('{"schema": 1, "stra')  # a process was killed while it wrote this
        assert judge(*given, "--journal", "damaged.jsonl")[0] == 0
        assert server.requests


@pytest.mark.extra("openai")
def test_a_model_that_reasons_is_told_the_option_that_gives_it_more_tokens(judge, corpus, tmp_path):
    with EndpointServer(lambda prompt, times: completion("<think>Let me", finish="length")) as server:
        given = [*model_at(server, tmp_path), "--guess-tokens", "9"]
        with pytest.raises(RagsweepError, match=r"cut off.*a larger --guess-tokens lets"):
            judge("--from", str(corpus / "judgments.qrels"), "--guess", *given)
        assert {request["max_completion_tokens"] for request in server.requests} == {9}


GRADES = [  # what a model replies, and the grade in it
    ('{"grade": 2}', 2),
    ('```json\n{"grade": 0}\n```', 0),
    ('<think>{"grade": 3}?</think>Here it is: {"grade": 1}', 1),
    ('{"grade": 2, "reason": "names the dose"}', 2),
    *((f'{{"grade": {value}}}', None) for value in ("4", "-1", "1.5", "true", '"2"')),
    *((text, None) for text in ('{"score": 2}', '{"grade": 2', "2", "The text is relevant: 2", "")),
]


def test_a_grade_is_a_field_of_json():
    assert [grade_in(text, 3) for text, _ in GRADES] == [grade for _, grade in GRADES]


@pytest.mark.usefixtures("long_work")
def test_a_budget_ends_it_undecided(judge, corpus):
    status, output = judge("--from", str(corpus / "judgments.qrels"), "--budget", "2")
    assert status == 1
    assert "Not decided after 2 judgments" in output


def test_a_judge_who_can_tell_nothing_decides_nothing(typing):
    process = typing("?" * 99)
    assert process.returncode == 1, process.stderr
    assert "could not be told" in process.stdout


REFUSED = [  # arguments, and what the refusal names
    (["--from", "absent.qrels"], "absent.qrels is not a file"),
    (["--from", "other.qrels"], "judges none of"),
    (["--margin", "-1"], "--margin"),
    (["--margin", "inf"], "--margin"),
    (["--seed", "-1"], "--seed"),
    (["--guess-tokens", "0"], "--guess-tokens"),
    (["--budget", "-3"], "--budget"),
    (["--journal", "."], "is a folder"),
    (["--verify"], "is not a file"),
    (["--grades", "0"], "--grades"),
    (["--judge", "\udcff"], "surrogate"),
    (["--port", "99999", "--page"], "--port"),
    (["--out", "."], "exists"),
    (["--out", "new.csv", "--budget", "0"], "ends in .tsv"),
    (["--level", "1"], "--level"),
    (["k=3,5"], "k: found several values"),
    (["retriever.k1=1"], "expected several configurations"),
    (["retriever.k1=0,x"], "retriever.k1"),
]


@pytest.mark.usefixtures("long_work")
def test_what_cannot_be_judged_is_refused(judge, tmp_path):
    (tmp_path / "other.qrels").write_text("1 0 nowhere.txt 1\n")
    for arguments, fact in REFUSED:
        with pytest.raises(RagsweepError, match=re.escape(fact)):
            judge(*arguments)


def test_a_retriever_with_passages_of_its_own_is_refused_with_what_can_be_judged_instead(data, tmp_path, monkeypatch):
    (tmp_path / "returned.jsonl").write_text("")
    system = ["retriever=returned,sparse", f"retriever.path={tmp_path / 'returned.jsonl'}", "k=3"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["ragsweep judge", *data[:5], *system])
    with pytest.raises(RagsweepError, match="retriever=run_file with chunker=page"):
        main()
