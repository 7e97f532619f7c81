"""The decision of a sweep as `decision.json`, for programs. `docs/decision.md` documents the format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ragsweep.report.evidence_section import evidence
from ragsweep.report.report_sentences import headline
from ragsweep.report.threshold_words import threshold_record
from ragsweep.sweeps import Choice, CostFront, Decision, Outcome, Promise, asked_once, not_shipped, split
from ragsweep.sweeps.threshold_promise import threshold_promise

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
        "dataset": {
            "name": sweep.dataset,
            "digest": sweep.outcomes[0].facts.digest,
            "queries": len(sweep.queries),
            "groups": sweep.groups.number if sweep.groups.in_use else None,
        },
        "configurations": len(sweep.outcomes),
        "settings": settings | {"metric": sweep.decided_by},
        "cutoff": sweep.cutoff or None,
        "at": decision.headline.cutoff,
        **({"budget": sweep.budgeted} if sweep.budgeted else {}),
        "not_shipped": not_shipped(decision),
        "choice": _configuration(decision, decision.named),
        "choices": [_choice(decision, choice) for choice in decision.choices.values()],
        "fronts": [_front(decision, front) for front in decision.fronts],
        "promises": [_promise(promise) for promise in decision.promises],
        **({"threshold": threshold_record(promise)} if (promise := threshold_promise(decision)) else {}),
        "unread": _unread(decision),
        **_repeats(decision),
        "unanswered": sweep.queries["query_id"].iloc[decision.unanswered].tolist(),
    }


def _repeats(decision: Decision) -> dict[str, Any]:
    """The runs whose answers vary; nothing where none does."""
    sweep, parts = decision.sweep, split(decision.headline.allowed)
    once = asked_once(sweep)
    means = {run.name: run.facts.repeated for run in sweep.outcomes if sweep.decided_by in run.facts.repeated}
    several = {
        name: {"means": list(each[sweep.decided_by].means), "asked_once": each[sweep.decided_by].asked_once}
        for name, each in means.items()
    }
    if not once and not several:
        return {}
    return {"repeats": {"asked_once": once, "runs": several, "variance": parts._asdict() if parts else None}}


def _configuration(decision: Decision, outcome: Outcome) -> dict[str, Any]:
    """A run: its settings, and everything that was measured."""
    measured = {name: outcome.value(name) for name in outcome.metrics}
    guessing = decision.against_guessing.get(outcome)
    low, high = (decision.sweep.statistic(outcome, decision.sweep.decided_by, end) for end in ("_low", "_high"))
    return {
        "label": decision.sweep.label(outcome),
        "name": outcome.name,
        "run_id": outcome.run_id,
        "settings": outcome.given,
        "interval": [low, high],
        "against_guessing": guessing._asdict() if guessing else None,
        "unread": decision.unread.counts[outcome] if decision.unread else None,
        "measured": measured,
    }


def _choice(decision: Decision, choice: Choice) -> dict[str, Any]:
    sweep = decision.sweep
    not_worse = choice.not_worse
    return {
        "cutoff": choice.cutoff,
        "choice": _configuration(decision, choice.named),
        "best": sweep.label(choice.best),
        "meets_requirements": choice.meets,
        "cannot_be_told_apart": [sweep.label(outcome) for outcome in choice.tied],
        "not_worse_by_margin": None if not_worse is None else [sweep.label(outcome) for outcome in not_worse],
        "worse": choice.worse,
        "worse_for_any_spread": [sweep.label(outcome) for outcome in choice.worse_for_any_spread],
        "left_out": dict(choice.excluded),
        "expected": choice.expected,
    }


def _unread(decision: Decision) -> dict[str, Any] | None:
    """The responses that could not be read, and the choice if they counted otherwise."""
    found = decision.unread
    if found is None:
        return None
    return {
        "counts": {outcome.name: number for outcome, number in found.counts.items()},
        "causes": {outcome.name: dict(causes) for outcome, causes in found.causes.items()},
        "choice_depends": bool(found.replacing) if found.recounts else None,
        "otherwise": [
            {
                "counted_as": each.counted_as,
                "queries": each.queries,
                "between": [each.choice.allowed.label(outcome) for outcome in each.choice.allowed.outcomes],
                "best": each.choice.allowed.label(each.choice.best),
                "cannot_be_told_apart": [each.choice.allowed.label(outcome) for outcome in each.choice.tied],
                "changes": each.changes,
                "replaces": each.replaces,
            }
            for each in found.recounts
        ],
    }


def _front(decision: Decision, front: CostFront) -> dict[str, Any]:
    return {
        "quality": front.quality,
        "cost": front.cost,
        "members": [_configuration(decision, outcome) for outcome in front.members],
    }


def _promise(promise: Promise) -> dict[str, Any]:
    found = promise.certificate
    return {
        "metric": promise.metric,
        "share": promise.share,
        "cutoff": found.cutoff,
        "lower_bounds": list(found.lower_bounds),
        "queries": promise.queries,
        "queries_needed": found.needed,
    }
