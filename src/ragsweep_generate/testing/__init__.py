"""Conformance suites of generators of questions."""

import pytest

pytest.register_assert_rewrite(f"{__name__}.generator_contract")

from ragsweep_generate.testing.generator_contract import SOURCE_TEXTS, SOURCES, GeneratorContract  # noqa: E402

__all__ = ["SOURCES", "SOURCE_TEXTS", "GeneratorContract"]
