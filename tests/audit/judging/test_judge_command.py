"""`ragsweep judge` from the questions to a decision, where it is kept, and the judgments as a file for a sweep."""

import html
import io
import json
import os
import re
import signal
import sys
import urllib.request

import pytest
from application import succeeded
from endpoint_server import EndpointServer, completion
from sklearn.metrics import cohen_kappa_score

from ragsweep.core.errors import RagsweepError, TrackingError
from ragsweep.models.language.response import grade_in
from ragsweep_audit.judging.deciding_by_judgments import verify_alone

THINGS = "iron tea milk salt rice oil soap rope lamp clay".split()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Text files, and `judgments.qrels`: what a judge would say."""
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "texts").mkdir()
    for number, thing in enumerate(THINGS):
        other, third = (THINGS[(number + step) % len(THINGS)] for step in (3, 4))
        parts = f"{other} is kept. " * (number % 4), f"{third} how dry " * (number % 3), "is " * number
        (folder / "texts" / f"{thing}.txt").write_text(" ".join([f"About {thing}.", *parts]))
    lines = [f"{number} 0 {thing}.txt 1" for number, thing in enumerate(THINGS, start=1)]
    (folder / "judgments.qrels").write_text("\n".join(lines) + "\n")
    return folder


def settings(corpus, judged):
    """The settings of this corpus, with questions of which so many are judged."""
    answers = {thing: [f"{thing}.txt"] for thing in THINGS[:judged]}
    rows = [{"query": f"How is {thing} kept?", "relevant_docs": answers.get(thing, [])} for thing in THINGS]
    questions = corpus / f"questions_{judged}.json"
    questions.write_text(json.dumps(rows))
    of_data = ["corpus=text", f"corpus.path={corpus}/texts", "questions=table", f"questions.path={questions}"]
    return [*of_data, "questions.unit=document", "retriever=sparse", "retriever.k1=0,1.5", "k=4"]


def judge(application, *arguments, keys=""):
    """Run the command in this process with these keys as its input."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO(keys))
        return application.script_here("judge", *arguments)


@pytest.fixture
def data(corpus):
    return settings(corpus, 0)


@pytest.fixture
def run(application, data):
    """Run the command on settings that are not judged, but for those that are given."""

    def run(*arguments, keys=""):
        given = tuple(argument.partition("=")[0] for argument in arguments)
        names = [setting.partition("=")[0] for setting in data]
        is_given = [name in given or name.startswith(tuple(f"{one}." for one in given)) for name in names]
        defaults = [setting for setting, is_other in zip(data, is_given, strict=True) if not is_other]
        return judge(application, *defaults, *arguments, keys=keys)

    return run


@pytest.fixture
def source(corpus):
    return "--from", str(corpus / "judgments.qrels")


def record_of(journal):
    return json.loads(journal.with_suffix(".decision.json").read_text())["judged"]


def test_a_simulated_judge_decides_once_it_may_and_the_decision_is_computed_again(run, source):
    stopped = run(*source, "--budget", "2")
    assert stopped.returncode == 1
    assert "Not decided after 2 judgments" in stopped.stdout
    decided = succeeded(run(*source)).stdout.splitlines()[-5:-1]
    assert succeeded(run(*source, "--verify")).stdout.splitlines()[-4:] == decided


def test_a_person_at_the_terminal_is_asked_and_the_judgments_are_a_dataset(application, data, run):
    process = run("--out", "judged.tsv", keys="1 0 ? u 0 1 x q")
    assert process.returncode == 1, process.stderr
    assert "Question: How is" in process.stdout
    assert "Not decided after 4 judgments" in process.stdout
    assert "a sweep on it measures too low" in process.stdout
    assert len((application.home / "judged.tsv").read_text().splitlines()) == 1 + 4
    settings = [setting for setting in data if not setting.startswith("retriever.k1")]
    succeeded(application.script_here("run", *settings, "dataset.qrels=judged.tsv"))
    process = run("--journal", "unsure.jsonl", keys="?" * 99)
    assert process.returncode == 1, process.stderr
    assert "could not be told" in process.stdout


