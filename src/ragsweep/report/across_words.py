"""The decision over several datasets in sentences, and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite

from ragsweep.core.terminal import counted, one_line
from ragsweep.report.value_words import cutoffs_in_words, in_sentence, p_value, rough
from ragsweep.statistics.intervals import EQUAL
from ragsweep.sweeps import AcrossDatasets

ended = unjudged = news = not_shown = unread_texts_in_words = doubted = lambda *_: ""
missing = lambda *_: ""

NAMES_SHOWN = 5  # datasets, or configurations, in a sentence


def across_in_words(across: AcrossDatasets) -> list[str]:
    """What to take on all datasets, how it stands on each, which cannot choose, disagreement, and other datasets."""
    lost = missing(across.unfinished, len(across.outcomes))
    if across.problem:
        why = f"There is no decision over {datasets_listed(across)}: {across.problem}. Each stands alone."
        return [one_line(sentence) for sentence in (why, _left_out(across), lost) if sentence]
    several = len(across.labels) > 1 and not across.same_values
    rest = [_largest_loss(across), _best_mean(across), _agreement(across), _another(across)] if several else []
    cautions = [_guessing(across), _few(across), _unknown(across), _in_common(across)]
    first = [lost, _which(across), _standing(across) if several else "", *cautions]
    sentences = [*first, *rest, _left_out(across), _at_others(across)]
    return [one_line(sentence) for sentence in sentences if sentence]


def across_table(across: AcrossDatasets) -> list[list[str]]:
    """A header, and a row per configuration, the one to take first: its value and its loss on each dataset."""
    if across.problem:
        return []
    mean, largest = across.means.mean(axis=0), across.regrets.measured.max(axis=0)
    order = sorted(range(len(across.labels)), key=lambda place: (place != across.place, largest[place]))
    heads = [f"{name} ({queries})" for name, queries in across.queries.items()]
    rows = [
        [
            across.labels[place],
            *(
                f"{value:.3f} {f'({loss:.3f} lost)' if loss > EQUAL else '(best)'}"
                for value, loss in zip(across.means[:, place], across.regrets.measured[:, place], strict=True)
            ),
            f"{mean[place]:.3f}",
            f"{largest[place]:.3f}",
        ]
        for place in order
    ]
    return [["configuration", *heads, "mean", "largest loss"], *rows]


def about_across_table(across: AcrossDatasets) -> str:
    """What the numbers of the table are."""
    at = "" if across.cutoff is None else f" at {cutoffs_in_words(across.decisions[0].sweep, across.cutoff)}"
    return f"{_title(across)}{at}, and how much is lost against the best one on the dataset (with so many queries)."


def across_title(across: AcrossDatasets) -> str:
    """The question that a sweep over several datasets asks."""
    return f"Which {_listed(list(across.shown.values())) or 'configuration'} for {_listed(across.names)}?"


def alone(across: AcrossDatasets, place: int) -> str:
    """The heading of what would be said of one dataset."""
    name = across.names[place]
    return f"If {name} were the only dataset ({counted(across.queries[name], 'query')}):"


def _title(across: AcrossDatasets) -> str:
    return across.decisions[0].sweep.metric_title


def _listed(names: Sequence[str], last: str = "and") -> str:
    """Some names: `a`, `a and b`, `a, b and c`; of many, the first ones and how many there are besides."""
    shown = list(names) if len(names) <= NAMES_SHOWN + 1 else [*names[:NAMES_SHOWN], f"{len(names) - NAMES_SHOWN} more"]
    return f" {last} ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def datasets_listed(across: AcrossDatasets) -> str:
    """The datasets with the number of their queries: `a (133 queries) and b (8)`."""
    counts = [
        f"{name} ({counted(queries, 'query') if not place else queries})"
        for place, (name, queries) in enumerate(across.queries.items())
    ]
    return _listed(counts)


def _which(across: AcrossDatasets) -> str:
    sweep = across.decisions[0].sweep
    at = f" at {cutoffs_in_words(sweep, across.cutoff)}" if len(sweep.cutoffs) > 1 else ""
    over, number, named = f"Across {datasets_listed(across)}{at}:", len(across.labels), across.named
    if number == 1:
        which = f" ({named})" if across.shown else ""
        return f"{over} only one configuration takes part{which}, so there is nothing to choose. {_mean(across)}"
    if verdict := _vetoed(across):
        return f"{over} {verdict}"
    which = "both" if number == 2 else f"all {number}"
    if across.same_values:
        check = "Check that what was swept takes effect, or choose by cost."
        return f"{over} {which} configurations measure the same. {check}"
    cost = across.by_cost
    price = ""
    if cost:
        metric = across.decisions[0].sweep.metric_info[cost]
        price = f" ({rough(across.cost_of(named, cost))} {metric.unit or in_sentence(metric.title)})"
    if across.told_apart:
        if across.differ and "worse" in across.standings:
            return f"{over} {named}, if one configuration has to serve all."
        return f"{over} ship {named}{f', the cheapest of those that may be the best on each{price}' if cost else ''}."
    apart = f"{over} the {number} configurations cannot be told apart, on any of them or by their mean."
    if cost is None:
        return f"{apart} Choose by cost. The smallest largest loss, perhaps by chance, is that of {named}."
    if across.costs_the_same:
        same = f"Ship any of them: about the same {in_sentence(metric.title)} for each{price}."
        return f"{apart} {same} The smallest largest loss, perhaps by chance, is that of {named}."
    return f"{apart} Ship the cheapest: {named}{price}."


def _vetoed(across: AcrossDatasets) -> str:
    """What is said in place of what to ship, where guessing is as good or the data must be looked at first."""
    if _guessed(across) == across.names:
        return (
            f"nothing to ship. The choice would be {across.named}, which is nowhere shown to be better than guessing."
        )
    unread = zip(across.names, map(unread_texts_in_words, across.decisions), strict=True)
    if vetoes := [f"On {name}: {sentence}" for name, sentence in unread if sentence]:
        return f"{' '.join(vetoes)} The choice would be {across.named}."
    doubted_ones = (decision for decision in across.decisions if doubted(decision))
    doubts = dict.fromkeys(" ".join([news(each), *not_shown(each)]).strip() for each in doubted_ones)
    return f"{' '.join(doubts)} The choice would be {across.named}." if doubts else ""


def _unknown(across: AcrossDatasets) -> str:
    """On which datasets results were not judged, or lists end; of one that must be looked at first, that is said."""
    each = zip(across.names, across.decisions, strict=True)
    some = [(name, [*ended(decision), *unjudged(decision)]) for name, decision in each if not doubted(decision)]
    return " ".join(f"On {name}: {sentence}" for name, sentences in some for sentence in sentences)


def _standing(across: AcrossDatasets) -> str:
    """On which datasets the choice is the best, and how much it loses on the others."""
    by_loss = sorted(range(len(across.names)), key=lambda place: -across.regrets.measured[place, across.place])
    best = [name for name, standing in zip(across.names, across.standings, strict=True) if standing == "best"]
    parts = [f"measured best on {_listed(best)}"] if best else []
    for standing in ("tied", "worse"):
        some = [_loss_on(across, place) for place in by_loss if across.standings[place] == standing]
        if some:
            parts.append(f"{'tied with' if standing == 'tied' else 'worse than'} the best on {_listed(some)}")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def _loss_on(across: AcrossDatasets, place: int) -> str:
    loss, high = (float(each[place, across.place]) for each in (across.regrets.measured, across.regrets.high))
    most = f", at most {high:.3f}" if high < float("inf") else ""
    return f"{across.names[place]} (loses {loss:.3f} {_title(across)}{most})"


def _guessed(across: AcrossDatasets) -> list[str]:
    """The datasets on which the choice is not shown to be better than guessing."""
    runs = zip(across.names, across.decisions, across.runs[across.named], strict=True)
    known = {name: decision.against_guessing[run] for name, decision, run in runs if run in decision.against_guessing}
    return [name for name, found in known.items() if not found.better]


def _guessing(across: AcrossDatasets) -> str:
    """On which datasets, if not on all, the choice is not shown to be better than guessing."""
    some = _guessed(across)
    on_some = 0 < len(some) < len(across.names)
    return (
        f"On {_listed(some)} there is nothing to ship: it is not shown to be better than guessing." if on_some else ""
    )


def _few(across: AcrossDatasets) -> str:
    """Which datasets tell nothing apart by themselves."""
    few = [name for name in across.cannot_choose if across.has_few(name)]
    others = [name for name in across.cannot_choose if not across.has_few(name)]
    sentences = []
    if few:
        sentences.append(f"{_listed(few)} {'has' if len(few) == 1 else 'have'} too few queries to choose alone.")
    if across.told_apart and len(others) == len(across.names):
        sentences.append("No dataset alone tells the configurations apart; all of them together do.")
    elif across.told_apart and others:
        sentences.append(f"{_listed(others)} alone cannot tell the configurations apart.")
    return " ".join(sentences)


def _in_common(across: AcrossDatasets) -> str:
    """Which datasets have the same queries, which then count twice."""
    return " ".join(
        f"{one} and {other} have {counted(number, 'query')} in common, which count twice: leave one of the two out."
        for (one, other), number in across.in_common.items()
    )


def _largest_loss(across: AcrossDatasets) -> str:
    """The largest loss of the choice with its interval, and whether another one measures a smaller one."""
    found, title = across.regrets, _title(across)
    place, least = across.place, across.least
    low, high = (float(bounds[:, place].max()) for bounds in (found.low, found.high))
    largest = found.measured.max(axis=0)
    if set(across.standings) == {"best"}:
        return (
            f"It loses at most {high:.3f} {title} on any of them (95 % confidence)." if 0 < high < float("inf") else ""
        )
    bounds = f"[{low:.3f}, {high:.3f}]" if high < float("inf") else f"(at least {low:.3f})"
    sentence = f"Its largest loss is {largest[place]:.3f} {title} {bounds}"
    if largest[place] <= largest[least] + EQUAL:
        return f"{sentence}, the smallest of the {len(across.labels)} configurations."
    worse_on = [name for name, tied in zip(across.names, across.tied[:, least], strict=True) if not tied]
    why = f"is worse on {_listed(worse_on)}" if worse_on else "costs more" if across.by_cost else "is worse in the mean"
    return f"{sentence}; {across.labels[least]} measures {largest[least]:.3f}, but {why}."


def _best_mean(across: AcrossDatasets) -> str:
    best, title = across.best_mean, _title(across)
    value = f"{across.means[:, best].mean():.3f}{_mean_interval(across, best)}"
    expected = "" if across.expected is None else f", {across.expected:.3f} expected on new queries (cross-validation)"
    if best == across.place:
        return f"It has the best mean over the datasets, too: {title} {value}{expected}."
    own = across.means[:, across.place].mean()
    tied = "; the two cannot be told apart" if across.tied_in_mean[across.place] else ""
    which = across.labels[best]
    return f"The best mean over the datasets has {which}: {title} {value}{expected}; this one {own:.3f}{tied}."


def _mean(across: AcrossDatasets) -> str:
    mean = across.means[:, across.place].mean()
    return f"Its mean over the datasets is {_title(across)} {mean:.3f}{_mean_interval(across, across.place)}."


def _mean_interval(across: AcrossDatasets, place: int) -> str:
    """The interval of a mean, after a space; none where a dataset has a single query."""
    low, high = (float(bounds[place]) for bounds in across.mean_intervals)
    return f" [{low:.3f}, {high:.3f}]" if isfinite(high - low) else " (no interval: a dataset has only 1 query)"


def _agreement(across: AcrossDatasets) -> str:
    """Whether the configurations differ in the same way on all datasets."""
    p = across.disagreement
    if p is None:
        return ""
    if not across.differ:
        return f"The datasets are not shown to disagree about the configurations (p {p_value(p)})."
    own = [
        f"{across.label(choice.named)} on {name}"
        for name, choice, standing in zip(across.names, across.choices, across.standings, strict=True)
        if standing == "worse"
    ]
    each = f" Where each can have its own: {_listed(own)}." if own else ""
    return f"The datasets disagree about the configurations more than chance (p {p_value(p)}).{each}"


def _another(across: AcrossDatasets) -> str:
    """What to expect on a dataset that is not among these."""
    found, title = across.transfer, _title(across)
    if across.by_cost:  # the losses are those of what the metric chooses
        return ""
    if found is None:
        return "Two datasets cannot tell what to expect on another one: that needs at least three."
    if found.bound is None:
        return "Chosen without any one of them, it is the best on that one, too; what it loses on others is not known."
    worst = across.names[int(found.losses.argmax())]
    bound = f"Expect it to lose at most {found.bound:.3f} {title} on 9 of 10 datasets like these."
    if found.bound > across.regrets.measured.max():
        bound = f"{len(across.names)} datasets are too few to say what it loses at most on another one."
    return (
        f"On a dataset that took no part in the choice, it lost {found.losses.mean():.3f} {title} on average, at most "
        f"{found.losses.max():.3f} (on {worst}; each was left out once). {bound}"
    )


def _left_out(across: AcrossDatasets) -> str:
    reasons: Iterator[str] = (f"{label} ({why})" for label, why in across.left_out.items())
    return f"Left out: {_listed(list(reasons))}." if across.left_out else ""


def _at_others(across: AcrossDatasets) -> str:
    """How to decide at another cutoff."""
    if not across.other_cutoffs:
        return ""
    others = _listed([str(each) for each in across.other_cutoffs], "or")
    here = cutoffs_in_words(across.decisions[0].sweep, across.cutoff)
    return f"This is decided at {here} alone; decision.at=... decides at {others}."
