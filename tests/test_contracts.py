"""The conformance suites, run on every component that ragsweep ships."""

import os
import re
from dataclasses import replace
from functools import partial
from typing import ClassVar

import pytest
import small
from application import PROJECT, PYTEST
from letters import LetterEncoder
from warm import Process

import ragsweep.evaluation
from ragsweep.core.project import shipped_conf
from ragsweep.datasets import (
    FixedChunker,
    MarkdownChunker,
    PageChunker,
    RecursiveChunker,
    SemanticChunker,
    SentenceChunker,
    beir_dataset,
    pdf_dataset,
)
from ragsweep.retrieval import (
    ConfidenceCutoff,
    ContextualIngest,
    DenseRetriever,
    DocumentUnit,
    EncoderReranker,
    FaissIndex,
    FusedRetriever,
    GapCutoff,
    HybridRetriever,
    MmrReranker,
    ModelTokenizer,
    Names,
    PageUnit,
    ParentUnit,
    PipelineRetriever,
    ReciprocalRankFusion,
    RunFileRetriever,
    SentenceTransformerEncoder,
    SparseRetriever,
    SpellCheck,
    TypeCutoff,
    WeightedSum,
    WindowUnit,
    WordLlamaEncoder,
)
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings
from ragsweep.tasks.ranking.ranking_task import RankingTask
from ragsweep.testing import (
    ChunkerContract,
    DatasetContract,
    EncoderContract,
    ExpanderContract,
    FusionContract,
    IngestContract,
    MetricContract,
    RankerContract,
    RerankerContract,
    ReturnedUnitContract,
    TaskContract,
)
from ragsweep.testing.retrieval import StageContract

DENSE = DenseRetriever(LetterEncoder(), NO_STORE)
SPARSE = SparseRetriever(NO_STORE)
METRICS = {
    name: getattr(ragsweep.evaluation, name) for name in ("precision", "recall", "f1", "mrr", "hit_rate", "ndcg")
}


