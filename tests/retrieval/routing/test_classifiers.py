"""Classifiers of queries, held against scikit-learn."""

from typing import ClassVar

import numpy as np
import pytest
from letters import LetterEncoder
from sklearn.linear_model import LogisticRegression

from ragsweep.core.errors import RetrieverError
from ragsweep.retrieval import LogisticClassifier
from ragsweep.retrieval.routing.classifiers import probabilities
from ragsweep.testing import ClassifierContract

ENCODER = LetterEncoder()


@pytest.mark.usefixtures("long_work")
class TestLogistic(ClassifierContract):
    component = LogisticClassifier
    settings: ClassVar = {"encoder": ENCODER}


@pytest.fixture(scope="module")
def clouds():
    """Embeddings of length 1 in overlapping clouds, and the cloud of each."""
    rng = np.random.default_rng(0)
    types = rng.permutation(np.repeat(np.arange(4), [30, 20, 10, 5]))
    rows = rng.normal(size=(4, 24))[types] + 1.5 * rng.normal(size=(len(types), 24))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32), types


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("c", [0.1, 10.0, 1000.0])
def test_logistic_regression_is_that_of_scikit_learn(clouds, c):
    embeddings, types = clouds
    classify = LogisticClassifier(ENCODER, c=c).learn(embeddings[20:], types[20:])
    fitted = LogisticRegression(C=c, tol=1e-10, max_iter=10_000).fit(embeddings[20:].astype(float), types[20:])
    expected = fitted.predict_proba(embeddings[:20].astype(float))
    np.testing.assert_allclose(classify(embeddings[:20]), expected, atol=1e-4)


@pytest.mark.usefixtures("long_work")
def test_every_setting_changes_the_probabilities(clouds):
    embeddings, types = clouds
    weak, strong = (LogisticClassifier(ENCODER, c=c).learn(embeddings, types)(embeddings) for c in (0.1, 10))
    assert (strong.max(axis=1) > weak.max(axis=1)).all()


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (np.ones((2, 3)), r"returned an array of shape \[2, 3\], expected \[2, 2\]"),
        (np.ones((2, 2)), "add up to 1 for each query"),
        (np.array([[1.5, -0.5], [0.5, 0.5]]), "probabilities of at least 0"),
        (np.full((2, 2), np.nan), "probabilities of at least 0"),
    ],
    ids=["shape", "sum", "negative", "nan"],
)
def test_what_is_no_probability_is_an_error(found, message):
    with pytest.raises(RetrieverError, match=message):
        probabilities(lambda _: found, np.ones((2, 4), dtype=np.float32), 2, LogisticClassifier(ENCODER))
