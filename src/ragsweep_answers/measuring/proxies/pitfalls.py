"""The steps and the five common pitfalls of a reasoning, by the words that it uses or does not use."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ragsweep.datasets.model.cases import Case
from ragsweep.text.content_words import Phrases, contains, stems
from ragsweep_answers.answering.question import Answer
from ragsweep_answers.measuring.proxies.phrase_tables import phrases_of, read_table

WORDS = Path(__file__).with_name("reasoning_words.yaml")
PITFALLS = (
    "incomplete differential",
    "missing symptoms",
    "terminology misunderstanding",
    "ignored risk factors",
    "single-symptom focus",
)
ENOUGH_MENTIONED = 0.5  # share of the symptoms or risk factors of the case that the reasoning should mention


class ReasoningWords(NamedTuple):
    """The phrases of `reasoning_words.yaml`."""

    steps: Sequence[Phrases]
    differential: Phrases
    unsure: Phrases
    symptoms: Sequence[Phrases]
    risk_factors: Sequence[Phrases]


@cache
def reasoning_words() -> ReasoningWords:
    """The phrases that are looked for."""
    table = read_table(WORDS)
    steps, symptoms, risks = table["steps"].values(), table["symptoms"], table["risk factors"]
    of_steps, of_symptoms, of_risks = (
        [phrases_of(line, str(WORDS)) for line in lines] for lines in (steps, symptoms, risks)
    )
    differential, unsure = (phrases_of(table[name], str(WORDS)) for name in ("differential", "unsure"))
    return ReasoningWords(of_steps, differential, unsure, of_symptoms, of_risks)


def completeness(answer: Answer) -> float:
    """Share of the five reasoning steps whose words occur in the reasoning; nan without a reasoning.

    A rough proxy: a reasoning that uses these words in passing is complete.
    """
    if not answer.reasoning.strip():
        return np.nan
    text, steps = stems(answer.reasoning), reasoning_words().steps
    return sum(contains(text, step) for step in steps) / len(steps)


def evidence_cited(answer: Answer, units: Sequence[str]) -> float:
    """Share of the units of the evidence that the answer cites. Citations of anything else do not count.

    nan without evidence, and for an answer with neither reasoning nor citation.

    Args:
        answer: The answer with what it cites.
        units: The units of the passages that it was given from. Several passages of a unit count once.
    """
    if not units or not (answer.cited or answer.reasoning.strip()):
        return np.nan
    return len({*units}.intersection(answer.cited)) / len({*units})


def pitfalls(case: Case, answer: Answer) -> list[float]:
    """Which of the `PITFALLS` a reasoning shows, each 0 or 1; nan without a reasoning. Rough proxies.

    - incomplete differential: no word weighs one possibility against another.
    - missing symptoms: the reasoning mentions fewer than half of the symptoms of the case.
    - terminology misunderstanding: the reasoning says that something is unclear or not known.
    - ignored risk factors: the reasoning mentions fewer than half of the risk factors of the case.
    - single-symptom focus: the case has several symptoms, and the reasoning mentions exactly one of them.

    The reference names all five, and implements the first three in a way that finds two of them in every answer.
    """
    if not answer.reasoning.strip():
        return [np.nan] * len(PITFALLS)
    asked, reasoning, words = stems(case.text), stems(answer.reasoning), reasoning_words()
    symptoms, risks = ([line for line in table if contains(asked, line)] for table in words[-2:])
    mentioned, considered = (sum(contains(reasoning, line) for line in lines) for lines in (symptoms, risks))
    return [
        not contains(reasoning, words.differential),
        mentioned < ENOUGH_MENTIONED * len(symptoms),
        contains(reasoning, words.unsure),
        considered < ENOUGH_MENTIONED * len(risks),
        len(symptoms) > 1 and mentioned == 1,
    ]
