"""Sentence encoders, held against transformers itself."""

from importlib.util import find_spec

import numpy as np
import pytest

from ragsweep.core.errors import EncoderError
from ragsweep.core.hardware import cpu_has_bf16, fastest_device
from ragsweep.models.encoders.embeddings import embed
from ragsweep.retrieval import SentenceTransformerEncoder

pytestmark = pytest.mark.usefixtures("models")

TEXTS = ["What do the letters SNCU and FRU stand for?", "Iron, calcium and deworming tablets. " * 20]

LENGTHS = [f"{text} {'more words of it ' * repeats}" for repeats in (0, 1, 7, 30, 100) for text in TEXTS]
BF16 = pytest.param("bf16", marks=pytest.mark.skipif(not cpu_has_bf16(), reason="this machine has no bf16"))


@pytest.fixture(scope="module")
def embeddings():
    return SentenceTransformerEncoder(device="cpu").encode(TEXTS, "passage")


def test_a_page_break_is_between_two_words(embeddings):
    broken, spaced = SentenceTransformerEncoder().encode(["iron\ftea", "iron tea"], "passage")
    assert (broken == spaced).all()


def test_minilm_is_the_normalised_mean_of_its_token_vectors(embeddings):
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = SentenceTransformerEncoder().folder
    tokens = AutoTokenizer.from_pretrained(folder)(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        vectors = AutoModel.from_pretrained(folder)(**tokens).last_hidden_state
    means = torch.stack([row[mask.bool()].mean(0) for row, mask in zip(vectors, tokens.attention_mask, strict=True)])
    np.testing.assert_allclose(embeddings, torch.nn.functional.normalize(means).numpy(), atol=1e-5)


def test_an_embedding_has_length_1_also_where_the_model_does_not_see_to_it(minilm_as):
    encoder = SentenceTransformerEncoder(minilm_as("own"), device="cpu")
    assert np.linalg.norm(encoder.encode(TEXTS, "passage"), axis=1) == pytest.approx([1, 1])


def test_embeddings_are_those_of_sentence_transformers():
    from sentence_transformers import SentenceTransformer

    plain = SentenceTransformer(str(SentenceTransformerEncoder().folder), device="cpu", local_files_only=True)
    expected = plain.encode(LENGTHS, batch_size=32, normalize_embeddings=True)
    np.testing.assert_allclose(SentenceTransformerEncoder(device="cpu").encode(LENGTHS, "passage"), expected, atol=1e-6)


@pytest.fixture
def distilbert(tmp_path):
    """A small model of another architecture, with a module behind the pooling, and no types of tokens."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules
    from torch import manual_seed
    from transformers import AutoTokenizer, DistilBertConfig, DistilBertModel

    manual_seed(0)
    DistilBertModel(DistilBertConfig(dim=32, hidden_dim=64, n_layers=2, n_heads=2)).save_pretrained(tmp_path / "bare")
    tokenizer = AutoTokenizer.from_pretrained(SentenceTransformerEncoder().folder)
    tokenizer.model_input_names = ["input_ids", "attention_mask"]
    tokenizer.save_pretrained(tmp_path / "bare")
    transformer = modules.Transformer(str(tmp_path / "bare"), max_seq_length=64)
    model = SentenceTransformer(modules=[transformer, modules.Pooling(32), modules.Dense(32, 8)], device="cpu")
    model.save(str(tmp_path / "model"))
    return model, str(tmp_path / "model")


def test_a_model_of_any_architecture_and_modules_is_computed_as_it_is(distilbert):
    model, folder = distilbert
    encoder = SentenceTransformerEncoder(folder, device="cpu")
    expected = model.encode(LENGTHS, normalize_embeddings=True)
    np.testing.assert_allclose(encoder.encode(LENGTHS, "passage"), expected, atol=2e-6)


@pytest.mark.parametrize("precision", ["fp32", BF16])
def test_an_embedding_depends_neither_on_other_texts_nor_on_the_number_of_threads(embeddings, precision):
    import torch

    encoder = SentenceTransformerEncoder(device="cpu", precision=precision)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    together = encoder.encode(LENGTHS, "passage")
    torch.set_num_threads(3)
    np.testing.assert_array_equal(encoder.encode(LENGTHS[::-1], "passage"), together[::-1])
    torch.set_num_threads(threads)
    for row, text in enumerate(LENGTHS[:-2]):
        np.testing.assert_array_equal(encoder.encode([text], "passage")[0], together[row])
    cosines = (encoder.encode(TEXTS, "passage") * embeddings).sum(axis=1)
    np.testing.assert_allclose(cosines, 1, atol={"fp32": 1e-6, "bf16": 1e-3}[precision])
    is_other = precision != "fp32"
    assert (encoder.fingerprint != SentenceTransformerEncoder(device="cpu").fingerprint) is is_other
    assert (encoder.encode(TEXTS, "passage") != embeddings).any() == is_other


@pytest.fixture
def static(tmp_path):
    """A model that looks up the vectors of tokens, and its folder."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules
    from tokenizers import Tokenizer
    from torch import manual_seed

    manual_seed(0)
    words = Tokenizer.from_file(str(SentenceTransformerEncoder().folder / "tokenizer.json"))
    model = SentenceTransformer(modules=[modules.StaticEmbedding(words, embedding_dim=8)], device="cpu")
    model.save(str(tmp_path))
    return model, str(tmp_path)


def test_a_static_model_is_computed_as_it_is(static, store):
    model, folder = static
    encoder = SentenceTransformerEncoder(folder, device="cpu")
    expected = model.encode(LENGTHS, normalize_embeddings=True)
    for role in ("query", "passage"):
        np.testing.assert_allclose(encoder.encode(LENGTHS, role), expected, atol=1e-6)
        without_tokens = embed(encoder, store, ["", "iron", " "], role)[[0, 2]]
        np.testing.assert_allclose(without_tokens, 8**-0.5)


@pytest.mark.skipif(find_spec("optimum") is not None, reason="optimum is installed")
@pytest.mark.parametrize("backend", ["onnx", "openvino"])
def test_a_backend_is_handed_to_sentence_transformers_which_says_what_it_needs(backend):
    encoder = SentenceTransformerEncoder(device="cpu", backend=backend)
    assert encoder.fingerprint != SentenceTransformerEncoder(device="cpu").fingerprint
    assert encoder.without_effect == ()  # the texts of a batch are computed together
    with pytest.raises(EncoderError, match=rf"^encoder\.backend: .*pip install `?sentence-transformers\[{backend}\]"):
        encoder.encode(TEXTS, "passage")


@pytest.mark.skipif(cpu_has_bf16(), reason="this CPU has bf16")
def test_bf16_is_refused_where_the_cpu_has_none():
    with pytest.raises(EncoderError, match=r"encoder\.precision: this CPU has no bf16"):
        SentenceTransformerEncoder(device="cpu", precision="bf16")


def test_the_device_that_is_taken_is_the_one_that_torch_would_take():
    import torch

    assert fastest_device() == (torch.accelerator.current_accelerator() or torch.device("cpu")).type


def test_a_batch_size_and_a_device_count_where_they_move_the_last_bits():
    settings = [
        {"device": "cpu", "batch_size": 1},
        {"device": "cpu", "batch_size": 64},
        {"device": "meta"},
        {"device": "meta", "batch_size": 8},
    ]
    encoders = [SentenceTransformerEncoder(**options) for options in settings]
    fingerprints = [encoder.fingerprint for encoder in encoders]
    assert fingerprints[0] == fingerprints[1]
    assert len({*fingerprints}) == 3
    assert ["batch_size" in encoder.without_effect for encoder in encoders] == [True, True, False, False]


def test_a_model_or_device_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(EncoderError, match=r"encoder\.model: 'no/model' is neither .* run 'hf download no/model"):
        _ = SentenceTransformerEncoder("no/model").fingerprint
    for device in ("cuda:99", "abacus"):
        with pytest.raises(EncoderError, match=f"encoder.device: found '{device}', which cannot be used here"):
            SentenceTransformerEncoder(device=device)