OF_MEASURES = [
    *"precision recall f1 mrr hit_rate ndcg average_precision token_iou token_precision token_recall".split(),
    *"token_f1 token_precision_omega passage_coverage passage_accuracy passage_precision passage_recall".split(),
    *"passage_f1 document_coverage document_accuracy document_precision document_recall document_passages".split(),
]
IN_TOKENS = {"unit": "tokens", "tokenizer": ModelTokenizer(), "size": 12, "overlap": 5}
LETTERS = {"encoder": LetterEncoder()}
CONTRACTS = {  # by the name of its test class: the suite, the component, and settings other than the suite's
    "Sparse": (RankerContract, SparseRetriever),
    "SparseByAnotherLibrary": (
        RankerContract,
        SparseRetriever,
        {"backend": "bm25s", "stemmer": "english", "stop_words": "english"},
    ),
    "Dense": (RankerContract, DenseRetriever, LETTERS),
    "DenseInFewDimensions": (RankerContract, DenseRetriever, {"encoder": WordLlamaEncoder(dimensions=64)}),
    "DenseByGraph": (RankerContract, DenseRetriever, LETTERS | {"index": FaissIndex("HNSW32")}),
    "DenseInBytes": (RankerContract, DenseRetriever, LETTERS | {"index": FaissIndex("SQ8")}),
    "Hybrid": (RankerContract, HybridRetriever, {"dense": DENSE, "sparse": SPARSE, "alpha": 0.3}),
    "Fused": (
        RankerContract,
        FusedRetriever,
        {"rankers": {"letters": DENSE, "words": SPARSE, "long": SparseRetriever(NO_STORE, b=0.1)}},
    ),
    "Pipeline": (RankerContract, PipelineRetriever, {"ranker": SPARSE}),
    "WeightedSum": (FusionContract, WeightedSum),
    "StandardScores": (FusionContract, WeightedSum, {"norm": "zscore"}),
    "ReciprocalRanks": (FusionContract, ReciprocalRankFusion),
    "Gap": (RerankerContract, GapCutoff),
    "GapOfSomeSize": (RerankerContract, GapCutoff, {"least": 2, "most": 4, "ratio": 0.4}),
    "Confidence": (RerankerContract, ConfidenceCutoff),
    "ConfidenceOfBm25": (RerankerContract, ConfidenceCutoff, {"mass": 0.5, "temperature": 2.0, "least": 2, "most": 4}),
    "CutoffByType": (StageContract, TypeCutoff),
    "EncoderReranker": (RerankerContract, EncoderReranker, LETTERS),
    "Mmr": (RerankerContract, MmrReranker, LETTERS),
    "MmrOfCosines": (RerankerContract, MmrReranker, LETTERS | {"relevance": 0.7, "similarity": "cosine"}),
    "SpellCheck": (ExpanderContract, SpellCheck, {"distance": 2}),
    "Contextual": (IngestContract, ContextualIngest),
    "ReturnedWindow": (ReturnedUnitContract, WindowUnit, {"size": 2}),
    "ReturnedSentences": (ReturnedUnitContract, WindowUnit, {"of": "sentences"}),
    "ReturnedParent": (ReturnedUnitContract, ParentUnit, {"chunker": RecursiveChunker(size=150, overlap=40)}),
    "ReturnedPage": (ReturnedUnitContract, PageUnit),
    "ReturnedDocument": (ReturnedUnitContract, DocumentUnit),
    "Pages": (ChunkerContract, PageChunker),
    "Recursive": (ChunkerContract, RecursiveChunker),
    "ShortAndOverlapping": (ChunkerContract, RecursiveChunker, {"size": 30, "overlap": 20}),
    "RecursiveInTokens": (ChunkerContract, RecursiveChunker, IN_TOKENS),
    "RecursiveAcrossPages": (ChunkerContract, RecursiveChunker, {"across_pages": True}),
    "Fixed": (ChunkerContract, FixedChunker, IN_TOKENS | {"across_pages": True}),
    "FixedInCharacters": (ChunkerContract, FixedChunker, {"unit": "characters", "size": 7, "overlap": 6}),
    "Sentences": (ChunkerContract, SentenceChunker, {"size": 60, "overlap": 30}),
    "SentencesInTokens": (ChunkerContract, SentenceChunker, IN_TOKENS | {"across_pages": True}),
    "Markdown": (ChunkerContract, MarkdownChunker, {"size": 80, "overlap": 30, "across_pages": True}),
    "MarkdownInTokens": (ChunkerContract, MarkdownChunker, IN_TOKENS | {"level": 1}),
    "Semantic": (
        ChunkerContract,
        SemanticChunker,
        LETTERS | {"size": 80, "overlap": 30, "across_pages": True, "amount": 50},
    ),
    "SemanticInTokens": (
        ChunkerContract,
        SemanticChunker,
        IN_TOKENS | LETTERS | {"threshold": "standard_deviation", "amount": 1},
    ),
}
MEASURES = {name: getattr(ragsweep.evaluation, name) for name in OF_MEASURES} | {
    "ndcg_of_powers": partial(ragsweep.evaluation.ndcg, gain="exponential"),
    "passages_of_words": partial(ragsweep.evaluation.passage_f1, token="word", threshold=0.5),
    "iou_of_chroma": partial(ragsweep.evaluation.token_iou, overlap="chroma"),
    "omega_of_chroma": partial(ragsweep.evaluation.token_precision_omega, overlap="chroma"),
}


def suite(name, base, **members):
    """A class of tests, as a class statement makes it."""
    return {f"Test{name}": type(f"Test{name}", (base,), {"__module__": __name__, **members})}


for name, (base, component, *settings) in CONTRACTS.items():
    globals().update(suite(name, base, component=component, **({"settings": settings[0]} if settings else {})))
for name, metric in MEASURES.items():
    globals().update(suite(name.title().replace("_", ""), MetricContract, metric=metric))


def names(search):
    """Names of queries and passages, each passage a document."""
    passages = tuple(f"d{number}" for number in range(len(search.passages)))
    return Names(tuple(f"q{number}" for number in range(len(search.queries))), passages, passages, passages)


class TestRunFile(RankerContract):
    component = RunFileRetriever
    search = replace(RankerContract.search, names=names(RankerContract.search))

    @pytest.fixture(autouse=True)
    def run_file(self, tmp_path):
        lines = [f"q{query} Q0 d{each} 1 {each % 3} me\n" for query in (0, 1, 4) for each in (7, 2, 9, 4, 0)]
        (tmp_path / "run.trec").write_text("".join(lines))
        type(self).settings = {"path": str(tmp_path / "run.trec")}


class TestUnevenWeights(FusionContract):
    component = WeightedSum
    settings: ClassVar = {"weights": [0.9, 0.1]}
    rankings = 2


