"""A sweep over the recorded answers of many systems to many questions, as a whole process."""

from __future__ import annotations

import csv
import json
import time
from pathlib import Path

import numpy as np

from bench.sweeps import Place
from bench.timing import Rows, Timing

WORDS = (
    "fever cough pain rash heart lung liver kidney acute chronic severe mild patient therapy dose guideline evidence "
    "symptoms findings pressure insulin oxygen antibiotic treatment diagnosis condition with shows because after of the"
).split()
LETTERS = np.array([*"ABCD"])
QUESTION, OPTION, REASONING = 25, 3, 40  # words
LIMIT_S = 60.0


def rows(folder: Path, *, quick: bool) -> Rows:
    """Seconds to measure, compare and report, compared with an acceptable wait."""
    questions, systems = (1_000, 4) if quick else (10_000, 20)
    place, answers = Place(folder / "answers"), _write(folder, questions, systems)
    start = time.perf_counter()
    place.sweep(
        "-m",
        "task=answers",
        "dataset=cases",
        "dataset.name=made up",
        f"dataset.cases={folder / 'cases.csv'}",
        "dataset.documents=null",
        "dataset.columns.relevant=null",
        "dataset.columns.options=[a,b,c,d]",
        "answerer=recorded",
        f"answerer.path={','.join(map(str, answers))}",
    )
    seconds = time.perf_counter() - start
    work = f"{questions:,} questions x {systems} recorded systems measured, compared and reported"
    yield Timing(work, f"a wait of {LIMIT_S:.0f} s", 1, [seconds], [LIMIT_S])


def _write(folder: Path, questions: int, systems: int) -> list[Path]:
    """Write cases, and the answers of systems that are right on 30 to 70 % of them. Returns the files of answers."""
    rng = np.random.default_rng(0)

    def words(number: int) -> str:
        return " ".join(rng.choice(WORDS, number))

    correct = rng.choice(LETTERS, questions)
    with (folder / "cases.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(("id", "question", *"abcd", "answer"))
        for number, letter in enumerate(correct):
            options = [f"{words(OPTION)} {place}" for place in range(len(LETTERS))]
            table.writerow((number, f"{words(QUESTION)}?", *options, letter))
    paths = [folder / f"system{number}.jsonl" for number in range(systems)]
    for path, share in zip(paths, np.linspace(0.3, 0.7, systems), strict=True):
        right = rng.random(questions) < share
        confidence = rng.normal(0.5 + 0.2 * right, 0.2).clip(0, 1)
        with path.open("w", encoding="utf-8") as file:
            for number, (letter, sure) in enumerate(zip(correct, confidence, strict=True)):
                answer = {
                    "id": str(number),
                    "answer": letter if right[number] else rng.choice(LETTERS[letter != LETTERS]),
                    "confidence": round(float(sure), 3),
                    "reasoning": f"{words(REASONING // 2)}. {words(REASONING // 2)}.",
                    "time_ms": float(rng.uniform(100, 2000)),
                    "tokens_in": int(rng.integers(100, 2000)),
                    "tokens_out": int(rng.integers(10, 300)),
                }
                file.write(json.dumps(answer) + "\n")
    return paths
