"""Chooses routes for the queries of one fold by what was learnt from those of the others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ragsweep.core.arrays import Indices, Scores
from ragsweep.models.encoders.encoder import Embeddings
from ragsweep.retrieval.routing.classifiers import Classifier, Classify, probabilities
from ragsweep.statistics.intervals import first_best


class Predictions(NamedTuple):
    """The types of queries, as predicted by a classifier that has not seen them.

    Attributes:
        types: Shape [queries held out].
        confidence: The probability that the classifier gives that type, same shape.
        usual: The most frequent type among the queries that the classifier has learnt from.
        classify: What they were classified by.
    """

    types: Indices
    confidence: Scores
    usual: int
    classify: Classify


def predict(classifier: Classifier, embeddings: Embeddings, types: Indices, held: Indices) -> Predictions:
    """Predict the types of queries by a classifier that has learnt from others.

    Args:
        classifier: Learns from the queries with a type.
        embeddings: Of all queries, shape [queries, dimensions].
        types: The type of each query, -1 where there is none or it must not be known, shape [queries].
        held: The queries to classify; none of them has a type.

    Raises:
        RetrieverError: The classifier does not return probabilities.
    """
    learn = types >= 0
    known, labels, counts = np.unique(types[learn], return_inverse=True, return_counts=True)
    classify = classifier.learn(embeddings[learn], labels)
    found = probabilities(classify, embeddings[held], len(known), classifier)
    return Predictions(known[found.argmax(axis=1)], found.max(axis=1), int(known[counts.argmax()]), classify)


class Choice(NamedTuple):
    """The routes that were chosen.

    Attributes:
        of_type: The route of each type, shape [types].
        single: The route that is best over all types.
    """

    of_type: Indices
    single: int

    def routes(self, types: Indices) -> Indices:
        """The route of every query by its type, -1 for none, shape [queries]."""
        return np.where(types >= 0, self.of_type[types], self.single)


def choose(values: Scores, types: Indices, number_of_types: int, least: int) -> Choice:
    """Choose the route with the best mean for each type.

    Equal means, such as those of no query at all, leave the choice to the order of the routes.

    Args:
        values: Of the deciding metric, more is better; NaN for a query without judgments, or whose judgments must not
            be known, shape [routes, queries].
        types: The type of each query, -1 for one without, shape [queries].
        number_of_types: How many types there are.
        least: A type with fewer judged queries takes the route that is best over all.
    """
    learn = np.isfinite(values).all(axis=0)
    of = (types[learn, np.newaxis] == np.arange(number_of_types)).astype(np.float64)  # [queries, types]
    counts = of.sum(axis=0)
    best = int(first_best(values[:, learn].sum(axis=1) / max(1, learn.sum())))
    means = values[:, learn] @ of / counts.clip(min=1)
    return Choice(np.where(counts >= least, first_best(means), best), best)
