"""Queries and passages that are longer than what a model reads: counted for what each model gets, and a veto."""

import json
import shutil
from dataclasses import dataclass, replace
from string import ascii_lowercase

import numpy as np
import pytest
from endpoint_server import EndpointServer, Reply
from rankings import SPARSE

from ragsweep.models.encoders.model_files import MINILM, local_folder, window_of
from ragsweep.retrieval import (
    NOTHING,
    CrossEncoderReranker,
    DenseRetriever,
    EncoderReranker,
    FusedRetriever,
    HybridRetriever,
    LogisticClassifier,
    MmrReranker,
    OpenAIEncoder,
    PipelineRetriever,
    Ranking,
    Rewriter,
    RoutedRetriever,
    Search,
    SentenceTransformerEncoder,
)
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.ranking.unread_texts import unread_texts

LONG = "tea " * 255  # MiniLM reads 254 tokens besides the special ones
ENCODER = SentenceTransformerEncoder(MINILM)
DENSE = DenseRetriever(ENCODER, NO_STORE)
PROMPTED = DenseRetriever(replace(ENCODER, prompts={"query": "ask: ", "passage": ""}), NO_STORE)
RERANKER = EncoderReranker(ENCODER, NO_STORE)
ROUTED = RoutedRetriever({"a": SPARSE}, LogisticClassifier(ENCODER))
FULL = "tea " * 254
FIRST = Ranking(np.array([[0, 1], [1, NOTHING]]), np.array([[2.0, 1.0], [1.0, -np.inf]]))


@dataclass(frozen=True)
class Twice(Rewriter):
    """Asks everything twice."""

    def rewrite(self, queries):
        return [f"{query} {query}" for query in queries]


def counted(ranker, passages, queries, own=None):
    """What is recorded for two queries: kind of texts, how many are cut, of how many, and what is read."""
    search = Search(tuple(passages), tuple(queries), own=own)
    facts = unread_texts(ranker, search, FIRST, np.arange(2), NO_STORE).facts.get("unread_texts", [])
    return [(fact["texts"], fact["cut"], fact["out_of"], fact["read"], fact["unit"]) for fact in facts]


@pytest.mark.parametrize(
    ("ranker", "passages", "queries", "expected"),
    [
        (DENSE, ["tea"] * 3, [LONG, "tea"], [("queries", 1, 2, 254, "tokens")]),
        (DENSE, [LONG, LONG, FULL], ["tea", FULL], [("passages", 2, 3, 254, "tokens")]),
        (PROMPTED, ["tea"] * 3, [FULL, "tea"], [("queries", 1, 2, 252, "tokens")]),
        (SPARSE, [LONG] * 3, [LONG] * 2, []),
        (HybridRetriever(DENSE, SPARSE, 0.0), [LONG] * 3, [LONG] * 2, []),
        (HybridRetriever(DENSE, SPARSE, 0.5), ["tea"] * 3, [LONG] * 2, [("queries", 2, 2, 254, "tokens")]),
        (FusedRetriever({"a": SPARSE, "b": DENSE}), ["tea"] * 3, [LONG] * 2, [("queries", 2, 2, 254, "tokens")]),
        (ROUTED, [LONG] * 3, ["tea"] * 2, []),
        (ROUTED, ["tea"] * 3, [LONG] * 2, [("queries", 2, 2, 254, "tokens")]),
        (PipelineRetriever(SPARSE, None, MmrReranker(ENCODER, NO_STORE)), ["tea"] * 3, [LONG] * 2, []),
        (PipelineRetriever(DENSE, Twice()), ["tea"] * 3, [FULL, "tea"], [("queries", 1, 2, 254, "tokens")]),
        (
            PipelineRetriever(SPARSE, Twice(), RERANKER),
            ["tea", LONG, LONG],
            [FULL] * 2,
            [("passages", 1, 2, 254, "tokens")],
        ),
    ],
)
def test_what_a_model_gets_is_counted(ranker, passages, queries, expected):
    assert counted(ranker, passages, queries) == expected


@pytest.mark.extra("openai")
def test_what_an_endpoint_is_not_sent_is_counted():
    encoder = OpenAIEncoder(model="m", truncate=20, prompts={"query": "ask: ", "passage": ""})
    ranker, texts = DenseRetriever(encoder, NO_STORE), ["t" * 20, "t" * 21, "tea"]
    assert counted(ranker, ["t" * 20] * 3, ["t" * 15, "t" * 16]) == [("queries", 1, 2, 15, "characters")]
    assert counted(ranker, texts, ["tea"] * 2) == [("passages", 1, 3, 20, "characters")]


def words_counted(text):
    return [text.count(letter) + 0.5 for letter in ascii_lowercase]


