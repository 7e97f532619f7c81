"""Counts the responses without usable text by their cause, and stops paying where most have one cause."""

from __future__ import annotations

from collections import Counter
from threading import Lock

from ragsweep.core.errors import UnusableError
from ragsweep.core.terminal import counted
from ragsweep.models.language.response import Cause

FIRST_RESPONSES, MOST = 10, 0.8  # asking stops if at least this share of at least so many responses has one cause
CAUSE_PHRASES = {
    Cause.CUT_OFF: "cut off at {limit}={max_tokens}",
    Cause.EMPTY: "empty",
    Cause.TOOL_CALL: "tool calls in place of a text",
    Cause.REFUSED: "refused by the model or its content filter",
}
HELP = {
    Cause.CUT_OFF: "a larger {limit} lets the model come to its end",
    Cause.EMPTY: "see what the endpoint returns for language_model.model, perhaps all of it as reasoning_content",
    Cause.TOOL_CALL: "let the server offer no tools, or use another language_model.model",
    Cause.REFUSED: "use another language_model.model, or an endpoint that filters less",
}


class Unusable:
    """The causes among the responses of one call, from several threads."""

    def __init__(self, limit: str, max_tokens: int) -> None:
        self._settings = {"limit": limit, "max_tokens": max_tokens}
        self._lock = Lock()
        self._causes: Counter[Cause] = Counter()
        self._responses = 0

    def add(self, cause: Cause | None) -> None:
        """Count a response.

        Raises:
            UnusableError: Most responses so far have one cause, so that paying for others would tell nothing.
        """
        with self._lock:
            self._responses += 1
            if cause is None:
                return
            self._causes[cause] += 1
            if self._responses >= FIRST_RESPONSES and self._causes[cause] >= MOST * self._responses:
                line, advice = self._line(cause, "the first "), HELP[cause].format(**self._settings)
                raise UnusableError(f"{line}, which says nothing of what the model knows; {advice}")

    def add_usable(self) -> None:
        """Count a kept response, which is usable: what is asked for again is what was not."""
        with self._lock:
            self._responses += 1

    @property
    def line(self) -> str:
        """The counts by cause; empty if all responses can be used."""
        return "; ".join(self._line(cause) for cause in self._causes)

    def _line(self, cause: Cause, which: str = "") -> str:
        number, total = self._causes[cause], counted(self._responses, "response")
        verb = "was" if number == 1 else "were"
        return f"{number} of {which}{total} {verb} {CAUSE_PHRASES[cause].format(**self._settings)}"
