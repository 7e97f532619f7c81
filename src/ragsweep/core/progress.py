"""How far long work has come: a bar in a terminal, and elsewhere a line every few seconds."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import ClassVar

COLUMNS = 80  # of a terminal that does not say


class Progress:
    """Shows long work from a thread of its own, so that time passes on the screen while a library is loading.

    Attributes:
        done: How much of the work is done.
        seconds_to_appear: Work that ends sooner is not shown in a terminal.
        seconds_between_bars: In a terminal.
        seconds_between_lines: Elsewhere.
        may_draw: Whether this process may draw a bar. The workers of a launcher share a terminal and print lines.
    """

    seconds_to_appear: ClassVar[float] = 0.5
    seconds_between_bars: ClassVar[float] = 0.2
    seconds_between_lines: ClassVar[float] = 10
    may_draw: ClassVar[bool] = True

    def __init__(self, label: str, total: int | None) -> None:
        self.done = 0
        self._label, self._total, self._started = label, total, time.monotonic()
        self._ended = Event()
        draws = self.may_draw and sys.stderr is not None and sys.stderr.isatty()
        self._thread = Thread(target=self._draw if draws else self._print, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Show nothing more."""
        self._ended.set()
        self._thread.join()

    def _draw(self) -> None:
        if self._ended.wait(self.seconds_to_appear):
            return
        while True:
            sys.stderr.write(f"\r{self._text('{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}')}")
            sys.stderr.flush()
            if self._ended.wait(self.seconds_between_bars):
                break
        sys.stderr.write(f"\r{' ' * (_columns() - 1)}")
        sys.stderr.write("\r")
        sys.stderr.flush()

    def _print(self) -> None:
        while not self._ended.wait(self.seconds_between_lines):
            sys.stderr.write(f"{self._text('{desc}: {percentage:.0f} %, {elapsed} so far, {remaining} left')}\n")

    def _text(self, known: str) -> str:
        from tqdm import tqdm

        elapsed = time.monotonic() - self._started
        form = known if self._total else "{desc}: {elapsed} so far"
        done = min(self.done, self._total or self.done)
        text: str = tqdm.format_meter(
            done, self._total, elapsed, ncols=_columns() - 1, prefix=self._label, bar_format=form
        )
        return text


_open: list[Progress] = []  # one at most


@contextmanager
def progress(label: str, total: int | None = None) -> Iterator[Progress]:
    """Show the work of the block; a part of work that is being shown already is not shown on its own.

    Args:
        label: What is done, such as `encoding 2,460 passages`.
        total: How much there is to do; None where only the time can be shown.
    """
    if _open:
        yield _open[0]
        return
    shown = Progress(label, total)
    _open.append(shown)
    try:
        yield shown
    finally:
        _open.clear()
        shown.close()


def advance(done: int) -> None:
    """Add to what is done of the work that is being shown, if any is."""
    for shown in _open:
        shown.done += done


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or COLUMNS
    except (OSError, ValueError):
        return COLUMNS
