"""Recall against latency of every engine, build time, size and memory: `python -m bench.engines SCIFACT FOLDER`.

The embeddings are those of wordllama, of SciFact's abstracts and of windows of one to three of their sentences. The
queries are SciFact's claims. Each engine runs in processes of its own: one builds, and in each round another one
searches. All engines are searched in turn, round by round, so that what else the machine does slows down all of them.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE
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
ROUNDS = 5  # of which the fastest counts for each query, because other users of the machine slow down the others
WINDOWS = 50_000
LOWEST_DRAWN = 0.6  # recall; nobody would ship less
RECALLS = (0.9, 0.95, 0.99)
WIDTHS = (10, 16, 32, 64, 128, 256, 512)
FEW_WIDTHS = (16, 64, 256)  # for Chroma, where each builds anew, and for Milvus, which is slow
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
        timed: The number of queries that are timed.
    """

    make: Callable[[Store, int, int], Any]
    setting: str
    values: tuple[int, ...]
    colour: str
    marker: str
    timed: int = QUERIES


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
    "chroma": Contestant(_chroma, "ef_search", FEW_WIDTHS, "#999999", "X"),
    "milvus": Contestant(_milvus, "ef_search", FEW_WIDTHS, "#882255", "<", timed=20),
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


def measure(names: Sequence[str], place: Path, server: Mapping[str, str]) -> pd.DataFrame:
    """The curves of engines over the passages in a folder: a row for every value of an engine's setting, and round.

    Args:
        names: Of the engines.
        place: The folder.
        server: The variables of the environment that name a server for pgvector.
    """
    builds = {name: _run("build", name, place, server) for name in names}
    rows = []
    for number in range(ROUNDS):
        for name in names:
            found, peak = _run("search", name, place, server)
            built, build_peak = builds[name]
            costs = {**built, "peak_mb": max(peak, build_peak)}
            rows += [{"engine": name, "passages": int(place.name), "round": number, **row, **costs} for row in found]
    return pd.DataFrame(rows)


def _run(task: str, name: str, place: Path, server: Mapping[str, str]) -> tuple[Any, float]:
    """What a task returns in a process of its own, and the most megabytes that the engine took meanwhile."""
    command = [sys.executable, "-m", "bench.engines", task, name, str(place)]
    process = psutil.Popen(command, env=os.environ | server, stdout=PIPE, stderr=PIPE, text=True)
    with peak_memory(psutil.Process() if name == "pgvector" else process) as peak:
        out, error = process.communicate()
    if process.returncode:
        sys.exit(f"{name}: {error}")
    print(f"{place.name} passages, {name}: {task} done", flush=True)
    return json.loads(out), peak[0]


@contextmanager
def peak_memory(top: psutil.Process) -> Iterator[list[float]]:
    """The most megabytes of a process and of all that it starts; without this process itself.

    Memory that several of them share counts once (proportional set size).
    """
    peak, ended = [0.0], threading.Event()

    def watch() -> None:
        while not ended.wait(0.5):
            with suppress(psutil.Error):  # one of them has ended
                family = {top, *top.children(recursive=True)} - {psutil.Process()}
                peak[0] = max(peak[0], sum(each.memory_full_info().pss for each in family) / 1e6)

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
    store, sizes = Store(str(place / name)), [passages.nbytes]
    index = CONTESTANTS[name].make(store, len(passages), value)
    if hasattr(index, "open_corpus"):
        return index.open_corpus(Corpus(passages, f"corpus-{place.name}", ("",) * len(passages))), sizes

    def keep(settings: Sequence[Any], build: Callable[[], Any]) -> Any:
        kept = store.get("index", [place.name, *settings], build)
        sizes[0] = sum(array.nbytes for array in kept.values())
        return kept

    return index.open(passages, keep), sizes


def build(name: str, place: Path) -> dict[str, float]:
    """Seconds until an engine can be searched, and seconds of processors, which other programs hardly change."""
    shutil.rmtree(place / name, ignore_errors=True)
    start, used = time.perf_counter(), _processor_seconds()
    _open(name, place, CONTESTANTS[name].values[0])
    return {"build_s": time.perf_counter() - start, "build_processor_s": _processor_seconds() - used}


def _processor_seconds() -> float:
    """What this process has used, and all others that its parent has started: a server, too."""
    parent = psutil.Process().parent()
    assert parent is not None
    times = [each.cpu_times() for each in (parent, *parent.children(recursive=True))]
    ended = sum(each.children_user + each.children_system for each in times)
    return float(ended + sum(each.user + each.system for each in times[1:]))


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
        times = [1000 * _seconds(find, query[None]) for query in queries[: CONTESTANTS[name].timed]]
        rows.append({"value": value, "recall": float(recall), "times_ms": times, "disk_mb": size / 1e6})
    return rows


def _seconds(find: Callable[..., Any], query: Any) -> float:
    start = time.perf_counter()
    find(query, TOP)
    return time.perf_counter() - start


def over_rounds(rounds: pd.DataFrame) -> pd.DataFrame:
    """The rows of all rounds as one for each value; the latency is the median over queries of the fastest round."""
    costs = {"build_s": "first", "build_processor_s": "first", "disk_mb": "first", "peak_mb": "max"}
    grouped = rounds.groupby(["passages", "engine", "value"], sort=False, as_index=False)
    curves: pd.DataFrame = grouped.agg({"recall": "median", "times_ms": list, **costs})
    curves["latency_ms"] = [float(np.median(np.min(times, axis=0))) for times in curves.pop("times_ms")]
    return curves


def at_equal_recall(curves: pd.DataFrame) -> pd.DataFrame:
    """For every engine and recall, the latency of the fastest setting that reaches it, and what the index costs."""
    rows = []
    for (passages, engine), curve in curves.groupby(["passages", "engine"], sort=False):
        row = {"passages": f"{passages:,.0f}", "engine": engine}
        for recall in RECALLS:
            reached = curve[curve.recall >= recall]
            row[f"ms_at_{recall}"] = reached.latency_ms.min() if len(reached) else float("nan")
        costs = {name: curve[name].iloc[0] for name in ("build_s", "build_processor_s", "disk_mb", "peak_mb")}
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
                zorder=2 if contestant.setting else 3,
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
    """Measure engines, and draw the chart."""
    with ExitStack() as stack:
        server = {}
        if "pgvector" in names:
            sys.path.append(str(TESTS))
            tests = importlib.import_module("postgres")  # starts a server
            server["PGVECTOR_URL"] = tests.address(stack.enter_context(tests.postgres(*SERVER)))
        corpora = write_embeddings(scifact, folder / "embeddings")
        rounds = pd.concat([measure(names, corpus, server) for corpus in corpora])
    curves = over_rounds(rounds)
    curves.to_csv(folder / "engines_curves.csv", index=False)
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