@pytest.mark.usefixtures("models")
class TestEncoder(EncoderContract):
    component = SentenceTransformerEncoder
    tolerance = 0


class TestStaticEncoder(EncoderContract):
    component = WordLlamaEncoder
    tolerance = 0


class TestPdf(DatasetContract):
    component = staticmethod(pdf_dataset)

    @pytest.fixture(autouse=True)
    def dataset(self, tmp_path):
        values = dict(each.partition("=")[::2] for each in small.arguments(tmp_path / "small"))
        names = {"name": "dataset.name", "documents": "dataset.documents", "queries": "dataset.queries"}
        type(self).settings = {name: values[setting] for name, setting in names.items()}


@pytest.mark.real_data
class TestBeir(DatasetContract):
    component = staticmethod(beir_dataset)

    @pytest.fixture(autouse=True)
    def dataset(self, real_data):
        type(self).settings = {"name": "scifact", "path": str(real_data / "scifact")}


@pytest.mark.usefixtures("drawing")
class TestRankingTask(TaskContract):
    component = RankingTask

    @pytest.fixture(autouse=True)
    def dataset(self, tmp_path):
        values = dict(each.partition("=")[::2] for each in small.arguments(tmp_path / "small"))
        type(self).settings = {
            "dataset": pdf_dataset("small", values["dataset.documents"], values["dataset.queries"]),
            "chunker": RecursiveChunker(60, 0),
            "retriever": SPARSE,
            "evaluation": EvaluationSettings("after_cutoff", 1, "linear", 100, METRICS),
            "k": 3,
            "seed": 0,
        }


def test_every_component_of_the_configuration_has_a_contract():
    groups = ("answerer", "chunker", "classifier", "corpus", "dataset", "dynamic_k", "encoder", "evaluation", "fusion")
    groups += ("generator", "index", "ingest", "language_model", "query", "reranker")
    groups += ("questions", "reasoning", "retriever", "task")
    files = [file for conf in shipped_conf() for group in groups for file in (conf / group).glob("*.yaml")]
    named = {name for file in files for name in re.findall(r"_target_: [\w.]+\.(\w+)", file.read_text())}
    mine = [each for each in globals().values() if isinstance(each, type) and each.__name__.startswith("Test")]
    tested = {getattr(vars(each).get("component") or vars(each).get("metric"), "__name__", "") for each in mine}
    within = {type(value).__name__ for each in mine for value in getattr(each, "settings", {}).values()}
    elsewhere = (PROJECT / "tests").glob("**/test_*.py")
    tested |= {name for file in elsewhere for name in re.findall(r"^    component = (\w+)", file.read_text(), re.M)}
    other = {
        "CaseColumns",
        "ExactIndex",
        "HttpRetriever",
        "Store",
        "LanguageModelAnswerer",
        "LanguageModelGenerator",
        "PgvectorIndex",
        "RecordedAnswerer",
    }  # by default, or with tests of their own
    assert named <= tested | within | other


