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
    """Copies of the bundled model that a test may spoil, under a name."""

    def copied(name):
        return shutil.copytree(model_folder(MINILM), tmp_path / name, copy_function=os.symlink)

    return copied


def encode(folder, texts=TEXTS):
    return SentenceTransformerEncoder(str(folder), device="cpu").encode(texts, "passage")


def rewrite(file, content):
    """Replace a file; its content is shared with the bundled model."""
    file.unlink(missing_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())


def edit(file, **changes):
    rewrite(file, json.loads(file.read_text()) | changes)


def remove(folder, *names):
    for name in names:
        (folder / name).unlink()


def without_weights(folder, part):
    """Leave out the tensors with this in their names."""
    from safetensors.numpy import load_file, save

    tensors = load_file(folder / "model.safetensors")
    kept = {name: tensor for name, tensor in tensors.items() if part not in name}
    rewrite(folder / "model.safetensors", save(kept, metadata={"format": "pt"}))


NOT_NEEDED = {
    "README.md": lambda folder: remove(folder, "README.md"),
    "the fast tokenizer": lambda folder: remove(folder, "tokenizer.json"),
    "the slow one": lambda folder: remove(folder, "special_tokens_map.json", "tokenizer_config.json", "vocab.txt"),
    "a pooler's weights": lambda folder: without_weights(folder, "pooler"),
    "no pickle": lambda folder: rewrite(folder / "pytorch_model.bin", b"never read"),
}


def test_a_model_is_the_same_without_what_it_does_not_need(minilm):
    expected = encode(model_folder(MINILM))
    for name, spoil in NOT_NEEDED.items():
        folder = minilm(name)
        spoil(folder)
        np.testing.assert_array_equal(encode(folder), expected, err_msg=name)
    assert digest_of_model(folder) == digest_of_model(model_folder(MINILM))  # a pickle beside the weights is left alone


def module(**changes):
    return [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"} | changes]


REFUSED = {  # a change, and what the refusal says
    "nothing": (lambda path: remove(path, "modules.json", "config.json"), "has no model: found no config.json"),
    "pickled weights": (
        lambda path: (path / "model.safetensors").rename(path / "pytorch_model.bin"),
        "pytorch_model.bin is pickled and could run code, expected model.safetensors",
    ),
    "an adapter": (lambda path: rewrite(path / "adapter_config.json", {}), "is an adapter to another model"),
    "code": (
        lambda path: rewrite(path / "modules.json", module(type="evil.Evil")),
        "brings code of its own (evil.Evil), which is not run",
    ),
    "a module elsewhere": (
        lambda path: rewrite(path / "modules.json", module(path="../other")),
        "modules.json: found '../other', expected a path within",
    ),
    "no list": (lambda path: rewrite(path / "modules.json", {"type": 1}), "modules.json: expected a list of modules"),
    "another kind of model": (
        lambda path: edit(path / "config_sentence_transformers.json", model_type="CrossEncoder"),
        "holds a CrossEncoder, expected a SentenceTransformer",
    ),
}
REFUSED_WHEN_LOADED = {
    "no tokenizer": (
        lambda path: remove(path, "tokenizer.json", "vocab.txt"),
        "tokens and the weights 30522; it is damaged or not complete",
    ),
    "no weights": (lambda path: remove(path, "model.safetensors"), "cannot be loaded ("),
    "half of the weights": (
        lambda path: rewrite(path / "model.safetensors", (path / "model.safetensors").read_bytes()[:50_000_000]),
        "cannot be loaded (",
    ),
    "a layer less": (lambda path: without_weights(path, "layer.3."), "lack encoder.layer.3."),
    "wider": (lambda path: edit(path / "config.json", hidden_size=768), "cannot be loaded ("),
    "half a config": (lambda path: rewrite(path / "config.json", b'{"hid'), "cannot be loaded ("),
}


def refusal(action):
    with pytest.raises(EncoderError) as refused:
        action()
    message = str(refused.value)
    assert "\n" not in message
    return message


def test_a_model_that_is_not_safe_is_refused_before_it_is_loaded(minilm):
    for name, (spoil, expected) in REFUSED.items():
        folder = minilm(name)
        spoil(folder)
        assert expected in refusal(lambda folder=folder: model_folder(str(folder)))


def test_a_model_whose_files_do_not_fit_each_other_is_refused(minilm):
    from transformers.utils.logging import get_verbosity, set_verbosity, set_verbosity_error

    for name, (spoil, expected) in REFUSED_WHEN_LOADED.items():
        folder = minilm(name)
        spoil(folder)
        assert expected in refusal(lambda folder=folder: encode(folder, ["text"]))
    before, (spoil, expected) = get_verbosity(), REFUSED_WHEN_LOADED["a layer less"]
    set_verbosity_error()  # transformers says nothing of it then
    try:
        folder = minilm("in silence")
        spoil(folder)
        assert expected in refusal(lambda: encode(folder, ["text"]))
    finally:
        set_verbosity(before)


def test_what_is_no_folder_is_refused(minilm, tmp_path, monkeypatch):
    minilm("model")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "loop").symlink_to("loop")
    absent = ("./absent", "/absent", "~nobody-at-all/model", "../absent", "./loop")
    expected = {path: f"there is no folder {path}" for path in absent} | {
        "model/config.json": "model/config.json is a file, expected a folder",
        "model/../../absent": "neither a folder nor in the local cache",
        "a" * 300: "cannot be read (File name too long)",
        "\0": "neither a folder nor in the local cache",
    }
    messages = {path: refusal(lambda path=path: model_folder(path)) for path in expected}
    assert {path: message for path, message in messages.items() if expected[path] not in message} == {}


def test_a_folder_that_is_a_link_counts_and_a_loop_of_them_ends(minilm, tmp_path):
    folder = minilm("model")
    (folder / "1_Pooling").rename(tmp_path / "pooling")
    (folder / "1_Pooling").symlink_to(tmp_path / "pooling")
    (folder / "loop").symlink_to(folder)
    before = digest_of_model.__wrapped__(folder)
    rewrite(tmp_path / "pooling" / "other.json", {})
    assert digest_of_model.__wrapped__(folder) != before


def test_no_pickle_is_downloaded(monkeypatch):
    import huggingface_hub

    asked = []
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda model, **options: asked.append(options) or 1 / 0)
    refusal(lambda: model_folder("nobody/no-such-model"))
    files = ["pytorch_model.bin", "2_Dense/pytorch_model.bin", "a.pt", "a.pkl", "a.ckpt", "model.safetensors"]
    kept = huggingface_hub.utils.filter_repo_objects(files, ignore_patterns=asked[-1]["ignore_patterns"])
    assert list(kept) == ["model.safetensors"]
