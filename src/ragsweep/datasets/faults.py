"""Collects what is wrong with single questions, so that all of it is said at once, or these questions are left out."""

from __future__ import annotations

from typing import Literal

from ragsweep.core.errors import DatasetError

OnError = Literal["refuse", "skip"]

SETTING = "dataset.on_error=skip"
FAULTS_SHOWN = 5


class Faults:
    """What is wrong with the questions of a file.

    Args:
        path: The file, which the messages need not repeat.
        on_error: Whether one faulty question refuses the file, or is left out.
    """

    def __init__(self, path: object, on_error: OnError) -> None:
        self._path, self._on_error = path, on_error
        self._messages: list[str] = []

    def add(self, error: DatasetError) -> None:
        """Note that a question is faulty."""
        self._messages.append(str(error))

    def end(self, questions: int) -> tuple[str, ...]:
        """One sentence for each question that is left out.

        Args:
            questions: The number of all questions, with the faulty ones.

        Raises:
            DatasetError: Some questions are faulty, and are not to be left out, or all of them are.
        """
        number = len(self._messages)
        if not number or (self._on_error == "skip" and number < questions):
            return tuple(self._messages)
        first, *others = self._messages[:FAULTS_SHOWN]
        shown = [first, *(each.removeprefix(f"{self._path}, ") for each in others)]
        more = [f"and {number - FAULTS_SHOWN:,} more"] if number > FAULTS_SHOWN else []
        found = f"{number:,} of {questions:,} questions cannot be used: " if number > 1 else ""
        them = "them" if number > 1 else "it"
        advice = f" ({SETTING} leaves {them} out)" if number < questions else ""
        raise DatasetError(f"{found}{'; '.join([*shown, *more])}{advice}")
