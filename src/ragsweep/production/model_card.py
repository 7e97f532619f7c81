"""The model card of an exported retriever: one page that says what was measured, and what that does not show."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from ragsweep.core.terminal import counted
from ragsweep.production.export_folder import CHECK, Origin
from ragsweep.report.markup import code, markdown
from ragsweep.report.report_page import environment
from ragsweep.sweeps import Outcome

MOST_TIED_LISTED = 10
MOST_SENTENCES = 8  # of the decision


def model_card(outcome: Outcome, origin: Origin, decision: Mapping[str, Any] | None, passages: int) -> str:
    """The card as Markdown. Names and sentences of the record are escaped.

    Args:
        outcome: The run.
        origin: Where the retriever comes from.
        decision: The recorded decision of its sweep; None for a run that is exported alone.
        passages: How many passages the documents were cut into.
    """
    sizes = [counted(origin.documents, "document"), counted(passages, "passage")]
    template = environment(markdown).from_string(files(__package__).joinpath("model_card.md").read_text("utf-8"))
    return template.render(
        outcome=outcome,
        origin=origin,
        sizes=sizes,
        questions=counted(len(outcome.per_query), "question"),
        version=version("ragsweep"),
        check=code(CHECK),
        k=code(f"k={outcome.cutoff}"),
        metrics={name: metric for name, metric in outcome.metrics.items() if name not in outcome.facts.measures},
        machines=sorted({name for measure in outcome.facts.measures.values() for name in measure.machines or ()}),
        number=_number,
        decision=decision and _decided(decision),
    )


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _decided(decision: Mapping[str, Any]) -> dict[str, Any]:
    """What the sweep says of its choice, and of what is tied with it; anybody may have written it."""
    choices = [choice for choice in _list(decision.get("choices")) if isinstance(choice, dict)]
    choice = next((choice for choice in choices if choice.get("cutoff") == decision.get("at")), {})
    chosen = decision["choice"].get("label")
    tied = [label for label in _list(choice.get("cannot_be_told_apart")) if label != chosen]
    return {
        "sweep": decision.get("sweep", ""),
        "configurations": decision.get("configurations", "?"),
        "sentences": [*_list(decision.get("headline")), *_list(decision.get("evidence"))][:MOST_SENTENCES],
        "tied": [*tied[:MOST_TIED_LISTED], *(["..."] if len(tied) > MOST_TIED_LISTED else [])] or ["none"],
    }


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
