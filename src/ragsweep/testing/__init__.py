"""Conformance suites: what must hold of a component, as tests that pytest runs on your own class.

    from ragsweep.testing import RankerContract

    class TestMyRanker(RankerContract):
        component = MyRanker
        settings = {"letters": 3}

Your `conftest.py` needs nothing. A contract runs on a small corpus; set `search` to use one of your own.
"""

from pkgutil import iter_modules

import pytest

pytest.register_assert_rewrite(*(part.name for part in iter_modules(__path__, f"{__name__}.")))

from ragsweep.testing.component import ComponentContract  # noqa: E402
from ragsweep.testing.datasets import ChunkerContract, CorpusContract, DatasetContract, QuestionsContract  # noqa: E402
from ragsweep.testing.language_models import LanguageModelContract  # noqa: E402
from ragsweep.testing.measuring import MetricContract, TaskContract  # noqa: E402
from ragsweep.testing.passages import IngestContract, ReturnedUnitContract, SystemContract  # noqa: E402
from ragsweep.testing.retrieval import (  # noqa: E402
    EncoderContract,
    ExpanderContract,
    FusionContract,
    RankerContract,
    RerankerContract,
    RewriterContract,
)

__all__ = [
    "ChunkerContract",
    "ComponentContract",
    "CorpusContract",
    "DatasetContract",
    "EncoderContract",
    "ExpanderContract",
    "FusionContract",
    "IngestContract",
    "LanguageModelContract",
    "MetricContract",
    "QuestionsContract",
    "RankerContract",
    "RerankerContract",
    "ReturnedUnitContract",
    "RewriterContract",
    "SystemContract",
    "TaskContract",
]
