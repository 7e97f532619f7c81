"""The model card of an exported retriever: one page that says what was measured, and what that does not show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any

from ragsweep.core.terminal import counted
from ragsweep.production.export_folder import CHECK, Origin
from ragsweep.report.markup import code, markdown
from ragsweep.report.timing_words import machines
from ragsweep.sweeps import SHIPPED, Outcome, Sweep

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
    return "\n".join([*_head(outcome, origin, passages), *_measured(outcome), *_decided(decision), ""])


def _head(outcome: Outcome, origin: Origin, passages: int) -> Iterator[str]:
    queries = counted(len(outcome.per_query), "question")
    yield f"# {markdown(outcome.name)}"
    yield ""
    yield (
        f"A retriever for {markdown(origin.dataset)}: {counted(origin.documents, 'document')}, "
        f"{counted(passages, 'passage')}, measured on {queries} as run {code(origin.run)} and exported by "
        f"ragsweep {version('ragsweep')}. It returns {code(f'k={outcome.cutoff}')} results unless it is "
        "asked for another number."
    )
    yield ""
    yield f"`ragsweep.load` loads this folder; `ragsweep check` asks the questions of `{CHECK}` again."
    yield ""
    if outcome.facts.caution:
        yield f"**{markdown(outcome.facts.caution)}**"
        yield ""


def _measured(outcome: Outcome) -> Iterator[str]:
    """A table of metrics with intervals, and one of costs."""
    yield "## What was measured"
    yield ""
    yield f"Means over {counted(len(outcome.per_query), 'question')}, with 95 % intervals over questions like these."
    yield ""
    yield "| | value | 95 % interval |"
    yield "|---|---:|---|"
    for name, metric in outcome.metrics.items():
        if name in outcome.facts.measures:
            continue
        low, high = outcome.interval(name) or (float("nan"), float("nan"))
        yield f"| {markdown(metric.title)} | {outcome.value(name):.3f} | {low:.3f} to {high:.3f} |"
    yield ""
    yield "## What it costs"
    yield ""
    yield "| | value |"
    yield "|---|---:|"
    for name in outcome.facts.measures:
        metric = outcome.metrics[name]
        yield f"| {markdown(metric.title)} | {_number(outcome.value(name))} {markdown(metric.unit)} |"
    yield ""
    measured = machines(Sweep([outcome], {}))
    yield markdown(measured) if measured else "Latency is that of the machine of the sweep, one question at a time."
    yield ""


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _decided(decision: Mapping[str, Any] | None) -> Iterator[str]:
    """What the sweep says of this configuration, and of those that could not be told apart from it."""
    yield "## What else could be taken"
    yield ""
    if decision is None:
        yield "It was exported as a single run: this card does not compare it with others."
        yield ""
        return
    configurations = markdown(decision.get("configurations", "?"))
    yield f"Of the sweep {code(decision.get('sweep', ''))} with {configurations} configurations:"
    yield ""
    sentences = [*_list(decision.get("headline")), *_list(decision.get("evidence"))]
    yield from (f"- {markdown(sentence)}" for sentence in sentences[:MOST_SENTENCES])
    choices = [each for each in _list(decision.get("choices")) if isinstance(each, dict)]
    choice = next((each for each in choices if each.get("cutoff") == decision.get("at")), {})
    chosen = decision["choice"].get("label")
    tied = [label for label in _list(choice.get("cannot_be_told_apart")) if label != chosen]
    listed = ", ".join(map(markdown, tied[:MOST_TIED_LISTED])) + (", ..." if len(tied) > MOST_TIED_LISTED else "")
    if decision.get("not_shipped") != "same values":
        yield f"- Could not be told apart on these questions: {listed or 'none'}."
    if (why := decision.get("not_shipped")) not in SHIPPED:
        yield f"- The sweep does not show that this should be shipped ({markdown(str(why))})."
    elif why:
        yield "- The sweep does not show that this is the best."
    yield ""


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
