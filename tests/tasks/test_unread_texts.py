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
    assert {fact["unit"] for fact in facts} <= {"tokens", "characters"}
    return [(fact["texts"], fact["cut"], fact["out_of"], fact["read"]) for fact in facts]


TEAS, TWO, LONGS = ["tea"] * 3, ["tea"] * 2, [LONG] * 3
ALL_QUERIES, FIRST_QUERY = [("queries", 2, 2, 254)], [("queries", 1, 2, 254)]
COUNTED = [
    (DENSE, TEAS, [LONG, "tea"], FIRST_QUERY),
    (DENSE, [LONG, LONG, FULL], ["tea", FULL], [("passages", 2, 3, 254)]),
    (PROMPTED, TEAS, [FULL, "tea"], [("queries", 1, 2, 252)]),
    (SPARSE, LONGS, [LONG] * 2, []),
    (HybridRetriever(DENSE, SPARSE, 0.0), LONGS, [LONG] * 2, []),
    (HybridRetriever(DENSE, SPARSE, 0.5), TEAS, [LONG] * 2, ALL_QUERIES),
    (FusedRetriever({"a": SPARSE, "b": DENSE}), TEAS, [LONG] * 2, ALL_QUERIES),
    (ROUTED, LONGS, TWO, []),
    (ROUTED, TEAS, [LONG] * 2, ALL_QUERIES),
    (PipelineRetriever(SPARSE, None, MmrReranker(ENCODER, NO_STORE)), TEAS, [LONG] * 2, []),
    (PipelineRetriever(DENSE, Twice()), TEAS, [FULL, "tea"], FIRST_QUERY),
    (PipelineRetriever(SPARSE, Twice(), RERANKER), ["tea", LONG, LONG], [FULL] * 2, [("passages", 1, 2, 254)]),
    (  # for both, where it ranks and reranks
        PipelineRetriever(DENSE, Twice(), RERANKER),
        ["tea", LONG, "tea"],
        ["tea", LONG],
        [*FIRST_QUERY, ("passages", 1, 3, 254), ("passages", 1, 2, 254)],
    ),
]


def test_what_a_model_gets_is_counted_and_a_run_says_it_from_1_percent_on():
    for ranker, passages, queries, expected in COUNTED:
        assert counted(ranker, passages, queries) == expected, ranker
    # what is indexed is counted; a reranker reads the passages themselves
    for ranker, expected in ((DENSE, [("passages", 3, 3, 254)]), (PipelineRetriever(SPARSE, None, RERANKER), [])):
        assert counted(ranker, LONGS, TWO, own=("tea",) * 3) == expected
    for cut in (1, 2):
        passages = [LONG] * cut + ["tea"] * (200 - cut)
        remarks = unread_texts(DENSE, Search(tuple(passages), ("tea",) * 2), FIRST, np.arange(2), NO_STORE)
        assert len(remarks.facts["unread_texts"]) == 1
        assert len(remarks.sections) == (cut == 2)
        parts = [part in notice for notice in remarks.notices for part in ("2 of 200 passages", "254", MINILM)]
        assert parts == [True] * 3 * (cut == 2)


@pytest.mark.extra("openai")
def test_what_an_endpoint_is_not_sent_is_counted():
    encoder = OpenAIEncoder(model="m", truncate=20, prompts={"query": "ask: ", "passage": ""})
    ranker, texts = DenseRetriever(encoder, NO_STORE), ["t" * 20, "t" * 21, "tea"]
    assert counted(ranker, ["t" * 20] * 3, ["t" * 15, "t" * 16]) == [("queries", 1, 2, 15)]
    assert counted(ranker, texts, ["tea"] * 2) == [("passages", 1, 3, 20)]


def words_counted(text):
    return [text.count(letter) + 0.5 for letter in ascii_lowercase]


def served(embedding, passages):
    """What is said of passages, and two short queries, that an endpoint embeds with this function."""

    def reply(prompt, times):
        rows = [{"index": row, "embedding": embedding(text)} for row, text in enumerate(prompt.split("\n"))]
        return Reply(json.dumps({"data": rows, "usage": {"prompt_tokens": 1, "total_tokens": 1}}).encode())

    with EndpointServer(reply) as server:
        dense = DenseRetriever(OpenAIEncoder(model="m", base_url=server.url), NO_STORE)
        return unread_texts(dense, Search(tuple(passages), ("tea",) * 2), FIRST, np.arange(2), NO_STORE)


@pytest.mark.extra("openai")
@pytest.mark.usefixtures("secret_key")
def test_what_a_server_cuts_without_a_word_is_counted_unless_its_embeddings_tell_nothing():
    """A server that reads 700 characters of a text, one that reads all, and three whose embeddings tell nothing."""
    passages = ["iron and tea " * 70, "iron " * 150, "iron " * 100]
    remarks = served(lambda text: words_counted(text[:700]), passages)
    [fact] = remarks.facts["unread_texts"]
    assert (fact["texts"], fact["cut"], fact["out_of"], len(remarks.notices)) == ("passages", 2, 3, 1)
    assert 700 <= fact["read"] <= 705
    rng = np.random.default_rng(0)
    for embedding in (
        words_counted,
        lambda text: [1.0] * 26,
        lambda text: [1 + value / 1e7 for value in words_counted(text)],
        lambda text: [*rng.normal(size=26)],
    ):
        assert not served(embedding, passages).facts


def test_a_cross_encoder_reads_a_query_and_a_passage_together(tmp_path):
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        shutil.copy(local_folder(MINILM) / name, tmp_path)
    (tmp_path / "model.safetensors").symlink_to(local_folder(MINILM) / "model.safetensors")
    assert window_of(tmp_path) == 512
    ranker = PipelineRetriever(SPARSE, None, CrossEncoderReranker(str(tmp_path), NO_STORE, device="cpu"))
    passages = ["tea " * 254, LONG, LONG]
    expected = [("pairs of a query and a passage", 2, 3, 509)]  # besides three special ones
    assert counted(ranker, passages, [LONG, LONG]) == expected


def test_a_run_whose_passages_are_cut_names_a_setting_that_reads_them_to_their_end(application, tmp_path):
    """Also where the chunker has no size: one passage a row of the table."""
    animals = ("penguins", "lighthouses", "violins")
    table = [{"id": name, "text": f"{at} {'tea ' * 300} {name} are here"} for at, name in enumerate(animals)]
    asked = [{"query": f"where are {animal}", "relevant_docs": [animal]} for animal in animals]
    for name, rows in (("c", table), ("q", asked)):
        (tmp_path / f"{name}.json").write_text(json.dumps(rows))
    given = ["corpus=table", f"corpus.path={tmp_path}/c.json", "questions=table", f"questions.path={tmp_path}/q.json"]
    given += ["questions.unit=document", "dataset.name=lp", "k=1", "retriever=dense", "chunker=page"]
    cut = application.script_here("run", *application.arguments(*given))
    assert "3 of 3 passages are longer than the 254 tokens" in cut.stderr
    assert "chunker=recursive chunker.size=null" in cut.stderr
