"""Learned sparse retrieval with a small model, held against sentence-transformers."""

import json
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest

from ragsweep.core.errors import ConfigError
from ragsweep.retrieval import NOTHING, LearnedSparseRetriever, Search, rank, trace
from ragsweep.store.stage_store import NO_STORE
from ragsweep.testing import RankerContract
from ragsweep.testing.retrieval import SEARCH

pytestmark = pytest.mark.usefixtures("models")

QUERIES, PASSAGES = list(SEARCH.queries), list(SEARCH.passages)


@pytest.fixture(scope="module")
def splade(tmp_path_factory):
    """The folder of a masked language model of one layer, with the pooling of SPLADE, and its tokenizer."""
    import torch
    from sentence_transformers import SparseEncoder
    from sentence_transformers.sparse_encoder.modules import SpladePooling, Transformer
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

    folder, special = tmp_path_factory.mktemp("splade"), ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = pre_tokenizers.BertPreTokenizer()
    vocabulary = sorted({word for text in PASSAGES for word, _ in words.pre_tokenize_str(text.lower())})
    tokenizer = Tokenizer(models.WordLevel({word: id for id, word in enumerate(special + vocabulary)}, "[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.Lowercase(), words
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), special, strict=True))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder / "bare")
    torch.manual_seed(0)
    sizes = {
        "hidden_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 64,
        "initializer_range": 0.5,
    }
    model = BertForMaskedLM(BertConfig(vocab_size=len(special + vocabulary), max_position_embeddings=64, **sizes))
    with torch.no_grad():
        model.cls.predictions.bias -= 5  # so that most terms have no weight
    model.save_pretrained(folder / "bare")
    transformer = Transformer(str(folder / "bare"), transformer_task="fill-mask", max_seq_length=64)
    prompts = {"query": "malaria ", "document": ""}
    SparseEncoder(modules=[transformer, SpladePooling()], device="cpu", prompts=prompts).save(str(folder / "model"))
    return str(folder / "model")


@pytest.fixture(scope="module")
def model(splade):
    """The model as sentence-transformers loads it."""
    from sentence_transformers import SparseEncoder

    return SparseEncoder(splade, device="cpu", local_files_only=True)


class TestLearnedSparse(RankerContract):
    component = LearnedSparseRetriever

    @pytest.fixture(autouse=True)
    def _with_model(self, splade, monkeypatch):
        monkeypatch.setattr(type(self), "settings", {"model": splade, "device": "cpu", "max_terms": 20})


@pytest.mark.parametrize("most", [None, 3])
def test_scores_are_the_similarities_of_sentence_transformers(splade, model, most):
    queries = model.encode_query(QUERIES, max_active_dims=most)
    similarity = model.similarity(queries, model.encode_document(PASSAGES, max_active_dims=most)).numpy()
    assert (similarity == 0).any() == (most is not None)
    found = LearnedSparseRetriever(splade, NO_STORE, most).rank(SEARCH, 1000)
    for passages, scores, expected in zip(found.passages, found.scores, similarity, strict=True):
        retrieved = passages[passages >= 0]
        assert set(retrieved) == set(np.flatnonzero(expected))  # what shares no term with the query is not retrieved
        np.testing.assert_allclose(scores[: len(retrieved)], expected[retrieved], rtol=1e-5)
        assert (np.diff(scores[: len(retrieved)]) <= 0).all()


@pytest.mark.parametrize("role", ["query", "passage"])
def test_the_heaviest_terms_are_those_of_sentence_transformers(splade, model, role):
    encode = model.encode_query if role == "query" else model.encode_document
    expected = encode(PASSAGES, max_active_dims=7).to_dense().numpy()
    found = LearnedSparseRetriever(splade, NO_STORE, max_terms=7).weights(PASSAGES, role).toarray()
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_fewer_terms_change_the_ranking_and_need_less_room(splade, store):
    full, pruned = (LearnedSparseRetriever(splade, store, max_terms=most).rank(SEARCH, 10) for most in (None, 5))
    assert not np.array_equal(full.scores, pruned.scores)
    assert pruned.index_bytes < full.index_bytes


def weights_entries(store):
    return sorted(entry.path for entry in store.entries() if entry.stage.startswith("weights-"))


