"""Documents, queries and relevance judgments. One module per dataset format."""

from ragsweep.datasets.beir import BeirDataset
from ragsweep.datasets.chunking import PageChunker, RecursiveChunker
from ragsweep.datasets.collection import Collection, DatasetFormat, Document, Judgment, Page, Query
from ragsweep.datasets.dataset import Dataset, Passage, Qrels
from ragsweep.datasets.pdf import PdfDataset
from ragsweep.datasets.spans import Chunker

__all__ = [
    "BeirDataset",
    "Chunker",
    "Collection",
    "Dataset",
    "DatasetFormat",
    "Document",
    "Judgment",
    "Page",
    "PageChunker",
    "Passage",
    "PdfDataset",
    "Qrels",
    "Query",
    "RecursiveChunker",
]
