"""Unknown tokens, counted with the library that the model itself uses."""

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from ragsweep.models.encoders import token_counts as module
from ragsweep.models.encoders.token_counts import unknown_tokens
from ragsweep.retrieval import SentenceTransformerEncoder, WordLlamaEncoder
from ragsweep.store.stage_store import NO_STORE, Store

CHINESE = ("图书馆周一至周五上午九点开门", "借书证丢失后请到服务台补办。费用为十元。")
MINILM = SentenceTransformerEncoder().tokenizer_file


@pytest.mark.usefixtures("models")
def test_minilm_does_not_know_most_chinese_tokens():
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(MINILM.parent)
    ids = [each for text in CHINESE for each in tokenizer(text, add_special_tokens=False)["input_ids"]]
    unknown = ids.count(tokenizer.unk_token_id)
    assert unknown_tokens(CHINESE, MINILM, NO_STORE) == (unknown, len(ids), 2)
    assert unknown > len(ids) / 2


def test_a_page_without_spaces_is_more_than_one_unknown_token():
    """MiniLM has one token for it, which 20 English pages would hide."""
    thai = "ควรวัดความดันโลหิตหลังฉีดยาทางหลอดเลือดดำ" * 10
    letters = sum(character.isalpha() for character in thai)
    assert unknown_tokens([thai, "Iron tablets"], MINILM, NO_STORE) == (letters, letters + 2, 2)


def test_a_tokenizer_that_falls_back_to_bytes_knows_everything():
    unknown, tokens, _ = unknown_tokens(CHINESE, WordLlamaEncoder().tokenizer_file, NO_STORE)
    assert (unknown, tokens > 0) == (0, True)


@pytest.mark.parametrize(
    ("model", "unknown"),
    [
        (
            models.Unigram([("<unk>", 0.0), ("a", -1.0), ("b", -1.0)], 0, False),
            2,
        ),  # SentencePiece, as XLM-RoBERTa has it
        (models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"), 3),
        (models.BPE({"a": 0, "b": 1}, []), 0),  # no unknown token: it leaves out what it does not know
    ],
    ids=["unigram", "words", "bytes"],
)
def test_the_unknown_token_is_found_in_tokenizers_of_every_kind(tmp_path, model, unknown):
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert unknown_tokens(["a b", "c d"], tmp_path / "tokenizer.json", NO_STORE)[0] == unknown


def test_tokens_are_counted_once_and_of_many_texts_only_some(tmp_path, monkeypatch):
    store = Store(str(tmp_path))
    monkeypatch.setattr(module, "TEXTS_SAMPLED", 3)
    assert unknown_tokens(["图 iron", "tea", "tea", "tea", "图 iron"], MINILM, store) == (2, 5, 3)
    monkeypatch.setattr(module, "opened", None)  # nothing is counted again
    assert unknown_tokens(["图 iron", "tea", "tea", "tea", "图 iron"], MINILM, store) == (2, 5, 3)
