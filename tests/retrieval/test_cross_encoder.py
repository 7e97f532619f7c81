"""Cross-encoders, held against sentence-transformers; a small one is trained for these tests."""

import os
import re
import shutil
from typing import ClassVar

import numpy as np
import pytest

from ragsweep.core.errors import EncoderError
from ragsweep.retrieval import CrossEncoderReranker, SentenceTransformerEncoder, SparseRetriever
from ragsweep.store.stage_store import NO_STORE
from ragsweep.testing import RerankerContract
from ragsweep.testing.component import SEARCH

pytestmark = pytest.mark.usefixtures("models")

RELEVANT = {0: {1, 6}, 1: {9}, 2: {8}, 4: {0}, 5: {1, 6}}  # the passages of each query
PAIRS = [(query, passage) for query in SEARCH.queries for passage in SEARCH.passages]


def untrained(folder, labels=1):
    """A BERT of two layers and few words in the format of transformers, and its tokenizer."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    words = sorted({*re.findall(r"\w+|[^\w\s]", " ".join([*SEARCH.passages, *SEARCH.queries]).lower())})
    folder.mkdir(exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]))
    tokenizer = BertTokenizerFast(str(folder / "vocab.txt"), strip_accents=False, model_max_length=64)
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    config = BertConfig(vocab_size=len(tokenizer), max_position_embeddings=64, num_labels=labels, **sizes)
    return BertForSequenceClassification(config), tokenizer


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder of a cross-encoder that knows which passages answer the queries of the contract."""
    import torch

    folder = tmp_path_factory.mktemp("models") / "cross"
    model, tokenizer = untrained(folder)
    tokens = tokenizer(*map(list, zip(*PAIRS, strict=True)), padding=True, return_tensors="pt")
    labels = [float(p in RELEVANT.get(q, ())) for q in range(len(SEARCH.queries)) for p in range(len(SEARCH.passages))]
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # several would wait for each other on a busy machine
    for _ in range(40):
        optimizer.zero_grad()
        logits = model(**tokens).logits[:, 0]
        torch.nn.functional.binary_cross_entropy_with_logits(logits, torch.tensor(labels)).backward()
        optimizer.step()
    torch.set_num_threads(threads)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def reranker(trained):
    return CrossEncoderReranker(str(trained), NO_STORE, device="cpu")


class TestCrossEncoder(RerankerContract):
    component = CrossEncoderReranker

    @pytest.fixture(autouse=True)
    def model(self, trained):
        type(self).settings = {"model": str(trained), "device": "cpu"}

    settings: ClassVar = {}


def test_the_scores_are_those_of_sentence_transformers_and_the_same_to_the_bit_in_any_company(reranker, trained):
    import torch
    from sentence_transformers import CrossEncoder

    theirs = CrossEncoder(str(trained), device="cpu", local_files_only=True)
    together = reranker.scores(PAIRS)
    np.testing.assert_allclose(together, theirs.predict(PAIRS, activation_fn=torch.nn.Identity()), atol=1e-5)
    np.testing.assert_array_equal(np.concatenate([reranker.scores([pair]) for pair in PAIRS]), together)
    np.testing.assert_array_equal(reranker.scores(PAIRS[::-1]), together[::-1])


def test_the_order_is_the_one_that_it_was_trained_for_and_not_the_first(reranker):
    first = SparseRetriever(NO_STORE).rank(SEARCH, 12)
    ranking = reranker.rerank(SEARCH, first, 12)
    for query, relevant in RELEVANT.items():
        among = relevant & {*first.passages[query].tolist()}
        assert {*ranking.passages[query, : len(among)].tolist()} == among
    assert (ranking.passages != first.passages).any()


def without_its_head(folder):
    from transformers import BertModel

    BertModel.from_pretrained(folder).save_pretrained(folder)


def of_sentences(folder):
    shutil.rmtree(folder)
    shutil.copytree(SentenceTransformerEncoder().folder, folder)


def of_three_classes(folder):
    for part in untrained(folder, labels=3):
        part.save_pretrained(folder)


WEIGHTS = "model.safetensors"
UNUSABLE = [
    (without_its_head, r"the weights in .* lack classifier\.\w+, which would be made up"),
    (lambda folder: (folder / WEIGHTS).rename(folder / "pytorch_model.bin"), "is pickled and could run code, expected"),
    (lambda folder: os.truncate(folder / WEIGHTS, (folder / WEIGHTS).stat().st_size - 8), r"cannot be loaded \("),
    (
        lambda folder: (folder / "modules.json").write_text('[{"type": "own_code.Module", "path": ""}]'),
        r"brings code of its own \(own_code\.Module\), which is not run",
    ),
    (of_sentences, r"holds a SentenceTransformer, expected a CrossEncoder|which would be made up"),
    (of_three_classes, r"gives 3 numbers for a pair, expected one score"),
    (shutil.rmtree, r"there is no folder"),
]


def test_a_model_that_cannot_be_used_is_an_error_of_one_line(trained, tmp_path):
    for number, (spoil, message) in enumerate(UNUSABLE):
        folder = shutil.copytree(trained, tmp_path / str(number))
        spoil(folder)
        reranker = CrossEncoderReranker(str(folder), NO_STORE, device="cpu")
        with pytest.raises(EncoderError, match=rf"\Areranker\.model: [^\n]*({message})[^\n]*\Z") as error:
            reranker.scores(PAIRS[:1])
        assert "encoder.model" not in str(error.value)
