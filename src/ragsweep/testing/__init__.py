"""Conformance suites: what must hold of a component, as tests that pytest runs on your own class.

    from ragsweep.testing import RankerContract

    class TestMyRanker(RankerContract):
        component = MyRanker
        settings = {"letters": 3}

Your `conftest.py` needs nothing. A contract runs on a small corpus; set `search` to use one of your own.
"""

from ragsweep.testing.component import ComponentContract
from ragsweep.testing.datasets import ChunkerContract, DatasetContract
from ragsweep.testing.measuring import MetricContract, TaskContract
from ragsweep.testing.retrieval import (
    EncoderContract,
    FusionContract,
    RankerContract,
    RerankerContract,
    RewriterContract,
)

__all__ = [
    "ChunkerContract",
    "ComponentContract",
    "DatasetContract",
    "EncoderContract",
    "FusionContract",
    "MetricContract",
    "RankerContract",
    "RerankerContract",
    "RewriterContract",
    "TaskContract",
]
