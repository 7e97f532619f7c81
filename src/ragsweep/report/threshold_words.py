"""What is promised of questions that should find nothing, in a sentence and for programs."""

from __future__ import annotations

from math import isfinite
from typing import Any

from ragsweep.core.terminal import counted
from ragsweep.sweeps.threshold_promise import ThresholdPromise


def threshold_in_words(promise: ThresholdPromise) -> str:
    """Below which score to hold back what was found, and what that keeps; or what it would take to say so."""
    found, rate, words = promise.certificate, f"{100 * promise.rate:g} %", promise.words
    if not found.shown:
        return (
            f"No {words.scale} threshold is shown to let at most {rate} of the questions without an answer "
            f"{words.get}: {counted(promise.questions, 'such question')} can show {100 * found.upper:.3g} % at best; "
            f"{found.needed} with a rate of 0 would show it."
        )
    confidence = f"(95 % confidence; {promise.questions} such questions)"
    if not isfinite(found.threshold):
        return (
            f"No {words.scale} threshold is needed: at most {rate} of questions without an answer get one {confidence}."
        )
    if not promise.kept:
        return (
            f"The {words.scale} cannot tell the two apart: of every threshold that lets at most {rate} of questions "
            f"without an answer {words.get}, none of the others would {words.get_right} {confidence}."
        )
    shown = f"at most {rate} of questions without an answer then get one {confidence}"
    kept = f"{promise.kept:.2f} of the others still {words.get_right} ({promise.hits:.2f} without a threshold)"
    return f"Below a {words.scale} of {found.threshold} {words.hold_back}: {shown}, and {kept}."


def threshold_record(promise: ThresholdPromise) -> dict[str, Any]:
    """The promise as a JSON-compatible value."""
    found = promise.certificate
    return {
        "metric": promise.metric,
        "rate": promise.rate,
        "shown": found.shown,
        f"{promise.words.scale}_threshold": found.threshold if isfinite(found.threshold) else None,
        "upper_bound": found.upper,
        "false_finds": found.false_finds,
        "queries": promise.questions,
        "queries_needed": found.needed,
        "hits": promise.hits,
        "hits_kept": promise.kept,
    }
