"""What a run says where an approximate index finds almost nothing of what exact search finds."""

from __future__ import annotations

from collections.abc import Sequence

from ragsweep.retrieval import NOTHING, Ranking
from ragsweep.tasks.ranking.aspect import Aspect

HEADING = "The approximate index"
ALMOST_NONE = 0.1  # of the exact ranking, as far as the index returned as many passages


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


def index_losses(ranking: Ranking, depth: int) -> Aspect:
    """The same, for the terminal, the headline and the report."""
    lost = lost_neighbours(ranking, depth)
    return Aspect(lost, lost, {HEADING: lost} if lost else {})
