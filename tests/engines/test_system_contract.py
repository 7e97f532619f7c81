"""The conformance suite of systems, on a function of a user's."""

from typing import ClassVar

import numpy as np
import pytest

from ragsweep.core.errors import RetrieverError
from ragsweep.retrieval import ExternalRetriever
from ragsweep.retrieval.results import Answers, Matching, Result
from ragsweep.testing import SystemContract
from ragsweep_engines.callable_retriever import CallableRetriever

SYSTEM = """
def search(query, k):
    return [{"source": "a.pdf", "page": at, "text": f"{query} {at}", "score": 1 / at} for at in range(1, k + 1)]
"""


class TestCallable(SystemContract):
    component = CallableRetriever
    settings: ClassVar = {"call": "system_of_contract:search", "depth": 2}

    @pytest.fixture(autouse=True)
    def module(self, tmp_path, monkeypatch):
        (tmp_path / "system_of_contract.py").write_text(SYSTEM)
        monkeypatch.syspath_prepend(tmp_path)


class Broken(ExternalRetriever):
    """Breaks the rule that it is told to break."""

    def __init__(self, how: str = ""):
        self.how = how

    @property
    def matching(self):
        return None if self.how == "matching" else Matching()

    def answers(self, queries, depth):
        result = {
            "kind": {"ids": ("a",)},
            "empty": Result(),
            "score": Result(("a",), score=float("nan")),
            "others": Result((str(len(queries)),)),
        }.get(self.how, Result(("a",)))
        results = [] if self.how == "missing" else [(result,) for _ in queries]
        return Answers(results, np.array([-1.0] if self.how == "latency" else []))


@pytest.mark.parametrize(
    ("how", "test"),
    [
        ("missing", "test_every_query_has_results"),
        ("kind", "test_every_query_has_results"),
        ("empty", "test_every_query_has_results"),
        ("score", "test_scores_are_numbers"),
        ("latency", "test_latency_is_that_of_some_of_the_queries"),
        ("others", "test_the_answer_to_a_query_does_not_depend_on_the_others"),
        ("matching", "test_it_says_how_its_results_are_matched"),
    ],
)
def test_a_system_that_breaks_a_rule_fails(how, test, tmp_path):
    class Suite(SystemContract):
        component = Broken
        settings: ClassVar = {"how": how}

    with pytest.raises((AssertionError, AttributeError, ValueError, RetrieverError)):
        getattr(Suite(), test)(str(tmp_path))
