"""Stages that keep what a single query costs, and in what circumstances that was measured."""

from __future__ import annotations

from collections.abc import Callable

from ragsweep.core.timing import outdated, with_new_times, without_circumstances
from ragsweep.store.stage_store import Arrays, Store


def get_timed(
    store: Store,
    stage: str,
    inputs: object,
    build: Callable[..., Arrays],
    *,
    again: Callable[[], Arrays] | None = None,
    kept: Arrays | None = None,
) -> Arrays:
    """The arrays of a stage as `Store.get` returns them, with new times where `noting` asks for these.

    `build` computes the arrays within `with_circumstances`. `again` takes the times alone; None takes them by `build`.
    `kept` has the arrays if the store has returned them already.
    """

    def new(found: Arrays) -> Arrays:
        return with_new_times(found, again or build) if outdated(found) else found

    arrays = store.get(stage, inputs, build) if kept is None else kept
    if outdated(arrays):
        arrays = store.renew(stage, inputs, build, arrays, new)
    return without_circumstances(arrays)
