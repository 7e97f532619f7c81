"""What decides a ranking besides its retriever: what a benchmark leaves out, the end of a file, its index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.core.terminal import counted
from ragsweep.datasets import Dataset
from ragsweep.retrieval import Ranker, Ranking, Search
from ragsweep.tasks.ranking.ranking_evaluation import CURVE
from ragsweep.tasks.run_check import Checked
from ragsweep.text.normalisation import composed

HEADING = "Documents left out, and the end of the list"
INDEX_HEADING = "The approximate index"
ALMOST_NONE = 0.1  # of the exact ranking, as far as the index returned as many passages


def conventions(
    ranker: Ranker, search: Search, items: Dataset, queries: Indices, *, ranking: Ranking, k: int, counts_passages: bool
) -> Checked:
    """What is left out of the rankings of these queries, and where a file ends.

    Args:
        ranker: The retriever with its stages.
        search: What is searched.
        items: The dataset.
        queries: Positions of the judged queries.
        ranking: What was found.
        k: How many passages are asked for.
        counts_passages: Whether that is the cutoff.
    """
    facts = _ended(ranker, ranking, items, k) if counts_passages else {}
    lines = _left_out(search, items, queries)
    if (most := facts.get("ends_at", k)) < k and ranker.finds_by_name:
        lines.append(f"At most {most} results are listed for a query, and k is {k}: what would follow is not known.")
    return Checked.section(HEADING, lines, facts=facts)


def _ended(ranker: Ranker, ranking: Ranking, items: Dataset, k: int) -> Mapping[str, int]:
    """The most passages that a ranking from elsewhere has for a query, if curves or k go beyond that.

    What would follow is not known then. A ranker that is asked here, or a lowest score, ends a ranking for good.
    """
    most = int((ranking.passages != NOTHING).sum(axis=1).max(initial=0))
    elsewhere = ranker.is_record and ranker.score_threshold is None
    return {"ends_at": most} if elsewhere and 0 < most < min(max(k, CURVE), len(items.passages)) else {}


def _left_out(search: Search, items: Dataset, queries: Indices) -> list[str]:
    row, passage = search.unranked[np.isin(search.unranked[:, 0], queries)].T
    if not len(row):
        return []
    names = [composed(query.query_id) for query in items.queries]
    own = np.array([composed(items.passages[at].source) == names[of] for of, at in zip(row, passage, strict=True)])
    kinds = {
        "the document with the id of the query is left out of the ranking, as BEIR and MTEB do "
        "(dataset.leave_out=null, or questions.leave_out=null, keeps it)": row[own],
        "the documents that the query excludes (excluded_ids) are left out of the ranking": row[~own],
    }
    lines = [f"For {_of(len(np.unique(rows)), len(queries))}, {kind}." for kind, rows in kinds.items() if len(rows)]
    qrels, units = items.qrels, len(items.units)
    relevant = (qrels.query * units + qrels.unit)[qrels.grade > 0]
    judged = np.unique(row[np.isin(row * units + items.passage_units[passage], relevant)])
    if len(judged):
        count = counted(len(judged), "query")
        lines.append(f"Something that is left out is judged relevant for {count}, and never found.")
    return lines


def _of(number: int, queries: int) -> str:
    return f"{number:,} of {queries:,} queries" if queries > 1 else "the query"


def lost_neighbours(ranking: Ranking, depth: int) -> Sequence[str]:
    """A line if an approximate index finds almost nothing of the exact ranking; otherwise none.

    An index that returns few passages, because it holds few candidates, cannot find more of the exact ranking.

    Args:
        ranking: What was found.
        depth: The passages of an exact ranking.
    """
    if not len(ranking.recall_of_exact):
        return ()
    recall = float(ranking.recall_of_exact.mean())
    returned = float((ranking.passages != NOTHING).sum(axis=1).clip(max=depth).mean())
    if recall * depth >= ALMOST_NONE * (returned or depth):
        return ()
    return (
        f"The approximate index finds {recall:.1%} of the {depth} passages that exact search ranks first "
        "(index/recall), so this run measures the index, not the retriever. Run it with index=exact; then raise "
        "index.ef_search, index.probes or index.refine, or build the index with a larger index.m or ef_construction.",
    )
