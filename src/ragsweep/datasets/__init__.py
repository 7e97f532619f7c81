"""Documents, queries, relevance judgments and multiple-choice cases. One module per dataset format."""

from ragsweep.datasets.beir import BeirDataset, BeirQuestions
from ragsweep.datasets.case_columns import CaseColumns
from ragsweep.datasets.case_files import CasesDataset
from ragsweep.datasets.cases import Case, Option
from ragsweep.datasets.chunkers.fixed import FixedChunker
from ragsweep.datasets.chunkers.markdown import MarkdownChunker
from ragsweep.datasets.chunkers.page import PageChunker
from ragsweep.datasets.chunkers.recursive import RecursiveChunker
from ragsweep.datasets.chunkers.rulers import TokenOffsets
from ragsweep.datasets.chunkers.semantic import SemanticChunker
from ragsweep.datasets.chunkers.sentence import SentenceChunker
from ragsweep.datasets.chunking import Chunker
from ragsweep.datasets.collection import Collection, DatasetFormat, Document, Judgment, Page, Query, Reference
from ragsweep.datasets.corpora.table import TableCorpus
from ragsweep.datasets.corpora.text import TextCorpus
from ragsweep.datasets.corpora.trec import TrecCorpus
from ragsweep.datasets.dataset import Dataset, Passage, Qrels
from ragsweep.datasets.faults import Faults
from ragsweep.datasets.irds import IrDatasetsDataset
from ragsweep.datasets.own import Asked, Corpus, OwnDataset, Questions
from ragsweep.datasets.pdf import PdfDataset
from ragsweep.datasets.pdf_documents import PdfDocuments
from ragsweep.datasets.pubmedqa import PubMedQADataset
from ragsweep.datasets.questions.spans import SpanQuestions
from ragsweep.datasets.questions.table import TableQuestions
from ragsweep.datasets.questions.trec import TrecQuestions

__all__ = [
    "Asked",
    "BeirDataset",
    "BeirQuestions",
    "Case",
    "CaseColumns",
    "CasesDataset",
    "Chunker",
    "Collection",
    "Corpus",
    "Dataset",
    "DatasetFormat",
    "Document",
    "Faults",
    "FixedChunker",
    "IrDatasetsDataset",
    "Judgment",
    "MarkdownChunker",
    "Option",
    "OwnDataset",
    "Page",
    "PageChunker",
    "Passage",
    "PdfDataset",
    "PdfDocuments",
    "PubMedQADataset",
    "Qrels",
    "Query",
    "Questions",
    "RecursiveChunker",
    "Reference",
    "SemanticChunker",
    "SentenceChunker",
    "SpanQuestions",
    "TableCorpus",
    "TableQuestions",
    "TextCorpus",
    "TokenOffsets",
    "TrecCorpus",
    "TrecQuestions",
]
