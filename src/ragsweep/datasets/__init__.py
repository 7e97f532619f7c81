"""Documents, queries, relevance judgments and multiple-choice cases. One module per dataset format."""

from ragsweep.core.errors import DatasetError
from ragsweep.datasets.chunkers.markdown import MarkdownChunker
from ragsweep.datasets.chunkers.recursive import RecursiveChunker
from ragsweep.datasets.chunkers.rulers import TokenOffsets
from ragsweep.datasets.chunkers.semantic import SemanticChunker
from ragsweep.datasets.chunkers.simple import FixedChunker, PageChunker, SentenceChunker
from ragsweep.datasets.formats.beir import BeirQuestions
from ragsweep.datasets.formats.corpora.document_table import NoCorpus, TableCorpus
from ragsweep.datasets.formats.corpora.text_documents import TextCorpus
from ragsweep.datasets.formats.irds import IrDatasetsDataset
from ragsweep.datasets.formats.own import OwnDataset, beir_dataset, pdf_dataset
from ragsweep.datasets.formats.pdf_documents import PdfDocuments
from ragsweep.datasets.formats.questions.question_table import TableQuestions
from ragsweep.datasets.model.cases import Case, Option
from ragsweep.datasets.model.chunking import Chunker
from ragsweep.datasets.model.collection import Collection, Document, Judgment, Page, Query, Reference
from ragsweep.datasets.model.dataset import Dataset, Passage, Qrels
from ragsweep.datasets.model.dataset_format import Corpus, DatasetFormat, Questions
from ragsweep.datasets.model.faults import Faults
from ragsweep.datasets.model.selecting import Selecting

__all__ = [
    "BeirQuestions",
    "Case",
    "Chunker",
    "Collection",
    "Corpus",
    "Dataset",
    "DatasetError",
    "DatasetFormat",
    "Document",
    "Faults",
    "FixedChunker",
    "IrDatasetsDataset",
    "Judgment",
    "MarkdownChunker",
    "NoCorpus",
    "Option",
    "OwnDataset",
    "Page",
    "PageChunker",
    "Passage",
    "PdfDocuments",
    "Qrels",
    "Query",
    "Questions",
    "RecursiveChunker",
    "Reference",
    "Selecting",
    "SemanticChunker",
    "SentenceChunker",
    "TableCorpus",
    "TableQuestions",
    "TextCorpus",
    "TokenOffsets",
    "beir_dataset",
    "pdf_dataset",
]
