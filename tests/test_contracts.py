"""The conformance suites, run on every component that ragsweep ships."""

import os
import re
from dataclasses import replace
from functools import partial

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

MEASURES = {
    name: getattr(ragsweep.evaluation, name)
    for name in (
        *"precision recall f1 mrr hit_rate ndcg average_precision token_iou token_precision token_recall".split(),
        *"token_f1 token_precision_omega passage_coverage passage_accuracy passage_precision passage_recall".split(),
        *"passage_f1 document_coverage document_accuracy document_precision document_recall".split(),
        "document_passages",
    )
} | {
    "ndcg_of_powers": partial(ragsweep.evaluation.ndcg, gain="exponential"),
    "passages_of_words": partial(ragsweep.evaluation.passage_f1, token="word", threshold=0.5),
    "iou_of_chroma": partial(ragsweep.evaluation.token_iou, overlap="chroma"),
    "omega_of_chroma": partial(ragsweep.evaluation.token_precision_omega, overlap="chroma"),
}
RANKING = {name: MEASURES[name] for name in ("precision", "recall", "f1", "mrr", "hit_rate", "ndcg")}
IN_TOKENS = {"unit": "tokens", "tokenizer": ModelTokenizer(), "size": 12, "overlap": 5}
ACROSS = {"size": 80, "overlap": 30, "across_pages": True}
LETTERS = {"encoder": LetterEncoder()}
ENGLISH = {"backend": "bm25s", "stemmer": "english", "stop_words": "english"}
RANKERS = {"rankers": {"letters": DENSE, "words": SPARSE, "long": SparseRetriever(NO_STORE, b=0.1)}}
CONTRACTS = {  # by suite, and the name of its test class: the component, and its settings
    RankerContract: {
        "Sparse": (SparseRetriever, {}),
        "SparseByAnotherLibrary": (SparseRetriever, ENGLISH),
        "Dense": (DenseRetriever, LETTERS),
        "DenseInFewDimensions": (DenseRetriever, {"encoder": WordLlamaEncoder(dimensions=64)}),
        "DenseByGraph": (DenseRetriever, LETTERS | {"index": FaissIndex("HNSW32")}),
        "DenseInBytes": (DenseRetriever, LETTERS | {"index": FaissIndex("SQ8")}),
        "Hybrid": (HybridRetriever, {"dense": DENSE, "sparse": SPARSE, "alpha": 0.3}),
        "Fused": (FusedRetriever, RANKERS),
        "Pipeline": (PipelineRetriever, {"ranker": SPARSE}),
    },
    FusionContract: {
        "WeightedSum": (WeightedSum, {}),
        "StandardScores": (WeightedSum, {"norm": "zscore"}),
        "UnevenWeights": (WeightedSum, {"weights": [0.9, 0.1, 0.1]}),
        "ReciprocalRanks": (ReciprocalRankFusion, {}),
    },
    RerankerContract: {
        "Gap": (GapCutoff, {}),
        "GapOfSomeSize": (GapCutoff, {"least": 2, "most": 4, "ratio": 0.4}),
        "Confidence": (ConfidenceCutoff, {}),
        "ConfidenceOfBm25": (ConfidenceCutoff, {"mass": 0.5, "temperature": 2.0, "least": 2, "most": 4}),
        "EncoderReranker": (EncoderReranker, LETTERS),
        "Mmr": (MmrReranker, LETTERS),
        "MmrOfCosines": (MmrReranker, LETTERS | {"relevance": 0.7, "similarity": "cosine"}),
    },
    StageContract: {"CutoffByType": (TypeCutoff, {})},
    ExpanderContract: {"SpellCheck": (SpellCheck, {"distance": 2})},
    IngestContract: {"Contextual": (ContextualIngest, {})},
    ReturnedUnitContract: {
        "ReturnedWindow": (WindowUnit, {"size": 2}),
        "ReturnedSentences": (WindowUnit, {"of": "sentences"}),
        "ReturnedParent": (ParentUnit, {"chunker": RecursiveChunker(size=150, overlap=40)}),
        "ReturnedPage": (PageUnit, {}),
        "ReturnedDocument": (DocumentUnit, {}),
    },
    ChunkerContract: {
        "Pages": (PageChunker, {}),
        "Recursive": (RecursiveChunker, {}),
        "ShortAndOverlapping": (RecursiveChunker, {"size": 30, "overlap": 20}),
        "RecursiveInTokens": (RecursiveChunker, IN_TOKENS),
        "RecursiveAcrossPages": (RecursiveChunker, {"across_pages": True}),
        "Fixed": (FixedChunker, IN_TOKENS | {"across_pages": True}),
        "FixedInCharacters": (FixedChunker, {"unit": "characters", "size": 7, "overlap": 6}),
        "Sentences": (SentenceChunker, {"size": 60, "overlap": 30}),
        "SentencesInTokens": (SentenceChunker, IN_TOKENS | {"across_pages": True}),
        "Markdown": (MarkdownChunker, ACROSS),
        "MarkdownInTokens": (MarkdownChunker, IN_TOKENS | {"level": 1}),
        "Semantic": (SemanticChunker, LETTERS | ACROSS | {"amount": 50}),
        "SemanticInTokens": (SemanticChunker, IN_TOKENS | LETTERS | {"threshold": "standard_deviation", "amount": 1}),
    },
}


