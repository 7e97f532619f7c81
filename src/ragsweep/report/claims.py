"""What can be claimed of a decision: the function of a claim's name finds its numbers; claims.toml has its sentence.

The order of claims.toml is the precedence: the first claim that vetoes is why nothing is shipped, and the headline is
the first sentences that have their place there. A function yields numbers once for each time that its claim holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import lru_cache

from ragsweep.report import evidence as of_evidence
from ragsweep.report.evidence import more_text, unread_numbers
from ragsweep.report.sentences import EVIDENCE, HEADLINE, VETOES, Claim, Numbers, sentences, words_of
from ragsweep.report.value_words import (
    at,
    cutoffs_in_words,
    grouped,
    measured_with,
    price,
    queries_in_words,
    tied_in_words,
)
from ragsweep.statistics import FEW_QUERIES, LEVEL
from ragsweep.statistics.power import FEWEST_FLIPPED
from ragsweep.sweeps import Choice, Decision, Outcome, Sweep

MOST_SENTENCES = 3  # of a headline
MOST_UNREAD = 0.05  # of the queries or passages: where a model does not read so many to their end, nothing is shipped
MOST_UNANSWERED = 0.5  # of the queries; with more, that is the news
TAKEN = (None, "tied", "one configuration", "same values")  # the first veto, where the choice can be taken all the same
LARGE_DIFFERENCE = 0.05  # of a metric; who would not want to know of it
AS_MEASURED = {"choice": "measured_best"}  # what this is where nothing is shipped
IDLE = {"tied", "same_values", "one_configuration", "not_one_best", "elsewhere", "rule", "expected", "edge"}


@lru_cache(maxsize=1)  # every outlet asks for the claims of one decision
def claims_of(decision: Decision) -> Sequence[Claim]:
    """Everything that is known of a decision, in the order of its precedence.

    Only the first veto is in the headline. Where there is one, what measured best is in the evidence.
    """
    claims = [claim for kind in (VETOES, HEADLINE, EVIDENCE) for claim in _claims(decision, kind)]
    first = next((claim for claim in claims if claim.vetoes), None)
    if first is None:
        return claims
    idle = {"expected"} if first.name.replace("_", " ") in TAKEN else IDLE
    return [
        replace(claim, place=EVIDENCE, name=AS_MEASURED.get(claim.name, claim.name))
        if (claim.vetoes and claim is not first) or claim.name in AS_MEASURED
        else claim
        for claim in claims
        if claim.name not in idle
    ]


def _claims(decision: Decision, kind: str) -> Iterator[Claim]:
    """The claims of one kind that hold. `place` among the numbers stands for another place; there, none vetoes."""
    sweep, choice, usual = decision.sweep, decision.headline, EVIDENCE if kind == EVIDENCE else HEADLINE
    about = {"label": sweep.label(choice.named), "at": at(sweep, choice), "cutoff_name": sweep.cutoff}
    about |= {"queries": queries_in_words(sweep), **measured_with(sweep, choice.named)}
    functions = {**vars(of_evidence), **globals()}
    for name in words_of(__package__)[kind]:
        for numbers in functions[name](decision):
            place = numbers.pop("place", usual)
            yield Claim(name, numbers, place, kind == VETOES and place == usual, about)


def veto_of(decision: Decision, choice: Choice | None = None) -> str | None:
    """Why a choice, or that of the headline, is not shown to be one: the name of the first claim that vetoes."""
    alone = Decision(decision.sweep, {choice.cutoff: choice}) if choice else None
    claims = _claims(alone, VETOES) if alone else claims_of(decision)
    return next((claim.name.replace("_", " ") for claim in claims if claim.vetoes), None)


def headline(decision: Decision) -> list[str]:
    """At most three sentences: what to take, or why nothing is; what it is not shown to beat; what is missing."""
    return sentences(claims_of(decision))[:MOST_SENTENCES]


def evidence(decision: Decision) -> list[str]:
    """Further sentences: what the headline has no place for, how the choice was made, warnings, the baseline, power."""
    claims = claims_of(decision)
    return [*sentences(claims)[MOST_SENTENCES:], *sentences(claims, EVIDENCE)]


# What vetoes


def requirements(decision: Decision) -> Iterator[Numbers]:
    """No configuration meets the requirements."""
    sweep, choices = decision.sweep, [*decision.choices.values()]
    if decision.headline.meets:
        return
    some_meet = any(choice.meets for choice in choices)
    ends = [choices[0], *choices[1:][-1:]]  # a cost may be met at one end, a gain at the other
    best = [
        {"label": sweep.label(choice.named), "at": at(sweep, choice), "why": choice.excluded[choice.named.name]}
        for choice in ([decision.headline] if some_meet else ends)
    ]
    yield {"best": best, "at": at(sweep, decision.headline) if some_meet else ""}


def unread_texts(decision: Decision) -> Iterator[Numbers]:
    """A model does not read 5 % of the queries or passages of a comparison to their end."""
    runs = decision.headline.allowed.outcomes
    texts = [(text, decision.sweep.label(run)) for run in runs for text in run.facts.unread_texts]
    texts = sorted((pair for pair in texts if pair[0].share >= MOST_UNREAD), key=lambda pair: -pair[0].share)
    if texts:
        advice = dict.fromkeys(text.advice.removesuffix(".") for text, _ in texts)
        yield {"texts": grouped((text.in_words, label) for text, label in texts), "advice": [*advice]}


def guessing(decision: Decision) -> Iterator[Numbers]:
    """Whether the choice, and how many other configurations, are better than guessing."""
    if comparisons := decision.against_guessing:
        own, better = comparisons[decision.named], sum(run.better for run in comparisons.values())
        numbers = {"value": own.value, "own": own.better, "better": better, "tests": len(comparisons), "p": own.p}
        yield {**numbers, "place": EVIDENCE if own.better else HEADLINE}


def unread_answers(decision: Decision) -> Iterator[Numbers]:
    """The choice depends on how answers count that could not be read."""
    if decision.unread and decision.unread.replacing:
        yield unread_numbers(decision)


def page_judgments(decision: Decision) -> Iterator[Numbers]:
    """The judgments cannot compare what was swept."""
    swept = {part for name in decision.sweep.axes for part in (name, name.partition(".")[0])}
    for group, sentence in decision.named.facts.if_swept.items():
        if group in swept:
            yield {"why": sentence}


def unequal_text(decision: Decision) -> Iterator[Numbers]:
    """At the same cutoff, the one to ship returns more text than one that it beats."""
    choice, named = decision.headline, decision.named
    if choice.undecided is None:
        order = [choice.allowed.outcomes[place] for place in choice.allowed.table["outcome"]]
        beaten = [run for run in order[order.index(named) + 1 :] if run not in choice.tied]
        yield from more_text(decision.sweep, choice, named, beaten)


def most_fail(decision: Decision) -> Iterator[Numbers]:
    """Every configuration fails for most queries, for another reason than that all guess."""
    lost, sweep, unread = len(decision.unanswered), decision.sweep, decision.unread
    explains = unread is not None and min(unread.counts.values()) >= lost
    comparisons = decision.against_guessing.values()
    guesses = bool(comparisons) and not explains and not any(comparison.better for comparison in comparisons)
    if lost > MOST_UNANSWERED * len(sweep.queries) and not guesses:
        yield {"lost": lost, "responses": explains, "one": sweep.configurations == 1}


def nothing_found(decision: Decision) -> Iterator[Numbers]:
    """A configuration that is compared finds nothing for any query, though others do."""
    level = decision.headline.allowed
    empty = [run for run in level.outcomes if _finds_nothing(level, run)]
    if 0 < len(empty) < len(level.outcomes):
        yield {"labels": [*map(decision.sweep.label, empty)]}


def _finds_nothing(level: Sweep, run: Outcome) -> bool:
    """Whether the deciding metric, or every gain, is at its worst for every query; not where nothing could be read."""
    gains = [name for name in level.settings.gains if name in run.facts.metrics and name in run.per_query]
    decides = [level.decided_by] * level.is_mean(level.decided_by)
    return level.decided_by not in run.facts.unread and any(
        names and all(run.at_worst(name).all() for name in names) for names in (decides, gains)
    )


def one_configuration(decision: Decision) -> Iterator[Numbers]:
    """There is nothing to choose, or only a cutoff."""
    if decision.headline.undecided == "one configuration":
        meeting = [choice.named for choice in decision.choices.values() if choice.meets]
        alike = all(run.configuration == decision.named.configuration for run in meeting)
        yield {"cutoffs": len(meeting), "alike": alike}


def same_values(decision: Decision) -> Iterator[Numbers]:
    """All configurations measure the same."""
    choice = decision.headline
    if choice.undecided == "same values":
        yield {"number": len(choice.allowed.outcomes), "barred": bool(choice.barred)}


def too_few(decision: Decision) -> Iterator[Numbers]:
    """So few queries can show no difference, however large."""
    groups = decision.sweep.groups
    if groups.number < FEWEST_FLIPPED and len(decision.headline.allowed.outcomes) > 1:
        yield {"number": groups.number, "noun": "group" if groups.in_use else "query", "fewest": FEWEST_FLIPPED}


def tied(decision: Decision) -> Iterator[Numbers]:
    """Nothing can be told apart: what is cheapest, and how many queries would show a difference that matters."""
    sweep, choice = decision.sweep, decision.headline
    if choice.undecided != "tied":
        return
    level, power, groups = choice.allowed, choice.allowed.standings.power, sweep.groups
    cost = choice.prefer or next((name for name in sweep.settings.costs if choice.named.value(name) is not None), None)
    alike, paid, sign = cost is not None and choice.costs_the_same(cost), price(sweep, choice.named, cost), 1
    everywhere = all(other.undecided == "tied" for other in decision.choices.values()) and len(decision.choices) > 1
    if cost:
        sign = sweep.sign(cost)
    if power:
        copies = [sweep.label(choice.best), sweep.label(level.outcomes[power.rival]), power.differing]
    yield {
        "groups": groups.number if groups.in_use else None,
        "number": len(level.outcomes),
        "barred": bool(choice.barred),
        "at": f" at any {sweep.cutoff}" if everywhere else at(sweep, choice),
        "cheapest": sweep.label(choice.named) if choice.prefer and paid and not alike else None,
        "price": paid,
        "near": bool(paid and any(sign * (run.value(cost or "") or 0) > sign * paid[0] for run in choice.as_good)),
        "cost": cost and sweep.title(cost),
        "highest": sign > 0,
        "alike": alike,
        "difference": LARGE_DIFFERENCE,
        "more": power and max(power.needed(LARGE_DIFFERENCE) - power.queries, 0),
        "detectable": power and power.detectable,
        "near_copies": copies if power and power.too_alike else None,
    }


# What is shipped, and what is missing


def caution(decision: Decision) -> Iterator[Numbers]:
    """What must be said first of a configuration; of the choice in the headline."""
    own = decision.named.facts.caution
    for sentence, names in grouped((run.facts.caution, run.name) for run in decision.sweep.outcomes).items():
        if sentence and sentence == own:
            yield {"names": [], "caution": sentence}
        elif sentence:
            yield {"names": names, "caution": sentence, "place": EVIDENCE}


def not_one_best(decision: Decision) -> Iterator[Numbers]:
    """Which configurations cannot be told apart from the best, where others are worse."""
    choice = decision.headline
    if choice.undecided is None and len(choice.tied) > 1:
        yield {
            "labels": tied_in_words(decision.sweep, choice),
            "same": all(run.measured == choice.best.measured for run in choice.tied),
            "worse": len(choice.allowed.outcomes) - len(choice.tied) + choice.dropped,
            "barred": bool(choice.barred),
        }


def choice(decision: Decision) -> Iterator[Numbers]:
    """What to take at the cutoff of the headline."""
    sweep, chosen, named = decision.sweep, decision.headline, decision.named
    if chosen.undecided is not None:
        return
    prefer, rest = chosen.prefer, [choice for choice in decision.choices.values() if choice is not chosen]
    everywhere = rest and all(_takes(choice, sweep, named) and veto_of(decision, choice) in TAKEN for choice in rest)
    yield {
        "label": sweep.label(named),
        "where": f" at every {sweep.cutoff}" if everywhere else at(sweep, chosen),
        **measured_with(sweep, named),
        "tied": len(chosen.tied) > 1,
        "others": len(chosen.allowed.outcomes) - 1 + chosen.dropped,
        "better": len(chosen.tied) == 1 and named is chosen.best,
        "preferred": sweep.title(prefer) if prefer and named is not chosen.best else None,
        "highest": bool(prefer and sweep.metric_info[prefer].higher_is_better),
        "price": price(sweep, named, prefer),
        "margin": sweep.settings.margin if named not in chosen.tied else None,
        "best": sweep.label(chosen.best),
        "barred": bool(chosen.barred),
    }


def _takes(choice: Choice, sweep: Sweep, named: Outcome) -> bool:
    """Whether a choice is this configuration, at whatever cutoff."""
    return choice.meets and sweep.label(choice.named) == sweep.label(named)


def race(decision: Decision) -> Iterator[Numbers]:
    """What a race saved and promises."""
    if raced := decision.sweep.race:
        several = len(decision.choices) > 1
        about = {"dropped": len(raced.dropped), "both": raced.settings.level + LEVEL, "each": several}
        yield raced.as_record() | about


def missing(decision: Decision) -> Iterator[Numbers]:
    """Which runs a decision lacks."""
    if unfinished := decision.sweep.unfinished:
        yield {"names": [f"{name} ({fate})" for name, fate in unfinished.items()]}


def elsewhere(decision: Decision) -> Iterator[Numbers]:
    """What is chosen at other cutoffs, where it is another configuration."""
    sweep, choices = decision.sweep, [decision.choices[cutoff] for cutoff in decision.headline_cutoffs]
    differing = grouped(
        (sweep.label(choice.named) if choice.meets else None, choice.cutoff)
        for choice in choices
        if not _takes(choice, sweep, decision.named) and veto_of(decision, choice) in (None, "requirements")
    )
    if differing and decision.headline.undecided is None:
        places = [{"at": cutoffs_in_words(sweep, *cutoffs), "label": label} for label, cutoffs in differing.items()]
        yield {"places": places}


def promise(decision: Decision) -> Iterator[Numbers]:
    """What the queries show about the promises of `decision.target`."""
    sweep = decision.sweep
    for promised in decision.promises:
        of_cutoff = promised.metric in sweep.deepest(decision.named).facts.at_k
        yield asdict(promised) | {
            "title": sweep.title(promised.metric),
            "label": None if of_cutoff else sweep.label(decision.named),
            "at": promised.cutoff and cutoffs_in_words(sweep, promised.cutoff),
            "at_largest": cutoffs_in_words(sweep, promised.largest),
            "shown": promised.lower_bounds[-1] if promised.lower_bounds else None,
            "queries": queries_in_words(sweep),
        }


def threshold(decision: Decision) -> Iterator[Numbers]:
    """What the questions without an answer show about the promise of `decision.target`."""
    if decision.threshold:
        yield asdict(decision.threshold) | {"words": decision.threshold.words._asdict()}


def few(decision: Decision) -> Iterator[Numbers]:
    """Few queries, or few groups of them, or that there are groups."""
    groups, is_few = decision.sweep.groups, decision.sweep.groups.number < FEW_QUERIES
    if (is_few or groups.in_use) and not any(too_few(decision)):
        place = HEADLINE if is_few and decision.headline.undecided is None else EVIDENCE
        yield {"groups": groups.number if groups.in_use else None, "few": is_few, "place": place}
