"""What a larger cutoff buys and costs, in words."""

from __future__ import annotations

from ragsweep.report.value_words import cutoffs_in_words, in_sentence, rough
from ragsweep.sweeps import Decision, spends


def what_a_cutoff_buys(decision: Decision) -> str:
    """The first gain and the first cost of one configuration at each swept cutoff."""
    sweep, points = decision.sweep, bought(decision)
    if not decision.gain or len(points) < 2:
        return ""
    unit = sweep.metric_info[decision.cost].unit if decision.cost else ""
    if sweep.budgeted:
        points = [(cutoff, value, None) for cutoff, value, _ in points]
    (cutoff, value, price), *others = points
    first = f"{value:.2f} at {cutoffs_in_words(sweep, cutoff)}" + (
        "" if price is None else f" (about {rough(price)} {unit})"
    )
    rest = [
        f"{value:.2f} at {cutoff:,}" + ("" if price is None else f" ({rough(price)})")
        for cutoff, value, price in others
    ]
    title = in_sentence(sweep.title(decision.gain))
    gains = [sweep.sign(decision.gain) * each for _, each, _ in points]
    if gains[0] < max(gains) and gains[-1] < max(gains):
        highest = cutoffs_in_words(sweep, points[gains.index(max(gains))][0])
        return f"The best {title} is that at {highest}{of_which(decision)}: {', '.join([first, *rest])}."
    if gains[-1] <= gains[0]:
        return f"A larger {sweep.cutoff} buys no {title}{of_which(decision)}: {', '.join([first, *rest])}."
    more = f"A larger {sweep.cutoff}" if sweep.budgeted else sweep.cutoff
    return f"{more} buys {title}{of_which(decision)}: {', '.join([first, *rest])}. Choose it by your budget."


def of_which(decision: Decision) -> str:
    """The configuration that a sentence about several cutoffs is about, unless it is the choice at each of them."""
    named = [choice.named.configuration for choice in decision.choices.values()]
    return "" if all(each == named[0] for each in named) else f", of {decision.sweep.label(decision.named)}"


def bought(decision: Decision) -> list[tuple[int, float, float | None]]:
    """The gain and the cost of the named configuration at each swept cutoff at which it meets the requirements.

    Of one configuration: between the choices at two cutoffs, other settings differ as well. A budget that it could not
    spend, as it was not measured at a larger cutoff, is left out, and so is a cutoff before which its rankings end.
    """
    gain, cost = decision.gain or "", decision.cost or ""
    runs = {
        run.cutoff: run
        for choice in decision.choices.values()
        for run in choice.allowed.outcomes
        if choice.meets and run.configuration == decision.named.configuration
    }
    return [
        (cutoff, value, run.value(cost))
        for cutoff, run in runs.items()
        if cutoff is not None
        and (value := run.value(gain)) is not None
        and spends(decision.sweep, run)
        and not run.ends_early
    ]
