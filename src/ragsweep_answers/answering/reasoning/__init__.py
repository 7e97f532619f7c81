"""Reasoning methods: ways to come to an answer with a language model. A method is one class with its prompts."""

from ragsweep_answers.answering.reasoning.hybrid_reasoning import HybridReasoning
from ragsweep_answers.answering.reasoning.prompted import ChainOfThought, DirectReasoning, StructuredReasoning
from ragsweep_answers.answering.reasoning.tree_of_thoughts import TreeOfThoughts

__all__ = ["ChainOfThought", "DirectReasoning", "HybridReasoning", "StructuredReasoning", "TreeOfThoughts"]
