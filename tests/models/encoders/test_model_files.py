"""Folders of models: each file is either not needed or missed, and nothing in them is ever run."""

import json
import os
import shutil

import numpy as np
import pytest

from ragsweep.core.errors import EncoderError
from ragsweep.models.encoders.model_files import MINILM, digest_of_model, model_folder
from ragsweep.retrieval import SentenceTransformerEncoder

pytestmark = pytest.mark.usefixtures("models")

TEXTS = ["What do SNCU and FRU stand for?", "iron, calcium and deworming tablets " * 60]  # more than MiniLM reads


@pytest.fixture
def minilm(tmp_path):
    """A copy of the bundled model that a test may spoil."""
    shutil.copytree(model_folder(MINILM), tmp_path / "model", copy_function=os.symlink)
    return tmp_path / "model"


@pytest.fixture(scope="module")
def expected():
    return SentenceTransformerEncoder(device="cpu").encode(TEXTS, "passage")


def rewrite(file, content):
    """Replace a file; its content is shared with the bundled model."""
    file.unlink(missing_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())


def edit(file, **changes):
    rewrite(file, json.loads(file.read_text()) | changes)


def without_weights(folder, part):
    """Leave out the tensors with this in their names."""
    from safetensors.numpy import load_file, save

    tensors = load_file(folder / "model.safetensors")
    kept = {name: tensor for name, tensor in tensors.items() if part not in name}
    rewrite(folder / "model.safetensors", save(kept, metadata={"format": "pt"}))


NOT_NEEDED = [
    ["README.md"],
    ["tokenizer.json"],
    ["special_tokens_map.json", "tokenizer_config.json", "vocab.txt"],
]


@pytest.mark.parametrize("files", NOT_NEEDED, ids=" ".join)
def test_a_model_is_the_same_without_what_it_does_not_need(minilm, expected, files):
    for file in files:
        (minilm / file).unlink()
    found = SentenceTransformerEncoder(str(minilm), device="cpu").encode(TEXTS, "passage")
    np.testing.assert_array_equal(found, expected)


def module(**changes):
    return [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"} | changes]


REFUSED = {
    "nothing": (
        lambda folder: [(folder / name).unlink() for name in ("modules.json", "config.json")],
        "has no model: found no config.json",
    ),
    "pickled weights": (
        lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"),
        "pytorch_model.bin is pickled and could run code, expected model.safetensors",
    ),
    "an adapter": (lambda folder: rewrite(folder / "adapter_config.json", {}), "is an adapter to another model"),
    "code": (
        lambda folder: rewrite(folder / "modules.json", module(type="evil.Evil")),
        "brings code of its own (evil.Evil), which is not run",
    ),
    "a module elsewhere": (
        lambda folder: rewrite(folder / "modules.json", module(path="../other")),
        "modules.json: found '../other', expected a path within",
    ),
    "no list": (
        lambda folder: rewrite(folder / "modules.json", {"type": 1}),
        "modules.json: expected a list of modules",
    ),
    "another kind of model": (
        lambda folder: edit(folder / "config_sentence_transformers.json", model_type="CrossEncoder"),
        "holds a CrossEncoder, expected a SentenceTransformer",
    ),
}


def refusal(action):
    with pytest.raises(EncoderError) as refused:
        action()
    message = str(refused.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(("spoil", "expected"), REFUSED.values(), ids=REFUSED)
def test_a_model_that_is_not_safe_is_refused_before_it_is_loaded(minilm, spoil, expected):
    spoil(minilm)
    assert expected in refusal(lambda: model_folder(str(minilm)))


REFUSED_WHEN_LOADED = {
    "no tokenizer": (
        lambda folder: [(folder / name).unlink() for name in ("tokenizer.json", "vocab.txt")],
        "tokens and the weights 30522; it is damaged or not complete",
    ),
    "no weights": (lambda folder: (folder / "model.safetensors").unlink(), "cannot be loaded ("),
    "half of the weights": (
        lambda folder: rewrite(folder / "model.safetensors", (folder / "model.safetensors").read_bytes()[:50_000_000]),
        "cannot be loaded (",
    ),
    "a layer less": (lambda folder: without_weights(folder, "layer.3."), "lack encoder.layer.3."),
    "wider": (lambda folder: edit(folder / "config.json", hidden_size=768), "cannot be loaded ("),
    "half a config": (lambda folder: rewrite(folder / "config.json", b'{"hid'), "cannot be loaded ("),
}


@pytest.mark.parametrize("verbosity", ["warning", "error"])
@pytest.mark.parametrize(("spoil", "expected"), REFUSED_WHEN_LOADED.values(), ids=REFUSED_WHEN_LOADED)
def test_a_model_whose_files_do_not_fit_each_other_is_refused(minilm, spoil, expected, verbosity):
    from transformers.utils.logging import get_verbosity, set_verbosity, set_verbosity_error

    spoil(minilm)
    before = get_verbosity()
    if verbosity == "error":
        set_verbosity_error()
    try:
        assert expected in refusal(
            lambda: SentenceTransformerEncoder(str(minilm), device="cpu").encode(["text"], "query")
        )
    finally:
        set_verbosity(before)


def test_weights_of_a_pooler_are_not_needed(minilm, expected):
    without_weights(minilm, "pooler")
    found = SentenceTransformerEncoder(str(minilm), device="cpu").encode(TEXTS, "passage")
    np.testing.assert_array_equal(found, expected)


def test_pickled_weights_beside_others_are_left_alone(minilm, expected):
    rewrite(minilm / "pytorch_model.bin", b"never read")
    folder = model_folder(str(minilm))
    assert digest_of_model(folder) == digest_of_model(model_folder(MINILM))
    found = SentenceTransformerEncoder(str(minilm), device="cpu").encode(TEXTS, "passage")
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("model/config.json", "model/config.json is a file, expected a folder"),
        ("./absent", "there is no folder ./absent"),
        ("/absent", "there is no folder /absent"),
        ("~nobody-at-all/model", "there is no folder ~nobody-at-all/model"),
        ("../absent", "there is no folder ../absent"),
        ("./loop", "there is no folder ./loop"),
        ("model/../../absent", "neither a folder nor in the local cache"),
        ("a" * 300, "cannot be read (File name too long)"),
        ("\0", "neither a folder nor in the local cache"),
    ],
)
def test_what_is_no_folder_is_refused(minilm, monkeypatch, model, expected):
    monkeypatch.chdir(minilm.parent)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (minilm.parent / "loop").symlink_to("loop")
    assert expected in refusal(lambda: model_folder(model))


def test_a_folder_that_is_a_link_counts_and_a_loop_of_them_ends(minilm):
    (minilm / "1_Pooling").rename(minilm.parent / "pooling")
    (minilm / "1_Pooling").symlink_to(minilm.parent / "pooling")
    (minilm / "loop").symlink_to(minilm)
    before = digest_of_model.__wrapped__(minilm)
    rewrite(minilm.parent / "pooling" / "other.json", {})
    assert digest_of_model.__wrapped__(minilm) != before


def test_no_pickle_is_downloaded(monkeypatch):
    import huggingface_hub

    asked = []
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda model, **options: asked.append(options) or 1 / 0)
    refusal(lambda: model_folder("nobody/no-such-model"))
    files = ["pytorch_model.bin", "2_Dense/pytorch_model.bin", "a.pt", "a.pkl", "a.ckpt", "model.safetensors"]
    kept = huggingface_hub.utils.filter_repo_objects(files, ignore_patterns=asked[-1]["ignore_patterns"])
    assert list(kept) == ["model.safetensors"]
