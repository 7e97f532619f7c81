"""Recall against latency of every engine, build time, size and memory: `python -m bench.engines SCIFACT FOLDER`.

The embeddings are those of wordllama, of SciFact's abstracts and of windows of one to three of their sentences. The
queries are SciFact's claims. Each engine runs in processes of its own: one builds, another one searches.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil

from bench.million import sentences
from ragsweep import retrieval
from ragsweep.core.style import dress, figure, save
from ragsweep.datasets import BeirDataset
from ragsweep.retrieval.indexes.engine import Corpus
from ragsweep.store.stage_store import Store
from ragsweep_engines.chroma import ChromaIndex
from ragsweep_engines.lancedb import LanceDbIndex
from ragsweep_engines.milvus import MilvusIndex
from ragsweep_engines.pgvector import PgvectorIndex
from ragsweep_engines.qdrant import QdrantIndex

TESTS = Path(__file__).resolve().parents[2] / "tests"
TOP = 10
QUERIES = 200
ROUNDS = 3  # of which the fastest counts, because other users of the machine slow down the others
WINDOWS = 100_000
LOWEST_DRAWN = 0.6  # recall; nobody would ship less
RECALLS = (0.9, 0.95, 0.99)
WIDTHS = (10, 16, 32, 64, 128, 256, 512)
CHROMA_WIDTHS = (16, 64, 256)  # each builds anew
PROBES = (1, 4, 8, 16, 32, 64, 128)
SERVER = ("shared_buffers=1GB", "maintenance_work_mem=1GB")  # PostgreSQL's own defaults are for a small machine


@dataclass(frozen=True)
class Contestant:
    """An engine with the setting of its search that is varied.

    Attributes:
        make: Makes the index for a store, a number of passages and a value of the setting.
        setting: Its name.
        values: Its values; one if there is nothing to vary.
        colour: Of its line.
        marker: Of its points.
    """

    make: Callable[[Store, int, int], Any]
    setting: str
    values: tuple[int, ...]
    colour: str
    marker: str


def _lists(passages: int) -> int:
    """As many lists as FAISS recommends at least: four times the root of the number of passages."""
    return int(4 * passages**0.5)


def _faiss_lists(_store: Store, passages: int, probes: int) -> Any:
    return retrieval.IvfPqIndex(_lists(passages), probes, subquantizers=64, refine=4)


def _lance_lists(store: Store, passages: int, probes: int) -> Any:
    return LanceDbIndex(store, kind="ivf_pq", lists=_lists(passages), probes=probes, subquantizers=64)


def _lance_graph(store: Store, _passages: int, width: int) -> Any:
    return LanceDbIndex(store, ef_search=width)


def _chroma(store: Store, _passages: int, width: int) -> Any:
    return ChromaIndex(store, ef_search=width)


def _milvus(store: Store, _passages: int, width: int) -> Any:
    return MilvusIndex(store, ef_search=width)


def _qdrant(store: Store, _passages: int, width: int) -> Any:
    return QdrantIndex(store, ef_search=width)


CONTESTANTS = {
    "exact": Contestant(lambda *_: retrieval.ExactIndex(), "", (0,), "#000000", "*"),
    "faiss hnsw": Contestant(lambda *a: retrieval.HnswIndex(ef_search=a[2]), "ef_search", WIDTHS, "#0072B2", "o"),
    "faiss ivf_pq": Contestant(_faiss_lists, "probes", PROBES, "#56B4E9", "s"),
    "qdrant": Contestant(_qdrant, "ef_search", WIDTHS, "#D55E00", "D"),
    "pgvector": Contestant(lambda *a: PgvectorIndex(ef_search=a[2]), "ef_search", WIDTHS, "#009E73", "^"),
    "lancedb hnsw": Contestant(_lance_graph, "ef_search", WIDTHS, "#CC79A7", "v"),
    "lancedb ivf_pq": Contestant(_lance_lists, "probes", PROBES, "#E69F00", "P"),
    "chroma": Contestant(_chroma, "ef_search", CHROMA_WIDTHS, "#999999", "X"),
    "milvus": Contestant(_milvus, "ef_search", WIDTHS, "#882255", "<"),
}


def write_embeddings(scifact: Path, folder: Path) -> Iterator[Path]:
    """A folder for each corpus, named by its size, with `passages.npy` and `queries.npy`."""
    collection = BeirDataset("SciFact", str(scifact)).load()
    abstracts = [document.text for document in collection.documents]
    parts = [sentences(text) for text in abstracts]
    windows = [" ".join(p[at : at + size]) for p in parts for size in (1, 2, 3) for at in range(len(p) - size + 1)]
    chosen = np.random.default_rng(0).permutation(len(windows))[:WINDOWS]
    asked = [query.text for query in collection.queries][:QUERIES]
    encoder = retrieval.WordLlamaEncoder()
    for texts in (abstracts, [windows[row] for row in np.sort(chosen)]):
        place = folder / str(len(texts))
        place.mkdir(parents=True, exist_ok=True)
        np.save(place / "passages.npy", encoder.encode(texts, "passage"))
        np.save(place / "queries.npy", encoder.encode(asked, "query"))
        yield place


def measure(name: str, place: Path) -> list[dict[str, Any]]:
    """The curve of an engine over the passages in a folder: a row for every value of its setting."""
    shutil.rmtree(place / "store", ignore_errors=True)
    with ExitStack() as stack:
        environment = dict(os.environ)
        if name == "pgvector":
            sys.path.append(str(TESTS))
            tests = importlib.import_module("postgres")  # starts a server
            environment["PGVECTOR_URL"] = tests.address(stack.enter_context(tests.postgres(*SERVER)))
        memory = stack.enter_context(peak_memory())
        for task in ("build", "search"):
            command = [sys.executable, "-m", "bench.engines", task, name, str(place)]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(f"{name}: {done.stderr}")
            if task == "build":
                build_s = json.loads(done.stdout)
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return [
        {"engine": name, "passages": int(place.name), **row, "build_s": build_s, "peak_mb": memory[0]} for row in rows
    ]


@contextmanager
def peak_memory() -> Iterator[list[float]]:
    """The most megabytes of all processes that this one has started, a server's among them.

    Memory that several of them share counts once (proportional set size).
    """
    peak, ended = [0.0], threading.Event()

    def watch() -> None:
        while not ended.wait(0.1):
            used = 0
            for process in psutil.Process().children(recursive=True):
                try:
                    used += process.memory_full_info().pss
                except psutil.Error:
                    continue
            peak[0] = max(peak[0], used / 1e6)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peak
    finally:
        ended.set()
        thread.join()


def _open(name: str, place: Path, value: int) -> tuple[Callable[..., Any], list[int]]:
    """The search of an engine, and the bytes of its index, which the store keeps."""
    passages = np.load(place / "passages.npy", mmap_mode="r")
    store, sizes = Store(str(place / "store")), [passages.nbytes]
    index = CONTESTANTS[name].make(store, len(passages), value)
    if hasattr(index, "open_corpus"):
        return index.open_corpus(Corpus(passages, f"corpus-{place.name}", ("",) * len(passages))), sizes

    def keep(settings: Sequence[Any], build: Callable[[], Any]) -> Any:
        kept = store.get("index", [place.name, *settings], build)
        sizes[0] = sum(array.nbytes for array in kept.values())
        return kept

    return index.open(passages, keep), sizes


def build(name: str, place: Path) -> float:
    """Seconds until an engine can be searched."""
    start = time.perf_counter()
    _open(name, place, CONTESTANTS[name].values[0])
    return time.perf_counter() - start


def search(name: str, place: Path) -> list[dict[str, Any]]:
    """Recall and latency for every value of an engine's setting."""
    queries = np.load(place / "queries.npy")
    best = retrieval.ExactIndex().open(np.load(place / "passages.npy"), lambda _, build: build())(queries, TOP).passages
    rows = []
    for value in CONTESTANTS[name].values:
        find, sizes = _open(name, place, value)
        found = find(queries, TOP)
        size = int(found.index_bytes[0]) if len(found.index_bytes) else sizes[0]
        recall = np.mean([np.isin(*pair).mean() for pair in zip(best, found.passages, strict=True)])
        times = np.array([[_seconds(find, queries[[row]]) for row in range(len(queries))] for _ in range(ROUNDS)])
        latency_ms = 1000 * float(np.median(times.min(axis=0)))
        rows.append({"value": value, "recall": float(recall), "latency_ms": latency_ms, "disk_mb": size / 1e6})
    return rows


