"""How queries are worded: copied from the judged text, or not understandable on their own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from math import ceil
from typing import Any

from ragsweep.datasets.audit.finding import Finding, named, quoted
from ragsweep.datasets.audit.unit_ranks import relevant
from ragsweep.datasets.dataset import Dataset

WORD = re.compile(r"\w+")
FEWEST_COPIED = 6  # words in a row
FUNCTION_WORDS = frozenset(
    "a an the and or but if then than so as at by for from in into of on onto to up with about over under after before "
    "is are was were be been being am do does did doing done has have had having can could may might must shall should "
    "will would i me my mine we us our you your he him his she her hers it its they them their this that these those "
    "there here what which who whom whose when where why how please also just very too s t".split()
)  # not the negations: a query with one asks something else
WITHOUT_REFERENT = frozenset("it its they them their he him his she her this that these those".split())
EMPTY_WORDS = frozenset(
    "say says said tell tells mean means describe describes explain explains discuss discusses mention mentions thing "
    "things mentioned following above below author authors document page text passage section paragraph "
    "article excerpt topic subject".split()
)
POINTING = re.compile(
    r"\b(this|that|the (above|following|given|present)|above(-mentioned)?) "
    r"(document|text|passage|paragraph|section|page|article|excerpt|figure|table)\b",
    re.IGNORECASE,
)


def content_words(text: str) -> list[str]:
    """The stems of the words of an English text that are not function words."""
    stems: list[str] = _stemmer().stemWords([word for word in WORD.findall(text.lower()) if word not in FUNCTION_WORDS])
    return stems


@cache
def _stemmer() -> Any:
    import Stemmer

    return Stemmer.Stemmer("english")


def copied_queries(dataset: Dataset, share: float, relevance_level: int) -> Iterator[Finding]:
    """A finding about queries whose words are copied from the text that answers them.

    A query is copied if at least `share` of its words, and at least six, stand in the same order, without a gap, in a
    unit that is relevant for it.

    Args:
        dataset: The dataset.
        share: From 0 to 1.
        relevance_level: The lowest grade that counts as relevant.
    """
    of_query: dict[int, list[int]] = {}
    for row, unit in zip(*(each.tolist() for each in relevant(dataset, relevance_level)), strict=True):
        of_query.setdefault(row, []).append(unit)
    needed = {unit for units in of_query.values() for unit in units}
    texts: dict[int, list[str]] = {}
    for passage, unit in dataset.passages_with_units.tolist():
        if unit in needed:
            words = WORD.findall(dataset.passages[passage].text.lower())
            texts.setdefault(unit, []).append(f" {' '.join(words)} ")
    copied = []
    for row, units in sorted(of_query.items()):
        words = WORD.findall(dataset.queries[row].text.lower())
        length = max(FEWEST_COPIED, ceil(share * len(words) - 1e-9))
        runs = [f" {' '.join(words[start : start + length])} " for start in range(len(words) - length + 1)]
        if any(run in text for unit in units for text in texts.get(unit, ()) for run in runs):
            copied.append(dataset.queries[row])
    if copied:
        yield Finding(
            kind="copied_queries",
            problem=f"{len(copied)} of {len(of_query)} queries are copied from the text that answers them"
            f"{named([quoted(query.text) for query in copied])}.",
            cost="Searching for words finds these easily, which users' own words would not be: BM25 looks too good.",
            advice="Ask in words that a user would choose, or break the results down by such queries.",
            count=len(copied),
            out_of=len(of_query),
            examples=tuple(query.query_id for query in copied),
        )


def dependent_queries(dataset: Dataset, least_words: int) -> Iterator[Finding]:
    """A finding about English queries that nobody can understand on their own, like "What does it say about this?".

    Such a query points to a text that only its writer has in front of them ("this passage"), or it has a pronoun and
    fewer than `least_words` words with a meaning of their own, or it has no such word at all.

    Args:
        dataset: The dataset.
        least_words: Fewest words with a meaning of their own beside a pronoun.
    """
    dependent = [query for query in dataset.queries if _is_dependent(query.text, least_words)]
    if dependent:
        yield Finding(
            kind="dependent_queries",
            problem=f"{len(dependent)} of {len(dataset.queries)} queries cannot be understood on their own"
            f"{named([quoted(query.text) for query in dependent])}.",
            cost="No retriever can know what they ask, so they lower every metric.",
            advice="Name what they are about.",
            count=len(dependent),
            out_of=len(dataset.queries),
            examples=tuple(query.query_id for query in dependent),
        )


def _is_dependent(text: str, least_words: int) -> bool:
    words = WORD.findall(text.lower())
    if not FUNCTION_WORDS.intersection(words):  # keywords, or another language
        return False
    meaning = [word for word in words if word not in FUNCTION_WORDS and word not in EMPTY_WORDS]
    has_pronoun = bool(WITHOUT_REFERENT.intersection(words))
    return bool(POINTING.search(text)) or not meaning or (has_pronoun and len(meaning) < least_words)
