"""The audit of a dataset: what is wrong with it, and what that costs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import cache
from importlib.metadata import entry_points

import numpy as np

from ragsweep.core.errors import ConfigError, first_line
from ragsweep.core.progress import progress
from ragsweep.core.terminal import counted
from ragsweep.datasets import Dataset
from ragsweep.statistics.groups import Groups
from ragsweep.store.identity import identity
from ragsweep.store.stage_store import Arrays, packed, unpacked
from ragsweep_audit.findings.duplicates import DuplicatePassages, DuplicateQueries
from ragsweep_audit.findings.finding import Audit, Audited, Finder, Finding
from ragsweep_audit.findings.garbled import GarbledText
from ragsweep_audit.findings.query_wording import CopiedQueries, DependentQueries
from ragsweep_audit.findings.shifted import ShiftedPages
from ragsweep_audit.findings.swapped import SwappedJudgments
from ragsweep_audit.findings.uncovered import (
    AbsentUnits,
    NothingFound,
    PagesWithoutText,
    QueriesWithoutJudgments,
    QueriesWithoutRelevant,
    QuestionsLeftOut,
    ReferencesWithoutOffsets,
    SkippedDocuments,
)
from ragsweep_audit.findings.undetectable import undetectable
from ragsweep_audit.findings.unit_ranks import UnitRanks, best_per_query
from ragsweep_audit.findings.unjudged import Unjudged
from ragsweep_audit.findings.unread_text import UnknownTokens, UnreadTexts

GROUP = "ragsweep_audit.findings"  # of entry points
FINDERS: Sequence[type[Finder]] = (  # in the order in which their findings are shown
    *(AbsentUnits, PagesWithoutText, QueriesWithoutJudgments, QueriesWithoutRelevant, NothingFound),
    *(ReferencesWithoutOffsets, QuestionsLeftOut, SkippedDocuments, ShiftedPages, SwappedJudgments),
    *(DuplicateQueries, DuplicatePassages, CopiedQueries, DependentQueries, GarbledText),
    *(UnreadTexts, UnknownTokens, Unjudged),
)
MOST_EXAMPLES = 20


@cache
def finders() -> Sequence[Finder]:
    """All that looks for problems: ours, and what installed packages bring. Raises `ConfigError` for a broken one."""
    kinds = [*FINDERS]
    for entry_point in sorted(entry_points(group=GROUP)):
        try:
            kinds.append(entry_point.load())
        except (Exception, SystemExit) as error:  # it is anybody's code
            reason = f"{type(error).__name__}: {first_line(error)}"
            raise ConfigError(f"audit: the finding {entry_point.value} cannot be loaded ({reason})") from error
    return [kind() for kind in kinds]


def audit(audited: Audited, chosen: Sequence[Finder] | None = None) -> Audit:
    """The findings about a dataset, and what was not checked.

    Args:
        audited: The dataset, with what it is searched by.
        chosen: What looks for problems; None takes `finders`.
    """
    findings: list[Finding] = []
    not_checked: dict[str, list[str]] = {}
    with progress("auditing the dataset"):
        for finder in finders() if chosen is None else chosen:
            if reason := finder.lacks(audited):
                not_checked.setdefault(f"not looked for: {reason}", []).append(finder.kind)
                continue
            findings += _stored(finder, audited)
            if part := finder.limits(audited):
                not_checked.setdefault(f"only looked for {part}", []).append(finder.kind)
    has_groups = any(query.group for query in audited.items.queries) and not audited.without_ranks
    coverage = audited.items.coverage(audited.relevance_level)  # none where a system has passages of its own
    return Audit(
        tuple(replace(finding, examples=tuple(finding.examples)[:MOST_EXAMPLES]) for finding in findings),
        tuple(f"{', '.join(kinds)}: {sentence}." for sentence, kinds in not_checked.items()),
        tuple(_undetectable(audited)),
        tuple(query_groups(audited.items, audited.ranks, audited.relevance_level)) if has_groups else (),
        {} if coverage is None else {name: getattr(coverage, name) for name in ("expected", "present", "missing")},
    )


def as_json(items: Dataset, report: Audit) -> str:
    """The audit for programs: the contents of `results/audit.json`."""
    about = {"name": items.name, "digest": items.digest, **items.profile}
    return json.dumps({"dataset": about, **asdict(report)}, indent=2, ensure_ascii=False) + "\n"


def _stored(finder: Finder, audited: Audited) -> Iterator[Finding]:
    """The findings from the store, by the code of what finds them and what they depend on, or found and stored."""
    depends_on = finder.depends_on(audited)
    if depends_on is None:
        yield from finder.find(audited)
        return

    def build() -> Arrays:
        return packed(json.dumps(asdict(finding)) for finding in finder.find(audited))

    for text in unpacked(audited.store.get("audit", [finder.kind, identity(finder), *depends_on], build)):
        yield Finding(**json.loads(text))


def _undetectable(audited: Audited) -> Sequence[str]:
    """Which faults would be missed in this dataset, from the store or tried and stored."""
    if audited.without_ranks:
        return ()

    def build() -> Arrays:
        return packed(undetectable(audited.items, audited.ranks, audited.relevance_level, audited.level))

    return unpacked(audited.store.get("audit", ["undetectable", *audited.key], build))


def query_groups(dataset: Dataset, ranks: UnitRanks, relevance_level: int) -> Iterator[str]:
    """How many groups the queries have, and how many queries without groups would tell as much; nothing without groups.

    Args:
        dataset: The dataset.
        ranks: Those of its queries.
        relevance_level: The lowest grade that counts as relevant.
    """
    groups = Groups.named([query.group for query in dataset.queries])
    if not groups.in_use:
        return
    query, unit = ranks.relevant(dataset, relevance_level)
    row = np.searchsorted(ranks.queries, query)
    best = best_per_query(ranks.of(query, unit), row, len(ranks.queries), len(dataset.units))
    effect = float(groups.only(np.isin(np.arange(groups.queries), ranks.queries)).design_effect(1 / (1.0 + best)))
    yield (
        f"{groups.queries} queries in {counted(groups.number, 'group')}, the largest of {groups.sizes.max()}: "
        f"the design effect of BM25's reciprocal ranks is {effect:.1f}, so that they tell as much as about "
        f"{groups.queries / max(1.0, effect):,.0f} independent queries. That of a difference between configurations is "
        "usually smaller."
    )
