"""Predicts the type of each query, as a function of arrays: what decides for a query is learnt from other folds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from ragsweep.core.arrays import Indices, Scores
from ragsweep.core.digest import digest_texts, version
from ragsweep.core.terminal import counted
from ragsweep.datasets import Dataset, Query
from ragsweep.statistics.groups import Groups
from ragsweep.statistics.intervals import confidence_intervals
from ragsweep.store.stage_store import Arrays, Store
from ragsweep.tasks.task import Measurement

Features: TypeAlias = Any  # of queries, shape [queries, features]; an array, or a sparse one

HEADING, LEARNS = "Query types", "Learning from judgments"
FOLDS = 5  # where no retriever has a setting of its own; a type with fewer different queries is not learnt
C = 10.0  # inverse strength of the L2 penalty


class PredictedTypes(NamedTuple):
    """What was predicted for each query, shape [queries] each.

    Attributes:
        type: The type that was predicted.
        confidence: The probability of that type.
        usual: The most frequent type in the other folds.
        fold: The fold of the query.
    """

    type: Indices
    confidence: Scores
    usual: Indices
    fold: Indices


def predicted_types(
    features: Features, types: Indices, kinds: Indices, *, folds: int, c: float, seed: int
) -> PredictedTypes:
    """Predict the type of each query by the types of the queries of other folds.

    Args:
        features: Of the queries.
        types: The type of each query, -1 for one without, shape [queries].
        kinds: A number that queries share which must be in the same fold, shape [queries].
        folds: How many folds there are.
        c: The inverse of the strength of the classifier's L2 penalty.
        seed: Of the split into folds.
    """
    from sklearn.model_selection import StratifiedGroupKFold  # type: ignore[import-untyped]

    queries = len(types)
    predicted = PredictedTypes(*(np.zeros(queries, dtype) for dtype in (np.int64, float, np.int64, np.int64)))
    splitter = StratifiedGroupKFold(folds, shuffle=True, random_state=seed % 2**32)
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # of types with fewer queries than folds
        split = [*splitter.split(np.zeros(queries), types, kinds)]
    for fold, (learn, held) in enumerate(split):
        if not len(held):
            continue
        typed = learn[types[learn] >= 0]
        names, counts = np.unique(types[typed], return_counts=True)
        likely = classifier_of(features[typed], types[typed], c)(features[held])
        predicted.type[held], predicted.confidence[held] = names[likely.argmax(axis=1)], likely.max(axis=1)
        predicted.usual[held], predicted.fold[held] = names[counts.argmax()], fold
    return predicted


def classifier_of(features: Features, types: Indices, c: float) -> Callable[[Features], Scores]:
    """Learns from queries; gives the probability of each of their types for other queries, shape [queries, types]."""
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

    if len(np.unique(types)) == 1:
        return lambda queries: np.ones((queries.shape[0], 1))
    with threadpool_limits(1):  # several threads take ten times as long, as they wait for each other
        model = LogisticRegression(C=c, max_iter=1000).fit(features.astype(np.float64), types)
    return lambda queries: model.predict_proba(queries.astype(np.float64))


def kinds_of(queries: Sequence[Query]) -> Indices:
    """A number per query, shape [queries]: queries with a text or group in common, also through others, share it.

    Case and white space do not count. The numbers do not depend on the order of the queries.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    texts = np.array([" ".join(query.text.casefold().split()) for query in queries], dtype=object)
    text = np.unique(texts, return_inverse=True)[1]
    group = Groups.named([query.group for query in queries]).of + len(texts)  # nodes after those of the texts
    edges = coo_array((np.ones(len(texts)), (text, group)), shape=(2 * len(texts),) * 2)
    return connected_components(edges, directed=False)[1][text].astype(np.int64)


def types_of(items: Dataset) -> tuple[tuple[str, ...], Indices]:
    """The names of the types in alphabetical order, and the number of each query's type, -1 for one without."""
    types = [query.query_type for query in items.queries]
    names = tuple(sorted({name for name in types if name is not None}))
    return names, np.array([names.index(name) if name is not None else -1 for name in types])


def accuracy_of_types(
    names: Sequence[str], types: Indices, predicted: PredictedTypes, folds: int, seed: int
) -> list[str]:
    """How well types are predicted, in all and by type, in sentences. Arguments as of `predicted_types`."""
    typed = types >= 0
    right = (predicted.type == types)[typed].astype(np.float64)
    low, high = confidence_intervals(right, seed=seed)
    usual, sure = (predicted.usual == types)[typed].mean(), predicted.confidence[typed].mean()
    by_type = [
        f"{name} {int(right[types[typed] == row].sum())} of {(types == row).sum()}"
        for row, name in enumerate(names)
        if (types == row).any()
    ]
    return [
        f"The type of each query was predicted from the queries of the {folds - 1} other folds. "
        f"{right.mean():.0%} of {counted(len(right), 'query')} were right (95 % interval {low:.0%} to {high:.0%}), "
        f"with a mean confidence of {sure:.0%}; always the most frequent type would be right for {usual:.0%}.",
        f"Right by type: {', '.join(by_type)}.",
    ]


