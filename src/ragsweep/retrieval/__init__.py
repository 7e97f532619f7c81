"""Ranking passages for queries: the stages, and the classes that do them."""

from ragsweep.core.arrays import NOTHING
from ragsweep.models.encoders.encoder import Encoder, Reducible
from ragsweep.models.encoders.endpoint_encoder import OpenAIEncoder
from ragsweep.models.encoders.sentence_transformer import SentenceTransformerEncoder
from ragsweep.models.encoders.tokenizer import ModelTokenizer
from ragsweep.models.encoders.word_llama import WordLlamaEncoder
from ragsweep.models.language.openai_model import OpenAIModel
from ragsweep.models.language.smollm2 import SmolLM2Model
from ragsweep.models.language.transformers_model import TransformersModel
from ragsweep.retrieval.dense import DenseRetriever
from ragsweep.retrieval.fused import FusedRetriever, HybridRetriever
from ragsweep.retrieval.fusion import ReciprocalRankFusion, WeightedSum
from ragsweep.retrieval.indexes.index import ExactIndex, FaissIndex, Index, Nearest
from ragsweep.retrieval.ingest.contextual import ContextualIngest
from ragsweep.retrieval.ingest.ingest import Ingest
from ragsweep.retrieval.kinds import (
    Expander,
    Expansion,
    Fusion,
    Method,
    Ranker,
    Reranker,
    Retriever,
    Rewriter,
    Thresholded,
    Trace,
    Words,
)
from ragsweep.retrieval.model_written import WrittenIngest, WrittenQuery
from ragsweep.retrieval.normalising import minmax
from ragsweep.retrieval.pipeline import PipelineRetriever
from ragsweep.retrieval.queries.abbreviations import Abbreviations
from ragsweep.retrieval.queries.spellcheck import SpellCheck
from ragsweep.retrieval.ranking import Names, Ranking, Search, ranked
from ragsweep.retrieval.rerankers.cross_encoder import CrossEncoderReranker
from ragsweep.retrieval.rerankers.cutoffs import ConfidenceCutoff, GapCutoff, QueryCutoffs, TypeCutoff
from ragsweep.retrieval.rerankers.encoder_reranker import EncoderReranker
from ragsweep.retrieval.rerankers.llm import LanguageModelReranker
from ragsweep.retrieval.rerankers.mmr import MmrReranker
from ragsweep.retrieval.results import Answers, ExternalRetriever, Matching, Result, ReturnedRetriever
from ragsweep.retrieval.returned_units.units import DocumentUnit, PageUnit, ParentUnit, ReturnedUnit, WindowUnit
from ragsweep.retrieval.routed import LogisticClassifier, RoutedRetriever
from ragsweep.retrieval.run_file import RunFileRetriever
from ragsweep.retrieval.sparse import SparseRetriever
from ragsweep.retrieval.stages import rank
from ragsweep.store.stage_store import Store

__all__ = [
    "NOTHING",
    "Abbreviations",
    "Answers",
    "ConfidenceCutoff",
    "ContextualIngest",
    "CrossEncoderReranker",
    "DenseRetriever",
    "DocumentUnit",
    "Encoder",
    "EncoderReranker",
    "ExactIndex",
    "Expander",
    "Expansion",
    "ExternalRetriever",
    "FaissIndex",
    "FusedRetriever",
    "Fusion",
    "GapCutoff",
    "HybridRetriever",
    "Index",
    "Ingest",
    "LanguageModelReranker",
    "LogisticClassifier",
    "Matching",
    "Method",
    "MmrReranker",
    "ModelTokenizer",
    "Names",
    "Nearest",
    "OpenAIEncoder",
    "OpenAIModel",
    "PageUnit",
    "ParentUnit",
    "PipelineRetriever",
    "QueryCutoffs",
    "Ranker",
    "Ranking",
    "ReciprocalRankFusion",
    "Reducible",
    "Reranker",
    "Result",
    "Retriever",
    "ReturnedRetriever",
    "ReturnedUnit",
    "Rewriter",
    "RoutedRetriever",
    "RunFileRetriever",
    "Search",
    "SentenceTransformerEncoder",
    "SmolLM2Model",
    "SparseRetriever",
    "SpellCheck",
    "Store",
    "Thresholded",
    "Trace",
    "TransformersModel",
    "TypeCutoff",
    "WeightedSum",
    "WindowUnit",
    "WordLlamaEncoder",
    "Words",
    "WrittenIngest",
    "WrittenQuery",
    "minmax",
    "rank",
    "ranked",
]
