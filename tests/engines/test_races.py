"""A race between settings of a system that runs elsewhere: each question is paid for once, or never."""

import json
import time

import pandas as pd
import pytest
from application import succeeded

QUESTIONS = 80
SYSTEM = '''
"""Finds the document of a question the more often the better it is, and notes what it is asked."""
from pathlib import Path
import time

import numpy as np


def build(quality):
    def search(query):
        time.sleep(0.01)
        with Path("asked.txt").open("a") as file:
            file.write(f"{quality} {query}\\n")
        number = int(query.split()[1])
        luck = np.random.default_rng(number).random()
        return [{"id": f"d{number if luck < quality else (number + 1) % 80}"}]

    return search
'''


@pytest.fixture
def race(application):
    """A project with a system of its own, and a dataset for it; the arguments of a race between its settings."""
    home = application.home
    (home / "system.py").write_text(SYSTEM)
    (home / "beir/qrels").mkdir(parents=True)
    for name, letter, text in (("corpus", "d", "text"), ("queries", "q", "question")):
        rows = [{"_id": f"{letter}{n}", "title": "", "text": f"{text} {n}"} for n in range(QUESTIONS)]
        (home / f"beir/{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    lines = [f"q{number}\td{number}\t1" for number in range(QUESTIONS)]
    (home / "beir/qrels/test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *lines]))
    asked = ["retriever=callable", "retriever.call=system:build", "decision.metric=mrr", f"store.path={home}/store"]
    swept = "+retriever.settings.quality=0.1,0.2,0.8,0.9"
    return ["-m", "hydra/sweeper=race", "dataset=beir", f"dataset.path={home}/beir", *asked, swept, "k=1,3"]


def questions_of(application):
    """How many different questions each quality was asked; no more than the one that was interrupted twice."""
    lines = (application.home / "asked.txt").read_text().splitlines()
    assert len(lines) - len({*lines}) <= 1
    return pd.Series([line.split()[0] for line in {*lines}]).value_counts().to_dict()


@pytest.mark.usefixtures("processes")
def test_losers_are_asked_few_questions_and_the_others_each_question_once_also_after_a_kill(application, race):
    project = {"RAGSWEEP_PROJECT": str(application.home)}
    process = application.begin("run", *race, **project)
    log = application.home / "asked.txt"
    while not log.exists() or len(log.read_text().splitlines()) < 70:  # in the second round
        time.sleep(0.02)
    process.kill()
    process.communicate()
    assert 60 < sum(questions_of(application).values()) < 4 * QUESTIONS
    resumed = succeeded(application.script("run", *race, "tracking.resume=true", **project))
    assert "race: after 16" in resumed.stderr

    asked = questions_of(application)
    assert asked["0.9"] == QUESTIONS
    assert asked["0.1"] == asked["0.2"] < QUESTIONS / 2
    [parent] = application.parents()
    file = application.artifacts(parent) / "decision.json"
    record = json.loads(file.read_text())
    assert parent.info.status == "FINISHED"
    assert (record["race"]["of"], record["race"]["evaluations"]) == (8 * QUESTIONS, 2 * sum(asked.values()))
    assert record["choice"]["label"] == "quality 0.9"  # also where it is the only one left
    dropped = {run.info.run_name: run for run in application.children() if "race" in run.data.tags}
    assert dropped.keys() == {run["name"] for run in record["race"]["dropped"]}
    assert not {row["name"] for row in record["rows"]} & dropped.keys()
    assert len(record["rows"]) + len(dropped) == len(application.children()) == 8
    for run in dropped.values():
        number = asked[run.data.params["retriever.settings.quality"]]
        assert run.info.status == "FINISHED"
        assert run.data.tags["race"] == f"dropped after {number} of {QUESTIONS} questions"
        assert {*run.data.metrics} == {"race/mrr", "race/questions"}
        assert len(pd.read_csv(application.artifacts(run) / "results/race.csv")) == number

    options = [parent.info.run_id, "--stored", "--allow=system", f"store.path={application.home}/store"]
    assert "race: identical: " in succeeded(application.script("reproduce", *options, **project)).stdout
    assert questions_of(application) == asked
    for crafted in (3, record["race"] | {"dropped": 3}, record["race"] | {"block": 0}):  # anybody may have written it
        file.write_text(json.dumps(record | {"race": crafted}))
        refused = application.script_here("reproduce", *options, **project)
        assert refused.returncode == 2
        assert f"{parent.info.run_id}: its decision.json cannot be read (" in refused.stderr.splitlines()[-1]
