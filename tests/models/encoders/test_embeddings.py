"""Embeddings in the store: what is encoded anew, and that nothing else tells the store from a fresh encoding."""

import os
import subprocess
import sys
from pathlib import Path

import letters as letters_module
import numpy as np
import pytest
from letters import LetterEncoder, numbered
from warm import Process

from ragsweep.models.encoders.embeddings import ENCODED_AT_ONCE, embed
from ragsweep.retrieval import SentenceTransformerEncoder

CORPUS = ("zinc", "iron", "calcium")


def test_only_texts_that_no_corpus_had_are_encoded(letters, store):
    embed(letters, store, CORPUS, "passage")
    corpora = {  # and what of each is encoded
        CORPUS: [],
        ("calcium", "iron"): [],
        (*CORPUS, "iodine", "folate"): ["iodine", "folate"],
        ("selenium", *CORPUS): ["selenium"],
        ("copper", "zinc", "copper"): ["copper"],
        ("Zinc",): ["Zinc"],
    }
    assert {texts: encoded_of(store, texts) for texts in corpora} == corpora


@pytest.mark.usefixtures("models")
def test_appending_gives_what_one_fresh_encoding_gives_bit_for_bit(store):
    encoder = SentenceTransformerEncoder(device="cpu")
    grown = [embed(encoder, store, CORPUS[:end], "passage") for end in (1, 2, 3)][-1]
    np.testing.assert_array_equal(grown, encoder.encode(CORPUS, "passage"))


ON_THIS_CPU = """
import sys
import numpy as np
from ragsweep.store.stage_store import Store
from ragsweep.retrieval import SentenceTransformerEncoder
from ragsweep.models.encoders.embeddings import embed
store, file, *texts = sys.argv[1:]
encoder = SentenceTransformerEncoder(device="cpu")
np.savez(file, kept=embed(encoder, Store(store), texts, "passage"), fresh=encoder.encode(texts, "passage"))
"""


@pytest.mark.usefixtures("processes")
def test_processes_on_cpus_of_other_abilities_share_no_embeddings(store, tmp_path):
    here = SentenceTransformerEncoder(device="cpu").encode(CORPUS, "passage")
    embed(SentenceTransformerEncoder(device="cpu"), store, CORPUS, "passage")
    file = tmp_path / "there.npz"
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path), "ATEN_CPU_CAPABILITY": "default"}
    command = [sys.executable, "-c", ON_THIS_CPU, store.path, file, *CORPUS]
    done = subprocess.run(command, env=environment, check=True, capture_output=True)
    assert b"%|" not in done.stderr, "a model that loads, or encodes, fills a log with its progress"
    there = np.load(file)
    np.testing.assert_array_equal(there["kept"], there["fresh"])
    assert len({entry.stage for entry in store.entries()}) == len(list(store.entries())) == 2
    if (here == there["fresh"]).all():
        pytest.skip("this CPU computes the same without its vector instructions")


def process(store, end, seconds):
    """Encode `numbered(end)` in a process that says how many texts it encodes at a time."""
    arguments = [store.path, str(end), str(seconds)]
    return Process(Path(letters_module.__file__), arguments, Path(store.path).parent, {**os.environ})


def encoding(store):
    """A process that encodes `numbered(2 * ENCODED_AT_ONCE + 1)`: it has kept the first piece and begun the second."""
    begun = process(store, 2 * ENCODED_AT_ONCE + 1, seconds=3)
    for _ in range(2):
        begun.stdout.readline()
    return begun


def encoded_of(store, texts):
    """Which texts are encoded, those that the store does not have; the embeddings are as of all."""
    encoder = LetterEncoder()
    embeddings = embed(encoder, store, texts, "passage")
    np.testing.assert_array_equal(embeddings, LetterEncoder().encode(texts, "passage"))
    return encoder.asked


def kill(process):
    process.kill()
    process.communicate()


@pytest.mark.usefixtures("processes")
def test_processes_that_want_the_same_corpus_encode_it_once(store):
    processes = [process(store, 10, seconds=0.5) for _ in range(2)]
    assert "".join(process.communicate()[0] for process in processes) == "10\n"


@pytest.mark.usefixtures("processes")
def test_processes_that_grow_a_corpus_at_once_do_not_spoil_it(letters, store):
    embed(letters, store, numbered(5), "passage")
    for growing in [process(store, 10, seconds=0.5), process(store, 20, seconds=0.5)]:
        growing.communicate()
    assert encoded_of(store, numbered(20)) == []


@pytest.mark.usefixtures("processes")
def test_a_killed_encoding_goes_on_where_it_was(store):
    kill(encoding(store))
    texts = numbered(2 * ENCODED_AT_ONCE + 1)
    assert encoded_of(store, texts) == texts[ENCODED_AT_ONCE:]
    assert len(list(store.entries())) == 1


@pytest.mark.usefixtures("processes")
def test_a_corpus_that_is_whole_leaves_the_pieces_of_one_that_another_process_encodes(letters, store):
    other = encoding(store)
    embed(letters, store, [f"{text} z" for text in numbered(ENCODED_AT_ONCE + 1)], "passage")
    kill(other)
    texts = numbered(2 * ENCODED_AT_ONCE + 1)
    assert encoded_of(store, texts) == texts[ENCODED_AT_ONCE:]
    assert len(list(store.entries())) == 2  # no piece of either
