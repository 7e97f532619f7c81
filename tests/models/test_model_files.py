"""Folders of models: what is not needed, what is refused, and that nothing in them is run; their tokenizers."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from ragsweep.core.errors import EncoderError
from ragsweep.models.encoders import token_counts
from ragsweep.models.encoders.model_files import MINILM, digest_of_model, model_folder
from ragsweep.models.encoders.token_counts import unknown_tokens
from ragsweep.retrieval import ModelTokenizer, SentenceTransformerEncoder, WordLlamaEncoder
from ragsweep.store.stage_store import NO_STORE

LONG = ["What do SNCU and FRU stand for?", "iron, calcium and deworming tablets " * 60]  # more than MiniLM reads


@pytest.fixture
def minilm(tmp_path):
    """Copies of the bundled model that a test may spoil, under a name."""

    def copied(name):
        return shutil.copytree(model_folder(MINILM), tmp_path / name, copy_function=os.symlink)

    return copied


def encode(folder, texts=LONG):
    return SentenceTransformerEncoder(str(folder), device="cpu").encode(texts, "passage")


def rewrite(file, content):
    """Replace a file; its content is shared with the bundled model."""
    file.unlink(missing_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())


def change(file, **settings):
    rewrite(file, json.loads(file.read_text()) | settings)


def remove(folder, *names):
    for name in names:
        (folder / name).unlink()


def without_weights(folder, part):
    """Leave out the tensors with this in their names."""
    from safetensors.numpy import load_file, save

    tensors = load_file(folder / "model.safetensors")
    kept = {name: tensor for name, tensor in tensors.items() if part not in name}
    rewrite(folder / "model.safetensors", save(kept, metadata={"format": "pt"}))


SLOW_TOKENIZER = ("special_tokens_map.json", "tokenizer_config.json", "vocab.txt")


@pytest.mark.usefixtures("models")
def test_a_model_is_the_same_without_what_it_does_not_need(minilm):
    expected = encode(model_folder(MINILM))
    for name, spoil in {
        "without the fast tokenizer": lambda folder: remove(folder, "README.md", "tokenizer.json"),
        "without the slow one": lambda folder: remove(
            folder, "special_tokens_map.json", "tokenizer_config.json", "vocab.txt"
        ),
        "without a pooler's weights": lambda folder: without_weights(folder, "pooler"),
        "with a pickle": lambda folder: rewrite(folder / "pytorch_model.bin", b"never read"),
    }.items():
        folder = minilm(name)
        spoil(folder)
        np.testing.assert_array_equal(encode(folder), expected, err_msg=name)
    assert digest_of_model(folder) == digest_of_model(model_folder(MINILM))  # a pickle beside the weights is left alone


def module(**changes):
    return [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"} | changes]


WEIGHTS, MODULES = "model.safetensors", "modules.json"
REFUSED = {  # a change, and what the refusal says
    "nothing": (lambda path: remove(path, MODULES, "config.json"), "has no model: found no config.json"),
    "pickled weights": (
        lambda path: (path / WEIGHTS).rename(path / "pytorch_model.bin"),
        "pytorch_model.bin is pickled and could run code, expected model.safetensors",
    ),
    "an adapter": (lambda path: rewrite(path / "adapter_config.json", {}), "is an adapter to another model"),
    "code": (
        lambda path: rewrite(path / MODULES, module(type="evil.Evil")),
        "brings code of its own (evil.Evil), which is not run",
    ),
    "a module elsewhere": (
        lambda path: rewrite(path / MODULES, module(path="../other")),
        "modules.json: found '../other', expected a path within",
    ),
    "no list": (lambda path: rewrite(path / MODULES, {"type": 1}), "modules.json: expected a list of modules"),
    "another kind of model": (
        lambda path: change(path / "config_sentence_transformers.json", model_type="CrossEncoder"),
        "holds a CrossEncoder, expected a SentenceTransformer",
    ),
}
REFUSED_WHEN_LOADED = {
    "no tokenizer": (lambda path: remove(path, "tokenizer.json", "vocab.txt"), "weights 30522; it is damaged or not"),
    "no weights": (lambda path: remove(path, WEIGHTS), "cannot be loaded ("),
    "half of the weights": (
        lambda path: rewrite(path / WEIGHTS, (path / WEIGHTS).read_bytes()[:50_000_000]),
        "cannot be loaded (",
    ),
    "a layer less": (lambda path: without_weights(path, "layer.3."), "lack encoder.layer.3."),
    "wider": (lambda path: change(path / "config.json", hidden_size=768), "cannot be loaded ("),
    "half a config": (lambda path: rewrite(path / "config.json", b'{"hid'), "cannot be loaded ("),
}


def refusal(action):
    with pytest.raises(EncoderError) as refused:
        action()
    message = str(refused.value)
    assert "\n" not in message
    return message


@pytest.mark.usefixtures("models")
def test_a_model_that_is_not_safe_or_whose_files_do_not_fit_each_other_is_refused(minilm):
    """Before it is loaded, or when it is."""
    from transformers.utils.logging import get_verbosity, set_verbosity, set_verbosity_error

    def says(name, spoil, expected, use):
        folder = minilm(name)
        spoil(folder)
        assert expected in refusal(lambda: use(folder))

    for name, (spoil, expected) in REFUSED.items():
        says(name, spoil, expected, lambda folder: model_folder(str(folder)))
    for name, (spoil, expected) in REFUSED_WHEN_LOADED.items():
        says(name, spoil, expected, lambda folder: encode(folder, ["text"]))
    before = get_verbosity()
    set_verbosity_error()  # transformers says nothing of it then
    try:
        says("in silence", *REFUSED_WHEN_LOADED["a layer less"], lambda folder: encode(folder, ["text"]))
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


CHINESE = ("图书馆周一至周五上午九点开门", "借书证丢失后请到服务台补办。费用为十元。")
MINILM_FILE = model_folder(MINILM) / "tokenizer.json"
TEXTS = ["Wash your hands.", "", "Référez la patiente à l'hôpital. 🙂 日本", "word " * 600]


def offsets(texts, model=MINILM):
    return [pairs.tolist() for pairs in ModelTokenizer(model).offsets(texts)]


@pytest.mark.usefixtures("models")
def test_offsets_are_those_of_transformers_and_an_unknown_token_of_a_script_without_spaces_is_its_letters(tmp_path):
    """MiniLM has one token for a page of Thai, with which no size would cut it. An unknown word is one token."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model_folder(MINILM))
    expected = tokenizer(TEXTS, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    (tmp_path / "0_StaticEmbedding").mkdir()  # it may be in the folder of a module
    (tmp_path / "0_StaticEmbedding" / MINILM_FILE.name).write_bytes(MINILM_FILE.read_bytes())
    assert offsets(TEXTS) == offsets(TEXTS, str(tmp_path)) == [[list(pair) for pair in pairs] for pairs in expected]
    expected = [[[0, 1], [1, 2], [2, 3], [4, 6], [7, 8], [8, 9]], [[0, 1], [2, 4]], [[0, 1], [1, 2]]]
    assert offsets(["กขค ab กข", "🙂 ab", "图书"]) == expected
    assert offsets(["é, ab", "."], "words") == [[[0, 1], [3, 5]], []]  # which need no model


def test_a_model_without_a_tokenizer_is_refused_when_it_is_needed(tmp_path):
    with pytest.raises(EncoderError, match=r"^chunker\.tokenizer\.model: .*: has no tokenizer\.json"):
        offsets(["a"], str(tmp_path))
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(EncoderError, match=r"^chunker\.tokenizer\.model: .*tokenizer\.json: cannot be read"):
        offsets(["a"], str(tmp_path))


@pytest.mark.usefixtures("processes")
def test_a_tokenizer_that_no_hub_gives_is_said_without_its_librarys_attempts(tmp_path):
    code = "from ragsweep.models.encoders.tokenizer import file_of; file_of('nobody/nothing')"
    without_hub = {**os.environ, "HF_ENDPOINT": "http://127.0.0.1:1", "HF_HUB_OFFLINE": "0", "HF_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], check=False, env=without_hub, capture_output=True, text=True)
    *_, last = done.stderr.splitlines()
    assert "EncoderError: nobody/nothing: its tokenizer.json cannot be found (" in last
    assert "Connect" in last
    assert "Retry" not in done.stderr


@pytest.mark.usefixtures("models")
def test_unknown_tokens_are_those_of_transformers_and_without_spaces_each_letter_is_one():
    """MiniLM has one token for a page of Thai, which 20 English pages would hide."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(MINILM_FILE.parent)
    ids = [token for text in CHINESE for token in tokenizer(text, add_special_tokens=False)["input_ids"]]
    unknown = ids.count(tokenizer.unk_token_id)
    assert unknown_tokens(CHINESE, MINILM_FILE, NO_STORE) == (unknown, len(ids), 2)
    assert unknown > len(ids) / 2
    thai = "ควรวัดความดันโลหิตหลังฉีดยาทางหลอดเลือดดำ" * 10
    letters = sum(character.isalpha() for character in thai)
    assert unknown_tokens([thai, "Iron tablets"], MINILM_FILE, NO_STORE) == (letters, letters + 2, 2)
    unknown, tokens, _ = unknown_tokens(CHINESE, WordLlamaEncoder().tokenizer_file, NO_STORE)  # falls back to bytes
    assert (unknown, tokens > 0) == (0, True)


def test_the_unknown_token_is_that_of_tokenizers_of_every_kind(tmp_path):
    kinds = [  # and how many of four tokens are unknown
        (models.Unigram([("<unk>", 0.0), ("a", -1.0), ("b", -1.0)], 0, False), 2),  # as XLM-RoBERTa has it
        (models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"), 3),
        (models.BPE({"a": 0, "b": 1}, []), 0),  # no unknown token: it leaves out what it does not know
    ]
    for kind, (model, unknown) in enumerate(kinds):
        tokenizer = Tokenizer(model)
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        tokenizer.save(str(tmp_path / f"{kind}.json"))
        assert unknown_tokens(["a b", "c d"], tmp_path / f"{kind}.json", NO_STORE)[0] == unknown


def test_tokens_are_counted_once_and_of_many_texts_only_some(store, monkeypatch):
    monkeypatch.setattr(token_counts, "TEXTS_SAMPLED", 3)
    for opened in (token_counts.opened, None):  # nothing is counted again
        monkeypatch.setattr(token_counts, "opened", opened)
        assert unknown_tokens(["图 iron", "tea", "tea", "tea", "图 iron"], MINILM_FILE, store) == (2, 5, 3)
