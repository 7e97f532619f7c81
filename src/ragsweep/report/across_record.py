"""The decision over several datasets for programs, as a block of `decision.json`."""

from __future__ import annotations

from math import isfinite
from typing import Any

from ragsweep.report.across_words import across_in_words
from ragsweep.report.record import VERSION, as_record
from ragsweep.sweeps import AcrossDatasets


def across_as_record(across: AcrossDatasets, sweep_id: str) -> dict[str, Any]:
    """The decision over several datasets, and that on each, as a JSON-compatible value.

    Args:
        across: The decision.
        sweep_id: Run id of the sweep in the tracking store; empty if it is not in the store.
    """
    each = zip(across.names, across.decisions, strict=True)
    return {
        "version": VERSION,
        "sweep": sweep_id,
        "headline": across_in_words(across),
        "across_datasets": {"problem": across.problem} if across.problem else _across(across),
        "datasets": {name: as_record(decision, sweep_id) for name, decision in each},
    }


def _across(across: AcrossDatasets) -> dict[str, Any]:
    found, transfer, best = across.regrets, across.transfer, across.best_mean
    low, high = across.mean_intervals
    bounds = (found.low[:, across.place].max(), found.high[:, across.place].max())
    return {
        "problem": None,
        "metric": across.metric,
        "at": across.cutoff,
        "choice": {
            "label": across.named,
            "run_ids": _by_name(across, [run.run_id for run in across.runs[across.named]]),
            "standing": _by_name(across, across.standings),
            "by_cost": across.by_cost,
            "largest_regret": found.measured[:, across.place].max(),
            "interval": [_finite(bound) for bound in bounds],
        },
        "told_apart": across.told_apart,
        "configurations": [
            {
                "label": label,
                "values": _by_name(across, across.means[:, place].tolist()),
                "regrets": _by_name(across, found.measured[:, place].tolist()),
                "regrets_at_least": _by_name(across, found.low[:, place].tolist()),
                "regrets_at_most": _by_name(across, [_finite(bound) for bound in found.high[:, place]]),
                "mean": float(across.means[:, place].mean()),
                "interval": [_finite(low[place]), _finite(high[place])],
            }
            for place, label in enumerate(across.labels)
        ],
        "smallest_largest_regret": across.labels[across.least],
        "best_mean": {"label": across.labels[best], "expected": across.expected},
        "cannot_choose_alone": across.cannot_choose,
        "disagreement_p": across.disagreement,
        "another_dataset": transfer
        and {"losses": _by_name(across, transfer.losses.tolist()), "at_most_in_9_of_10": transfer.bound},
        "left_out": across.left_out,
    }


def _by_name(across: AcrossDatasets, values: list[Any]) -> dict[str, Any]:
    return dict(zip(across.names, values, strict=True))


def _finite(bound: float) -> float | None:
    return float(bound) if isfinite(bound) else None