class QueryTypes(NamedTuple):
    """The types of the queries of a dataset, predicted from their words.

    Attributes:
        names: The names of all types.
        types: The type of each query, -1 for one without a type that can be learnt, shape [queries].
        rare: The types with too few different queries to be learnt, with their numbers of queries.
        predicted: What was predicted; None where fewer than two types can be learnt.
    """

    names: Sequence[str]
    types: Indices
    rare: Mapping[str, int]
    predicted: PredictedTypes | None

    @classmethod
    def of(cls, items: Dataset, store: Store) -> QueryTypes:
        """The types of a dataset's queries; they depend on the queries alone, so the store keeps what was predicted."""
        names, types = types_of(items)
        kinds = kinds_of(items.queries)
        different = [len(np.unique(kinds[types == row])) for row in range(len(names))]
        rare = {name: int((types == row).sum()) for row, name in enumerate(names) if different[row] < FOLDS}
        types = np.where(np.isin(types, [names.index(name) for name in rare]), -1, types)
        if len(names) - len(rare) < 2:
            return cls(names, types, rare, None)
        texts = [query.text for query in items.queries]

        def build() -> Arrays:
            predicted = predicted_types(words_of(texts), types, kinds, folds=FOLDS, c=C, seed=0)
            return predicted._asdict()

        inputs = [digest_texts(texts), types.tolist(), kinds.tolist(), version("scikit-learn")]
        return cls(names, types, rare, PredictedTypes(**store.get("query_types", inputs, build)))

    @property
    def learnt(self) -> Sequence[str]:
        """The names of the types that can be predicted."""
        return [name for name in self.names if name not in self.rare] if self.predicted else []

    def added_to(self, measurement: Measurement, items: Dataset) -> Measurement:
        """The measurement with the predicted types, and what is said of them."""
        measurement = with_details(measurement, items.queries, self.details(items))
        return replace(measurement, sections={**measurement.sections, **self.sections})

    def details(self, items: Dataset) -> Mapping[str, Sequence[str]]:
        """The predicted type of each query and the confidence, as columns of texts, blank where its type is rare."""
        if self.predicted is None:
            return {}
        is_rare = [query.query_type in self.rare for query in items.queries]
        rows = zip(self.predicted.type.tolist(), self.predicted.confidence.tolist(), is_rare, strict=True)
        texts = [("", "") if rare else (self.names[kind], f"{confidence:.3f}") for kind, confidence, rare in rows]
        types, confidences = zip(*texts, strict=True)
        return {"type_predicted": types, "type_confidence": confidences}

    @property
    def sections(self) -> Mapping[str, Sequence[str]]:
        """What a report says of the types; nothing of a dataset without types."""
        if not self.names:
            return {}
        rare = ", ".join(f"{name} ({number})" for name, number in self.rare.items())
        few = [f"Types with fewer than {FOLDS} different queries are not learnt: {rare}."] if rare else []
        if self.predicted is None:
            why = "The types of queries are not predicted, as fewer than two can be learnt."
            return {HEADING: [f"{why} {' '.join(few)}"]}
        return {HEADING: [*accuracy_of_types(self.names, self.types, self.predicted, FOLDS, 0), *few]}


def with_details(
    measurement: Measurement, queries: Sequence[Query], details: Mapping[str, Sequence[str]]
) -> Measurement:
    """The measurement with further columns of texts, which are given for all queries of the dataset."""
    rows = {query.query_id: row for row, query in enumerate(queries)}
    asked = [rows[query] for query in measurement.items["query_id"]]
    columns = {name: [texts[row] for row in asked] for name, texts in details.items()}
    return replace(measurement, details={**measurement.details, **columns})


class Learnt(NamedTuple):
    """What takes the place of a setting of the task that learns from the queries of other folds.

    Attributes:
        setting: Its name.
        stage: Decides for each query by what was learnt.
        items: The dataset.
        details: What was decided, a column of texts each.
        sections: What a report says.
        summary: What a single run says of that, if it says nothing else.
        is_learnt: Whether judgments decided.
    """

    setting: str
    stage: Any
    items: Dataset
    details: Mapping[str, Sequence[str]]
    sections: Mapping[str, Sequence[str]]
    summary: Sequence[str] = ()
    is_learnt: bool = True

    def added_to(self, measurement: Measurement) -> Measurement:
        """What was measured with the stage, with what is said of it."""
        learns = [*measurement.facts.get("learns_from_judgments", ()), *([self.setting] if self.is_learnt else [])]
        return replace(
            with_details(measurement, self.items.queries, self.details),
            sections={**self.sections, **measurement.sections},
            summary=measurement.summary or self.summary,
            facts={**measurement.facts, **({"learns_from_judgments": learns} if learns else {})},
        )


def learning_section(component: str, decision: str, folds: int) -> dict[str, list[str]]:
    """The section of a report on a component that learns: what it decides for a query, and from which queries."""
    sentence = (
        f"{component} learns from the relevance judgments and types of queries. {decision} was learnt from the queries "
        f"of the {counted(folds - 1, 'other fold')}, never from this query."
    )
    return {LEARNS: [sentence]}


def words_of(texts: Sequence[str]) -> Features:
    """The words of texts, weighted by TF-IDF with a logarithmic frequency; shape [texts, words]."""
    from sklearn.feature_extraction.text import TfidfVectorizer  # type: ignore[import-untyped]

    return TfidfVectorizer(token_pattern=r"\w+|[^\w\s]+", sublinear_tf=True).fit_transform(texts)