def _seconds(find: Callable[..., Any], query: Any) -> float:
    start = time.perf_counter()
    find(query, TOP)
    return time.perf_counter() - start


def at_equal_recall(curves: pd.DataFrame) -> pd.DataFrame:
    """For every engine and recall, the latency of the fastest setting that reaches it, and what the index costs."""
    rows = []
    for (passages, engine), curve in curves.groupby(["passages", "engine"], sort=False):
        row = {"passages": f"{passages:,.0f}", "engine": engine}
        for recall in RECALLS:
            reached = curve[curve.recall >= recall]
            row[f"ms_at_{recall}"] = reached.latency_ms.min() if len(reached) else float("nan")
        costs = {name: curve[name].iloc[0] for name in ("build_s", "disk_mb", "peak_mb")}
        rows.append({**row, "best_recall": curve.recall.max(), **costs})
    return pd.DataFrame(rows)


def draw(curves: pd.DataFrame, path: Path) -> None:
    """The curves of all engines, a panel for each corpus."""
    sizes = list(dict.fromkeys(curves.passages))
    drawing = figure(
        12, 5.4, f"Which engine finds the exact top {TOP} fastest?",
        "One line an engine, one point a value of its search setting; up and to the left is better",
        right=2.4, bottom=0.6,
    )  # fmt: skip
    panels = drawing.subplots(1, len(sizes), sharex=True, sharey=True, squeeze=False, gridspec_kw={"wspace": 0.08})[0]
    for axes, size in zip(panels, sizes, strict=True):
        for name, contestant in CONTESTANTS.items():
            curve = curves[(curves.engine == name) & (curves.passages == size)].sort_values("value")
            label = f"{name}, by {contestant.setting}" if contestant.setting else name
            axes.plot(
                curve.latency_ms, curve.recall, color=contestant.colour, marker=contestant.marker,
                markersize=5 if contestant.setting else 12, linewidth=1.5, label=label,
            )  # fmt: skip
        axes.set_xscale("log")
        axes.set_ylim(LOWEST_DRAWN, 1.01)
        axes.set_title(f"{size:,.0f} passages, 256 dimensions", fontsize=10)
        axes.set_xlabel("median time of one query alone (ms, log)")
        axes.xaxis.set_major_formatter("{x:g}")
        dress(axes, grid="both")
    panels[0].set_ylabel(f"recall of the exact top {TOP}")
    panels[-1].legend(frameon=False, loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=9)
    save(drawing, path)


def table(scifact: Path, folder: Path, names: Sequence[str] = tuple(CONTESTANTS)) -> pd.DataFrame:
    """Measure engines, and draw the chart with those that were measured into this folder before."""
    place = folder / "engines_curves.csv"
    curves = pd.read_csv(place) if place.exists() else pd.DataFrame({"engine": [], "passages": []})
    curves = curves[~curves.engine.isin(names)]
    for corpus in write_embeddings(scifact, folder / "embeddings"):
        for name in names:
            curves = pd.concat([curves, pd.DataFrame(measure(name, corpus))])
            curves.to_csv(place, index=False)
            print(f"{corpus.name} passages, {name}: done", flush=True)
    equal = at_equal_recall(curves)
    equal.to_csv(folder / "engines.csv", index=False)
    draw(curves, folder / "engines.png")
    return equal


if __name__ == "__main__":
    first, *others = sys.argv[1:]
    if first in ("build", "search"):
        print(json.dumps({"build": build, "search": search}[first](others[0], Path(others[1]))))
    else:
        measured = table(Path(first), Path(others[0]), others[1:] or tuple(CONTESTANTS))
        print(measured.to_string(index=False, float_format="{:.3g}".format))
