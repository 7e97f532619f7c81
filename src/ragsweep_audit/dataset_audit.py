"""The audit of a dataset: what is wrong with it, and what that costs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import cache
from typing import Literal, get_args

import numpy as np

from ragsweep.core.arrays import Indices
from ragsweep.core.digest import digest_texts
from ragsweep.core.errors import NotAcceptedError
from ragsweep.core.progress import progress
from ragsweep.core.timing import sample
from ragsweep.datasets import Dataset, DatasetFormat, Qrels
from ragsweep.models.encoders.encoder import Role
from ragsweep.models.encoders.encoder_capabilities import KnowsWindow
from ragsweep.models.encoders.prompt_tokens import lengths_read
from ragsweep.models.encoders.unknown_tokens import HasTokenizer, unknown_tokens
from ragsweep.retrieval import Encoder, Ranker, Retriever, SparseRetriever
from ragsweep.store.identity import identity
from ragsweep.store.stage_store import Arrays, Store, packed, unpacked
from ragsweep.tasks.ranking.coverage import relevant
from ragsweep.tasks.ranking.nothing_found import silent_queries
from ragsweep.tasks.ranking.units import units_of_ranking
from ragsweep.tasks.search import components_within, search_of
from ragsweep.text.tokens import Tokenizer
from ragsweep_audit.audit_settings import AuditSettings, Kind
from ragsweep_audit.findings.duplicates import MOST_COMPARED, duplicate_passages, duplicate_queries
from ragsweep_audit.findings.finding import Audit, Finding
from ragsweep_audit.findings.garbled import garbled_text
from ragsweep_audit.findings.query_groups import query_groups
from ragsweep_audit.findings.query_wording import copied_queries, dependent_queries
from ragsweep_audit.findings.shifted import neighbours, shifted_pages
from ragsweep_audit.findings.silent_queries import findings as silent_findings
from ragsweep_audit.findings.swapped import swapped_judgments
from ragsweep_audit.findings.uncovered import coverage
from ragsweep_audit.findings.undetectable import undetectable
from ragsweep_audit.findings.unit_ranks import UnitRanks
from ragsweep_audit.findings.unjudged import find_unjudged
from ragsweep_audit.findings.unknown import unknown_text
from ragsweep_audit.findings.unread_text import unread_text
from ragsweep_audit.unlike_rankings import MOST_PASSAGES, unlike_rankings

KINDS: Sequence[str] = get_args(Kind)
MOST_EXAMPLES = 20
NOT_OF_PASSAGES = ("fail_on", "unread", "unknown")  # settings
MOST_AUDITED_QUERIES = 1000  # that are ranked for the audit, evenly spread
SCORES_AT_ONCE = 1 << 24
ENGLISH: Literal["english"] = "english"  # stop words and stemmer of the ranks of units


def audit(
    items: Dataset,
    settings: AuditSettings,
    relevance_level: int,
    store: Store,
    retriever: Retriever | None,
    *,
    ranker: Retriever | None = None,
    pictures: Sequence[str] = (),
) -> Audit:
    """The findings about a dataset, and what was not checked.

    Args:
        items: The dataset.
        settings: What to look for.
        relevance_level: The lowest grade that counts as relevant.
        store: Keeps the findings.
        retriever: Its encoders' windows are compared with the passages; its first encoder helps to find missing
            judgments. None if nothing is retrieved.
        ranker: The retriever with the stages around it, whose encoders must know the language, too.
        pictures: Pages without text that contain a picture, as `source#page_number`.
    """
    encoder = next((each for each in components_within(retriever) if isinstance(each, Encoder)), None)
    thresholds = {name: value for name, value in asdict(settings).items() if name not in NOT_OF_PASSAGES}
    of_queries = items.digest_of_all if items.references else items.digest  # references are judged by the chunks
    ranks = cache(lambda: unit_ranks(items, relevance_level, store))
    found = [
        *coverage(items, relevance_level, pictures),
        *_kept(
            store,
            ["passages", items.digest_of_all, thresholds, relevance_level],
            lambda: _of_passages(items, settings, relevance_level, ranks),
        ),
        *_kept(
            store,
            ["queries", of_queries, settings.near_queries, relevance_level],
            lambda: _of_queries(items, settings, relevance_level),
        ),
        *_unread(items, settings, store, retriever),
        *_unknown(items, settings, store, ranker or retriever),
    ]
    if isinstance(retriever, Ranker):
        of_index = [digest_texts(items.indexed_texts)] if items.indexed else []
        key: list[object] = ["silent", items.digest_of_all, identity(retriever), *of_index]
        found += _kept(store, key, lambda: _silent(items, retriever))
    if encoder is not None and not _not_compared(items, relevance_level, encoder):
        found += _kept(
            store,
            ["unjudged", items.digest_of_all, relevance_level, identity(encoder)],
            lambda: _unjudged(items, relevance_level, store, encoder),
        )
    findings = sorted(found, key=lambda each: KINDS.index(each.kind))
    return Audit(
        tuple(replace(each, examples=each.examples[:MOST_EXAMPLES]) for each in findings),
        tuple(_not_checked(items, relevance_level, encoder)),
        tuple(_undetectable(items, settings.level, relevance_level, ranks, store)),
        tuple(_grouped(items, ranks, relevance_level)),
    )


def scanned_pages(dataset: DatasetFormat, items: Dataset) -> Sequence[str]:
    """Pages without text that contain a picture, as `source#page_number`, if the dataset can tell."""
    corpus = dataset.documents_alone()
    return corpus.pictures(items.empty_pages) if corpus and items.empty_pages else ()


def refuse(name: str, findings: Sequence[Finding], fail_on: Sequence[str]) -> None:
    """Raise `NotAcceptedError` if there are findings of the kinds that are not accepted."""
    if refused := [f"{each.kind} ({each.count})" for each in findings if each.kind in fail_on]:
        raise NotAcceptedError(f"{name}: audit.fail_on does not accept {', '.join(refused)}; ragsweep audit shows them")


def as_json(items: Dataset, audit: Audit) -> str:
    """The audit for programs: the contents of `results/audit.json`."""
    about = {"name": items.name, "digest": items.digest, **items.profile}
    return json.dumps({"dataset": about, **asdict(audit)}, indent=2, ensure_ascii=False) + "\n"


def _kept(store: Store, inputs: list[object], find: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """Findings from the store, or found and stored."""

    def build() -> Arrays:
        return packed(json.dumps(asdict(each)) for each in find())

    for text in unpacked(store.get("audit", inputs, build)):
        value = json.loads(text)
        yield Finding(**{**value, "examples": tuple(value["examples"])})


def _of_passages(
    items: Dataset, settings: AuditSettings, relevance_level: int, ranks: Callable[[], UnitRanks]
) -> Iterator[Finding]:
    with progress("auditing the dataset"):
        if not _not_ranked(items, relevance_level):
            yield from shifted_pages(items, ranks(), relevance_level, settings.level)
            yield from swapped_judgments(items, ranks(), relevance_level, settings.level)
        yield from duplicate_passages(items, settings.near_passages, relevance_level)
        yield from copied_queries(items, settings.copied, relevance_level)
        yield from garbled_text(items, settings.garbled)


def _of_queries(items: Dataset, settings: AuditSettings, relevance_level: int) -> Iterator[Finding]:
    yield from duplicate_queries(items, settings.near_queries, relevance_level)
    yield from dependent_queries(items)


def _not_ranked(items: Dataset, relevance_level: int) -> str:
    """Why the dataset has no ranks to check judgments with; empty if it has."""
    if not len(relevant(items, relevance_level)[0]):
        return "nothing is judged relevant"
    has_words = any(map(Tokenizer(ENGLISH, ENGLISH), items.texts))
    return "" if has_words else "no passage has a word that is not a stop word"


def _not_compared(items: Dataset, relevance_level: int, encoder: Encoder | None) -> str:
    """Why no unlike rankings of the dataset are compared; empty if they are."""
    if encoder is None:
        return "that needs a retriever with an encoder"
    if len(items.passages) > MOST_PASSAGES:
        return f"there are {len(items.passages):,} passages, more than {MOST_PASSAGES:,}"
    return _not_ranked(items, relevance_level)


def _not_checked(items: Dataset, relevance_level: int, encoder: Encoder | None) -> Iterator[str]:
    """What the audit does not look for in this dataset, or only in a part of it."""
    passages = len(items.passages)
    by_ranks, missing = "Shifted pages and swapped judgments", f"Relevant {items.unit}s that nobody judged"
    asked = len(np.unique(relevant(items, relevance_level)[0]))
    if reason := _not_ranked(items, relevance_level):
        yield f"{by_ranks} were not looked for: {reason}."
    elif asked > MOST_AUDITED_QUERIES:
        yield f"{by_ranks} were looked for in {MOST_AUDITED_QUERIES:,} of {asked:,} queries."
    if passages > MOST_COMPARED:
        yield f"Passages were compared for exact copies only: there are {passages:,}, more than {MOST_COMPARED:,}."
    if reason := _not_compared(items, relevance_level, encoder):
        yield f"{missing} were not looked for: {reason}."
    elif len(items.queries) > MOST_AUDITED_QUERIES:
        judged = len(np.unique(items.qrels.query))
        yield f"{missing} were looked for in {min(judged, MOST_AUDITED_QUERIES):,} of {judged:,} queries."


def _undetectable(
    items: Dataset, level: float, relevance_level: int, ranks: Callable[[], UnitRanks], store: Store
) -> Sequence[str]:
    """Which faults would be missed in this dataset, from the store or tried and stored."""
    if _not_ranked(items, relevance_level):
        return ()

    def build() -> Arrays:
        return packed(undetectable(items, ranks(), relevance_level, level))

    return unpacked(store.get("audit", ["undetectable", items.digest_of_all, level, relevance_level], build))


def _grouped(items: Dataset, ranks: Callable[[], UnitRanks], relevance_level: int) -> Iterator[str]:
    if any(query.group for query in items.queries) and not _not_ranked(items, relevance_level):
        yield from query_groups(items, ranks(), relevance_level)


def _spread(queries: Indices) -> Indices:
    """At most `MOST_AUDITED_QUERIES` of them, evenly spread."""
    return queries[sample(len(queries), MOST_AUDITED_QUERIES)]


def unit_ranks(items: Dataset, relevance_level: int, store: Store) -> UnitRanks:
    """The ranks of the relevant units, and of the pages beside them, for at most `MOST_AUDITED_QUERIES` queries.

    BM25 of English stems; the score of a unit is that of its best passage.
    """
    query, unit = relevant(items, relevance_level)
    queries = _spread(np.unique(query))
    judged = unit[np.isin(query, queries)]
    units = np.union1d(judged, neighbours(items, judged))
    passages, their_units = items.passages_with_units[np.argsort(items.passages_with_units[:, 1], kind="stable")].T
    retrievable, starts = np.unique(their_units, return_index=True)
    index = SparseRetriever(store, stop_words=ENGLISH, stemmer=ENGLISH).index(items.texts)
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


def _unread(items: Dataset, settings: AuditSettings, store: Store, retriever: Retriever | None) -> Iterator[Finding]:
    """A finding for each model of an encoder that does not read all queries, or all passages, to their end."""
    encoders = {each.model: each for each in components_within(retriever) if isinstance(each, KnowsWindow)}
    queries = [query.query_id for query in items.queries], [query.text for query in items.queries]
    passages = [passage.chunk_id for passage in items.passages], items.indexed_texts
    roles: tuple[tuple[Role, str, Sequence[str], Sequence[str]], ...] = (
        ("query", "queries", *queries),
        ("passage", "passages", *passages),
    )
    for model, encoder in encoders.items():
        for role, kind, names, texts in roles:
            if (lengths := lengths_read(encoder, texts, role, store)) is not None:
                yield from unread_text(kind, names, lengths, model, settings.unread)


def _unknown(items: Dataset, settings: AuditSettings, store: Store, ranker: Retriever | None) -> Iterator[Finding]:
    """A finding for each model that does not know the tokens of the texts."""
    models = {each.model: each.tokenizer_file for each in components_within(ranker) if isinstance(each, HasTokenizer)}
    queries = [query.text for query in items.queries]
    for model, file in models.items():
        if file is not None:
            passages, asked = (unknown_tokens(texts, file, store) for texts in (items.indexed_texts, queries))
            yield from unknown_text(passages, asked, len(items.texts) + len(queries), model, settings.unknown)


def _unjudged(items: Dataset, relevance_level: int, store: Store, encoder: Encoder) -> Iterator[Finding]:
    """A finding about relevant units that nobody judged. The embeddings are those that the retriever uses."""
    are_few = len(items.queries) <= MOST_AUDITED_QUERIES
    some = items if are_few else _asking(items, _spread(np.unique(items.qrels.query)))
    rankings = unlike_rankings(some, encoder, store)
    units = {name: units_of_ranking(passages, some) for name, passages in rankings.items()}
    if found := find_unjudged(some, units, relevance_level):
        yield found


def _silent(items: Dataset, retriever: Ranker) -> Iterator[Finding]:
    """A finding for each reason for which the retriever finds nothing for judged queries."""
    asked = np.unique(items.qrels.query)
    yield from silent_findings(silent_queries(retriever, search_of(items), asked), items, len(asked))


def _asking(items: Dataset, queries: Indices) -> Dataset:
    """The dataset with some of its queries, which are in ascending order, and their judgments."""
    qrels, some = items.qrels, np.isin(items.qrels.query, queries)
    return replace(
        items,
        queries=tuple(items.queries[row] for row in queries),
        qrels=Qrels(np.searchsorted(queries, qrels.query[some]), qrels.unit[some], qrels.grade[some]),
    )
