"""Conformance suites of engines."""

import pytest

pytest.register_assert_rewrite(f"{__name__}.engine_contract")

from ragsweep_engines.testing.engine_contract import EngineContract, assert_same, corpus, exactly, queries  # noqa: E402

__all__ = ["EngineContract", "assert_same", "corpus", "exactly", "queries"]
