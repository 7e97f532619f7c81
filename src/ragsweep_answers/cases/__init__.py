"""Datasets of multiple-choice cases."""

from ragsweep_answers.cases.case_columns import CaseColumns
from ragsweep_answers.cases.case_files import CasesDataset

__all__ = ["CaseColumns", "CasesDataset"]
