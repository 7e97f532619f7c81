"""Classifiers of queries by their embeddings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar, Protocol

import numpy as np

from ragsweep.core.arrays import Indices, Scores
from ragsweep.core.errors import RetrieverError
from ragsweep.core.limits import Between
from ragsweep.models.encoders.encoder import Embeddings, Encoder
from ragsweep.store.code import kind_of
from ragsweep.store.stage_store import NO_STORE, Store

Classify = Callable[[Embeddings], Scores]

PROBABILITY_ERROR = 1e-6  # of the sum of probabilities


class Classifier(Protocol):
    """Learns to tell the types of queries apart; write your own as one class with these members."""

    @property
    def encoder(self) -> Encoder:
        """Gives the embeddings of the queries."""
        ...

    @property
    def store(self) -> Store:
        """Keeps them, and how long encoding one takes."""
        ...

    def learn(self, embeddings: Embeddings, types: Indices) -> Classify:
        """Learn from queries.

        Args:
            embeddings: Of length 1, shape [queries, dimensions].
            types: The type of each query, shape [queries]: whole numbers from 0, each of which is there.

        Returns:
            A function from embeddings to the probability of each type, shape [queries, types].
        """
        ...


@dataclass(frozen=True)
class LogisticClassifier:
    """Multinomial logistic regression on the embeddings, with an L2 penalty on the weights, not on the intercepts.

    It minimises `c * sum of -log probability + sum of squared weights / 2`, as scikit-learn's `LogisticRegression`
    does.

    Attributes:
        encoder: Gives the embeddings of the queries.
        store: Keeps them.
        c: The inverse of the penalty's strength. A small one gives probabilities that are nearly equal.
    """

    libraries: ClassVar[tuple[str, ...]] = ("scipy",)

    encoder: Encoder
    store: Store = NO_STORE
    c: Annotated[float, Between(1e-6, 1e6)] = 10.0

    def learn(self, embeddings: Embeddings, types: Indices) -> Classify:
        """Fit the weights."""
        from scipy.optimize import minimize

        inputs = _with_intercept(embeddings)
        is_of = _indicator(types)
        shape = (inputs.shape[1], is_of.shape[1])

        def loss(flat: Scores) -> tuple[float, Scores]:
            weights = flat.reshape(shape)
            logits = inputs @ weights
            highest = logits.max(axis=1, keepdims=True)
            total = highest[:, 0] + np.log(np.exp(logits - highest).sum(axis=1))
            surprise = float((total - logits[is_of == 1]).sum())
            penalised = weights.copy()
            penalised[-1] = 0  # the intercepts
            gradient = self.c * inputs.T @ (_softmax(logits) - is_of) + penalised
            return self.c * surprise + float((penalised**2).sum()) / 2, gradient.ravel()

        start = np.zeros(shape).ravel()
        fitted = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 10_000, "ftol": 1e-12})
        weights = fitted.x.reshape(shape)
        return lambda queries: _softmax(_with_intercept(queries) @ weights)


def probabilities(classify: Classify, embeddings: Embeddings, types: int, classifier: Classifier) -> Scores:
    """Probabilities by a classifier, shape [queries, types]; raises `RetrieverError` if they are not valid."""
    found = np.asarray(classify(embeddings), dtype=np.float64)
    name, shape = kind_of(classifier), (len(embeddings), types)
    if found.shape != shape:
        raise RetrieverError(f"{name}: returned an array of shape {[*found.shape]}, expected {[*shape]}")
    if not ((found >= 0) & (np.abs(found.sum(axis=1, keepdims=True) - 1) <= PROBABILITY_ERROR)).all():  # NaN is not
        raise RetrieverError(f"{name}: expected probabilities of at least 0 that add up to 1 for each query")
    return found


def _indicator(types: Indices) -> Scores:
    """1 where a query is of a type, shape [queries, types]."""
    is_of: Scores = np.eye(int(types.max()) + 1)[types]
    return is_of


def _softmax(logits: Scores) -> Scores:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    probability: Scores = powers / powers.sum(axis=1, keepdims=True)
    return probability


def _with_intercept(embeddings: Embeddings) -> Scores:
    inputs: Scores = np.column_stack([embeddings.astype(np.float64), np.ones(len(embeddings))])
    return inputs