def test_a_second_judge_is_refused_while_one_is_asked(application, data, run):
    def wait_for_question():
        while not first.stdout.readline().startswith("Relevant?"):
            pass

    reading, writing = os.pipe()
    first = application.begin("judge", *data, stdin=reading)
    wait_for_question()
    second = run("--judge", "kim", keys="1 0 1 q")
    assert second.returncode == 2
    assert "judged.jsonl: is in use by another ragsweep judge" in second.stderr.splitlines()[-1]
    os.write(writing, b"1\n")
    wait_for_question()
    first.send_signal(signal.SIGINT)
    ended = first.communicate(timeout=60)[0]
    os.close(writing)
    os.close(reading)
    assert "1 judgment kept" in ended
    assert run("--judge", "kim", keys="0 q").returncode == 1
    assert record_of(application.home / "judged.jsonl")["judgments"] == 2


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


# Guesses of a language model


def model_at(server, application):
    """The settings of a model at this server, and a store of its responses."""
    model = ["language_model=openai", "language_model.model=m", f"language_model.base_url={server.url}"]
    return ["--guess", *model, "language_model.api_key_env=null", f"store.path={application.home}/store"]


@pytest.mark.extra("openai")
def test_guesses_are_asked_once_kept_in_the_journal_and_compared_with_the_judge(application, run, source):
    def reply(prompt, times):
        return completion(f'{{"grade": {len(prompt) % 2}}}' if len(prompt) % 5 else "I cannot say.")

    with EndpointServer(reply) as server:
        model = model_at(server, application)
        output = succeeded(run(*source, *model)).stdout
        asked = len(server.requests)
        succeeded(run(*source, *model))
        succeeded(run(*source, *model, "--journal", "other.jsonl"))
        assert len(server.requests) == asked > 0
    other = run(*source, *[setting.replace("model=m", "model=other") for setting in model])
    assert other.returncode == 2
    assert "was begun with guesses of another language model" in other.stderr
    journal = application.home / "simulated.jsonl"
    record = record_of(journal)["guesses"]
    head, *events = map(json.loads, journal.read_text().splitlines())
    guesses = {tuple(pair[:2]): guess for pair, guess in zip(head["pairs"], head["guessed"], strict=True)}
    draws = {event["number"]: (event["query_id"], event["unit"]) for event in events if event["event"] == "draw"}
    answers = [event for event in events if event["event"] == "answer" and not event["again"]]
    pairs = [(answer["grade"], guesses[draws[answer["number"]]]) for answer in answers]
    pairs = [(grade, guess) for grade, guess in pairs if guess is not None]
    assert 0 < len(pairs) <= len(answers)
    assert record["kappa"] == pytest.approx(cohen_kappa_score(*zip(*pairs, strict=True)))
    assert record["by_grade"]["1"] == {"judged": sum(grade for grade, _ in pairs), "same": pairs.count((1, 1))}
    assert f"equals the judgment in {record['same']} of {record['judged']} cases" in output
    for text in (output, succeeded(run(*source, "--verify")).stdout):
        assert f"kappa {record['kappa']:.2f}" in text
    run(*source, "--journal", "without.jsonl")
    without = run(*source, "--guess", "--journal", "without.jsonl")
    assert (without.returncode, "was begun without guesses" in without.stderr) == (2, True)


@pytest.mark.extra("openai")
def test_a_damaged_journal_is_refused_before_the_model_guesses(application, run, source):
    damaged = application.home / "simulated.jsonl"
    with EndpointServer(lambda prompt, times: completion('{"grade": 1}')) as server:
        given = [*source, *model_at(server, application)]
        for content in ('{"schema": 1}\n', "my notes", '{"schema": 1, "strategy": "race", "met\n'):
            damaged.write_text(content)
            refused = run(*given)
            assert (refused.returncode, "is no journal" in refused.stderr) == (2, True), content
        assert not server.requests
        damaged.write_text('{"schema": 1, "stra')  # a process was killed while it wrote this
        succeeded(run(*given))
        assert server.requests


