"""Files of multiple-choice cases."""

from ragsweep_answers.cases.case_columns import CaseColumns
from ragsweep_answers.cases.case_files import CasesDataset
from ragsweep_answers.cases.pubmedqa import PubMedQADataset

__all__ = ["CaseColumns", "CasesDataset", "PubMedQADataset"]
