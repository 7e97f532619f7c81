"""A k for each query by its predicted type, given or learnt from the judgments of other queries."""

from __future__ import annotations

import numpy as np

from ragsweep.core.errors import ConfigError
from ragsweep.core.terminal import counted
from ragsweep.datasets import Dataset
from ragsweep.retrieval import QueryCutoffs, Ranking, TypeCutoff
from ragsweep.store.stage_store import Store
from ragsweep.tasks.ranking.query_types import FOLDS, Learnt, QueryTypes, learning_section
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings
from ragsweep.tasks.ranking.routing import check_metric, chosen_of, gain_of, values_at

HEADING = "K by query type"
FEWEST_JUDGED = 5  # a type with fewer judged queries in the other folds takes the k that is best for all of them


def check_type_cutoff(settings: TypeCutoff, items: Dataset, evaluation: EvaluationSettings, store: Store) -> QueryTypes:
    """The types of the queries. Raises `ConfigError` where none can be predicted, or none of a name in the settings."""
    query_types = QueryTypes.of(items, store)
    learnt = query_types.learnt
    if not learnt:
        expected = f"expected at least two with {FOLDS} different queries each"
        raise ConfigError(f"dynamic_k=by_type: no query types can be learnt from the dataset; {expected}")
    if unknown := [name for name in settings.k or () if name not in learnt]:
        raise ConfigError(f"dynamic_k.k: no such query type can be learnt: {unknown[0]} (there is {', '.join(learnt)})")
    if settings.k is None:
        check_metric("dynamic_k.metric", settings.metric, evaluation)
    return query_types


def type_cutoffs(
    settings: TypeCutoff, items: Dataset, ranking: Ranking, evaluation: EvaluationSettings, *, most: int, store: Store
) -> Learnt:
    """What ends the ranking of each query at the k of its predicted type.

    Args:
        settings: The k of each type, or by what it is learnt.
        items: The dataset.
        ranking: Of all queries, before it ends anywhere.
        evaluation: What is measured.
        most: The largest k that can be learnt.
        store: Keeps the predicted types.
    """
    query_types = check_type_cutoff(settings, items, evaluation, store)
    predicted = query_types.predicted
    assert predicted is not None
    names = [query_types.names[kind] for kind in predicted.type]
    if settings.k is not None:
        lengths: list[int | None] = [settings.k.get(name) for name in names]
        cutoffs_in_words = [f"{name}: {k}" for name, k in settings.k.items()]
        rest = [name for name in query_types.learnt if name not in settings.k]
        further = [f"Queries of other types ({', '.join(rest)}) end at the k of the run."] if rest else []
        given = f"The k of each query is that of its predicted type: {', '.join(cutoffs_in_words)}."
        sections = {HEADING: [given, *further]}
    else:
        cutoffs = range(min(settings.least, most), most + 1)
        values = values_at(items, ranking, settings.metric, evaluation, cutoffs)
        chosen, single = chosen_of(values, query_types.types, predicted, FEWEST_JUDGED)
        lengths = [cutoffs[position] for position in chosen]
        by_type = {name: sorted({cutoffs[position] for position, of in zip(chosen, names, strict=True) if of == name})
                   for name in query_types.learnt}  # fmt: skip
        cutoffs_in_words = [f"{name} {' or '.join(map(str, ks))}" for name, ks in by_type.items() if ks]
        gain, direction = gain_of(chosen, single, values, FOLDS)
        verdict = ("shows no gain here: one k is simpler", "is better here", "is worse here: use one k")
        singles = " or ".join(str(cutoffs[position]) for position in np.unique(single))
        sentences = [
            f"The k with the best mean of {settings.metric}@k, by predicted type, learnt on "
            f"{counted(FOLDS - 1, 'other fold')}: {', '.join(cutoffs_in_words)}.",
            f"Against the best single k of the same folds ({singles}), a k by type changes {settings.metric}@k by "
            f"{gain}. A k by type {verdict[direction]}.",
        ]
        sections = {HEADING: sentences} | learning_section("dynamic_k (TypeCutoff)", "The k of a query", FOLDS)
    cutoff_of = {query.text: k for query, k in zip(items.queries, lengths, strict=True) if k is not None}
    details = {"k_of_type": ["" if length is None else str(length) for length in lengths]}
    is_learnt = settings.k is None
    return Learnt("dynamic_k", QueryCutoffs(cutoff_of), items, details, sections, is_learnt=is_learnt)
