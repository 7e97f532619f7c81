"""Prompts: from the settings, from the model's files, or from what a family of models is known for."""

import json

import numpy as np
import pytest

from ragsweep.core.errors import ConfigError
from ragsweep.models.encoders.embeddings import embed
from ragsweep.models.encoders.prompts import usual_prompts
from ragsweep.retrieval import OpenAIEncoder, SentenceTransformerEncoder
from ragsweep.store.identity import identity
from ragsweep.store.stage_store import Store

pytestmark = pytest.mark.usefixtures("models")

E5 = {"query": "query: ", "passage": "passage: "}
SEARCHING = "Represent this sentence for searching relevant passages: "


@pytest.fixture
def named(tmp_path):
    """MiniLM in a folder of another name, with settings of sentence-transformers."""

    def build(name, **settings):
        minilm = SentenceTransformerEncoder().folder
        (tmp_path / name).mkdir()
        for file in ("1_Pooling", "config.json", "model.safetensors", "tokenizer.json", "sentence_bert_config.json"):
            (tmp_path / name / file).symlink_to(minilm / file)
        modules = json.loads((minilm / "modules.json").read_text())
        (tmp_path / name / "modules.json").write_text(json.dumps(modules[:2]))
        (tmp_path / name / "config_sentence_transformers.json").write_text(json.dumps(settings))
        return str(tmp_path / name)

    return build


def encoder(model, **prompts):
    return SentenceTransformerEncoder(model, device="cpu", prompts=prompts)


@pytest.mark.parametrize(
    ("name", "query", "passage"),
    [  # as the model cards say
        ("intfloat/multilingual-e5-small", "query: ", "passage: "),
        ("intfloat/e5-base-v2", "query: ", "passage: "),
        ("BAAI/bge-small-en-v1.5", SEARCHING, ""),
        ("BAAI/bge-large-en", SEARCHING, ""),
        ("BAAI/bge-base-zh-v1.5", "为这个句子生成表示以用于检索相关文章：", ""),  # noqa: RUF001
        ("nomic-ai/nomic-embed-text-v1.5", "search_query: ", "search_document: "),
        ("nomic-embed-text:latest", "search_query: ", "search_document: "),
        ("Snowflake/snowflake-arctic-embed-m-v1.5", SEARCHING, ""),
        ("Snowflake/snowflake-arctic-embed-l-v2.0", "query: ", ""),
        ("snowflake-arctic-embed2:568m", "query: ", ""),
    ],
)  # fmt: skip
def test_a_family_is_known_by_the_name_of_the_model(name, query, passage):
    assert usual_prompts(name, {})[1] == {"query": query, "passage": passage}


@pytest.mark.parametrize(
    "name",
    [
        *("BAAI/bge-m3", "BAAI/bge-large-zh-noinstruct", "intfloat/multilingual-e5-large-instruct"),
        *("intfloat/e5-mistral-7b-instruct", "text-embedding-3-small", "sentence-transformers/all-MiniLM-L6-v2"),
    ],
)
def test_other_models_are_of_no_family(name):
    assert usual_prompts(name, {}) == ("", {})


def test_the_prompts_of_a_family_are_used_and_said(named, capfd):
    model = named("multilingual-e5-small")
    assert encoder(model).prompts == E5
    said = capfd.readouterr().err
    assert said.count("\n") == 1
    assert all(part in said for part in (model, "e5", "'query: '", "'passage: '", "encoder.prompts.query="))


def test_prompts_of_the_models_files_replace_those_of_its_family(named, capfd):
    own = {"query": "ask: ", "passage": "text: "}
    assert encoder(named("e5-small", prompts=own)).prompts == own
    assert not capfd.readouterr().err


def test_a_prompt_of_another_role_is_refused():
    with pytest.raises(ConfigError, match=r"encoder\.prompts: found 'document', expected query and passage"):
        SentenceTransformerEncoder(prompts={"document": "passage: "})


@pytest.mark.parametrize("role", ["query", "passage"])
def test_a_prompt_precedes_the_texts_of_its_role_and_an_empty_one_is_none(named, role):
    model = named("own", prompts={"query": "ask: ", "document": "ask: "})
    plain = SentenceTransformerEncoder(device="cpu", prompts={})
    for prompts, text in (({role: "search: "}, "search: iron"), ({}, "ask: iron"), ({role: ""}, "iron")):
        found = encoder(model, **prompts).encode(["iron"], role)
        np.testing.assert_allclose(found, plain.encode([text], role), atol=1e-6)


def test_prompts_count_in_the_fingerprint_and_what_is_stored_is_found_by_the_prompt_of_its_role(tmp_path):
    plain, asking = (
        encoder("sentence-transformers/all-MiniLM-L6-v2"),
        SentenceTransformerEncoder(prompts={"query": "ask: "}),
    )
    assert plain.fingerprint != asking.fingerprint
    assert identity(plain) != identity(asking)
    store = Store(str(tmp_path))
    embed(plain, store, ["iron", "tea"], "passage")
    stages = {entry.stage for entry in store.entries()}
    embed(asking, store, ["iron", "tea"], "passage")
    assert {entry.stage for entry in store.entries()} == stages  # passages are encoded once
    queries = [embed(each, store, ["iron"], "query") for each in (plain, asking)]
    assert np.abs(queries[0] - queries[1]).max() > 0.01


@pytest.mark.extra("openai")
def test_an_endpoints_model_is_known_by_its_name_too(capfd):
    assert OpenAIEncoder(model="nomic-embed-text:v1.5", base_url="http://127.0.0.1:1/v1").prompts == {
        "query": "search_query: ",
        "passage": "search_document: ",
    }
    assert "nomic" in capfd.readouterr().err
