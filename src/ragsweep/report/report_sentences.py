"""The decision of a sweep in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from ragsweep.core.style import INTERVALS
from ragsweep.core.terminal import counted, one_line
from ragsweep.report.settings_words import tied_in_words, values_in_words
from ragsweep.report.unread_words import unread_in_words
from ragsweep.report.worse_words import worse_in_words
from ragsweep.sweeps import Choice, Decision, Outcome, Promise, Sweep, alone_meets, not_shipped, requirements_exclude

MOST_UNANSWERED = 0.5  # of the queries; with more, that is the news
MOST_TIED_NAMED = 4  # configurations that the headline lists
NO_WINNER = ("same values", "tied")


def headline(decision: Decision) -> list[str]:
    """At most seven lines: a caution, problems of the data, choice, guessing, unread answers, cutoffs, expectation."""
    caution, unread = decision.named.facts.caution, unread_in_words(decision)
    if len(decision.unanswered) == len(decision.sweep.queries):
        return [one_line(each) for each in (caution, _news(decision), unread) if each]
    better = any(each.better for each in decision.against_guessing.values())
    which, guessing = _which(decision), _than_guessing(decision)
    choice = (which, guessing) if better or not_shipped(decision) in NO_WINNER else (guessing, which)
    rest = (unread, _what_a_cutoff_buys(decision), _what_to_expect(decision))
    sentences = (caution, _news(decision), *choice, *rest)
    return [one_line(sentence) for sentence in sentences if sentence]


def _news(decision: Decision) -> str:
    queries, lost = len(decision.sweep.queries), len(decision.unanswered)
    if lost <= MOST_UNANSWERED * queries:
        return ""
    unread = decision.unread is not None and min(decision.unread.counts.values()) >= lost
    return (
        f"Look at the {'responses' if unread else 'data'} first: every configuration gives {lost} of {queries} queries "
        f"the worst possible {decision.sweep.metric_title}. No choice between them matters as much."
    )


def _than_guessing(decision: Decision) -> str:
    """How many of the configurations are better than guessing."""
    found = decision.against_guessing
    if not found:
        return ""
    tests, better = len(found), sum(each.better for each in found.values())
    named = found[decision.named]
    guessing = f"{'Better' if better else 'No better'} than guessing ({decision.sweep.metric_title} {named.value:.3f})"
    if tests == 1:
        return f"{guessing}: p {p_value(named.p)}."
    what = (
        "none"
        if not better
        else ("both" if tests == 2 else f"all {tests}")
        if better == tests
        else f"{better} of {tests}"
    )
    p = f"p {'<=' if better else '>'} 0.05, corrected for {tests} tests"
    one_of_few = f"; {decision.sweep.label(decision.named)} is {'one of them' if named.better else 'not'}"
    return f"{guessing}: {what} of the configurations ({p}){one_of_few if 0 < better < tests else ''}."


def _which(decision: Decision) -> str:
    sweep, choices, why = decision.sweep, list(decision.choices.values()), not_shipped(decision)
    if why == "one configuration":
        only = decision.named
        return f"{only.name}: {_measured(sweep, only)}. There is only one configuration, so there is nothing to choose."
    if why == "requirements":
        excluded = "; ".join(
            f"{name}: {reason}" for name, reason in decision.headline.excluded.items() if name == decision.named.name
        )
        return f"No configuration meets the requirements. The best without them, {excluded}."
    if why in NO_WINNER:
        return _no_winner(decision)
    chosen = _which_of(decision, choices[0]) if len(choices) == 1 else _which_at_each(decision)
    if why == "guessing":
        return f"Nothing to ship: what measures best is not shown to be better than guessing. Measured: {chosen}"
    if why == "unread answers":
        return f"Nothing to ship yet: the choice depends on how unread answers count. Measured: {chosen}"
    return f"Ship {chosen}" if len(choices) == 1 else chosen


def _no_winner(decision: Decision) -> str:
    """That nothing can be told apart, and what was measured, so that it does not sound like a winner."""
    sweep, choice, several = decision.sweep, decision.headline, len(decision.choices) > 1
    meeting = {cutoff: each for cutoff, each in decision.choices.items() if each.meets}
    number = max(len(each.allowed.outcomes) for each in meeting.values())
    if number == 1 and any(each.named.configuration != choice.named.configuration for each in meeting.values()):
        return (
            f"Only one configuration was measured at each {sweep.cutoff}, and not the same one: nothing can be "
            f"compared. Measure all of them at the same {sweep.cutoff}."
        )
    if number == 1:
        return f"One configuration at {counted(len(meeting), 'cutoff')}: only {sweep.cutoff} is to be chosen."
    measured = f"{_measured(sweep, choice.named)}{at(sweep, choice)}"
    those = " that meet the requirements" if requirements_exclude(decision, *meeting.values()) else ""
    none = [cutoff for cutoff in decision.choices if cutoff not in meeting]
    nowhere = f" At {sweep.cutoff} {_cutoffs(none)} none meets the requirements." if none else ""
    if not_shipped(decision) == "same values":
        only_k = f" Only {sweep.cutoff} is to be chosen." if several else " Choose by cost."
        which = "both" if number == 2 else f"all {number}"
        return f"No winner: {which} configurations{those} measure the same, {measured}.{only_k}{nowhere}"
    value = f"The value measured best, perhaps by chance, is that of {sweep.label(choice.named)}: {measured}"
    if choice.named is not choice.best:
        best = in_sentence(sweep.title(sweep.settings.prefer or ""))
        value = f"The best {best} is that of {sweep.label(choice.named)}: {measured}"
    elif choice.distinct == 1:
        value = f"Measured for {sweep.label(choice.named)}: {measured}"
    anywhere = f" at {f'{sweep.cutoff} {_cutoffs([*meeting])}' if none else f'any {sweep.cutoff}'}" if several else ""
    which = f"none of the {number} configurations{those} can be told apart from the best"
    if number == 2:
        which = f"the 2 configurations{those} cannot be told apart"
    return f"No winner{anywhere}: {which}. Choose by cost. {value}.{nowhere}"


def _which_at_each(decision: Decision) -> str:
    """The choice of a sweep with several cutoffs."""
    sweep, choices = decision.sweep, decision.choices.values()
    if decision.for_all and decision.for_all.serves:
        return f"At every {sweep.cutoff}: {_with_others(decision, decision.for_all.label, _always_tied(decision))}."
    each = [f"at {sweep.cutoff} {_cutoffs(group)}: {label}" for label, group in _by_label(decision)]
    sentence = "; ".join(each)
    alone = all(alone_meets(decision, choice) for choice in choices)
    return f"{sentence[:1].upper()}{sentence[1:]}.{' Nothing else meets the requirements.' if alone else ''}"


def _which_of(decision: Decision, choice: Choice) -> str:
    """The choice of a sweep with one cutoff."""
    sweep = choice.allowed
    measured = f"{sweep.label(choice.named)}: {_measured(sweep, choice.named)}"
    if choice.named not in choice.tied:
        return (
            f"{measured}. It is worse than the best, {sweep.label(choice.best)} (p <= 0.05), but shown not to be "
            f"worse by {sweep.settings.margin:g} {sweep.metric_title} or more."
        )
    tied = f" These cannot be told apart: {tied_in_words(sweep)}." if choice.distinct > 1 and choice.others else ""
    alone = " Nothing else meets the requirements." if alone_meets(decision, choice) else ""
    return f"{measured}.{tied}{alone or worse_in_words(choice)}"


def _always_tied(decision: Decision) -> list[Outcome]:
    """The configurations, besides the one for all cutoffs, that are tied with the best at every cutoff."""
    assert decision.for_all
    labels = [{decision.sweep.label(outcome) for outcome in choice.tied} for choice in decision.choices.values()]
    common = set.intersection(*labels) - {decision.for_all.label}
    return [outcome for outcome in decision.headline.allowed.outcomes if decision.sweep.label(outcome) in common]


def _with_others(decision: Decision, label: str, others: Sequence[Outcome]) -> str:
    """A configuration, and in brackets those that cannot be told apart from the best."""
    if not others:
        return label
    tied = all(label in map(decision.sweep.label, choice.tied) for choice in decision.choices.values())
    labels = [decision.sweep.label(outcome) for outcome in others]
    varied = [name for name in decision.sweep.axes if name != decision.sweep.cutoff]
    if len(varied) == 1:
        labels = [values_in_words(decision.sweep.axes[varied[0]], {outcome.swept.get(varied[0]) for outcome in others})]
    more = f" and {len(labels) - MOST_TIED_NAMED} more" if len(labels) > MOST_TIED_NAMED else ""
    return (
        f"{label} ({', '.join(labels[:MOST_TIED_NAMED])}{more} cannot be told apart{'' if tied else ' from the best'})"
    )


def _by_label(decision: Decision) -> list[tuple[str, list[int | None]]]:
    """The named configurations, each with the cutoffs at which it is named."""
    groups: dict[str, list[int | None]] = {}
    for cutoff, choice in decision.choices.items():
        label = decision.sweep.label(choice.named) if choice.meets else "none meets the requirements"
        groups.setdefault(label, []).append(cutoff)
    return list(groups.items())


def _cutoffs(cutoffs: Sequence[int | None]) -> str:
    texts = list(map(str, cutoffs))
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def _what_a_cutoff_buys(decision: Decision) -> str:
    """The first gain and the first cost of one configuration at each swept cutoff."""
    sweep, points = decision.sweep, bought(decision)
    if not decision.gain or len(points) < 2:
        return ""
    unit = sweep.metric_info[decision.cost].unit if decision.cost else ""
    (cutoff, value, price), *others = points
    first = f"{cutoff} gives {value:.2f}" + ("" if price is None else f" for about {rough(price)} {unit}")
    rest = [
        f"{cutoff} {value:.2f}" + ("" if price is None else f" for {rough(price)}") for cutoff, value, price in others
    ]
    title = in_sentence(sweep.title(decision.gain))
    if sweep.sign(decision.gain) * (others[-1][1] - value) <= 0:
        return f"A larger {sweep.cutoff} buys no {title}{of_which(decision)}: {', '.join([first, *rest])}."
    return f"{sweep.cutoff} buys {title}{of_which(decision)}: {', '.join([first, *rest])}. Choose it by your budget."


def of_which(decision: Decision) -> str:
    """The configuration that a sentence about several cutoffs is about, unless it is the choice at each of them."""
    named = [choice.named.configuration for choice in decision.choices.values()]
    return "" if all(each == named[0] for each in named) else f", of {decision.sweep.label(decision.named)}"


def bought(decision: Decision) -> list[tuple[int, float, float | None]]:
    """The gain and the cost of the named configuration at each swept cutoff at which it meets the requirements.

    Of one configuration: between the choices at two cutoffs, other settings differ as well.
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
        if cutoff is not None and (value := run.value(gain)) is not None
    ]


