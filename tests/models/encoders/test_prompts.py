"""Prompts: from the settings, from the model's files, or from what a family of models is known for."""

import numpy as np
import pytest

from ragsweep.core.errors import ConfigError
from ragsweep.models.encoders.embeddings import embed
from ragsweep.models.encoders.prompts import usual_prompts
from ragsweep.retrieval import OpenAIEncoder, SentenceTransformerEncoder
from ragsweep.store.identity import identity

pytestmark = pytest.mark.usefixtures("models")

SEARCHING = "Represent this sentence for searching relevant passages: "
FAMILIES = {  # prompts of queries and passages, as the model cards say
    ("query: ", "passage: "): "intfloat/multilingual-e5-small intfloat/e5-base-v2",
    (SEARCHING, ""): "BAAI/bge-small-en-v1.5 BAAI/bge-large-en Snowflake/snowflake-arctic-embed-m-v1.5",
    ("为这个句子生成表示以用于检索相关文章：", ""): "BAAI/bge-base-zh-v1.5",  # noqa: RUF001
    ("search_query: ", "search_document: "): "nomic-ai/nomic-embed-text-v1.5 nomic-embed-text:latest",
    ("query: ", ""): "Snowflake/snowflake-arctic-embed-l-v2.0 snowflake-arctic-embed2:568m",
    (): "BAAI/bge-m3 BAAI/bge-large-zh-noinstruct intfloat/multilingual-e5-large-instruct "
    "intfloat/e5-mistral-7b-instruct text-embedding-3-small sentence-transformers/all-MiniLM-L6-v2",
}


def encoder(model, **prompts):
    return SentenceTransformerEncoder(model, device="cpu", prompts=prompts)


def test_a_family_is_known_by_the_name_of_the_model():
    expected = {name: prompts for prompts, names in FAMILIES.items() for name in names.split()}
    assert {name: (*usual_prompts(name, {})[1].values(),) for name in expected} == expected


def test_the_prompts_of_a_family_are_used_and_said_unless_the_models_files_have_others(minilm_as, capfd):
    model = minilm_as("multilingual-e5-small")
    assert encoder(model).prompts == {"query": "query: ", "passage": "passage: "}
    printed = capfd.readouterr().err
    assert printed.count("\n") == 1
    assert all(part in printed for part in (model, "e5", "'query: '", "'passage: '", "encoder.prompts.query="))
    own = {"query": "ask: ", "passage": "text: "}
    assert encoder(minilm_as("e5-small", prompts=own)).prompts == own
    assert not capfd.readouterr().err


def test_a_prompt_of_another_role_is_refused():
    with pytest.raises(ConfigError, match=r"encoder\.prompts: found 'document', expected query and passage"):
        SentenceTransformerEncoder(prompts={"document": "passage: "})


def test_a_prompt_precedes_the_texts_of_its_role_and_an_empty_one_is_none(minilm_as):
    model = minilm_as("own", prompts={"query": "ask: ", "document": "text: "})
    plain = SentenceTransformerEncoder(device="cpu", prompts={})
    for role, own in (("query", "ask: "), ("passage", "text: ")):
        for prompts, text in (({role: "search: "}, "search: iron"), ({}, f"{own}iron"), ({role: ""}, "iron")):
            prompted = encoder(model, **prompts).encode(["iron"], role)
            np.testing.assert_allclose(prompted, plain.encode([text], role), atol=1e-6)


def test_prompts_count_in_the_fingerprint_and_embeddings_are_kept_by_the_prompt_of_their_role(store):
    plain = encoder("sentence-transformers/all-MiniLM-L6-v2")
    asking = SentenceTransformerEncoder(prompts={"query": "ask: "})
    assert plain.fingerprint != asking.fingerprint
    assert identity(plain) != identity(asking)
    embed(plain, store, ["iron", "tea"], "passage")
    stages = {entry.stage for entry in store.entries()}
    embed(asking, store, ["iron", "tea"], "passage")
    assert {entry.stage for entry in store.entries()} == stages  # passages are encoded once
    queries = [embed(encoder, store, ["iron"], "query") for encoder in (plain, asking)]
    assert np.abs(queries[0] - queries[1]).max() > 0.01


@pytest.mark.extra("openai")
def test_an_endpoints_model_is_known_by_its_name_too(capfd):
    nomic = OpenAIEncoder(model="nomic-embed-text:v1.5", base_url="http://127.0.0.1:1/v1")
    assert nomic.prompts == {"query": "search_query: ", "passage": "search_document: "}
    assert "nomic" in capfd.readouterr().err
