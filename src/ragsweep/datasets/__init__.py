"""Documents, queries, relevance judgments and multiple-choice cases. One module per dataset format."""

from ragsweep.datasets.beir import BeirDataset
from ragsweep.datasets.case_columns import CaseColumns
from ragsweep.datasets.case_files import CasesDataset
from ragsweep.datasets.cases import Case, Option
from ragsweep.datasets.chunking import PageChunker, RecursiveChunker
from ragsweep.datasets.collection import Collection, DatasetFormat, Document, Judgment, Page, Query, Reference
from ragsweep.datasets.dataset import Dataset, Passage, Qrels
from ragsweep.datasets.pdf import PdfDataset
from ragsweep.datasets.pubmedqa import PubMedQADataset
from ragsweep.datasets.spans import Chunker

__all__ = [
    "BeirDataset",
    "Case",
    "CaseColumns",
    "CasesDataset",
    "Chunker",
    "Collection",
    "Dataset",
    "DatasetFormat",
    "Document",
    "Judgment",
    "Option",
    "Page",
    "PageChunker",
    "Passage",
    "PdfDataset",
    "PubMedQADataset",
    "Qrels",
    "Query",
    "RecursiveChunker",
    "Reference",
]
