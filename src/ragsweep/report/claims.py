"""What can be claimed of a decision: a function for each claim finds its numbers; claims.toml has its sentence.

The order of `VETOES` is the precedence: the first claim that vetoes is why nothing is shipped, and the headline is the
first sentences that have their place there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isfinite

from ragsweep.core.terminal import counted
from ragsweep.report.evidence import EVIDENCE, Finder
from ragsweep.report.sentences import Claim, sentences
from ragsweep.report.value_words import at, cutoffs_in_words, measured_with, price, queries_in_words, tied_in_words
from ragsweep.statistics import FEW_QUERIES
from ragsweep.statistics.power import FEWEST_FLIPPED
from ragsweep.sweeps import Choice, Decision, Outcome, Sweep
from ragsweep.sweeps.sweep import ALIKE

MOST_SENTENCES = 3  # of a headline
MOST_UNREAD = 0.05  # of the queries or passages: where a model does not read so many to their end, nothing is shipped
MOST_UNANSWERED = 0.5  # of the queries; with more, that is the news
TAKEN = (None, "tied", "one configuration", "same values")  # the first veto, where the choice can be taken all the same
LARGE_DIFFERENCE = 0.05  # of a metric; who would not want to know of it
AS_MEASURED = {"choice": "measured_best"}  # what this is where nothing is shipped
UNSETTLED = ("tied", "same_values", "one_configuration")
IDLE = (*UNSETTLED, "not_one_best", "elsewhere", "rule", "expected", "edge")  # where data vetoes


def claims_of(decision: Decision) -> list[Claim]:
    """Everything that is known of a decision, in the order of its precedence.

    Only the first veto is in the headline. Where there is one, what measured best is in the evidence.
    """
    claims = [claim for find in (*VETOES, *REST) for claim in find(decision)]
    first = next((claim for claim in claims if claim.vetoes), None)
    if first is None:
        return claims
    dropped = ("expected",) if first.name.replace("_", " ") in TAKEN else IDLE
    return [
        replace(claim, place="evidence", name=AS_MEASURED.get(claim.name, claim.name))
        if (claim.vetoes and claim is not first) or claim.name in AS_MEASURED
        else claim
        for claim in claims
        if claim.name not in dropped
    ]


def veto_of(decision: Decision, choice: Choice | None = None) -> str | None:
    """Why a choice, or that of the headline, is not shown to be one: the name of the first claim that vetoes."""
    alone = Decision(decision.sweep, {choice.cutoff: choice}) if choice else decision
    claims = (claim for find in VETOES for claim in find(alone))
    return next((claim.name.replace("_", " ") for claim in claims if claim.vetoes), None)


def headline(decision: Decision) -> list[str]:
    """At most three sentences: what to take, or why nothing is; what it is not shown to beat; what is missing."""
    return sentences(claims_of(decision))[:MOST_SENTENCES]


def evidence(decision: Decision) -> list[str]:
    """Further sentences: what the headline has no place for, how the choice was made, warnings, the baseline, power."""
    claims = claims_of(decision)
    return [*sentences(claims)[MOST_SENTENCES:], *sentences(claims, "evidence")]


# What vetoes


def requirements(decision: Decision) -> Iterator[Claim]:
    """No configuration meets the requirements."""
    sweep, asked = decision.sweep, decision.headline
    if asked.meets:
        return
    some_meet = any(choice.meets for choice in decision.choices.values())
    choices = [asked] if some_meet else [*decision.choices.values()]
    best = [
        {"label": sweep.label(run), "at": at(sweep, choice), "why": choice.excluded[run.name]}
        for choice in (choices[0], *choices[1:][-1:])  # a cost may be met at one end, a gain at the other
        for run in [choice.named]
    ]
    yield Claim("requirements", {"best": best, "at": at(sweep, asked) if some_meet else ""}, vetoes=True)


def unread_texts(decision: Decision) -> Iterator[Claim]:
    """A model does not read 5 % of the queries or passages of a comparison to their end."""
    labels: dict[str, list[str]] = {}
    texts = [
        (text, decision.sweep.label(run))
        for run in decision.headline.allowed.outcomes
        for text in run.facts.unread_texts
        if text.share >= MOST_UNREAD
    ]
    texts.sort(key=lambda pair: -pair[0].share)
    for text, label in texts:
        labels.setdefault(text.in_words, []).append(label)
    advice = dict.fromkeys(text.advice.removesuffix(".") for text, _ in texts)
    if labels:
        yield Claim("unread_texts", {"texts": labels, "advice": [*advice]}, vetoes=True)


def guessing(decision: Decision) -> Iterator[Claim]:
    """Whether the choice, and how many other configurations, are better than guessing."""
    comparisons = decision.against_guessing
    if comparisons:
        own, better = comparisons[decision.named], sum(run.better for run in comparisons.values())
        numbers = {
            "metric": decision.sweep.metric_title,
            "value": own.value,
            "label": decision.sweep.label(decision.named),
            "own": own.better,
            "better": better,
            "tests": len(comparisons),
            "p": own.p,
        }
        yield Claim("guessing", numbers, "evidence" if own.better else "headline", vetoes=not own.better)


def unread_answers(decision: Decision) -> Iterator[Claim]:
    """How many answers could not be read, and whether the choice depends on how they count."""
    unread = decision.unread
    if unread is None or not unread.most:
        return
    sweep = decision.sweep
    label = sweep.label if len(decision.choices) == 1 else lambda run: run.name
    about = decision.named.facts.unread[sweep.decided_by]
    numbers = {
        "counts": {label(run): count for run, count in sorted(unread.counts.items(), key=lambda item: -item[1])},
        "queries": len(sweep.queries),
        "causes": {label(run): dict(causes) for run, causes in unread.causes.items() if causes},
        "worst": None if about.otherwise else sweep.metric_title,
        "otherwise": [
            {
                "counted_as": recount.counted_as,
                "best": recount.choice.allowed.label(recount.choice.best),
                "cannot_be_told_apart": [*map(recount.choice.allowed.label, recount.choice.tied)],
                "replaces": recount.replaces,
            }
            for recount in unread.recounts
        ],
    }
    depends = bool(unread.replacing)
    yield Claim("unread_answers" if depends else "unread", numbers, "headline" if depends else "evidence", depends)


def unequal_text(decision: Decision) -> Iterator[Claim]:
    """At the same cutoff, the one to ship returns more text than one that it beats."""
    choice, named = decision.headline, decision.named
    if choice.undecided is None:
        order = [choice.allowed.outcomes[place] for place in choice.allowed.table["outcome"]]
        beaten = [run for run in order[order.index(named) + 1 :] if run not in choice.tied]
        yield from more_text(decision.sweep, choice, named, beaten)


def more_text(sweep: Sweep, choice: Choice, named: Outcome, beaten: Sequence[Outcome]) -> Iterator[Claim]:
    """That a configuration returns more text than one that it beats, unless text is what it was chosen by."""
    metric = named.facts.metrics.get(sweep.decided_by)
    cost = next((name for name in sweep.settings.costs if name in named.facts.at_k), None)
    if sweep.budgeted or (metric and metric.of_text) or not sweep.cutoff or (cost and sweep.settings.prefer == cost):
        return
    less = [(*texts, run) for run in beaten if (texts := _less_text(sweep, named, run, cost))]
    if less:
        least, own, unit, run = min(less, key=lambda texts: texts[0])
        labels = {"label": sweep.label(named), "other": sweep.label(run), "cutoff": at(sweep, choice)}
        yield Claim("unequal_text", {**labels, "texts": [own, least], "unit": unit}, vetoes=True)


def _less_text(sweep: Sweep, named: Outcome, run: Outcome, cost: str | None) -> tuple[float, float, str] | None:
    """What a run of smaller passages returns, what the choice does, and in which unit; None if that is no less."""
    own, other = named.facts.returned, run.facts.returned
    if own is None or other is None or other.characters * ALIKE >= own.characters:
        return None
    values = [one.value(cost) if cost else None for one in (run, named)]
    if cost is None or None in values or own.counted_by != other.counted_by:
        return other.characters, own.characters, "characters a passage"
    least, most = (value or 0.0 for value in values)
    return (least, most, sweep.metric_info[cost].unit) if least < most else None


def page_judgments(decision: Decision) -> Iterator[Claim]:
    """The judgments cannot compare what was swept."""
    swept = {part for name in decision.sweep.axes for part in (name, name.partition(".")[0])}
    for group, sentence in decision.named.facts.if_swept.items():
        if group in swept:
            yield Claim("page_judgments", {"why": sentence}, vetoes=True)


def most_fail(decision: Decision) -> Iterator[Claim]:
    """Every configuration fails for most queries, for another reason than that all guess."""
    lost, sweep, unread = len(decision.unanswered), decision.sweep, decision.unread
    explains = unread is not None and min(unread.counts.values()) >= lost
    comparisons = decision.against_guessing.values()
    if lost > MOST_UNANSWERED * len(sweep.queries) and (
        not comparisons or explains or any(comparison.better for comparison in comparisons)
    ):
        numbers = {"lost": lost, "queries": len(sweep.queries), "metric": sweep.metric_title, "responses": explains}
        yield Claim("most_fail", {**numbers, "one": sweep.configurations == 1}, vetoes=True)


def nothing_found(decision: Decision) -> Iterator[Claim]:
    """A configuration that is compared finds nothing for any query, though others do."""
    level = decision.headline.allowed
    empty = [run for run in level.outcomes if _finds_nothing(level, run)]
    if 0 < len(empty) < len(level.outcomes):
        yield Claim("nothing_found", {"labels": [*map(decision.sweep.label, empty)]}, vetoes=True)


def _finds_nothing(level: Sweep, run: Outcome) -> bool:
    """Whether the deciding metric, or every gain, is at its worst for every query; not where nothing could be read."""
    gains = [name for name in level.settings.gains if name in run.facts.metrics and name in run.per_query]
    decides = [level.decided_by] * level.is_mean(level.decided_by)
    return level.decided_by not in run.facts.unread and any(
        names and all(run.at_worst(name).all() for name in names) for names in (decides, gains)
    )


def one_configuration(decision: Decision) -> Iterator[Claim]:
    """There is nothing to choose, or only a cutoff."""
    sweep, choice = decision.sweep, decision.headline
    if choice.undecided == "one configuration":
        meeting = [other for other in decision.choices.values() if other.meets]
        alike = all(other.named.configuration == choice.named.configuration for other in meeting)
        numbers = {"name": sweep.label(choice.named), "cutoffs": len(meeting), "cutoff": sweep.cutoff, "alike": alike}
        yield Claim("one_configuration", {**numbers, **measured_with(sweep, choice.named)}, vetoes=True)


def same_values(decision: Decision) -> Iterator[Claim]:
    """All configurations measure the same."""
    sweep, choice = decision.sweep, decision.headline
    if choice.undecided == "same values":
        numbers = {"number": len(choice.allowed.outcomes), "at": at(sweep, choice), "those": _those(choice)}
        yield Claim("same_values", {**numbers, **measured_with(sweep, choice.named)}, vetoes=True)


def too_few(decision: Decision) -> Iterator[Claim]:
    """So few queries can show no difference, however large."""
    sweep = decision.sweep
    if sweep.groups.number < FEWEST_FLIPPED and len(decision.headline.allowed.outcomes) > 1:
        noun = "group" if sweep.groups.in_use else "query"
        yield Claim("too_few", {"number": sweep.groups.number, "noun": noun, "fewest": FEWEST_FLIPPED}, vetoes=True)


def tied(decision: Decision) -> Iterator[Claim]:
    """Nothing can be told apart: what is cheapest, and how many queries would show a difference that matters."""
    sweep, choice = decision.sweep, decision.headline
    if choice.undecided != "tied":
        return
    level, settings, power = choice.allowed, sweep.settings, choice.allowed.standings.power
    cost = choice.prefer or next((name for name in settings.costs if choice.named.value(name) is not None), None)
    alike, paid = cost is not None and choice.costs_the_same(cost), price(sweep, choice.named, cost)
    compared = [cutoff for cutoff, other in decision.choices.items() if other.undecided == "tied"]
    everywhere = len(compared) == len(decision.choices)
    copies, groups = None, f"{counted(sweep.groups.number, 'group')} of queries"
    sign = sweep.sign(cost) if cost else 1
    if power and power.too_alike:
        copies = [sweep.label(choice.best), sweep.label(level.outcomes[power.rival]), power.differing]
    yield Claim(
        "tied",
        {
            "queries": groups if sweep.groups.in_use else queries_in_words(sweep),
            "number": len(level.outcomes),
            "those": _those(choice),
            "at": f" at any {sweep.cutoff}" if everywhere and len(compared) > 1 else at(sweep, choice),
            "cheapest": sweep.label(choice.named) if choice.prefer and paid and not alike else None,
            "price": paid,
            "near": bool(paid and any(sign * (run.value(cost or "") or 0) > sign * paid[0] for run in choice.as_good)),
            "cost": cost and sweep.title(cost),
            "highest": bool(cost and sweep.metric_info[cost].higher_is_better),
            "alike": alike,
            "metric": sweep.metric_title,
            "difference": LARGE_DIFFERENCE,
            "more": power and max(power.needed(LARGE_DIFFERENCE) - power.queries, 0),
            "detectable": power and power.detectable,
            "near_copies": copies,
        },
        vetoes=True,
    )


def _those(choice: Choice) -> str:
    return " that meet the requirements" if choice.barred else ""


# What is shipped


def not_one_best(decision: Decision) -> Iterator[Claim]:
    """Which configurations cannot be told apart from the best, where others are worse."""
    sweep, choice = decision.sweep, decision.headline
    if choice.undecided is None and len(choice.tied) > 1:
        same = all(run.measured == choice.best.measured for run in choice.tied)
        numbers = {"labels": tied_in_words(sweep, choice), "same": same, "at": at(sweep, choice)}
        worse = len(choice.allowed.outcomes) - len(choice.tied)
        yield Claim("not_one_best", {**numbers, "worse": worse, "barred": bool(choice.barred)})


def choice(decision: Decision) -> Iterator[Claim]:
    """What to take at the cutoff of the headline."""
    sweep, chosen = decision.sweep, decision.headline
    if chosen.undecided is not None:
        return
    prefer, named = chosen.prefer, chosen.named
    others = [other for other in decision.choices.values() if other is not chosen]
    everywhere = others and all(_same(sweep, other, named) and veto_of(decision, other) in TAKEN for other in others)
    numbers = {
        "label": sweep.label(named),
        "where": f" at every {sweep.cutoff}" if everywhere else at(sweep, chosen),
        "at": at(sweep, chosen),
        **measured_with(sweep, named),
        "tied": len(chosen.tied) > 1,
        "others": len(chosen.allowed.outcomes) - 1,
        "better": len(chosen.tied) == 1 and named is chosen.best,
        "preferred": sweep.title(prefer) if prefer and named is not chosen.best else None,
        "highest": bool(prefer and sweep.metric_info[prefer].higher_is_better),
        "price": prefer and price(sweep, named, prefer),
        "margin": sweep.settings.margin if named not in chosen.tied else None,
        "best": sweep.label(chosen.best),
        "barred": bool(chosen.barred),
    }
    yield Claim("choice", numbers)


def _same(sweep: Sweep, choice: Choice, named: Outcome) -> bool:
    return choice.meets and sweep.label(choice.named) == sweep.label(named)


def elsewhere(decision: Decision) -> Iterator[Claim]:
    """What is chosen at other cutoffs, where it is another configuration."""
    sweep, named = decision.sweep, decision.named
    if decision.headline.undecided is not None:
        return
    groups: dict[str | None, list[int | None]] = {}
    for cutoff in decision.headline_cutoffs:
        other = decision.choices[cutoff]
        if not _same(sweep, other, named) and veto_of(decision, other) in (None, "requirements"):
            groups.setdefault(sweep.label(other.named) if other.meets else None, []).append(cutoff)
    if groups:
        places = [{"at": cutoffs_in_words(sweep, *some), "label": label} for label, some in groups.items()]
        yield Claim("elsewhere", {"places": places})


# What is missing


def missing(decision: Decision) -> Iterator[Claim]:
    """Which runs a decision lacks."""
    if unfinished := decision.sweep.unfinished:
        fates = [f"{name} ({fate})" for name, fate in unfinished.items()]
        yield Claim("missing", {"names": fates})


def caution(decision: Decision) -> Iterator[Claim]:
    """What must be said first of a configuration; of the choice in the headline."""
    names: dict[str, list[str]] = {}
    for run in decision.sweep.outcomes:
        names.setdefault(run.facts.caution, []).append(run.name)
    for sentence, some in names.items():
        own = sentence == decision.named.facts.caution
        if sentence:
            yield Claim(
                "caution", {"names": [] if own else some, "caution": sentence}, "headline" if own else "evidence"
            )


def promises(decision: Decision) -> Iterator[Claim]:
    """What the queries show about the promises of `decision.target`."""
    sweep, label = decision.sweep, decision.sweep.label(decision.named)
    for promise in decision.promises:
        certificate = promise.certificate
        numbers = {
            "metric": promise.metric,
            "title": sweep.title(promise.metric),
            "share": promise.share,
            "label": None if promise.metric in sweep.deepest(decision.named).facts.at_k else label,
            "cutoff": certificate.cutoff,
            "at": certificate.cutoff and cutoffs_in_words(sweep, certificate.cutoff),
            "cutoff_name": sweep.cutoff,
            "largest": promise.largest,
            "at_largest": cutoffs_in_words(sweep, promise.largest),
            "shown": certificate.lower_bounds[-1] if certificate.lower_bounds else None,
            "lower_bounds": [*certificate.lower_bounds],
            "queries": queries_in_words(sweep),
            "queries_needed": certificate.needed,
        }
        yield Claim("promise", numbers)
    if threshold := decision.threshold:
        certified = threshold.certificate
        numbers = {
            "metric": threshold.metric,
            "rate": threshold.rate,
            "shown": certified.shown,
            "threshold": certified.threshold if isfinite(certified.threshold) else None,
            "upper_bound": certified.upper,
            "false_finds": certified.false_finds,
            "queries": threshold.questions,
            "queries_needed": certified.needed,
            "hits": threshold.hits,
            "hits_kept": threshold.kept,
            "words": threshold.words._asdict(),
        }
        yield Claim("threshold", numbers)


def few(decision: Decision) -> Iterator[Claim]:
    """Few queries, or few groups of them, or that there are groups."""
    sweep = decision.sweep
    groups, is_few = sweep.groups, sweep.groups.number < FEW_QUERIES
    if (is_few or groups.in_use) and not any(too_few(decision)):
        numbers = {"queries": len(sweep.queries), "groups": groups.number if groups.in_use else None, "few": is_few}
        settled = decision.headline.undecided is None
        yield Claim("few", numbers, "headline" if is_few and settled else "evidence")


VETOES: tuple[Finder, ...] = (
    *(requirements, unread_texts, guessing, unread_answers, page_judgments, unequal_text, most_fail, nothing_found),
    *(one_configuration, same_values, too_few, tied),  # what leaves nothing to choose
)
REST = (caution, not_one_best, choice, missing, elsewhere, promises, few, *EVIDENCE)
