"""Draws charts into files, in the background where a process for that has been started."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ragsweep.core.background import in_background, in_fork
from ragsweep.core.style import plain_text, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Draw = Callable[..., Iterable[tuple[str, "Figure"]]]  # yields file names and charts


class Chart(NamedTuple):
    """A chart's file name, and the question that it answers."""

    name: str
    title: str


def no_charts() -> Iterator[tuple[str, Figure]]:
    """Draw nothing."""
    yield from ()


@contextmanager
def drawing(folder: Path, draw: Draw, *args: Any) -> Iterator[list[Chart]]:
    """Draw charts while the block runs; the list is filled when the block ends."""
    charts: list[Chart] = []
    wait = in_background(save_charts, folder, draw, *args)
    try:
        yield charts
    except BaseException:
        with suppress(Exception):  # reads the pending answer; then the error of the block is raised
            wait()
        raise
    charts += wait()


def save_charts(folder: Path, draw: Draw, *args: Any) -> list[Chart]:
    """Write the charts that `draw` makes."""
    charts, saving = [], []
    with plain_text():
        for name, chart in draw(*args):
            saving.append(in_fork(save, chart, folder / name))  # takes as long as making the next chart
            charts.append(Chart(name, chart.texts[0].get_text()))
        for wait in saving:
            wait()
    return charts
