"""Chooses a route for every query by what was learnt from the queries of other folds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ragsweep.retrieval.encoders.encoder import Embeddings
from ragsweep.retrieval.ranking import Indices, Scores
from ragsweep.retrieval.routing.classifiers import Classifier, Classify, probabilities
from ragsweep.statistics.intervals import first_best


@dataclass(frozen=True)
class Predictions:
    """The type of every query, as predicted by a classifier that has not seen it.

    Attributes:
        types: Shape [queries].
        confidence: The probability that the classifier gives that type, shape [queries].
        usual: The most frequent type among the queries that the classifier has learnt from, shape [queries].
        classify: What each fold's queries were classified by, shape [folds].
    """

    types: Indices
    confidence: Scores
    usual: Indices
    classify: tuple[Classify, ...]


def predict(classifier: Classifier, embeddings: Embeddings, types: Indices, fold: Indices) -> Predictions:
    """Predict the type of every query by a classifier that has learnt from the queries of the other folds.

    Args:
        classifier: Learns once for each fold.
        embeddings: Of the queries, shape [queries, dimensions].
        types: By fold, the type of each query, -1 where it is not known, shape [folds, queries].
        fold: Of each query, shape [queries]; at least two folds have queries with a type.

    Raises:
        RetrieverError: The classifier does not return probabilities.
    """
    predicted, usual = np.empty_like(fold), np.empty_like(fold)
    confidence = np.empty(len(fold))
    classify = []
    for each in range(int(fold.max()) + 1):
        learn, held = types[each] >= 0, fold == each
        known, labels, counts = np.unique(types[each, learn], return_inverse=True, return_counts=True)
        classify.append(classifier.learn(embeddings[learn], labels))
        found = probabilities(classify[-1], embeddings[held], len(known), classifier)
        predicted[held] = known[found.argmax(axis=1)]
        confidence[held] = found.max(axis=1)
        usual[held] = known[counts.argmax()]
    return Predictions(predicted, confidence, usual, tuple(classify))


@dataclass(frozen=True)
class Choice:
    """The routes that each fold's queries take, chosen by the judgments of the other folds only.

    Attributes:
        of_type: The route of each type, shape [folds, types].
        single: The route that is best over all types, shape [folds].
    """

    of_type: Indices
    single: Indices

    def routes(self, types: Indices, fold: Indices) -> Indices:
        """The route of every query by its type, -1 for none, shape [queries]."""
        return np.where(types >= 0, self.of_type[fold, types], self.single[fold])


def choose(values: Scores, types: Indices, fold: Indices, least: int) -> Choice:
    """For each fold and type, choose the route with the best mean over the other folds' queries of that type.

    Equal means, such as those of no query at all, leave the choice to the order of the routes.

    Args:
        values: By fold, those of the deciding metric, more is better; NaN where they are not known, shape
            [folds, routes, queries].
        types: By fold, the type of each query, -1 where it is not known, shape [folds, queries].
        fold: Of each query, shape [queries].
        least: A type with fewer judged queries in the other folds takes the route that is best over all.
    """
    of_type, single = [], []
    for each in range(int(fold.max()) + 1):
        learn = np.isfinite(values[each]).all(axis=0)
        of = (types[each, learn, np.newaxis] == np.arange(types.max() + 1)).astype(np.float64)  # [queries, types]
        counts = of.sum(axis=0)
        best = int(first_best(values[each][:, learn].sum(axis=1) / max(1, learn.sum())))
        means = values[each][:, learn] @ of / counts.clip(min=1)
        of_type.append(np.where(counts >= least, first_best(means), best))
        single.append(best)
    return Choice(np.array(of_type), np.array(single))
