"""Compare the speed of ragsweep with its peers on this machine.

python scripts/benchmark.py                    # everything: about two hours
python scripts/benchmark.py --quick            # small sizes, three minutes; fails below half of a target
python scripts/benchmark.py --only sweeps dense
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import pandas as pd
from bench import answers, encoding, loading, measures, million, reporting, retrieval, scale, sweeps
from bench.timing import Rows, Timing

from ragsweep.core.style import BEST, dress, figure, save
from ragsweep.datasets import Dataset, PageChunker, RecursiveChunker, beir_dataset, pdf_dataset
from ragsweep.store.stage_store import Store

CLONE = Path(__file__).resolve().parents[1]
BENCHMARKS = (
    "sweeps",
    "loop",
    "sparse",
    "dense",
    "metrics",
    "encoding",
    "report",
    "answers",
    "loading",
    "thousand",
    "scale",
    "million",
)
SIZES = {False: (10_000, 100_000, 1_000_000), True: (1_000, 10_000)}


def main() -> int:
    """Run the chosen benchmarks. Returns 1 if a ratio is below half of its target."""
    parser = argparse.ArgumentParser(description="Compare the speed of ragsweep with its peers on this machine.")
    parser.add_argument("--quick", action="store_true", help="small sizes, few rounds")
    parser.add_argument(
        "--only", nargs="+", choices=BENCHMARKS, default=BENCHMARKS, metavar="NAME", help=", ".join(BENCHMARKS)
    )
    parser.add_argument("--rounds", type=int, help="how often each row is timed; default 1 with --quick, else 7")
    parser.add_argument(
        "--scifact", type=Path, default=scifact_folder(), help="folder of SciFact in the layout of BEIR"
    )
    parser.add_argument("--output", type=Path, default=CLONE / "outputs" / "benchmark", help="folder of the results")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    rows: list[Timing] = []
    with tempfile.TemporaryDirectory() as folder:
        for row in chain.from_iterable(chosen_rows(arguments, Path(folder))):
            rows.append(row)
            print(line(row), flush=True)
            as_table(rows).to_csv(arguments.output / "benchmark.csv", index=False)
    if rows:
        columns = ["work", "peer", "ours", "peers", "unit", "ratio", "ratio_min", "ratio_max", "target"]
        print(f"\n{as_table(rows)[columns].to_string(index=False, float_format='{:.3g}'.format)}")
        draw(rows, arguments.output / "benchmark.png")
    broken = [row for row in rows if row.broken]
    for row in broken:
        print(f"below half of its target: {row.work} against {row.peer}", file=sys.stderr)
    return 1 if broken else 0


def chosen_rows(arguments: argparse.Namespace, folder: Path) -> Iterator[Rows]:
    """The rows of each chosen benchmark."""
    quick, only = arguments.quick, arguments.only
    rounds = arguments.rounds or (1 if quick else 7)
    dataset = corpus(arguments.scifact, quick=quick)
    if "metrics" in only:
        yield measures.rows(2_000 if quick else 10_000, 3 * rounds)
    if "dense" in only:
        yield retrieval.dense(50_000 if quick else 200_000, 133, rounds)
    if "sparse" in only:
        searched = ("synthetic", scale.texts(5_000, 200, 0), scale.texts(100, 12, 1)) if quick else named(dataset)
        yield retrieval.sparse(*searched, rounds if quick else 3 * rounds)
    store = Store(str(folder / "store" if quick else arguments.output / "store"))  # encoding SciFact takes minutes
    if "dense" in only:
        yield retrieval.approximate(dataset, store, rounds)
    if "loop" in only:
        yield retrieval.loop(dataset, store, rounds, sample=3, target=50 if quick else 100)
    if "encoding" in only:
        yield encoding.rows(dataset, 128 if quick else 500, store, rounds, quick=quick)
    if "sweeps" in only:
        yield sweeps.rows(folder, rounds, quick=quick)
    if "report" in only:
        yield reporting.rows(rounds, quick=quick)
    if "answers" in only:
        yield answers.rows(folder, quick=quick)
    if "loading" in only:
        yield loading.rows(folder, arguments.scifact, rounds, quick=quick)
    if "thousand" in only and not quick:
        yield sweeps.thousand(folder)
    if "scale" in only:
        sizes(SIZES[quick], 100 if quick else 1_000, arguments.output)
    large(arguments)


def named(dataset: Dataset) -> tuple[str, Sequence[str], Sequence[str]]:
    """A dataset's name, passages and queries."""
    return dataset.name, dataset.texts, [query.text for query in dataset.queries]


def scifact_folder() -> Path:
    """The folder where the tests look for SciFact."""
    return Path(os.environ.get("RAGSWEEP_REAL_DATA", CLONE.parent / "shared" / "data")) / "scifact"


def corpus(scifact: Path, *, quick: bool) -> Dataset:
    """The test split of SciFact. With --quick, or if SciFact is missing, the bundled manual."""
    if scifact.is_dir() and not quick:
        return Dataset.from_collection(beir_dataset("SciFact", str(scifact)).load(), PageChunker())
    manual = CLONE / "data" / "cho_manual"
    documents, queries = str(manual / "documents"), str(manual / "test_queries.json")
    return Dataset.from_collection(pdf_dataset("the bundled manual", documents, queries).load(), RecursiveChunker())