def served(embedding, passages, queries):
    """What is said of the texts that an endpoint embeds with this function."""

    def reply(prompt, times):
        rows = [{"index": row, "embedding": embedding(text)} for row, text in enumerate(prompt.split("\n"))]
        return Reply(json.dumps({"data": rows, "usage": {"prompt_tokens": 1, "total_tokens": 1}}).encode())

    with EndpointServer(reply) as server:
        dense = DenseRetriever(OpenAIEncoder(model="m", base_url=server.url), NO_STORE)
        return unread_texts(dense, Search(tuple(passages), tuple(queries)), FIRST, np.arange(2), NO_STORE)


@pytest.mark.extra("openai")
@pytest.mark.usefixtures("secret_key")
def test_what_a_server_cuts_without_a_word_is_counted():
    """A server that reads 700 characters of a text, and one that reads all."""
    texts = ["iron and tea " * 70, "iron " * 150, "iron " * 100], ["tea"] * 2
    remarks = served(lambda text: words_counted(text[:700]), *texts)
    [fact] = remarks.facts["unread_texts"]
    assert (fact["texts"], fact["cut"], fact["out_of"], len(remarks.notices)) == ("passages", 2, 3, 1)
    assert 700 <= fact["read"] <= 705
    assert not served(words_counted, *texts).facts


@pytest.mark.extra("openai")
@pytest.mark.usefixtures("secret_key")
def test_an_endpoint_whose_embeddings_tell_nothing_is_not_said_to_cut():
    rng = np.random.default_rng(0)
    for embedding in (
        lambda text: [1.0] * 26,
        lambda text: [1 + value / 1e7 for value in words_counted(text)],
        lambda text: [*rng.normal(size=26)],
    ):
        assert not served(embedding, ["tea"] * 3, ["iron and tea " * 70, "iron " * 150]).facts


def test_what_is_indexed_is_counted_and_a_reranker_reads_the_passages_themselves():
    indexed, own = [LONG] * 3, ("tea",) * 3
    assert counted(DENSE, indexed, ["tea"] * 2, own) == [("passages", 3, 3, 254, "tokens")]
    assert counted(PipelineRetriever(SPARSE, None, RERANKER), indexed, ["tea"] * 2, own) == []


def test_an_encoder_that_ranks_and_reranks_is_counted_for_both():
    both = PipelineRetriever(DENSE, Twice(), RERANKER)
    passages = ("passages", 1, 3, 254, "tokens"), ("passages", 1, 2, 254, "tokens")
    assert counted(both, ["tea", LONG, "tea"], ["tea", LONG]) == [
        ("queries", 1, 2, 254, "tokens"),
        *passages,
    ]


def test_a_cross_encoder_reads_a_query_and_a_passage_together(tmp_path):
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        shutil.copy(local_folder(MINILM) / name, tmp_path)
    (tmp_path / "model.safetensors").symlink_to(local_folder(MINILM) / "model.safetensors")
    assert window_of(tmp_path) == 512
    ranker = PipelineRetriever(SPARSE, None, CrossEncoderReranker(str(tmp_path), NO_STORE, device="cpu"))
    passages = ["tea " * 254, LONG, LONG]
    expected = [("pairs of a query and a passage", 2, 3, 509, "tokens")]  # besides three special ones
    assert counted(ranker, passages, [LONG, LONG]) == expected


@pytest.mark.parametrize(("cut", "lines"), [(1, 0), (2, 1)])
def test_a_run_says_it_from_1_percent_on(cut, lines):
    passages = [LONG] * cut + ["tea"] * (200 - cut)
    remarks = unread_texts(DENSE, Search(tuple(passages), ("tea",) * 2), FIRST, np.arange(2), NO_STORE)
    assert len(remarks.notices) == lines == len(remarks.sections)
    assert len(remarks.facts["unread_texts"]) == 1
    assert all(
        f"{cut} of 200 passages" in notice and "254" in notice and MINILM in notice for notice in remarks.notices
    )


def test_a_sweep_whose_passages_are_cut_names_a_setting_that_reads_them_to_their_end(application, tmp_path):
    """Also where the chunker has no size: one passage a row of the table."""
    animals = ("penguins", "lighthouses", "violins")
    table = [
        {"id": animal, "text": f"{number} {'tea ' * 300} {animal} are here"} for number, animal in enumerate(animals)
    ]
    asked = [{"query": f"where are {animal}", "relevant_docs": [animal]} for animal in animals]
    for name, rows in (("c", table), ("q", asked)):
        (tmp_path / f"{name}.json").write_text(json.dumps(rows))
    given = ["corpus=table", f"corpus.path={tmp_path}/c.json", "questions=table", f"questions.path={tmp_path}/q.json"]
    given += ["questions.unit=document", "dataset.name=lp", "k=1", "retriever=dense"]
    cut = application.run(*given, "chunker=page")
    assert "3 of 3 passages are longer than the 254 tokens" in cut.stderr
    assert "chunker=recursive chunker.size=null" in cut.stderr
