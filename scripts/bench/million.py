"""A large corpus as a user runs it: SciFact among a million other passages, `python -m bench.million SCIFACT OUTPUT`.

The other passages are made of random sentences of SciFact's abstracts, about 60 words each. Every row is a run of its
own in a new process, from the files to the record in MLflow.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

PASSAGES = 1_000_000
WORDS = 60
CONFIGURATIONS = {
    "sparse": ["retriever=sparse"],
    "dense, exact": ["retriever=dense", "index=exact"],
    "dense, faiss hnsw": ["retriever=dense", "index=hnsw"],
    "dense, faiss ivf_pq": [
        *["retriever=dense", "index=ivf_pq"],
        *["index.factory='IVF1024,PQ64'", "index.search.nprobe=32", "index.refine=4"],
    ],
    "hybrid, faiss ivf_pq": [
        *["retriever=hybrid", "index=ivf_pq"],
        *["index.factory='IVF1024,PQ64'", "index.search.nprobe=32", "index.refine=4"],
    ],
}


def write_corpus(scifact: Path, folder: Path, passages: int) -> None:
    """Write a dataset in BEIR's layout: SciFact with its judgments, and made-up passages up to a number."""
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    shutil.copyfile(scifact / "queries.jsonl", folder / "queries.jsonl")
    shutil.copyfile(scifact / "qrels" / "test.tsv", folder / "qrels" / "test.tsv")
    lines = (scifact / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [sentence for line in lines for sentence in sentences(json.loads(line)["text"])]
    with (folder / "corpus.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
        for number, text in enumerate(mixed(texts, passages - len(lines))):
            file.write(json.dumps({"_id": f"made-up-{number}", "title": "", "text": text}) + "\n")


def sentences(text: str) -> list[str]:
    """The sentences of a text that have more than a few words."""
    return [part for part in re.split(r"(?<=[.!?])\s+", text) if len(part.split()) > 5]


def mixed(texts: Sequence[str], count: int) -> Iterator[str]:
    """Passages of random sentences, each with at least so many words that the mean is about `WORDS`."""
    random = np.random.default_rng(0)
    lengths = np.array([len(sentence.split()) for sentence in texts])
    least = WORDS - lengths.mean() / 2
    for _ in range(count):
        drawn = random.integers(len(texts), size=WORDS)
        enough = int(np.searchsorted(np.cumsum(lengths[drawn]), least)) + 1
        yield " ".join(texts[number] for number in drawn[:enough])


def run(arguments: Sequence[str], folder: Path) -> tuple[float, float]:
    """Seconds and peak gigabytes of `ragsweep run`, in a new process."""
    command = [sys.executable, "-m", "ragsweep", "run", *arguments]
    environment = {**os.environ, "RAGSWEEP_PROJECT": str(folder)}
    start = time.perf_counter()
    with (folder / "log.txt").open("a", encoding="utf-8") as log:
        log.write(f"\n$ {' '.join(command)}\n")
        log.flush()
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"failed: {' '.join(command)}; see {folder / 'log.txt'}")
    return time.perf_counter() - start, usage.ru_maxrss / 1e6


def recorded(folder: Path) -> dict[str, float]:
    """The metrics of the newest run."""
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{folder / 'mlruns' / 'mlflow.db'}")
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    [newest] = client.search_runs(experiments, max_results=1)
    return dict(newest.data.metrics)


def table(scifact: Path, output: Path, names: Sequence[str] = tuple(CONFIGURATIONS)) -> pd.DataFrame:
    """Cost and quality of a first and of a second run of each configuration, also as `million.csv`."""
    folder = output.resolve() / "million"
    data = folder / f"scifact_among_{PASSAGES}"
    if not data.is_dir():
        write_corpus(scifact, data, PASSAGES)
    common = ["dataset=beir", f"dataset.path={data}", "encoder=wordllama", "k=10"]
    rows: list[dict[str, object]] = []
    for name in names:
        first_s, peak_gb = run([*common, *CONFIGURATIONS[name]], folder)
        metrics = recorded(folder)
        again_s, _ = run([*common, *CONFIGURATIONS[name]], folder)
        rows.append({
            "configuration": name,
            "first_s": first_s,
            "again_s": again_s,
            "peak_gb": peak_gb,
            "latency_ms": metrics["latency/mean_ms"],
            "ndcg": metrics["ndcg"],
            "recall_of_exact": metrics.get("index/recall", float("nan")),
            "index_gb": metrics.get("index/bytes", float("nan")) / 1e9,
        })  # fmt: skip
        pd.DataFrame(rows).to_csv(output / "million.csv", index=False)
        print("  ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    return pd.DataFrame(rows)


if __name__ == "__main__":
    table(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:] or tuple(CONFIGURATIONS))