BROKEN = '''
"""Components that break the rules, each in one way; the names say which."""

import random
from dataclasses import dataclass, replace

import numpy as np

from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.datasets import Chunker, DatasetFormat, Collection, Document, Judgment, Query, Selecting
from ragsweep.models.language.language_model import Completion, LanguageModel
from ragsweep.retrieval import SparseRetriever, ranked
from ragsweep.tasks.metric import metric
from ragsweep.testing import *
from test_second_task import YesNoTask


class OneForAll(SparseRetriever):
    def rank(self, search, depth):
        found = super().rank(search, depth)
        return replace(found, scores=found.scores - found.scores.max())


class Dice(SparseRetriever):
    def rank(self, search, depth):
        found = super().rank(search, depth)
        return replace(found, scores=found.scores + random.random())


class TestOneForAll(RankerContract):
    component = OneForAll


class TestDice(RankerContract):
    component = Dice


@dataclass(frozen=True)
class Unchecked:
    letters: "whatever" = 3

    def rewrite(self, queries):
        return [query.lower() for query in queries][:5]


class TestUnchecked(RewriterContract):
    component = Unchecked


class Inventing:
    def rerank(self, search, ranking, depth):
        return ranked(np.full((len(search.queries), 1), 10), np.ones((len(search.queries), 1)), depth)


class TestInventing(RerankerContract):
    component = Inventing


class Long:
    fingerprint = "long"

    def encode(self, texts, role):
        return np.full((len(texts), 2 if role == "query" else 3), 1.0)


class TestLong(EncoderContract):
    component = Long


class FirstSentence(Chunker):
    def split(self, text):
        return [(0, text.find(".") + 1)] if text.strip() else []


class TestFirstSentence(ChunkerContract):
    component = FirstSentence


class Percent:
    @staticmethod
    @metric("Hits in percent", low=0, high=1)
    def of(judged, k):
        return 100 * judged.hits.mean(axis=1)


class TestPercent(MetricContract):
    metric = Percent.of


class Elsewhere(DatasetFormat):
    def load(self):
        document = Document.from_pages("a", [("1", "a#1", "Iron.")])
        return Collection("elsewhere", "page", (document,), (Query("1", "iron?"),), (Judgment("1", "b#1", 1),))


class TestElsewhere(DatasetContract):
    component = Elsewhere


@dataclass(frozen=True)
class NotSelecting(Selecting):
    def load(self):
        document = Document.from_pages("a", [("1", "a#1", "Iron.")])
        queries = (Query("1", "iron?"), Query("2", "tea?"))
        return Collection("two", "page", (document,), queries, (Judgment("1", "a#1", 1), Judgment("2", "a#1", 1)))


class TestNotSelecting(DatasetContract):
    component = NotSelecting


class Hopeful(YesNoTask):
    def measure(self, items):
        measured = super().measure(items)
        first, *others = measured.scores
        return replace(measured, scores=[replace(first, value=first.value + 1), *others])


class TestHopeful(TaskContract):
    component = Hopeful
    settings = {"seed": 0, "questions": 40, "divisors": 2, "sharpness": 1.0}


class Backwards(LanguageModel):
    structured = True

    def ask_each(self, items, work, asking):
        return [work(each, Silent()) for each in reversed(items)]


class Silent:
    structured = True

    def complete(self, messages, as_json=False):
        return Completion("", None, None, random.random())

    def option_scores(self, messages, continuations):
        return None


class TestBackwards(LanguageModelContract):
    component = Backwards


class Local(YesNoTask):
    def measure(self, items):
        return replace(super().measure(items), charts=(lambda: iter(()),))


class TestLocal(TaskContract):
    component = Local
    settings = TestHopeful.settings
'''

CAUGHT = {
    ("TestBackwards", "test_every_item_has_the_result_of_its_own"),
    ("TestBackwards", "test_json_is_returned_where_the_model_says_so"),
    ("TestOneForAll", "test_a_query_is_ranked_the_same_beside_any_others"),
    ("TestDice", "test_it_ranks_the_same_way_each_time"),
    ("TestUnchecked", "test_every_setting_has_an_annotation"),
    ("TestUnchecked", "test_every_query_gets_one_text"),
    ("TestInventing", "test_it_returns_a_ranking_of_any_depth"),
    ("TestLong", "test_queries_and_passages_have_the_same_dimensions"),
    ("TestLong", "test_embeddings_are_of_length_1_and_do_not_depend_on_the_texts_beside_them"),
    ("TestFirstSentence", "test_nothing_but_white_space_is_lost"),
    ("TestPercent", "test_a_query_has_one_value_within_the_bounds"),
    ("TestPercent", "test_what_stands_behind_the_cutoff_does_not_count"),
    ("TestElsewhere", "test_a_judged_unit_is_in_the_corpus"),
    ("TestNotSelecting", "test_it_selects_questions_by_their_ids"),
    ("TestHopeful", "test_every_value_is_within_its_bounds"),
    ("TestLocal", "test_it_can_be_drawn_in_another_process"),
    ("TestHopeful", "test_a_score_is_the_mean_of_its_items_or_has_resamples"),
}


@pytest.mark.usefixtures("processes")
def test_a_component_that_breaks_a_rule_fails_the_test_of_that_rule(tmp_path):
    (tmp_path / "test_broken.py").write_text(BROKEN)
    path = os.pathsep.join(str(PROJECT / "tests" / each) for each in ("", "tasks"))
    given = ["-q", "-p", "no:xdist", "-p", "no:cacheprovider", str(tmp_path)]
    stdout, _ = Process(PYTEST, given, tmp_path, {**os.environ, "PYTHONPATH": path}).communicate(timeout=300)
    failed = set(re.findall(r"^FAILED \S+::(\w+)::(\w+)", stdout, re.MULTILINE))
    assert failed >= CAUGHT, stdout
