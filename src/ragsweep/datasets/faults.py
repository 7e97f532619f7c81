"""Collects what is wrong with single questions or answers, to say all of it at once, or to leave these out."""

from __future__ import annotations

from typing import Literal

from ragsweep.core.errors import DatasetError

OnError = Literal["refuse", "skip"]

FAULTS_SHOWN = 5


class Faults:
    """What is wrong with the questions or answers of a file.

    Args:
        path: The file, which the messages need not repeat.
        on_error: Whether one that is faulty refuses the file, or is left out.
        group: The group of the setting `on_error`.
        noun: What the file has: `questions` or `answers`.
    """

    def __init__(self, path: object, on_error: OnError, group: str = "dataset", noun: str = "questions") -> None:
        self._path, self._on_error, self._group, self._noun = path, on_error, group, noun
        self._messages: list[str] = []
        self._advised = True
        self.ids: set[str] = set()  # of those that are faulty, where they are known

    def __len__(self) -> int:
        return len(self._messages)

    def add(self, error: DatasetError, name: str | None = None) -> None:
        """Note that one is faulty; `name` is its id."""
        self.ids |= set() if name is None else {name}
        self._messages.append(str(error))

    def must_refuse(self) -> None:
        """Never leave these out: they show that the file means something else than what is read."""
        self._on_error = "refuse"
        self._advised = False

    def end(self, total: int) -> tuple[str, ...]:
        """One sentence for each that is left out.

        Args:
            total: The number of all questions or answers, with the faulty ones.

        Raises:
            DatasetError: Some are faulty, and are not to be left out, or all of them are.
        """
        number = len(self._messages)
        if not number or (self._on_error == "skip" and number < total):
            return tuple(self._messages)
        first, *others = self._messages[:FAULTS_SHOWN]
        shown = [first, *(each.removeprefix(f"{self._path}, ") for each in others)]
        more = [f"and {number - FAULTS_SHOWN:,} more"] if number > FAULTS_SHOWN else []
        found = f"{number:,} of {total:,} {self._noun} cannot be used: " if number > 1 else ""
        them = "them" if number > 1 else "it"
        advice = f" ({self._group}.on_error=skip leaves {them} out)" if number < total and self._advised else ""
        raise DatasetError(f"{found}{'; '.join([*shown, *more])}{advice}")