def _what_to_expect(decision: Decision) -> str:
    """The measured and the expected value at the cutoff of the headline, and what is shown about promises."""
    choice, sweep = decision.headline, decision.sweep
    promises = " ".join(promise_in_words(decision, promise) for promise in decision.promises)
    if len(sweep.outcomes) == 1 or not choice.meets:
        return promises
    sentence = ""
    if choice.expected is not None:
        measured = sweep.statistic(choice.named, sweep.decided_by)
        loss = sweep.sign(sweep.decided_by) * (round(measured, 3) - round(choice.expected, 3))
        below = f"{loss:.3f} {'below' if sweep.higher_is_better else 'above'} the" if loss > 0 else "as"
        sentence = (
            f"Expected on new queries{at(sweep, choice)}: {sweep.metric_title} {choice.expected:.3f} "
            f"(cross-validation), {below} measured {measured:.3f} {interval(sweep, choice.named, sweep.decided_by)}."
        )
    elif len(decision.choices) > 1:
        sentence = f"Measured{at(sweep, choice)}: {_measured(sweep, choice.named)}."
        if choice.named is not choice.best:
            sentence += " What to expect on new queries is estimated for the best one only."
    return f"{sentence} {promises}".strip()


def promise_in_words(decision: Decision, promise: Promise) -> str:
    """What the queries show about a promise."""
    found, title = promise.certificate, in_sentence(decision.sweep.title(promise.metric))
    what = f"{title} of at least {promise.share:g}"
    if found.cutoff is not None:
        return f"{decision.sweep.cutoff} {found.cutoff} is the smallest shown to have a {what} (95 % confidence)."
    largest = f"{found.lower_bounds[-1]:.3f} at {decision.sweep.cutoff} {promise.largest}"
    shown = f"{promise.queries} queries show at least {largest}"
    needed = f"; {found.needed:,} queries like these would show it" if found.needed else ""
    return f"No measured {decision.sweep.cutoff} is shown to have a {what}: {shown}{needed}."