def suite(name, base, **members):
    """A class of tests, as a class statement makes it."""
    globals()[f"Test{name}"] = type(f"Test{name}", (base,), {"__module__": __name__, **members})


for base, contracts in CONTRACTS.items():
    for name, (component, settings) in contracts.items():
        suite(name, base, component=component, settings=settings)
suite("StaticEncoder", EncoderContract, component=WordLlamaEncoder, tolerance=0)
for name, metric in MEASURES.items():
    suite(name.title().replace("_", ""), MetricContract, metric=metric)


def names(search):
    """Names of queries and passages, each passage a document."""
    passages = tuple(f"d{number}" for number in range(len(search.passages)))
    return Names(tuple(f"q{number}" for number in range(len(search.queries))), passages, passages, passages)


class TestRunFile(RankerContract):
    component = RunFileRetriever
    search = replace(RankerContract.search, names=names(RankerContract.search))

    @pytest.fixture(autouse=True)
    def run_file(self, tmp_path):
        lines = [f"q{query} Q0 d{hit} 1 {hit % 3} me\n" for query in (0, 1, 4) for hit in (7, 2, 9, 4, 0)]
        (tmp_path / "run.trec").write_text("".join(lines))
        type(self).settings = {"path": str(tmp_path / "run.trec")}


@pytest.mark.usefixtures("models")
class TestEncoder(EncoderContract):
    component = SentenceTransformerEncoder
    tolerance = 0


@pytest.fixture
def small_pdf(tmp_path):
    """The settings of the small dataset."""
    values = dict(argument.removeprefix("dataset.").split("=") for argument in small.arguments(tmp_path / "small"))
    return {name: values[name] for name in ("name", "documents", "queries")}


class TestPdf(DatasetContract):
    component = staticmethod(pdf_dataset)

    @pytest.fixture(autouse=True)
    def dataset(self, small_pdf):
        type(self).settings = small_pdf


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
    def dataset(self, small_pdf):
        type(self).settings = {
            "dataset": pdf_dataset(**small_pdf),
            "chunker": RecursiveChunker(60, 0),
            "retriever": SPARSE,
            "evaluation": EvaluationSettings("after_cutoff", 1, "linear", 100, RANKING),
            "k": 3,
            "seed": 0,
        }


WITHOUT_SUITE = {  # by default, or with tests of their own
    *"CaseColumns ExactIndex HttpRetriever Store LanguageModelAnswerer LanguageModelGenerator".split(),
    *"PgvectorIndex RecordedAnswerer".split(),
}
GROUPS = "answerer chunker classifier corpus dataset dynamic_k encoder evaluation fusion generator index ingest "
GROUPS += "language_model query questions reasoning reranker retriever task"


