"""The decision of a sweep in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from ragsweep.core.terminal import one_line
from ragsweep.report.bought_words import what_a_cutoff_buys
from ragsweep.report.cheaper_words import beaten, far_cheaper
from ragsweep.report.doubt_words import missing, news, not_shown
from ragsweep.report.no_winner_words import no_winner
from ragsweep.report.power_words import few_queries
from ragsweep.report.settings_words import in_words, tied_in_words, values_in_words
from ragsweep.report.threshold_words import threshold_in_words
from ragsweep.report.timing_words import doubts, latency_decides
from ragsweep.report.unread_words import unread_in_words, unread_texts_in_words
from ragsweep.report.value_words import (
    at,
    cutoffs_in_words,
    in_sentence,
    interval,
    measured,
    p_value,
    queries_in_words,
)
from ragsweep.report.worse_words import worse_everywhere, worse_in_words
from ragsweep.statistics import FEW_QUERIES
from ragsweep.sweeps import Choice, Decision, Outcome, Promise, Sweep, alone_meets, not_shipped, undecided
from ragsweep.sweeps.threshold_promise import threshold_promise

NO_WINNER = ("same values", "tied")


def headline(decision: Decision) -> list[str]:
    """At most thirteen lines.

    Texts that a model does not read, a caution, problems of the data, choice (after the runs that are missing),
    guessing, what is not shown, what beats it, what is far cheaper, a control that does, unread answers, few queries,
    whether a latency that decides was measured on different machines, cutoffs, expectation.
    """
    first, unread = (unread_texts_in_words(decision), decision.named.facts.caution), unread_in_words(decision)
    few = few_queries(decision.sweep)
    lost = missing(decision.sweep.unfinished, len(decision.sweep.outcomes))
    if len(decision.unanswered) == len(decision.sweep.queries):
        return [one_line(each) for each in (*first, news(decision), lost, unread, few) if each]
    better = any(each.better for each in decision.against_guessing.values())
    which = " ".join(filter(None, [lost, _which(decision)]))
    guessing = _than_guessing(decision)
    choice = (which, guessing) if better or undecided(decision) in NO_WINNER else (guessing, which)
    rest = (
        " ".join(not_shown(decision)),
        beaten(decision),
        far_cheaper(decision),
        _better_control(decision),
        unread,
        few,
        *(doubts(decision) if latency_decides(decision) else ()),
    )
    sentences = (*first, news(decision), *choice, *rest, what_a_cutoff_buys(decision), _what_to_expect(decision))
    return [one_line(sentence) for sentence in sentences if sentence]


def _better_control(decision: Decision) -> str:
    """That a control, which nobody can ship, measures better than the choice."""
    sweep, choice = decision.sweep, decision.headline
    better = [
        run
        for run in sweep.at(choice.cutoff).outcomes
        if run.facts.control and sweep.sign(sweep.decided_by) * _above(sweep, run, choice.named) > 0
    ]
    if not better:
        return ""
    best = max(better, key=lambda run: sweep.sign(sweep.decided_by) * sweep.statistic(run, sweep.decided_by))
    return f"The control {sweep.label(best)} measures better: {measured(sweep, best)} ({best.facts.control})."


def _above(sweep: Sweep, one: Outcome, other: Outcome) -> float:
    return sweep.statistic(one, sweep.decided_by) - sweep.statistic(other, sweep.decided_by)


def _than_guessing(decision: Decision) -> str:
    """How many of the configurations are better than guessing."""
    found = decision.against_guessing
    if not found:
        return ""
    tests, better = len(found), sum(each.better for each in found.values())
    named = found[decision.named]
    value = f"{decision.sweep.metric_title} {named.value:.3f}"
    if tests > 1 and not better:
        return f"No configuration is shown to be better than guessing ({value}; p > 0.05, corrected for {tests} tests)."
    guessing = f"{'Better' if better else 'No better'} than guessing ({value})"
    if tests == 1:
        return f"{guessing}: p {p_value(named.p)}."
    what = f"{better} of the {tests}" if better < tests else "both" if tests == 2 else f"all {tests}"
    one_of_few = f"; {decision.sweep.label(decision.named)} is {'one of them' if named.better else 'not'}"
    p = f"p <= 0.05, corrected for {tests} tests"
    return f"{guessing}: {what} configurations ({p}){one_of_few if better < tests else ''}."


def _which(decision: Decision) -> str:
    sweep, choices, why = decision.sweep, list(decision.choices.values()), undecided(decision)
    if why == "one configuration":
        only = decision.named
        return f"{only.name}: {measured(sweep, only)}. There is only one configuration, so there is nothing to choose."
    if why == "requirements":
        ends = dict.fromkeys(
            [choices[0].cutoff, choices[-1].cutoff]
        )  # a cost may be met at the one, a gain at the other
        best = "; ".join(
            f"{sweep.label(each.named)}{at(sweep, each)}: {each.excluded[each.named.name]}"
            for each in map(decision.choices.__getitem__, ends)
        )
        return f"No configuration meets the requirements. The best without them, {best}."
    if why in NO_WINNER:
        return no_winner(decision)
    chosen = _which_of(decision, choices[0]) if len(choices) == 1 else _which_at_each(decision)
    best = f"Measured best{' is' if len(choices) == 1 else ''} {chosen}"
    shipped = not_shipped(decision)
    if shipped == "unread texts":
        return best
    if shipped == "guessing":
        return f"Nothing to ship: what measures best is not shown to be better than guessing. {best}"
    if shipped == "unread answers":
        return f"Nothing to ship yet: the choice depends on how unread answers count. {best}"
    if shipped == "unequal text":
        return f"Nothing to ship. {best}"
    if shipped == "doubtful data":
        return f"Do not choose by this yet. {best}"
    return f"Ship {chosen}" if len(choices) == 1 else f"{chosen[:1].upper()}{chosen[1:]}"


def _which_at_each(decision: Decision) -> str:
    """The choice of a sweep with several cutoffs, at those at which all configurations spend the budget."""
    sweep, choices = decision.sweep, decision.choices.values()
    by = f"by {sweep.metric_title}, " if sweep.budgeted else ""
    groups, alone = _by_label(decision), all(alone_meets(decision, choice) for choice in choices)
    if decision.headline.everywhere or (len(groups) == 1 and decision.headline.meets and not alone):
        some = decision.headline_cutoffs
        where = f"every {sweep.cutoff}" if len(some) == len(choices) else cutoffs_in_words(sweep, *some)
        others = _always_tied(decision)
        which = _with_others(decision, sweep.label(decision.named), others)
        tied = [cutoff for cutoff in some if len(decision.choices[cutoff].tied) > 1]
        here = (
            f" At {cutoffs_in_words(sweep, *tied)}, others cannot be told apart from it." if tied and not others else ""
        )
        return f"{by}at {where}: {which}.{here or worse_everywhere([decision.choices[cutoff] for cutoff in some])}"
    each = [f"at {cutoffs_in_words(sweep, *group)}: {label}" for label, group in groups]
    sentence = "; ".join(each)
    return f"{by}{sentence}.{' Nothing else meets the requirements.' if alone else ''}"


def _which_of(decision: Decision, choice: Choice) -> str:
    """The choice of a sweep with one cutoff."""
    sweep = choice.allowed
    chosen = f"{decision.sweep.label(choice.named)}{at(sweep, choice)}: {measured(sweep, choice.named)}"
    if choice.named not in choice.tied:
        best_by = "best" if choice.prefer and sweep.metric_info[choice.prefer].higher_is_better else "cheapest"
        cheaper = f", the {best_by} by {in_sentence(sweep.title(choice.prefer))}" if choice.prefer else ""
        return (
            f"{chosen}{cheaper}. By {sweep.metric_title}, {sweep.label(choice.best)} is better (p <= 0.05), but is "
            f"shown to be so by less than the margin of {sweep.settings.margin:g}."
        )
    which = tied_in_words(sweep, decision.sweep)
    tied = f" These cannot be told apart: {which}." if choice.distinct > 1 and choice.others else ""
    if tied and all(each.measured == choice.named.measured for each in choice.tied):
        tied = f" These measure exactly the same: {which}. Check that what was swept takes effect."
    alone = " Nothing else meets the requirements." if alone_meets(decision, choice) else ""
    return f"{chosen}.{tied}{alone or worse_in_words(choice)}"


def _always_tied(decision: Decision) -> list[Outcome]:
    """The configurations, besides the named one, that are tied with the best at every cutoff of the headline."""
    settled = map(decision.choices.__getitem__, decision.headline_cutoffs)
    labels = [{decision.sweep.label(outcome) for outcome in choice.tied} for choice in settled]
    common = set.intersection(*labels) - {decision.sweep.label(decision.named)}
    return [outcome for outcome in decision.headline.allowed.outcomes if decision.sweep.label(outcome) in common]


def _with_others(decision: Decision, label: str, others: Sequence[Outcome]) -> str:
    """A configuration, and in brackets those that cannot be told apart from the best."""
    if not others:
        return label
    settled = [decision.choices[cutoff] for cutoff in decision.headline_cutoffs]
    tied = all(label in map(decision.sweep.label, choice.tied) for choice in settled)
    level = decision.headline.allowed
    varied = [name for name in decision.sweep.axes if name != decision.sweep.cutoff]
    if len(varied) == 1:
        which = values_in_words(decision.sweep.axes[varied[0]], {outcome.swept.get(varied[0]) for outcome in others})
    else:
        which = in_words(level, [level.outcomes.index(outcome) for outcome in others], decision.sweep)
    if all(each.measured == choice.named.measured for choice in settled for each in choice.tied):
        return f"{label} ({which} measures exactly the same)"
    return f"{label} ({which} cannot be told apart{'' if tied else ' from the best'})"


def _by_label(decision: Decision) -> list[tuple[str, list[int | None]]]:
    """The named configurations, each with the cutoffs at which it is named."""
    groups: dict[str, list[int | None]] = {}
    for cutoff in decision.headline_cutoffs:
        choice = decision.choices[cutoff]
        label = decision.sweep.label(choice.named) if choice.meets else "none meets the requirements"
        groups.setdefault(label, []).append(cutoff)
    return list(groups.items())


def _what_to_expect(decision: Decision) -> str:
    """The measured and the expected value at the cutoff of the headline, and what is shown about promises."""
    choice, sweep = decision.headline, decision.sweep
    threshold = threshold_promise(decision)
    words = [promise_in_words(decision, promise) for promise in decision.promises]
    promises = " ".join([*words, *([threshold_in_words(threshold)] if threshold else [])])
    if len(sweep.outcomes) == 1 or not choice.meets:
        return promises
    sentence = ""
    if choice.expected is not None and sweep.groups.number >= FEW_QUERIES:  # of fewer, cross-validation says little
        value = sweep.statistic(choice.named, sweep.decided_by)
        loss = sweep.sign(sweep.decided_by) * (round(value, 3) - round(choice.expected, 3))
        below = f"{loss:.3f} {'below' if sweep.higher_is_better else 'above'} the" if loss > 0 else "as"
        with_interval = f" {interval(sweep, choice.named, sweep.decided_by)}" if len(decision.choices) > 1 else ""
        if loss > 0 or with_interval:
            sentence = (
                f"Expected on new queries{at(sweep, choice)}: {sweep.metric_title} {choice.expected:.3f} "
                f"(cross-validation), {below} measured {value:.3f}{with_interval}."
            )
    elif len(decision.choices) > 1 and measured(sweep, choice.named) not in _which(decision):
        sentence = f"Measured{at(sweep, choice)}: {measured(sweep, choice.named)}."
        if choice.expected is None and choice.named is not choice.best:
            sentence += " What to expect on new queries is estimated for the best one only."
    return f"{sentence} {promises}".strip()


def promise_in_words(decision: Decision, promise: Promise) -> str:
    """What the queries show about a promise."""
    found, title = promise.certificate, in_sentence(decision.sweep.title(promise.metric))
    what = f"{title} of at least {promise.share:g}"
    needed = f"; {found.needed:,} queries like these would show it" if found.needed else ""
    if promise.metric not in decision.sweep.deepest(decision.named).facts.curves:
        label = decision.sweep.label(decision.named)
        if found.cutoff is not None:
            return f"{label} is shown to have a {what} (95 % confidence)."
        shown = f"{queries_in_words(decision.sweep)} show at least {found.lower_bounds[-1]:.3f}"
        return f"{label} is not shown to have a {what}: {shown}{needed}."
    if found.cutoff is not None:
        smallest = cutoffs_in_words(decision.sweep, found.cutoff)
        return f"{smallest} is the smallest shown to have a {what} (95 % confidence)."
    largest = f"{found.lower_bounds[-1]:.3f} at {cutoffs_in_words(decision.sweep, promise.largest)}"
    shown = f"{queries_in_words(decision.sweep)} show at least {largest}"
    return f"No {decision.sweep.cutoff} up to {promise.largest:,} is shown to have a {what}: {shown}{needed}."