def line(row: Timing) -> str:
    """A row of the table, as text."""
    low, high = min(row.ratios), max(row.ratios)
    target = "" if row.target is None else f"  target {row.target:.3g}: {'reached' if row.reached else 'MISSED'}"
    return (
        f"{row.work}\n    {median(row.ours, row.unit)} against {median(row.theirs, row.unit)} of {row.peer}: "
        f"{row.ratio:.3g} times as fast [{low:.3g}, {high:.3g}]{target}{'; ' if row.note else ''}{row.note}"
    )


def median(values: Sequence[float], unit: str) -> str:
    """The median as text with its unit."""
    value = pd.Series(values).median()
    if unit != "s":
        return f"{value:.3g} {unit}"
    return f"{value:.3g} s" if value >= 1 else f"{1000 * value:.3g} ms"


def as_table(rows: Sequence[Timing]) -> pd.DataFrame:
    """All measurements as a table."""
    return pd.DataFrame(
        {
            "work": row.work,
            "peer": row.peer,
            "ours": pd.Series(row.ours).median(),
            "peers": pd.Series(row.theirs).median(),
            "unit": row.unit,
            "ratio": row.ratio,
            "ratio_min": min(row.ratios),
            "ratio_max": max(row.ratios),
            "target": row.target,
            "rounds": len(row.ours),
            "note": row.note,
        }
        for row in rows
    )


def draw(rows: Sequence[Timing], path: Path) -> None:
    """One bar per row: how many times as fast as its peer, and the target."""
    drawing = figure(
        11, 1.4 + 0.42 * len(rows), "How many times as fast as its peers is ragsweep?",
        "Bars: median of the rounds; lines: minimum and maximum; diamond: target; 1: equally fast",
        left=6, right=0.7, bottom=0.5, top=0.8,
    )  # fmt: skip
    axes = drawing.subplots()
    for place, row in enumerate(rows):
        axes.barh(place, row.ratio - 1, left=1, color="#0072B2" if row.reached else "#E69F00", height=0.6)
        axes.plot([min(row.ratios), max(row.ratios)], [place, place], color="#444444", linewidth=1.5)
        axes.text(max(row.ratios) * 1.1, place, f"{row.ratio:.3g}", va="center", fontsize=8)
        if row.target is not None:
            axes.plot(row.target, place, "D", color=BEST, markersize=5)
    axes.set_yticks(range(len(rows)), [f"{row.work}\nagainst {row.peer}" for row in rows], fontsize=7)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.axvline(1, color="#444444", linewidth=1)
    axes.set_xlabel("times as fast as the peer (log)")
    dress(axes, grid="x")
    save(drawing, path)


def large(arguments: argparse.Namespace) -> None:
    """A million passages, which take long, as a table."""
    if "million" in arguments.only and not arguments.quick:
        costs = million.table(arguments.scifact, arguments.output)
        print(costs.to_string(index=False, float_format="{:.3g}".format), flush=True)


def sizes(passages: Sequence[int], queries: int, output: Path) -> None:
    """Hybrid retrieval over corpora of increasing size, as a table and a chart."""
    costs = []
    for size in passages:
        costs.append(scale.measure(size, queries))
        print("  ".join(f"{name} {value:,.4g}" for name, value in costs[-1].items()), flush=True)
    grown = pd.DataFrame(costs)
    grown.to_csv(output / "scale.csv", index=False)
    draw_sizes(grown, queries, output / "scale.png")


def draw_sizes(grown: pd.DataFrame, queries: int, path: Path) -> None:
    """Draw time and memory by corpus size."""
    drawing = figure(
        10, 4.2, "What does a larger corpus cost?",
        f"Synthetic texts and vectors, {queries:,} queries, first run of a hybrid configuration",
        right=0.3,
    )  # fmt: skip
    left, right = drawing.subplots(1, 2, gridspec_kw={"wspace": 0.25})
    for name, colour, marker in (("dense", "#D55E00", "o"), ("sparse", "#0072B2", "s"), ("fusion", "#009E73", "^")):
        left.plot(grown.passages, grown[f"{name}_s"], color=colour, marker=marker, label=name)
    slowest = grown[["dense_s", "sparse_s"]].iloc[-1].max()
    proportional = slowest * grown.passages / grown.passages.iloc[-1]
    left.plot(grown.passages, proportional, ":", color="#444444", label="proportional")
    left.set_ylabel("seconds")
    left.legend(frameon=False, loc="upper left")
    right.plot(grown.passages, grown.peak_mb / 1000, color="#0072B2", marker="o", label="peak")
    right.plot(grown.passages, grown.text_mb / 1000, color="#7f7f7f", marker="s", label="of which texts and Python")
    right.axhline(8, color="#444444", linewidth=1, linestyle="--", label="limit")
    right.set_ylabel("memory (GB)")
    right.legend(frameon=False, loc="lower right")
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("passages")
        dress(axes, grid="both")
    save(drawing, path)


if __name__ == "__main__":
    sys.exit(main())
