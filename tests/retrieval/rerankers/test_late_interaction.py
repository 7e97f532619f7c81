"""Late interaction, held against sentence-transformers and slow loops."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest
from letters import LetterEncoder

from ragsweep.core.errors import ConfigError, EncoderError
from ragsweep.retrieval import (
    LateInteractionReranker,
    PipelineRetriever,
    Search,
    SentenceTransformerEncoder,
    SparseRetriever,
    rank,
)
from ragsweep.retrieval.rerankers import late_interaction
from ragsweep.retrieval.rerankers.late_interaction import maxsim
from ragsweep.store.stage_store import NO_STORE
from ragsweep.testing import RerankerContract

pytestmark = pytest.mark.usefixtures("models")

TEXTS = ["Iron tablets are taken daily.", "???", "Which test finds malaria?", "zinc " * 40, ""]


@dataclass
class WordEncoder(LetterEncoder):
    """Embeds each word by its letters."""

    texts: list[str] = field(default_factory=list)

    def token_embeddings(self, texts, role):
        self.texts += texts
        return [self.encode(text.split(), role) if text.split() else np.empty((0, 26), np.float32) for text in texts]


class TestLateInteraction(RerankerContract):
    component = LateInteractionReranker
    settings: ClassVar = {"encoder": WordEncoder()}


@pytest.fixture(scope="module")
def plain():
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(SentenceTransformerEncoder().folder), device="cpu", local_files_only=True)


def test_embeddings_of_tokens_are_those_of_sentence_transformers(plain):
    found = SentenceTransformerEncoder(device="cpu").token_embeddings(TEXTS, "passage")
    for text, embeddings in zip(TEXTS, found, strict=True):
        [vectors] = plain.encode([text], output_value="token_embeddings")
        vectors = vectors[1:-1].numpy()  # the others are [CLS] and [SEP]
        expected = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        np.testing.assert_allclose(embeddings, expected, atol=1e-5)


def test_embeddings_of_tokens_are_the_same_to_the_bit_in_any_company():
    encoder = SentenceTransformerEncoder(device="cpu")
    for role in ("passage", "query"):
        together = encoder.token_embeddings(TEXTS, role)
        for text, embeddings in zip(TEXTS, together, strict=True):
            np.testing.assert_array_equal(encoder.token_embeddings([text], role)[0], embeddings)


def test_an_unknown_word_is_a_token(plain):
    assert plain.tokenizer.tokenize("☃") == ["[UNK]"]
    assert [len(each) for each in SentenceTransformerEncoder().token_embeddings(["☃", "iron ☃"], "query")] == [1, 2]


def test_maxsim_is_that_of_sentence_transformers():
    from sentence_transformers.util import maxsim as theirs

    random = np.random.default_rng(0)
    for shape in ((1, 1), (3, 7), (8, 2)):
        query, passage = (random.normal(size=(tokens, 5)).astype(np.float32) for tokens in shape)
        assert maxsim(query, passage) == pytest.approx(float(theirs([query], [passage])[0, 0]), abs=1e-5)


def test_the_score_is_the_sum_of_best_matches(store, manual_search):
    encoder = WordEncoder()
    search = Search(manual_search.passages, manual_search.queries[:6])
    first = SparseRetriever(store).rank(search, 7)
    reranked = LateInteractionReranker(encoder, store).rerank(search, first, 7)
    for query, passages in enumerate(first.passages.tolist()):
        expected = {}
        [asked] = encoder.token_embeddings([search.queries[query]], "query")
        for passage in passages:
            [words] = encoder.token_embeddings([search.passages[passage]], "passage")
            expected[passage] = sum(max(float(one @ other) for other in words) for one in asked)
        order = sorted(expected, key=lambda each: -expected[each])
        assert reranked.passages[query].tolist() == order
        np.testing.assert_allclose(reranked.scores[query], [expected[each] for each in order], rtol=1e-5)


def test_a_passage_without_tokens_scores_0():
    assert maxsim(np.ones((2, 3), np.float32), np.empty((0, 3), np.float32)) == 0


@pytest.mark.usefixtures("long_work")
def test_the_tokens_of_few_passages_are_in_memory_at_once(store, manual_search, monkeypatch):
    monkeypatch.setattr(late_interaction, "PASSAGES_AT_ONCE", 3)
    first = SparseRetriever(NO_STORE).rank(manual_search, 10)
    some = LateInteractionReranker(WordEncoder(), NO_STORE).rerank(manual_search, first, 10)
    monkeypatch.undo()
    whole = LateInteractionReranker(WordEncoder(), NO_STORE).rerank(manual_search, first, 10)
    np.testing.assert_array_equal(some.scores, whole.scores)


@pytest.mark.parametrize("changed", [{"encoder": SentenceTransformerEncoder()}, {"candidates": 4}])
def test_every_setting_changes_the_ranking(changed):
    search = RerankerContract.search
    default, other = (
        rank(
            PipelineRetriever(
                SparseRetriever(NO_STORE),
                reranker=LateInteractionReranker(**{"encoder": WordEncoder(), "store": NO_STORE, **each}),
                candidates=each.get("candidates", 100),
            ),
            search,
            10,
        )
        for each in ({}, changed)
    )
    assert default.passages.tolist() != other.passages.tolist()


def test_an_encoder_without_embeddings_of_tokens_is_refused_when_it_is_built():
    with pytest.raises(ConfigError, match=r"^encoder: letters\.LetterEncoder has no method 'token_embeddings'"):
        LateInteractionReranker(LetterEncoder(), NO_STORE)


def test_a_model_without_embeddings_of_tokens_is_an_error_of_one_line(tmp_path):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules
    from tokenizers import Tokenizer

    words = Tokenizer.from_file(str(SentenceTransformerEncoder().folder / "tokenizer.json"))
    SentenceTransformer(modules=[modules.StaticEmbedding(words, embedding_dim=8)]).save(str(tmp_path))
    with pytest.raises(EncoderError, match=r"^encoder: this model has no embeddings of tokens"):
        SentenceTransformerEncoder(str(tmp_path), device="cpu").token_embeddings(TEXTS, "passage")
