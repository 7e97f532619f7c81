"""Which conditions are taken for each other, and whether they are similar."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ragsweep.core.errors import ConfigError
from ragsweep.datasets.model.cases import Case
from ragsweep.text.content_words import Phrases, contains, stems
from ragsweep_answers.measuring.proxies.phrase_tables import phrases_of, read_table, shown_yaml

SIMILAR_CONDITIONS = Path(__file__).with_name("similar_conditions.yaml")
SIMILAR = "similar condition"
UNRELATED = "unrelated condition"
NOT_GROUPED = "condition in no group"
SAME = "same condition"
UNKNOWN = "condition not known"
CONFUSION_KINDS = (SIMILAR, UNRELATED, NOT_GROUPED, SAME, UNKNOWN)

Groups = Mapping[str, Phrases]


class Pair(NamedTuple):
    """Two conditions of which one was taken for the other.

    Attributes:
        first: The alphabetically first condition.
        second: The other one.
        times: How often one was taken for the other, both ways together.
        kind: `SIMILAR`, `UNRELATED` or `NOT_GROUPED`.
    """

    first: str
    second: str
    times: int
    kind: str


class Confusions(NamedTuple):
    """The confusions of the wrong answers that chose an option.

    Attributes:
        pairs: The pairs of different conditions, the most common first.
        counts: How many of these answers are of each of the `CONFUSION_KINDS`; adds up to their number.
    """

    pairs: tuple[Pair, ...]
    counts: Mapping[str, int]


def read_groups(path: Path = SIMILAR_CONDITIONS) -> Groups:
    """The groups of similar conditions of a YAML file: names of groups, each with a list of conditions.

    Raises:
        ConfigError: The file cannot be read or is not such a mapping.
    """
    table = read_table(path)
    if not isinstance(table, dict) or not table:
        raise ConfigError(
            f"{path}: found {shown_yaml(table)}, expected names of groups, each with a list of conditions"
        )
    return {str(name): phrases_of(conditions, f"{path}, {shown_yaml(name)}") for name, conditions in table.items()}


def confusions(cases: Iterable[Case], chosen: Iterable[int], groups: Groups) -> Confusions:
    """Compare the condition of the correct option with that of the option that was chosen instead.

    A condition is in a group if it contains one of the group's conditions as words in a row. Two conditions are similar
    if they share a group, and unrelated if both are in groups but share none. If one is in no group, the groups do not
    tell.

    Args:
        cases: The cases. The condition of the correct option is that of the case, if the options have none.
        chosen: Position of the chosen option of each case; negative if there is none.
        groups: Conditions that are similar to each other.
    """
    confused: Counter[tuple[str, ...]] = Counter()
    names: dict[str, str] = {}  # how a condition is written, by its stems
    for case, option in zip(cases, chosen, strict=True):
        if option < 0 or option == case.position:
            continue
        conditions = {stems(condition): condition for condition in _conditions(case, option)}
        names |= {key: min(condition, names.get(key, condition)) for key, condition in conditions.items()}
        confused[tuple(sorted(conditions))] += 1
    counts, pairs = dict.fromkeys(CONFUSION_KINDS, 0), []
    for keys, times in confused.items():
        kind = _kind(keys, groups)
        counts[kind] += times
        if len(keys) == 2:
            first, second = sorted(names[key] for key in keys)
            pairs.append(Pair(first, second, times, kind))
    return Confusions(tuple(sorted(pairs, key=lambda pair: (-pair.times, pair.first, pair.second))), counts)


def _conditions(case: Case, option: int) -> list[str]:
    """The conditions of the correct option and of the chosen one; empty if one of them is not known."""
    of_options = case.conditions or (None,) * len(case.options)
    pair = [of_options[case.position] or case.condition, of_options[option]]
    conditions = [condition for condition in pair if condition and stems(condition).strip()]
    return conditions if len(conditions) == 2 else []


def _kind(conditions: Sequence[str], groups: Groups) -> str:
    """What two conditions are to each other, by their stems: none if they are not known, one if they are the same."""
    if len(conditions) < 2:
        return SAME if conditions else UNKNOWN
    first, second = (
        {name for name, members in groups.items() if contains(condition, members)} for condition in conditions
    )
    if first & second:
        return SIMILAR
    return UNRELATED if first and second else NOT_GROUPED