@pytest.mark.extra("openai")
def test_a_model_that_reasons_is_told_the_option_that_gives_it_more_tokens(application, run, source):
    with EndpointServer(lambda prompt, times: completion("<think>Let me", finish="length")) as server:
        refused = run(*source, *model_at(server, application), "--guess-tokens", "9")
        assert refused.returncode == 2
        assert re.search(r"cut off.*a larger --guess-tokens lets", refused.stderr)
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
    assert [(text, grade_in(text, 3)) for text, _ in GRADES] == GRADES


# What is refused

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
    (["retriever=returned,sparse", "retriever.path=HOME/ranked.jsonl"], "retriever=run_file with chunker=page"),
]


def test_what_cannot_be_judged_is_refused(application, run):
    (application.home / "other.qrels").write_text("1 0 nowhere.txt 1\n")
    (application.home / "ranked.jsonl").write_text("")
    for arguments, fact in REFUSED:
        process = run(*(argument.replace("HOME", str(application.home)) for argument in arguments))
        last = process.stderr.splitlines()[-1]
        assert (process.returncode, fact in last) == (2, True), (arguments, last)


# Where a decision is kept: beside the journal, and at the sweep in MLflow


def test_what_is_judged_without_a_sweep_is_kept_beside_its_journal_which_alone_shows_it(
    application, run, tmp_path, capsys
):
    assert run(keys="1 0 q").returncode == 1
    process = succeeded(run(keys="10" * 99))
    record = record_of(application.home / "judged.jsonl")
    assert record["decided"]
    assert record["headline"][0] in process.stdout
    assert not application.parents()
    text = (application.home / "judged.jsonl").read_text()
    moved = tmp_path / "elsewhere.jsonl"
    moved.write_text(text)
    assert verify_alone(moved)
    assert capsys.readouterr().out.splitlines()[:-1] == record["headline"]
    for change in (("[0, ", "[1, "), ('"grade": 1', '"grade": 0'), ("{", "[")):
        moved.write_text(text.replace(*change, 1))
        with pytest.raises(RagsweepError, match=r"elsewhere\.jsonl"):
            verify_alone(moved)


def test_a_sweep_has_the_judged_decision_beside_its_own_and_a_store_that_refuses_loses_nothing(
    application, corpus, capsys, monkeypatch
):
    def judged(journal, keys):
        at = [setting for setting in settings(corpus, 2) if ".path" in setting]
        return judge(application, parent.info.run_id, *at, "--journal", str(application.home / journal), keys=keys)

    succeeded(application.script_here("run", "-m", *settings(corpus, 2)))
    [parent] = application.parents()
    artifacts = application.artifacts(parent)
    before = {name: (artifacts / name).read_text() for name in ("decision.json", "report.html", "report.md")}
    undecided = judged("of_sweep.jsonl", "1 q")
    assert undecided.returncode == 1, undecided.stderr
    [parent] = application.parents()
    assert parent.data.tags["judged.decided"] == "false"
    assert "Not decided after 1 judgment" in parent.data.tags["judged.headline"]
    process = succeeded(judged("of_sweep.jsonl", "10" * 99))
    [parent] = application.parents()
    record = json.loads((artifacts / "judged" / "decision.json").read_text())
    assert record["decided"]
    assert {name: (artifacts / name).read_text() for name in before} == before
    assert parent.data.tags["judged.decided"] == "true"
    assert parent.data.tags["judged.headline"] in process.stdout
    assert parent.data.tags["judged.configuration"] == record["choice"]
    assert parent.data.metrics["judged/judgments"] == record["judgments"]
    journal = artifacts / "judged" / "judged.jsonl"
    assert journal.read_bytes() == (application.home / "of_sweep.jsonl").read_bytes()
    assert parent.data.tags["mlflow.note.content"].count("/artifacts/judged/decision.json)") == 1
    verdicts = [run.data.tags["judged"] for run in application.children()]
    assert sorted(verdicts) == sorted(row["verdict"] for row in record["configurations"])
    assert verify_alone(journal)
    assert record["headline"][0] in capsys.readouterr().out

    def refuse(*arguments):
        raise TrackingError("gone")

    monkeypatch.setattr("ragsweep.tracking.decision_tags.add_decision", refuse)
    process = succeeded(judged("refused.jsonl", "10" * 99))
    assert "not recorded in MLflow (gone)" in process.stdout
    assert record_of(application.home / "refused.jsonl")["decided"]
