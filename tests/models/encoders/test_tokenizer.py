"""The tokenizer of a model."""

import os
import subprocess
import sys

import pytest

from ragsweep.core.errors import EncoderError
from ragsweep.models.encoders.model_files import MINILM, model_folder
from ragsweep.retrieval import ModelTokenizer

TEXTS = ["Wash your hands.", "", "Référez la patiente à l'hôpital. 🙂 日本", "word " * 600]


def test_offsets_are_those_of_transformers(models):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model_folder(MINILM))
    expected = tokenizer(TEXTS, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    found = ModelTokenizer().offsets(TEXTS)
    assert [each.tolist() for each in found] == [[list(pair) for pair in each] for each in expected]


def test_an_unknown_token_of_a_script_without_spaces_is_its_letters():
    """MiniLM has one token for a page of Thai, with which no size would cut it. An unknown word is one token."""
    texts = ["กขค ab กข", "🙂 ab", "图书"]
    expected = [[[0, 1], [1, 2], [2, 3], [4, 6], [7, 8], [8, 9]], [[0, 1], [2, 4]], [[0, 1], [1, 2]]]
    assert [each.tolist() for each in ModelTokenizer().offsets(texts)] == expected


def test_words_need_no_model():
    assert [each.tolist() for each in ModelTokenizer("words").offsets(["é, ab", "."])] == [[[0, 1], [3, 5]], []]


def test_a_model_without_a_tokenizer_is_refused_when_it_is_needed(tmp_path):
    tokenizer = ModelTokenizer(str(tmp_path))
    with pytest.raises(EncoderError, match=r"^chunker\.tokenizer\.model: .*: has no tokenizer\.json"):
        tokenizer.offsets(["a"])
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(EncoderError, match=r"^chunker\.tokenizer\.model: .*tokenizer\.json: cannot be read"):
        ModelTokenizer(str(tmp_path)).offsets(["a"])


def test_the_tokenizer_may_be_in_the_folder_of_a_module(tmp_path):
    file = model_folder(MINILM) / "tokenizer.json"
    module = tmp_path / "0_StaticEmbedding"
    module.mkdir()
    (module / file.name).write_bytes(file.read_bytes())
    found, expected = (ModelTokenizer(model).offsets(TEXTS) for model in (str(tmp_path), MINILM))
    assert [each.tolist() for each in found] == [each.tolist() for each in expected]


@pytest.mark.usefixtures("processes")
def test_a_tokenizer_that_no_hub_gives_is_said_without_its_librarys_attempts(tmp_path):
    code = "from ragsweep.models.encoders.tokenizer import file_of; file_of('nobody/nothing')"
    without_hub = {**os.environ, "HF_ENDPOINT": "http://127.0.0.1:1", "HF_HUB_OFFLINE": "0", "HF_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], check=False, env=without_hub, capture_output=True, text=True)
    *_, last = done.stderr.splitlines()
    assert "EncoderError: nobody/nothing: its tokenizer.json cannot be found (" in last
    assert "Connect" in last
    assert "Retry" not in done.stderr
