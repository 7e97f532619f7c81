"""The audit of a dataset: what is wrong with it, and what that costs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields, is_dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from ragsweep.core.errors import AuditError
from ragsweep.core.progress import progress
from ragsweep.core.store import Arrays, Store, packed, unpacked
from ragsweep.datasets import Dataset, DatasetFormat
from ragsweep.datasets.audit.coverage import coverage
from ragsweep.datasets.audit.duplicates import duplicate_passages, duplicate_queries
from ragsweep.datasets.audit.finding import Finding
from ragsweep.datasets.audit.garbled import garbled_text
from ragsweep.datasets.audit.shifted import neighbours, shifted_pages
from ragsweep.datasets.audit.swapped import swapped_judgments
from ragsweep.datasets.audit.unit_ranks import UnitRanks, relevant
from ragsweep.datasets.audit.unjudged import find_unjudged
from ragsweep.datasets.audit.unread import unread_text
from ragsweep.datasets.audit.wording import copied_queries, dependent_queries
from ragsweep.retrieval import Ranker, SparseRetriever
from ragsweep.retrieval.prompt_tokens import room, token_counts
from ragsweep.tasks.ranking.audit_settings import AuditSettings
from ragsweep.tasks.ranking.units import units_of_ranking
from ragsweep.tasks.ranking.unlike_rankings import unlike_rankings

MOST_EXAMPLES = 20
MOST_QUERIES = 1000  # that are ranked for the audit, evenly spread
SCORES_AT_ONCE = 1 << 24
MOST_PASSAGES = 100_000  # of a corpus that is ranked by sequences of letters, which takes a second for 1,000


def audit(
    items: Dataset,
    settings: AuditSettings,
    relevance_level: int,
    store: Store,
    retriever: Ranker | None,
    *,
    pictures: Sequence[str] = (),
) -> tuple[Finding, ...]:
    """The findings about a dataset.

    Args:
        items: The dataset.
        settings: What to look for.
        relevance_level: The lowest grade that counts as relevant.
        store: Keeps the findings that only depend on the dataset and its chunks.
        retriever: Its encoders are compared with the length of the passages; None if nothing is retrieved.
        pictures: Those of the pages without text that have a picture.
    """
    thresholds = {name: value for name, value in asdict(settings).items() if name not in ("fail_on", "unread")}

    def build() -> Arrays:
        with progress("auditing the dataset"):
            found = list(_of_dataset(items, settings, relevance_level, store))
        return packed(json.dumps(asdict(each)) for each in found)

    kept = unpacked(store.get("audit", [items.digest_of_all, thresholds, relevance_level], build))
    of_dataset = [_read(json.loads(text)) for text in kept]
    found = chain(
        coverage(items, relevance_level, pictures),
        of_dataset,
        _unread(items, settings, store, retriever),
        _unjudged(items, relevance_level, store, retriever),
    )
    return tuple(replace(each, examples=each.examples[:MOST_EXAMPLES]) for each in found)


def scanned_pages(dataset: DatasetFormat, items: Dataset) -> Sequence[str]:
    """Those of the pages without text that have a picture, if the dataset can tell."""
    pictures = getattr(dataset, "pictures", None)
    found: Sequence[str] = pictures(items.empty_pages) if pictures and items.empty_pages else ()
    return found


def _read(value: dict[str, Any]) -> Finding:
    return Finding(**{**value, "examples": tuple(value["examples"])})


def refuse(name: str, findings: Sequence[Finding], fail_on: Sequence[str]) -> None:
    """Raise `AuditError` if there are findings of the kinds that are not accepted."""
    if refused := [f"{each.kind} ({each.count})" for each in findings if each.kind in fail_on]:
        raise AuditError(f"{name}: audit.fail_on does not accept {', '.join(refused)}; ragsweep audit shows them")


def as_json(items: Dataset, findings: Sequence[Finding]) -> str:
    """The findings for programs: the contents of `results/audit.json`."""
    about = {"name": items.name, "digest": items.digest, **items.profile}
    return json.dumps({"dataset": about, "findings": list(map(asdict, findings))}, indent=2, ensure_ascii=False) + "\n"


def _of_dataset(items: Dataset, settings: AuditSettings, relevance_level: int, store: Store) -> Iterator[Finding]:
    ranks = unit_ranks(items, relevance_level, store)
    yield from shifted_pages(items, ranks, relevance_level, settings.level)
    yield from swapped_judgments(items, ranks, relevance_level, settings.level)
    yield from duplicate_queries(items, settings.near_queries)
    yield from duplicate_passages(items, settings.near_passages, relevance_level)
    yield from copied_queries(items, settings.copied, relevance_level)
    yield from dependent_queries(items)
    yield from garbled_text(items, settings.garbled)


def unit_ranks(items: Dataset, relevance_level: int, store: Store) -> UnitRanks:
    """The ranks of the relevant units, and of the pages beside them, for at most `MOST_QUERIES` of the judged queries.

    BM25 of English stems; the score of a unit is that of its best passage.
    """
    query, unit = relevant(items, relevance_level)
    queries = np.unique(query)
    queries = queries[np.unique(np.linspace(0, len(queries) - 1, MOST_QUERIES).round().astype(np.int64))]
    judged = unit[np.isin(query, queries)]
    units = np.union1d(judged, neighbours(items, judged))
    passages, their_units = items.passages_with_units[np.argsort(items.passages_with_units[:, 1], kind="stable")].T
    retrievable, starts = np.unique(their_units, return_index=True)
    index = SparseRetriever(store, stop_words="english", stemmer="english").index(items.texts)
    ranks = np.empty((len(queries), len(units)), dtype=np.int32)
    step = max(1, SCORES_AT_ONCE // len(items.passages))
    for first in range(0, len(queries), step):
        some = slice(first, first + step)
        scores = np.zeros((len(queries[some]), len(items.units)))
        found = index.scores([items.queries[row].text for row in queries[some]])
        scores[:, retrievable] = np.maximum.reduceat(found[:, passages], starts, axis=1)
        for row, descending in enumerate(np.sort(-scores, axis=1)):
            ranks[first + row] = np.searchsorted(descending, -scores[row, units])
    return UnitRanks(queries, units, ranks)


def _unread(items: Dataset, settings: AuditSettings, store: Store, retriever: Ranker | None) -> Iterator[Finding]:
    """A finding for each model of an encoder that does not read all passages to their end."""
    windows = {each.model: each.window for each in _within(retriever) if _tells_window(each)}
    for model, window in windows.items():
        tokens = token_counts(items.texts, model, store)
        if tokens is not None:
            yield from unread_text(items, tokens, room(model, window), model, settings.unread)


def _unjudged(items: Dataset, relevance_level: int, store: Store, retriever: Ranker | None) -> Iterator[Finding]:
    """A finding about relevant units that nobody judged. The embeddings are those that the retriever uses, if any."""
    if len(items.passages) > MOST_PASSAGES:
        return
    encoder = next((each for each in _within(retriever) if callable(getattr(each, "encode", None))), None)
    rankings = unlike_rankings(items, encoder, store)
    units = {name: units_of_ranking(passages, items) for name, passages in rankings.items()}
    found = find_unjudged(items, units, relevance_level)
    if found is not None:
        yield found


def _tells_window(part: object) -> bool:
    return isinstance(getattr(part, "window", None), int) and isinstance(getattr(part, "model", None), str)


def _within(part: object) -> Iterator[Any]:
    """A component and all those in its fields."""
    yield part
    if is_dataclass(part) and not isinstance(part, type):
        values = [getattr(part, field.name) for field in fields(part)]
        for value in values:
            for each in value if isinstance(value, list | tuple) else [value]:
                yield from _within(each) if is_dataclass(each) else ()
