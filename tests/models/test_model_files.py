"""Folders of models: what is not needed, what is refused, and that nothing in them is run; their tokenizers."""

import json
import os
import shutil
import subprocess
import sys
from uuid import uuid4

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
def spoiled(tmp_path):
    """Copies of the bundled model, of which files have other content, a change of theirs, or none."""

    def copied(changes):
        folder = shutil.copytree(model_folder(MINILM), tmp_path / str(uuid4()), copy_function=os.symlink)
        for name, content in changes.items():
            new = content((folder / name).read_bytes()) if callable(content) else content
            (folder / name).unlink(missing_ok=True)  # what it leads to is the bundled model's
            if new is not None:
                (folder / name).write_bytes(new if isinstance(new, bytes) else json.dumps(new).encode())
        return folder

    return copied


def without(part):
    """Leaves out the tensors with this in their names."""

    def change(content):
        from safetensors.numpy import load, save

        kept = {name: tensor for name, tensor in load(content).items() if part not in name}
        return save(kept, metadata={"format": "pt"})

    return change


def changed(**settings):
    return lambda content: json.loads(content) | settings


def encode(folder, texts=LONG):
    return SentenceTransformerEncoder(str(folder), device="cpu").encode(texts, "passage")


WEIGHTS, MODULES = "model.safetensors", "modules.json"
NOT_NEEDED = [
    {"README.md": None, "tokenizer.json": None},  # the slow tokenizer does
    dict.fromkeys(["special_tokens_map.json", "tokenizer_config.json", "vocab.txt"]),  # the fast one does
    {WEIGHTS: without("pooler")},
    {"pytorch_model.bin": b"never read"},
]


@pytest.mark.usefixtures("models")
def test_a_model_is_the_same_without_what_it_does_not_need(spoiled):
    expected = encode(model_folder(MINILM))
    for changes in NOT_NEEDED:
        folder = spoiled(changes)
        np.testing.assert_array_equal(encode(folder), expected, err_msg=str(changes))
    assert digest_of_model(folder) == digest_of_model(model_folder(MINILM))  # a pickle beside the weights is left alone


def module(**changes):
    return [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"} | changes]


PICKLED = "pytorch_model.bin is pickled and could run code, expected model.safetensors"
REFUSED = [  # changes, and what the refusal says
    ({MODULES: None, "config.json": None}, "has no model: found no config.json"),
    ({WEIGHTS: None, "pytorch_model.bin": b""}, PICKLED),
    ({"adapter_config.json": {}}, "is an adapter to another model"),
    ({MODULES: module(type="evil.Evil")}, "brings code of its own (evil.Evil), which is not run"),
    ({MODULES: module(path="../other")}, "modules.json: found '../other', expected a path within"),
    ({MODULES: {"type": 1}}, "modules.json: expected a list of modules"),
    (
        {"config_sentence_transformers.json": changed(model_type="CrossEncoder")},
        "holds a CrossEncoder, expected a SentenceTransformer",
    ),
]
REFUSED_WHEN_LOADED = [
    ({"tokenizer.json": None, "vocab.txt": None}, "tokens and the weights 30522; it is damaged or not complete"),
    ({WEIGHTS: None}, "cannot be loaded ("),
    ({WEIGHTS: lambda content: content[:50_000_000]}, "cannot be loaded ("),
    ({"config.json": changed(hidden_size=768)}, "cannot be loaded ("),
    ({"config.json": b'{"hid'}, "cannot be loaded ("),
    ({WEIGHTS: without("layer.3.")}, "lack encoder.layer.3."),
]


def refusal(action):
    with pytest.raises(EncoderError, match=r"\A[^\n]*\Z") as refused:
        action()
    return str(refused.value)


@pytest.mark.usefixtures("models")
def test_a_model_that_is_not_safe_or_whose_files_do_not_fit_each_other_is_refused(spoiled):
    """Before it is loaded, or when it is, also where transformers is told to be silent."""
    from transformers.utils.logging import get_verbosity, set_verbosity, set_verbosity_error

    for changes, expected in REFUSED:
        folder = spoiled(changes)
        assert expected in refusal(lambda folder=folder: model_folder(str(folder)))
    for changes, expected in REFUSED_WHEN_LOADED:
        folder = spoiled(changes)
        assert expected in refusal(lambda folder=folder: encode(folder, ["text"]))
    before = get_verbosity()
    set_verbosity_error()
    try:
        assert expected in refusal(lambda: encode(spoiled(changes), ["text"]))
    finally:
        set_verbosity(before)


def test_what_is_no_folder_is_refused(spoiled, tmp_path, monkeypatch):
    spoiled({}).rename(tmp_path / "model")
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


def test_a_folder_that_is_a_link_counts_and_a_loop_of_them_ends(spoiled, tmp_path):
    folder = spoiled({})
    (folder / "1_Pooling").rename(tmp_path / "pooling")
    (folder / "1_Pooling").symlink_to(tmp_path / "pooling")
    (folder / "loop").symlink_to(folder)
    before = digest_of_model.__wrapped__(folder)
    (tmp_path / "pooling" / "other.json").write_text("{}")
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
