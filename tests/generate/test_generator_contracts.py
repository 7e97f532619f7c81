"""Our generators pass the conformance suite."""

from ragsweep_generate.extractive import ExtractiveGenerator
from ragsweep_generate.testing import GeneratorContract


class TestExtractive(GeneratorContract):
    component = ExtractiveGenerator