def test_what_was_encoded_once_is_not_encoded_again(splade, store):
    LearnedSparseRetriever(splade, store).rank(SEARCH, 10)
    before = weights_entries(store)
    for most, search in ((3, SEARCH), (None, Search(SEARCH.passages[:5], SEARCH.queries[::-1]))):
        LearnedSparseRetriever(splade, store, most).rank(search, 10)
    assert weights_entries(store) == before
    grown = LearnedSparseRetriever(splade, store).weights([*PASSAGES, "Zinc for fourteen days."], "passage")
    assert [len(np.load(path / "digests.npy")) for path in weights_entries(store) if path not in before] == [1]
    alone = LearnedSparseRetriever(splade, NO_STORE).weights(PASSAGES[::-1], "passage")
    np.testing.assert_array_equal(grown.toarray()[:-1], alone.toarray()[::-1])


def test_weights_with_page_breaks_are_found_again(splade, store):
    retriever = LearnedSparseRetriever(splade, store)
    broken, spaced = retriever.weights(["zinc\firon", "zinc iron", "tea"], "passage").toarray()[:2]
    assert (broken == spaced).all()


def test_the_terms_of_a_query_add_up_to_the_scores(splade, model):
    retriever = LearnedSparseRetriever(splade, NO_STORE)
    found = retriever.rank(SEARCH, 1000).row(1)
    added = trace(retriever, SEARCH, 1).words.added
    assert added.keys() <= model.tokenizer.get_vocab().keys()
    retrieved = found.passages[0][found.passages[0] >= 0]
    np.testing.assert_allclose(
        np.sum(list(added.values()), axis=0)[retrieved], found.scores[0][: len(retrieved)], rtol=1e-5
    )


def test_a_model_of_another_kind_is_named_by_the_retrievers_setting(tmp_path):
    from ragsweep.retrieval import SentenceTransformerEncoder

    for model, reason in (
        (str(SentenceTransformerEncoder().folder), r"holds a SentenceTransformer, expected a SparseEncoder"),
        (str(tmp_path / "none"), r"there is no folder"),
    ):
        with pytest.raises(ConfigError, match=rf"^retriever\.model: .*{reason}"):
            _ = LearnedSparseRetriever(model, NO_STORE).fingerprint


def test_a_model_that_lacks_weights_is_refused(splade, tmp_path):
    from safetensors.torch import load_file, save_file

    for file in Path(splade).rglob("*"):
        if file.is_file():
            (tmp_path / file.relative_to(splade)).parent.mkdir(exist_ok=True)
            (tmp_path / file.relative_to(splade)).write_bytes(file.read_bytes())
    weights = load_file(tmp_path / "model.safetensors")
    del weights["cls.predictions.transform.dense.weight"]
    save_file(weights, tmp_path / "model.safetensors", {"format": "pt"})
    with pytest.raises(ConfigError, match=r"^retriever\.model: .*transform\.dense\.weight, which would be made up"):
        LearnedSparseRetriever(str(tmp_path), NO_STORE).rank(SEARCH, 5)


def test_a_threshold_cuts_the_ranking_at_its_score(splade, store):
    full = LearnedSparseRetriever(splade, store).rank(SEARCH, 10)
    threshold = float(np.median(full.scores[np.isfinite(full.scores)]))
    cut = rank(LearnedSparseRetriever(splade, store, score_threshold=threshold), SEARCH, 10)
    assert cut.passages.tolist() == np.where(full.scores >= threshold, full.passages, NOTHING).tolist()


def test_prompts_are_those_of_the_settings_or_else_the_models_own(splade, model):
    for prompts, given in (({}, "malaria "), ({"query": "hands "}, "hands "), ({"query": ""}, "")):
        retriever = LearnedSparseRetriever(splade, NO_STORE, prompts=prompts)
        assert retriever.prompts == {"query": given, "passage": ""}
        expected = model.encode_query(["iron"], prompt=given).to_dense().numpy()
        np.testing.assert_allclose(retriever.weights(["iron"], "query").toarray(), expected, rtol=1e-5)


def test_a_sparse_model_has_no_prompts_by_its_name(splade, tmp_path):
    named = copytree(splade, tmp_path / "e5-base-sparse")
    (named / "config_sentence_transformers.json").write_text(json.dumps({"model_type": "SparseEncoder"}))
    assert set(LearnedSparseRetriever(str(named), NO_STORE).prompts.values()) == {""}


def test_a_prompt_of_queries_encodes_no_passage_again(splade, store):
    first = LearnedSparseRetriever(splade, store)
    first.weights(PASSAGES, "passage")
    stages = {entry.stage for entry in store.entries()}
    other = LearnedSparseRetriever(splade, store, prompts={"query": "hands "})
    other.weights(PASSAGES, "passage")
    assert {entry.stage for entry in store.entries()} == stages
    assert first.fingerprint != other.fingerprint
