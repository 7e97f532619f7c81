"""Draws charts into files, beside a sweep in a second process while this one writes tables and logs runs."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from io import BytesIO
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from ragsweep.core.style import figure, plain_text, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Draw = Callable[..., Iterable[tuple[str, "Figure"]]]  # yields file names and charts

_processes: list[ProcessPoolExecutor] = []  # one at most


class Chart(NamedTuple):
    """A chart's file name, and the question that it answers."""

    name: str
    title: str


def no_charts() -> Iterator[tuple[str, Figure]]:
    """Draw nothing."""
    yield from ()


def start_drawing() -> None:
    """Start the second process; it ends whenever this one ends."""
    _processes.append(ProcessPoolExecutor(1, get_context("spawn"), _get_ready))  # a fork would copy locks of threads
    interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches both processes; this one handles it
    _processes[0].submit(os.getpid)
    signal.signal(signal.SIGINT, interrupt)


def _get_ready() -> None:
    """Load matplotlib while the first run is being measured, and wait for the end of the first process."""
    Thread(target=_end_with_parent, daemon=True).start()
    warm_up = figure(4, 3, "Charts", "in the background")
    warm_up.subplots()
    warm_up.savefig(BytesIO())
    gc.freeze()  # else a collection in the middle of a chart takes as long as the chart


def _end_with_parent() -> None:
    if parent := parent_process():
        parent.join()
        os._exit(0)


@contextmanager
def drawing(folder: Path, draw: Draw, *args: Any) -> Iterator[list[Chart]]:
    """Draw charts while the block runs; the list is filled when the block ends."""
    charts: list[Chart] = []
    drawn: Future[list[Chart]] | None = None
    with suppress(RuntimeError, IndexError):  # the process was killed, or not started
        drawn = _processes[0].submit(save_charts, folder, draw, *args)
    yield charts
    if drawn:
        with suppress(Exception):  # drawn here, what cannot be sent to a process, or again, for the error
            charts += drawn.result()
            return
    charts += save_charts(folder, draw, *args)


def save_charts(folder: Path, draw: Draw, *args: Any) -> list[Chart]:
    """Write the charts that `draw` makes."""
    charts = []
    with plain_text():
        for name, chart in draw(*args):
            save(chart, folder / name)
            charts.append(Chart(name, chart.texts[0].get_text()))
    return charts
