"""Ranking passages for queries: dense, sparse and hybrid retrieval."""

from ragsweep.retrieval.dense import DenseRetriever
from ragsweep.retrieval.encoder import Encoder, SentenceTransformerEncoder
from ragsweep.retrieval.fusion import minmax, weighted_sum
from ragsweep.retrieval.hybrid import HybridRetriever
from ragsweep.retrieval.index import ExactIndex, HnswIndex, Index, IvfPqIndex
from ragsweep.retrieval.ranking import NOTHING, Ranking, Retriever, Task, ranked
from ragsweep.retrieval.sparse import SparseRetriever

__all__ = [
    "NOTHING",
    "DenseRetriever",
    "Encoder",
    "ExactIndex",
    "HnswIndex",
    "HybridRetriever",
    "Index",
    "IvfPqIndex",
    "Ranking",
    "Retriever",
    "SentenceTransformerEncoder",
    "SparseRetriever",
    "Task",
    "minmax",
    "ranked",
    "weighted_sum",
]
