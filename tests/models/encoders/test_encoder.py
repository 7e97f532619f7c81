"""Sentence encoders, held against transformers itself."""

import json
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
PRECISIONS = ["fp32", BF16]


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


@pytest.fixture
def own_model(tmp_path):
    """MiniLM's transformer with settings of one's own, and without the module that normalises."""

    def build(**settings):
        minilm = SentenceTransformerEncoder().folder
        for name in ("1_Pooling", "config.json", "model.safetensors", "tokenizer.json", "sentence_bert_config.json"):
            (tmp_path / name).symlink_to(minilm / name)
        modules = json.loads((minilm / "modules.json").read_text())
        (tmp_path / "modules.json").write_text(json.dumps(modules[:2]))
        (tmp_path / "config_sentence_transformers.json").write_text(json.dumps(settings))
        return SentenceTransformerEncoder(str(tmp_path), device="cpu")

    return build


def test_an_embedding_has_length_1_also_where_the_model_does_not_see_to_it(own_model):
    assert np.linalg.norm(own_model().encode(TEXTS, "passage"), axis=1) == pytest.approx([1, 1])


@pytest.mark.parametrize(("role", "prompt"), [("query", "ask: "), ("passage", "text: ")])
def test_a_models_own_prompt_for_the_role_precedes_the_text(own_model, role, prompt):
    prompted = own_model(prompts={"query": "ask: ", "document": "text: "}).encode(["iron"], role)
    plain = SentenceTransformerEncoder(device="cpu").encode([f"{prompt}iron"], role)
    np.testing.assert_allclose(prompted, plain, atol=1e-6)


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


@pytest.mark.parametrize("precision", PRECISIONS)
def test_an_embedding_is_the_same_to_the_bit_in_any_company(precision):
    encoder = SentenceTransformerEncoder(device="cpu", precision=precision)
    together = encoder.encode(LENGTHS, "passage")
    alone = np.concatenate([encoder.encode([text], "passage") for text in LENGTHS])
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(encoder.encode(LENGTHS[::-1] * 2, "passage"), np.tile(together[::-1], (2, 1)))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_an_embedding_is_the_same_to_the_bit_with_any_number_of_threads(precision):
    import torch

    made = SentenceTransformerEncoder(device="cpu", precision=precision)
    before, found = torch.get_num_threads(), []
    for threads in (1, 3):
        torch.set_num_threads(threads)
        found.append(made.encode(LENGTHS, "passage"))
    torch.set_num_threads(before)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_every_precision_is_near_the_model(embeddings, precision):
    encoder = SentenceTransformerEncoder(device="cpu", precision=precision)
    cosines = (encoder.encode(TEXTS, "passage") * embeddings).sum(axis=1)
    np.testing.assert_allclose(cosines, 1, atol={"fp32": 1e-6, "bf16": 1e-3}[precision])


@pytest.mark.parametrize("precision", [BF16])
def test_another_precision_changes_embeddings_and_fingerprint(embeddings, precision):
    encoder = SentenceTransformerEncoder(device="cpu", precision=precision)
    assert encoder.fingerprint != SentenceTransformerEncoder(device="cpu").fingerprint
    assert (encoder.encode(TEXTS, "passage") != embeddings).any()


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


@pytest.mark.parametrize("role", ["query", "passage"])
def test_a_static_model_is_computed_as_it_is(static, role):
    model, folder = static
    found = SentenceTransformerEncoder(folder, device="cpu").encode(LENGTHS, role)
    np.testing.assert_allclose(found, model.encode(LENGTHS, normalize_embeddings=True), atol=1e-6)


@pytest.mark.parametrize("role", ["query", "passage"])
def test_a_text_in_which_a_static_model_finds_no_token_has_an_embedding(static, store, role):
    _, folder = static
    found = embed(SentenceTransformerEncoder(folder, device="cpu"), store, ["", "iron", " "], role)
    np.testing.assert_allclose(found[[0, 2]], 8**-0.5)


@pytest.mark.skipif(find_spec("optimum") is not None, reason="optimum is installed")
@pytest.mark.parametrize("backend", ["onnx", "openvino"])
def test_a_backend_is_handed_to_sentence_transformers_which_says_what_it_needs(backend):
    made = SentenceTransformerEncoder(device="cpu", backend=backend)
    assert made.fingerprint != SentenceTransformerEncoder(device="cpu").fingerprint
    assert made.without_effect == ()  # the texts of a batch are computed together
    with pytest.raises(EncoderError, match=rf"^encoder\.backend: .*pip install `?sentence-transformers\[{backend}\]"):
        made.encode(TEXTS, "passage")


@pytest.mark.skipif(cpu_has_bf16(), reason="this CPU has bf16")
def test_bf16_is_refused_where_the_cpu_has_none():
    with pytest.raises(EncoderError, match=r"encoder\.precision: this CPU has no bf16"):
        SentenceTransformerEncoder(device="cpu", precision="bf16")


def test_the_device_that_is_taken_is_the_one_that_torch_would_take():
    import torch

    assert fastest_device() == (torch.accelerator.current_accelerator() or torch.device("cpu")).type


@pytest.mark.parametrize("setting", [{"device": "meta"}, {"device": "meta", "batch_size": 8}])
def test_what_moves_the_last_bits_changes_the_fingerprint(setting):
    others = [SentenceTransformerEncoder(device="cpu"), SentenceTransformerEncoder(device="meta", batch_size=9)]
    assert SentenceTransformerEncoder(**setting).fingerprint not in [other.fingerprint for other in others]


def test_the_batch_size_has_no_effect_on_the_cpu():
    one, other = (SentenceTransformerEncoder(device="cpu", batch_size=size) for size in (1, 64))
    assert one.fingerprint == other.fingerprint
    assert "batch_size" in one.without_effect
    assert "batch_size" not in SentenceTransformerEncoder(device="meta").without_effect


def test_a_model_that_is_nowhere_is_refused_with_a_way_to_get_it(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(EncoderError, match=r"encoder\.model: 'no/model' is neither .* run 'hf download no/model"):
        _ = SentenceTransformerEncoder("no/model").fingerprint


@pytest.mark.parametrize("device", ["cuda:99", "abacus"])
def test_a_device_that_is_not_there_is_refused(device):
    with pytest.raises(EncoderError, match=f"encoder.device: found '{device}', which cannot be used here"):
        SentenceTransformerEncoder(device=device)
