"""Counts the queries for which nothing is found. A run that finds nothing for any query has failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from ragsweep.core.arrays import Indices
from ragsweep.core.errors import NothingFoundError
from ragsweep.core.terminal import counted, named, quoted
from ragsweep.datasets import Dataset
from ragsweep.retrieval import NOTHING, Ranker, Ranking, Search, rank
from ragsweep.tasks.run_check import Checked

HEADING = "Queries for which nothing is found"
HEADLINE = 0.25  # of the queries; if nothing is found for more, that comes before any result
ADVICE = (
    "Look at the words and the language of queries and documents, at its own threshold or filter, leave_out, the URL, "
    "whether the index or the collection is empty, or whether a run file lacks these queries."
)


def without_passages(ranking: Ranking, queries: Indices) -> Indices:
    """Those of the queries, by their positions, for which no passage is ranked."""
    empty = (ranking.passages[queries] == NOTHING).all(axis=1)
    rows: Indices = queries[empty]
    return rows


def sentence(items: Dataset, rows: Indices, out_of: int) -> str:
    """A sentence that counts the queries for which nothing is found, and names some of them."""
    examples = named([quoted(items.queries[row].text) for row in rows.tolist()])
    return f"Nothing is found for {len(rows)} of {counted(out_of, 'query')}{examples}."


def check_found(
    ranker: Ranker, search: Search, ranking: Ranking, queries: Indices | None = None, *, may_remove: bool = False
) -> None:
    """Raise `NothingFoundError` if nothing is found for any query, or for any of these.

    With `may_remove` it is no error if something was ranked, and settings of the ranker removed it.
    """
    queries = np.arange(len(search.queries)) if queries is None else queries
    if len(without_passages(ranking, queries)) < len(queries):
        return
    bare = without_cuts(ranker)
    if may_remove and any(part.may_have_cut for part in (ranker, *ranker.parts().values())):
        return
    if may_remove and bare is not ranker:
        uncut = rank(bare, search, ranking.passages.shape[1])
        if len(without_passages(uncut, queries)) < len(queries):
            return
    raise NothingFoundError(f"the retriever returned nothing for any of {counted(len(queries), 'query')}. {ADVICE}")


def about_nothing_found(items: Dataset, queries: Indices, ranking: Ranking) -> Checked:
    """Says for how many queries nothing is found; as a caution if they are many."""
    rows = without_passages(ranking, queries)
    sentences = [sentence(items, rows, len(queries))] if len(rows) else []
    return Checked.section(HEADING, sentences, cautions=sentences if len(rows) > HEADLINE * len(queries) else ())


def without_cuts(part: Any) -> Any:
    """A ranker without the settings that remove what was ranked, its own and those of its parts."""
    if isinstance(part, Mapping):
        bare = {name: without_cuts(value) for name, value in part.items()}
        return part if all(bare[name] is value for name, value in part.items()) else bare
    if isinstance(part, type) or not is_dataclass(part):
        return part
    values = {field.name: getattr(part, field.name) for field in fields(part)}
    cuts = part.cuts if isinstance(part, Ranker) else ()
    changed = {name: None if name in cuts else without_cuts(value) for name, value in values.items()}
    changed = {name: value for name, value in changed.items() if value is not values[name]}
    ranker: Any = part
    return replace(ranker, **changed) if changed else part
