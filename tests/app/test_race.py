"""A race between configurations: what it asks, drops, records, and how it goes on after a kill."""

import json

import pandas as pd
import pytest

QUESTIONS = 80
RETRIEVER = '''
"""A retriever that finds the document of a question the more often the better it is, and counts what it is asked."""
from dataclasses import dataclass
from pathlib import Path
import time

import numpy as np

from ragsweep.retrieval import Ranker, Ranking
from ragsweep.store.stage_store import Store


@dataclass(frozen=True)
class Counting(Ranker):
    quality: float
    store: Store
    seconds: float = 0.0

    def rank(self, search, depth):
        with Path("asked.txt").open("a") as file:
            file.writelines(f"{self.quality} {query}\\n" for query in search.queries)
        time.sleep(self.seconds * len(search.queries))
        passages = np.full((len(search.queries), 1), 0)
        for row, query in enumerate(search.queries):
            number = int(query.split()[1])
            luck = np.random.default_rng(number).random()
            passages[row] = number if luck < self.quality else (number + 1) % len(search.passages)
        return Ranking(passages, np.ones(passages.shape), latency_ms=np.ones(len(passages)))
'''


@pytest.fixture
def race(application):
    """A project with a retriever of its own; the arguments of its race."""
    home = application.home
    (home / "counting.py").write_text(RETRIEVER)
    documents = [{"_id": f"d{number}", "title": "", "text": f"text {number}"} for number in range(QUESTIONS)]
    queries = [{"_id": f"q{number}", "text": f"question {number}"} for number in range(QUESTIONS)]
    folder = home / "beir"
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in documents))
    (folder / "queries.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in queries))
    lines = [f"q{number}\td{number}\t1\n" for number in range(QUESTIONS)]
    (folder / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(lines))
    (home / "conf/retriever").mkdir(parents=True)
    (home / "conf/retriever/counting.yaml").write_text(
        "_target_: counting.Counting\nquality: 0.5\nstore: ${store}\nseconds: 0.0\n"
    )
    dataset = [
        "dataset=beir",
        f"dataset.path={folder}",
        "chunker=page",
        "retriever=counting",
        "decision.metric=mrr",
        f"store.path={home}/store",
    ]
    return home, ["-m", "hydra/sweeper=race", *dataset, "retriever.quality=0.1,0.2,0.85,0.9"]


def asked(folder):
    """How often each quality was asked a question, by question."""
    lines = (folder / "asked.txt").read_text().splitlines()
    table = pd.DataFrame([line.split(" ", 1) for line in lines], columns=["quality", "query"])
    return table.value_counts().unstack(0)


def test_losers_are_asked_few_questions_and_the_others_all_of_them(application, race):
    folder, arguments = race
    process = application.in_new_interpreter("run", *arguments, "k=1,3", project=folder)
    assert process.returncode == 0, process.stderr
    times = asked(folder)
    assert times.max().max() == 1  # for both cutoffs, in the rounds and at the end
    assert times.sum().to_dict() == {"0.1": 16, "0.2": 16, "0.85": QUESTIONS, "0.9": QUESTIONS}

    [parent] = application.parents()
    record = json.loads((application.artifacts(parent) / "decision.json").read_text())
    assert record["race"]["of"] == 8 * QUESTIONS
    assert record["race"]["evaluations"] == 2 * (16 + 16 + 2 * QUESTIONS)
    assert {row["name"] for row in record["rows"]} == {f"quality={q} k={k}" for q in (0.85, 0.9) for k in (1, 3)}
    dropped = [run for run in application.children() if "race" in run.data.tags]
    assert {run.data.tags["race"] for run in dropped} == {f"dropped after 16 of {QUESTIONS} questions"}
    for run in dropped:
        assert run.info.status == "FINISHED"
        assert {*run.data.metrics} == {"race/mrr", "race/questions"}
        assert len(pd.read_csv(application.artifacts(run) / "results/race.csv")) == 16
    assert len(dropped) == len(application.children()) - 4 == 4