def interval(sweep: Sweep, outcome: Outcome, metric: str) -> str:
    """The 95 % interval of a metric."""
    low, high = (sweep.statistic(outcome, metric, end) for end in ("_low", "_high"))
    return f"[{low:.3f}, {high:.3f}]"


def kind_of_interval(sweep: Sweep, *metrics: str) -> str:
    """What the intervals of some metrics are, for a chart."""
    wilson = {sweep.metric_info[name].wilson for name in metrics}
    if True not in wilson:
        return INTERVALS
    return "95 % Wilson interval" if len(wilson) == 1 else "95 % interval, Wilson's or by bootstrap over queries"


def p_value(p: float) -> str:
    """A p-value, with more digits if it is small or close to 0.05."""
    if p < 0.001:
        return "< 0.001"
    return f"{p:.4f}" if abs(p - 0.05) < 0.0005 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def rough(number: float) -> str:
    """A number in two significant digits."""
    return f"{float(f'{number:.2g}'):,.10g}"


def _measured(sweep: Sweep, outcome: Outcome) -> str:
    metric = sweep.decided_by
    return f"{sweep.title(metric)} {sweep.statistic(outcome, metric):.3f} {interval(sweep, outcome, metric)}"


def at(sweep: Sweep, choice: Choice) -> str:
    """The cutoff of a choice, for a sentence."""
    return f" at {sweep.cutoff} {choice.cutoff}" if choice.cutoff is not None else ""


def in_sentence(title: str) -> str:
    """A title within a sentence: abbreviations such as NDCG stay as they are."""
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]
