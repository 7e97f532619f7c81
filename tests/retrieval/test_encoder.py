"""Sentence encoders, held against transformers itself."""

import json

import numpy as np
import pytest

from ragsweep.errors import EncoderError
from ragsweep.retrieval import SentenceTransformerEncoder

TEXTS = ["What do the letters SNCU and FRU stand for?", "Iron, calcium and deworming tablets. " * 20]


@pytest.fixture(scope="module")
def embeddings():
    return SentenceTransformerEncoder(device="cpu").encode(TEXTS, "passage")


def test_minilm_has_384_dimensions(embeddings):
    assert embeddings.shape == (2, 384)


def test_an_embedding_has_length_1(embeddings):
    np.testing.assert_allclose(np.linalg.norm(embeddings, axis=1), 1, atol=1e-6)


def test_minilm_is_the_normalised_mean_of_its_token_vectors(embeddings):
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = SentenceTransformerEncoder().folder
    tokens = AutoTokenizer.from_pretrained(folder)(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        vectors = AutoModel.from_pretrained(folder)(**tokens).last_hidden_state
    means = torch.stack([row[mask.bool()].mean(0) for row, mask in zip(vectors, tokens.attention_mask, strict=True)])
    np.testing.assert_allclose(embeddings, torch.nn.functional.normalize(means).numpy(), atol=1e-5)


def test_a_folder_names_a_model_as_its_name_does(embeddings):
    by_folder = SentenceTransformerEncoder(str(SentenceTransformerEncoder().folder), device="cpu")
    np.testing.assert_array_equal(by_folder.encode(TEXTS, "passage"), embeddings)


@pytest.fixture
def own_model(tmp_path):
    """MiniLM's transformer with settings of one's own, and without the module that normalises."""

    def build(**settings):
        minilm = SentenceTransformerEncoder().folder
        for name in ("1_Pooling", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
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


@pytest.mark.parametrize("setting", [{"device": "cpu"}, {"batch_size": 8}])
def test_what_moves_the_last_bits_changes_the_fingerprint(setting):
    assert SentenceTransformerEncoder(**setting).fingerprint != SentenceTransformerEncoder().fingerprint


def test_other_files_of_a_model_change_the_fingerprint(tmp_path):
    fingerprints = set()
    for content in ("{}", '{"hidden_size": 2}'):
        folder = tmp_path / str(len(content))
        folder.mkdir()
        (folder / "config.json").write_text(content)
        fingerprints.add(SentenceTransformerEncoder(str(folder)).fingerprint)
    assert len(fingerprints) == 2


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(EncoderError, match=r"encoder\.model: the folder .* holds no sentence-transformers model"):
        _ = SentenceTransformerEncoder(str(tmp_path)).fingerprint


def test_a_folder_with_a_broken_model_is_refused(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(EncoderError, match=r"encoder\.model: .* cannot be loaded"):
        SentenceTransformerEncoder(str(tmp_path)).encode(["text"], "query")


def test_a_model_that_is_nowhere_is_refused_with_a_way_to_get_it(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(EncoderError, match=r"encoder\.model: 'no/model' is neither .* run 'hf download no/model"):
        _ = SentenceTransformerEncoder("no/model").fingerprint


@pytest.mark.parametrize("device", ["cuda:99", "abacus"])
def test_a_device_that_is_not_there_is_refused(device):
    with pytest.raises(EncoderError, match=f"encoder.device: found '{device}', which cannot be used here"):
        SentenceTransformerEncoder(device=device)
