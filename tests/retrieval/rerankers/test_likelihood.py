"""Query likelihood, held against the loss that transformers itself computes."""

from dataclasses import replace

import numpy as np
import pytest
from application import PROJECT
from omegaconf import OmegaConf

from ragsweep.core.errors import ConfigError
from ragsweep.core.hardware import cores
from ragsweep.models.language import smollm2, smollm2_files
from ragsweep.retrieval import LikelihoodReranker, OpenAIModel, Ranking, Search, SmolLM2Model, SparseRetriever, rank
from ragsweep.retrieval.pipeline import PipelineRetriever
from ragsweep.retrieval.stages import rerank
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.testing import RerankerContract
from ragsweep.testing.retrieval import SEARCH

pytestmark = pytest.mark.extra("local")

FEW = Search(SEARCH.passages[:4], SEARCH.queries[:2])
ALL = Ranking(np.tile(np.arange(4), (2, 1)), np.tile(-np.arange(4.0), (2, 1)))
TWO = Ranking(ALL.passages[:, :2], ALL.scores[:, :2])


@pytest.fixture(scope="module", autouse=True)
def converted(tmp_path_factory):
    """The process keeps the model, so that tests may use any store."""
    smollm2_files.load(Store(str(tmp_path_factory.mktemp("converted"))))


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A store that tests of the same pairs share."""
    return Store(str(tmp_path_factory.mktemp("kept")))


@pytest.fixture
def store(tmp_path):
    return Store(str(tmp_path / "store"))


@pytest.fixture
def computed(monkeypatch):
    """The questions of which a likelihood was computed, and not only found."""
    asked = []
    scores = smollm2.SmolLM2._scores

    def counting(self, messages, continuations):
        asked.append((messages[0].content, *continuations))
        return scores(self, messages, continuations)

    monkeypatch.setattr(smollm2.SmolLM2, "_scores", counting)
    return asked


class TestLikelihood(RerankerContract):
    component = LikelihoodReranker
    search = Search(SEARCH.passages[:5] + SEARCH.passages[6:7], SEARCH.queries[:4])

    @pytest.fixture(autouse=True)
    def model(self, kept):
        type(self).settings = {"model": SmolLM2Model(kept), "candidates": 8}


@pytest.fixture
def one_thread():
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.usefixtures("one_thread")
def test_a_score_is_minus_the_loss_that_transformers_computes_of_the_question(kept):
    import torch

    network, tokenizer = smollm2_files.load(NO_STORE)
    found = LikelihoodReranker(SmolLM2Model(kept)).rerank(FEW, ALL, 4)
    for query, question in enumerate(FEW.queries):
        for passage, score in zip(found.passages[query], found.scores[query], strict=True):
            asked = f"Passage: {FEW.passages[passage]}\nPlease write a question based on this passage."
            chat = [{"role": "user", "content": asked}]
            prompt = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
            tokens = tokenizer(prompt + question, return_tensors="pt")["input_ids"]
            labels = tokens.clone()
            labels[:, : len(tokenizer(prompt)["input_ids"])] = -100  # these do not count
            with torch.inference_mode():
                loss = network(tokens, labels=labels).loss
            assert score == pytest.approx(-float(loss), abs=1e-4)


def test_the_passage_that_answers_comes_first(kept):
    found = LikelihoodReranker(SmolLM2Model(kept)).rerank(FEW, ALL, 4)
    assert found.passages[0, 0] == 1  # iron tablets
    assert (np.diff(found.scores) <= 0).all()


def test_no_pair_is_computed_twice(store, computed):
    made = LikelihoodReranker(SmolLM2Model(store), 2)
    first = made.rerank(FEW, TWO, 2)
    assert len(computed) == 4
    more = replace(made, candidates=4).rerank(FEW, ALL, 4)
    assert len(computed) == 8
    assert len({*computed}) == 8
    again = replace(made, candidates=4).rerank(FEW, ALL, 4)
    assert len(computed) == 8
    np.testing.assert_array_equal(again.scores, more.scores)
    np.testing.assert_array_equal(again.latency_ms, more.latency_ms)
    assert {*first.scores[0]} <= {*more.scores[0]}


def test_what_was_computed_before_an_error_is_kept(store, computed, monkeypatch):
    made = LikelihoodReranker(SmolLM2Model(store))
    scores, done = smollm2.SmolLM2._scores, []

    def failing(self, messages, continuations):
        if len(done) >= 3:
            raise KeyboardInterrupt
        done.append(scores(self, messages, continuations))
        return done[-1]

    with monkeypatch.context() as broken:
        broken.setattr(smollm2.SmolLM2, "_scores", failing)
        with pytest.raises(KeyboardInterrupt):
            made.rerank(FEW, ALL, 4)
    before = len({*computed})
    made.rerank(FEW, ALL, 4)
    assert len(computed) == len({*computed}) == 8
    assert before >= 3


def test_candidates_are_what_is_reranked(kept):
    sparse = SparseRetriever(NO_STORE)
    search = Search(SEARCH.passages[:4], SEARCH.queries[4:5])
    found = {}
    for candidates in (1, 3):
        reranker = LikelihoodReranker(SmolLM2Model(kept), candidates)
        found[candidates] = PipelineRetriever(sparse, reranker=reranker, candidates=candidates).rank(search, 3)
    assert found[1].passages.shape[1] == 1
    assert found[3].passages.shape[1] == 3
    assert (found[3].scores[found[3].passages >= 0] < 0).all()


def test_a_query_costs_what_its_pairs_took(kept, computed):
    made = LikelihoodReranker(SmolLM2Model(kept))
    made.rerank(FEW, ALL, 4)
    computed.clear()
    timed = rerank(made, FEW, replace(ALL, latency_ms=np.array([1.0, 2.0])), 4).latency_ms
    assert computed == []
    alone = [made.rerank(FEW.row(row), ALL.row(row), 4).latency_ms[0] for row in range(2)]
    np.testing.assert_allclose(timed - np.array([1, 2]), alone)
    assert min(alone) > 4 / cores()  # no pair takes less than 1 ms


def test_a_long_passage_is_cut_with_a_warning(monkeypatch):
    monkeypatch.setattr(smollm2, "CONTEXT", 120)
    search = Search((SEARCH.passages[1] * 8, SEARCH.passages[2]), SEARCH.queries[:1])
    ranking = Ranking(np.array([[0, 1]]), np.array([[1.0, 0.0]]))
    with pytest.warns(UserWarning, match=r"^reranker: 1 passage .* only their beginnings count$"):
        found = LikelihoodReranker(SmolLM2Model(NO_STORE)).rerank(search, ranking, 2)
    assert found.passages[0].tolist() == [0, 1]


def test_an_endpoint_is_refused_in_one_line():
    with pytest.raises(ConfigError, match=r"^reranker\.model: OpenAIModel does not tell .* language_model=smollm2$"):
        LikelihoodReranker(OpenAIModel(model="gpt", api_key_env="OPENAI_API_KEY"))


def test_the_ranking_of_an_empty_first_stage_is_empty():
    nothing = Ranking(np.full((2, 1), -1), np.full((2, 1), -np.inf))
    found = rerank(LikelihoodReranker(SmolLM2Model(NO_STORE)), FEW, nothing, 5)
    assert (found.passages == -1).all()


def test_the_shipped_configuration_has_the_defaults():
    node = OmegaConf.load(PROJECT / "conf/reranker/likelihood.yaml")
    assert node.candidates == LikelihoodReranker(SmolLM2Model()).candidates
    assert {*node} == {"_target_", "model", "candidates", "store"}


def test_it_ranks_within_a_pipeline(kept):
    pipeline = PipelineRetriever(SparseRetriever(NO_STORE), reranker=LikelihoodReranker(SmolLM2Model(kept)))
    assert rank(pipeline, FEW, 3).passages[0, 0] == 1