def test_every_component_of_the_configuration_has_a_contract():
    files = [file for conf in shipped_conf() for group in GROUPS.split() for file in (conf / group).glob("*.yaml")]
    targets = {name for file in files for name in re.findall(r"_target_: [\w.]+\.(\w+)", file.read_text())}
    suites = [vars(value) for name, value in globals().items() if name.startswith("Test") and isinstance(value, type)]
    tested = {getattr(members.get("component") or members.get("metric"), "__name__", "") for members in suites}
    tested |= {type(value).__name__ for members in suites for value in members.get("settings", {}).values()}
    elsewhere = (PROJECT / "tests").glob("**/test_*.py")
    tested |= {name for file in elsewhere for name in re.findall(r"^    component = (\w+)", file.read_text(), re.M)}
    assert targets <= tested | WITHOUT_SUITE


BROKEN = '''
"""Components that break the rules, each in one way; the names say which."""

import random
from dataclasses import dataclass, replace

import numpy as np

from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.datasets import Chunker, DatasetFormat, Collection, Document, Judgment, Query, Selecting
from ragsweep.models.language.language_model import Completion, LanguageModel
from ragsweep.retrieval import ExternalRetriever, Matching, SparseRetriever, ranked
from ragsweep.retrieval.results import Answers, Result
from ragsweep.tasks.metric import metric
from ragsweep.testing import *
from test_second_task import YesNoTask


class OneForAll(SparseRetriever):
    def rank(self, search, depth):
        ranking = super().rank(search, depth)
        return replace(ranking, scores=ranking.scores - ranking.scores.max())


class Dice(SparseRetriever):
    def rank(self, search, depth):
        ranking = super().rank(search, depth)
        return replace(ranking, scores=ranking.scores + random.random())


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
        first, *rest = measured.scores
        return replace(measured, scores=[replace(first, value=first.value + 1), *rest])


class TestHopeful(TaskContract):
    component = Hopeful
    settings = {"seed": 0, "questions": 40, "divisors": 2, "sharpness": 1.0}


class Backwards(LanguageModel):
    structured = True

    def ask_each(self, items, work, asking):
        return [work(question, Silent()) for question in reversed(items)]


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


class Breaking(ExternalRetriever):
    def __init__(self, rule: str):
        self.rule = rule

    @property
    def matching(self):
        return None if self.rule == "Matching" else Matching()

    def answers(self, queries, depth):
        result = {
            "Kind": {"ids": ("a",)},
            "Empty": Result(),
            "Score": Result(("a",), score=float("nan")),
            "Company": Result((str(len(queries)),)),
        }.get(self.rule, Result(("a",)))
        results = [] if self.rule == "Missing" else [(result,) for _ in queries]
        return Answers(results, np.array([-1.0] if self.rule == "Latency" else []))


for rule in ("Missing", "Kind", "Empty", "Score", "Latency", "Company", "Matching"):
    members = {"__module__": __name__, "component": Breaking, "settings": {"rule": rule}}
    globals()["Test" + rule] = type("Test" + rule, (SystemContract,), members)
'''

CAUGHT = {
    *((f"Test{rule}", "test_every_query_has_results") for rule in ("Missing", "Kind", "Empty")),
    ("TestScore", "test_scores_are_numbers"),
    ("TestLatency", "test_latency_is_that_of_each_query_or_of_none"),
    ("TestCompany", "test_the_answer_to_a_query_does_not_depend_on_the_others"),
    ("TestMatching", "test_it_says_how_its_results_are_matched"),
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
    path = os.pathsep.join(str(PROJECT / "tests" / folder) for folder in ("", "tasks"))
    tests = [f"test_broken.py::{name}::{test}" for name, test in sorted(CAUGHT)]
    given = ["-q", "-p", "no:xdist", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), *tests]
    stdout, _ = Process(PYTEST, given, tmp_path, {**os.environ, "PYTHONPATH": path}).communicate(timeout=300)
    failed = set(re.findall(r"^FAILED \S+::(\w+)::(\w+)", stdout, re.MULTILINE))
    assert failed >= CAUGHT, stdout
