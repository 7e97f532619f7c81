"""The tokenizer of a model, and tokens that it does not know, counted with the library that the model itself uses."""

import os
import subprocess
import sys

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from ragsweep.core.errors import EncoderError
from ragsweep.models.encoders import token_counts
from ragsweep.models.encoders.model_files import MINILM, model_folder
from ragsweep.models.encoders.token_counts import unknown_tokens
from ragsweep.retrieval import ModelTokenizer, WordLlamaEncoder
from ragsweep.store.stage_store import NO_STORE

CHINESE = ("图书馆周一至周五上午九点开门", "借书证丢失后请到服务台补办。费用为十元。")
MINILM_FILE = model_folder(MINILM) / "tokenizer.json"
TEXTS = ["Wash your hands.", "", "Référez la patiente à l'hôpital. 🙂 日本", "word " * 600]


@pytest.mark.usefixtures("models")
def test_offsets_are_those_of_transformers():
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model_folder(MINILM))
    expected = tokenizer(TEXTS, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    assert [offsets.tolist() for offsets in ModelTokenizer().offsets(TEXTS)] == [
        [list(pair) for pair in pairs] for pairs in expected
    ]


def test_an_unknown_token_of_a_script_without_spaces_is_its_letters():
    """MiniLM has one token for a page of Thai, with which no size would cut it. An unknown word is one token."""
    texts = ["กขค ab กข", "🙂 ab", "图书"]
    expected = [[[0, 1], [1, 2], [2, 3], [4, 6], [7, 8], [8, 9]], [[0, 1], [2, 4]], [[0, 1], [1, 2]]]
    assert [offsets.tolist() for offsets in ModelTokenizer().offsets(texts)] == expected


def test_words_need_no_model():
    assert [offsets.tolist() for offsets in ModelTokenizer("words").offsets(["é, ab", "."])] == [[[0, 1], [3, 5]], []]


def test_a_model_without_a_tokenizer_is_refused_when_it_is_needed(tmp_path):
    tokenizer = ModelTokenizer(str(tmp_path))
    with pytest.raises(EncoderError, match=r"^chunker\.tokenizer\.model: .*: has no tokenizer\.json"):
        tokenizer.offsets(["a"])
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(EncoderError, match=r"^chunker\.tokenizer\.model: .*tokenizer\.json: cannot be read"):
        ModelTokenizer(str(tmp_path)).offsets(["a"])


def test_the_tokenizer_may_be_in_the_folder_of_a_module(tmp_path):
    module = tmp_path / "0_StaticEmbedding"
    module.mkdir()
    (module / MINILM_FILE.name).write_bytes(MINILM_FILE.read_bytes())
    in_module, expected = (ModelTokenizer(model).offsets(TEXTS) for model in (str(tmp_path), MINILM))
    assert [offsets.tolist() for offsets in in_module] == [offsets.tolist() for offsets in expected]


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
def test_minilm_does_not_know_most_chinese_tokens():
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(MINILM_FILE.parent)
    ids = [token for text in CHINESE for token in tokenizer(text, add_special_tokens=False)["input_ids"]]
    unknown = ids.count(tokenizer.unk_token_id)
    assert unknown_tokens(CHINESE, MINILM_FILE, NO_STORE) == (unknown, len(ids), 2)
    assert unknown > len(ids) / 2


def test_a_page_without_spaces_is_more_than_one_unknown_token():
    """MiniLM has one token for it, which 20 English pages would hide."""
    thai = "ควรวัดความดันโลหิตหลังฉีดยาทางหลอดเลือดดำ" * 10
    letters = sum(character.isalpha() for character in thai)
    assert unknown_tokens([thai, "Iron tablets"], MINILM_FILE, NO_STORE) == (letters, letters + 2, 2)


def test_a_tokenizer_that_falls_back_to_bytes_knows_everything():
    unknown, tokens, _ = unknown_tokens(CHINESE, WordLlamaEncoder().tokenizer_file, NO_STORE)
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
