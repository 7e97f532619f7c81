"""Documents, queries and relevance judgments; one module a format."""

from ragsweep.datasets.beir import BeirDataset
from ragsweep.datasets.chunking import PageChunker, RecursiveChunker
from ragsweep.datasets.dataset import (
    Chunker,
    Collection,
    Dataset,
    DatasetFormat,
    Document,
    Judgment,
    Page,
    Passage,
    Qrels,
    Query,
)
from ragsweep.datasets.pdf import PdfDataset

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
