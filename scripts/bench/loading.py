"""Time and memory of reading documents and questions: `python -m bench.loading FORMAT PATH`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from bench.scale import peak_mb, texts
from bench.timing import Rows, Timing

LINE_WORDS = 30
SCIFACT_S, SCIFACT_MB = 1.0, 150.0
LINES_PER_S, MILLION_MB = 100_000, 2_000.0


def rows(folder: Path, scifact: Path, rounds: int, *, quick: bool) -> Rows:
    """Processor time and memory, compared with limits. A file is read in a new process each time."""
    if scifact.is_dir():
        measured = [_measured("beir", scifact) for _ in range(rounds)]
        yield from _rows("SciFact read: documents, queries and judgments", measured, SCIFACT_S, SCIFACT_MB)
    lines = 100_000 if quick else 1_000_000
    path = folder / "lines.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number, text in enumerate(texts(lines, LINE_WORDS, 0)):
            file.write(json.dumps({"id": str(number), "text": text}) + "\n")
    measured = [_measured("table", path) for _ in range(3)]  # one is at the mercy of the machine
    work = f"{lines:,} lines of JSON with {LINE_WORDS} words each read as documents"
    yield from _rows(work, measured, lines / LINES_PER_S, MILLION_MB)


def _rows(work: str, measured: list[tuple[float, float]], seconds: float, mb: float) -> Rows:
    taken, memory = map(list, zip(*measured, strict=True))
    yield Timing(work, f"a limit of {seconds:g} s", 1, taken, [seconds] * len(taken), "processor time")
    note = "beyond what importing the libraries takes"
    yield Timing(f"{work}, memory", f"a limit of {mb:g} MB", 1, memory, [mb] * len(memory), note, "MB")


def _measured(kind: str, path: Path) -> tuple[float, float]:
    """Seconds and megabytes of a new process, so that its peak memory is separate."""
    command = [sys.executable, "-m", "bench.loading", kind, str(path)]
    place = str(Path(__file__).resolve().parents[1])
    done = subprocess.run(command, cwd=place, env={**os.environ, "PYTHONPATH": place}, capture_output=True, check=True)
    seconds, mb = json.loads(done.stdout)
    return seconds, mb


def main(kind: str, path: str) -> tuple[float, float]:
    """Read a file in this process, whose garbage is collected as in a run."""
    import gc

    from ragsweep.datasets import TableCorpus, beir_dataset

    gc.set_threshold(50_000, 10, 10)
    before, start = peak_mb(), time.process_time()
    kept = beir_dataset("read", path).load() if kind == "beir" else TableCorpus(path).read()
    seconds = time.process_time() - start
    assert kept
    return seconds, peak_mb() - before


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2])))
