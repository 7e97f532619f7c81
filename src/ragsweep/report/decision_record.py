"""The decision of a sweep as `decision.json`, for programs. `docs/decision.md` documents the format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ragsweep.report.claims import claims_of, evidence, headline, veto_of
from ragsweep.report.decision_rows import rows_of
from ragsweep.sweeps import Choice, Decision, Outcome

OF_CLAIM = ("name", "numbers", "place", "vetoes")
VERSION = 1  # of the format; a new field does not change it


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """Write a decision as JSON, whole or not at all."""
    text = json.dumps(record, indent=2, ensure_ascii=False)
    draft = path.with_name(f".{path.name}.draft")
    try:
        draft.write_text(f"{text}\n", encoding="utf-8")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def as_record(decision: Decision, sweep_id: str) -> dict[str, Any]:
    """The decision as a JSON-compatible value.

    Args:
        decision: The decision.
        sweep_id: Run id of the sweep in the tracking store; empty if it is not in the store.
    """
    sweep, settings = decision.sweep, asdict(decision.sweep.settings)
    return {
        "version": VERSION,
        "sweep": sweep_id,
        "headline": headline(decision),
        "evidence": evidence(decision),
        "claims": [{name: getattr(claim, name) for name in OF_CLAIM} for claim in claims_of(decision)],
        "dataset": {
            "name": sweep.dataset,
            "digest": sweep.outcomes[0].facts.dataset.digest,
            "queries": len(sweep.queries),
            "groups": sweep.groups.number if sweep.groups.in_use else None,
        },
        "configurations": sweep.configurations,
        "settings": settings | {"metric": sweep.decided_by},
        "cutoff": sweep.cutoff or None,
        "at": decision.headline.cutoff,
        **({"budget": sweep.budgeted} if sweep.budgeted else {}),
        "not_shipped": veto_of(decision),
        "choice": _configuration(decision, decision.named),
        "choices": [_choice(decision, choice) for choice in decision.choices.values()],
        "rows": [row.as_record() for row in rows_of(decision)],
        "fronts": [
            {
                "quality": front.quality,
                "cost": front.cost,
                "members": [_configuration(decision, run) for run in front.members],
            }
            for front in decision.fronts
        ],
        "repeats": {
            run.name: asdict(fact) for run in sweep.outcomes if (fact := run.facts.repeated.get(sweep.decided_by))
        },
        **({"race": sweep.race.as_record()} if sweep.race else {}),
        "unanswered": sweep.queries["query_id"].iloc[decision.unanswered].tolist(),
        "unfinished": dict(sweep.unfinished),
    }


def _configuration(decision: Decision, run: Outcome) -> dict[str, Any]:
    """A run: its settings, and everything that was measured."""
    guessing = decision.against_guessing.get(run)
    low, high = (decision.sweep.statistic(run, decision.sweep.decided_by, end) for end in ("_low", "_high"))
    return {
        "label": decision.sweep.label(run),
        "name": run.name,
        "run_id": run.run_id,
        "settings": run.given,
        "interval": [low, high],
        "against_guessing": guessing._asdict() if guessing else None,
        "unread": decision.unread.counts[run] if decision.unread else None,
        "measured": {name: run.value(name) for name in run.metrics},
    }


def _choice(decision: Decision, choice: Choice) -> dict[str, Any]:
    sweep, not_worse = decision.sweep, choice.not_worse
    return {
        "cutoff": choice.cutoff,
        "choice": _configuration(decision, choice.named),
        "best": sweep.label(choice.best),
        "meets_requirements": choice.meets,
        "cannot_be_told_apart": [sweep.label(run) for run in choice.tied],
        "not_worse_by_margin": None if not_worse is None else [sweep.label(run) for run in not_worse],
        "worse": choice.worse,
        "left_out": dict(choice.excluded),
        "expected": choice.expected,
    }
