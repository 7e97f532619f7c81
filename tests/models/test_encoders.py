"""Encoders that run here, held against sentence-transformers and WordLlama itself; their prompts and similarities."""

import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from dataclasses import replace
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from ragsweep.core.errors import ConfigError, EncoderError
from ragsweep.core.hardware import cpu_has_bf16, fastest_device
from ragsweep.models.encoders import model_files
from ragsweep.models.encoders.embeddings import embed
from ragsweep.models.encoders.prompts import usual_prompts
from ragsweep.retrieval import (
    DenseRetriever,
    Encoder,
    EncoderReranker,
    ExactIndex,
    FaissIndex,
    MmrReranker,
    OpenAIEncoder,
    Ranking,
    Search,
    SentenceTransformerEncoder,
    WordLlamaEncoder,
    rank,
)
from ragsweep.store.identity import identity
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.ranking.judging import judge
from ragsweep.tasks.ranking.metrics import ndcg

pytestmark = pytest.mark.usefixtures("models")

TEXTS = ["What do the letters SNCU and FRU stand for?", "Iron, calcium and deworming tablets. " * 20]
LENGTHS = [f"{text} {'more words of it ' * repeats}" for repeats in (0, 7, 100) for text in TEXTS]


def encoder(model="sentence-transformers/all-MiniLM-L6-v2", **settings):
    return SentenceTransformerEncoder(model, **{"device": "cpu", **settings})


@pytest.fixture(scope="module")
def minilm():
    """What sentence-transformers itself loads."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(encoder().folder), device="cpu", local_files_only=True)


def saved(folder, *parts, **settings):
    """A model of these modules, in a folder."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(modules=[*parts], device="cpu", **settings)
    model.save(str(folder))
    return model, str(folder)


def distilbert(folder):
    """A small model of another architecture, with a module behind the pooling, and no types of tokens."""
    from sentence_transformers.sentence_transformer import modules
    from transformers import AutoTokenizer, DistilBertConfig, DistilBertModel

    config = DistilBertConfig(dim=32, hidden_dim=64, n_layers=2, n_heads=2)
    DistilBertModel(config).save_pretrained(folder / "bare")
    tokenizer = AutoTokenizer.from_pretrained(encoder().folder)
    tokenizer.model_input_names = ["input_ids", "attention_mask"]
    tokenizer.save_pretrained(folder / "bare")
    transformer = modules.Transformer(str(folder / "bare"), max_seq_length=64)
    return saved(folder / "model", transformer, modules.Pooling(32), modules.Dense(32, 8))


def static(folder):
    """A model that looks up the vectors of tokens."""
    from sentence_transformers.sentence_transformer import modules
    from tokenizers import Tokenizer

    words = Tokenizer.from_file(str(encoder().folder / "tokenizer.json"))
    return saved(folder / "static", modules.StaticEmbedding(words, embedding_dim=8))


@pytest.fixture(scope="module")
def dot(tmp_path_factory):
    """MiniLM with the pooling of multi-qa-mpnet-base-dot-v1 and its likes, saved as they are; and its folder."""
    from sentence_transformers.sentence_transformer import modules

    parts = [modules.Transformer(str(encoder().folder)), modules.Pooling(384, pooling_mode="cls")]
    return saved(tmp_path_factory.mktemp("dot"), *parts, similarity_fn_name="dot")


def test_embeddings_are_those_of_sentence_transformers_normalised_unless_for_inner_products(
    minilm, dot, tmp_path, store
):
    """MiniLM's, and those of models of another architecture, which have no module that normalises."""
    from torch import manual_seed

    manual_seed(0)
    of_tokens, texts = static(tmp_path), [*LENGTHS, "iron tea"]
    models = [(minilm, str(encoder().folder), 1e-6), (*distilbert(tmp_path), 2e-6), (*of_tokens, 1e-6), (*dot, 1e-5)]
    for model, folder, atol in models:
        expected = model.encode(texts, normalize_embeddings=folder != dot[1])
        embeddings = encoder(folder).encode([*LENGTHS, "iron\ftea"], "passage")  # a page break is between two words
        np.testing.assert_allclose(embeddings, expected, rtol=0, atol=atol, err_msg=folder)
    assert np.linalg.norm(expected, axis=1).min() > 2
    looked_up = encoder(of_tokens[1])
    np.testing.assert_array_equal(looked_up.encode(LENGTHS, "query"), looked_up.encode(LENGTHS, "passage"))
    for role in ("query", "passage"):
        without_tokens = embed(looked_up, store, ["", "iron", " "], role)[[0, 2]]
        np.testing.assert_allclose(without_tokens, 8**-0.5)
    shortened = encoder(dimensions=48).reduce(encoder().encode(TEXTS, "passage"))
    np.testing.assert_allclose(shortened, minilm.encode(TEXTS, truncate_dim=48, normalize_embeddings=True), atol=1e-6)


BF16 = pytest.param("bf16", marks=pytest.mark.skipif(not cpu_has_bf16(), reason="this machine has no bf16"))


@pytest.mark.parametrize("precision", ["fp32", BF16])
def test_an_embedding_depends_neither_on_other_texts_nor_on_the_number_of_threads(precision):
    import torch

    made, usual = encoder(precision=precision), encoder()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    together = made.encode(LENGTHS, "passage")
    torch.set_num_threads(3)
    np.testing.assert_array_equal(made.encode(LENGTHS[::-1], "passage"), together[::-1])
    torch.set_num_threads(threads)
    for row, text in enumerate(LENGTHS):
        np.testing.assert_array_equal(made.encode([text], "passage")[0], together[row])
    expected, is_other = usual.encode(LENGTHS[:2], "passage"), precision != "fp32"
    np.testing.assert_allclose((together[:2] * expected).sum(axis=1), 1, atol={"fp32": 1e-6, "bf16": 1e-3}[precision])
    assert (together[:2] != expected).any() == (made.fingerprint != usual.fingerprint) == is_other


@pytest.mark.skipif(find_spec("optimum") is not None, reason="optimum is installed")
@pytest.mark.parametrize("backend", ["onnx", "openvino"])
def test_a_backend_is_handed_to_sentence_transformers_which_says_what_it_needs(backend):
    made = encoder(backend=backend)
    assert made.fingerprint != encoder().fingerprint
    assert made.without_effect == ()  # the texts of a batch are computed together
    with pytest.raises(EncoderError, match=rf"^encoder\.backend: .*pip install `?sentence-transformers\[{backend}\]"):
        made.encode(TEXTS, "passage")


@pytest.mark.skipif(cpu_has_bf16(), reason="this CPU has bf16")
def test_bf16_is_refused_where_the_cpu_has_none():
    with pytest.raises(EncoderError, match=r"encoder\.precision: this CPU has no bf16"):
        encoder(precision="bf16")


def test_a_batch_size_and_a_device_count_where_they_move_the_last_bits(monkeypatch):
    import torch

    assert fastest_device() == (torch.accelerator.current_accelerator() or torch.device("cpu")).type
    of_cpu = [encoder(batch_size=size) for size in (1, 64)]
    of_device = [encoder(device="meta"), encoder(device="meta", batch_size=8)]
    assert of_cpu[0].fingerprint == of_cpu[1].fingerprint
    assert len({made.fingerprint for made in (*of_cpu, *of_device)}) == 3
    effects = ["batch_size" in made.without_effect for made in (*of_cpu, *of_device)]
    assert effects == [True, True, False, False]
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(EncoderError, match=r"encoder\.model: 'no/model' is neither .* run 'hf download no/model"):
        _ = encoder("no/model").fingerprint
    for device in ("cuda:99", "abacus"):
        with pytest.raises(EncoderError, match=f"encoder.device: found '{device}', which cannot be used here"):
            encoder(device=device)


# Prompts

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


def test_a_family_is_known_by_the_name_of_the_model():
    expected = {name: prompts for prompts, names in FAMILIES.items() for name in names.split()}
    assert {name: (*usual_prompts(name, {})[1].values(),) for name in expected} == expected


@pytest.fixture
def minilm_as(tmp_path):
    """Writes MiniLM under another name, with such prompts in its files."""

    def write(name, **prompts):
        folder = shutil.copytree(encoder().folder, tmp_path / name, copy_function=os.symlink)
        (folder / "config_sentence_transformers.json").unlink()
        (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts}))
        return str(folder)

    return write


def test_the_prompts_of_a_family_are_used_and_said_unless_the_models_files_have_others(minilm_as, capfd):
    model = minilm_as("multilingual-e5-small")
    assert encoder(model).prompts == {"query": "query: ", "passage": "passage: "}
    printed = capfd.readouterr().err
    assert printed.count("\n") == 1
    assert all(part in printed for part in (model, "e5", "'query: '", "'passage: '", "encoder.prompts.query="))
    own = {"query": "ask: ", "passage": "text: "}
    assert encoder(minilm_as("e5-small", **own)).prompts == own
    assert not capfd.readouterr().err
    with pytest.raises(ConfigError, match=r"encoder\.prompts: found 'document', expected query and passage"):
        encoder(prompts={"document": "passage: "})


def test_a_prompt_precedes_the_texts_of_its_role_and_an_empty_one_is_none(minilm_as):
    model = minilm_as("own", query="ask: ", document="text: ")
    for role, own in (("query", "ask: "), ("passage", "text: ")):
        for prompts, text in (({role: "search: "}, "search: iron"), ({}, f"{own}iron"), ({role: ""}, "iron")):
            prompted = encoder(model, prompts=prompts).encode(["iron"], role)
            np.testing.assert_allclose(prompted, encoder(prompts={}).encode([text], role), atol=1e-6)


def test_prompts_count_in_the_fingerprint_and_embeddings_are_kept_by_the_prompt_of_their_role(store):
    made, asking = encoder(), encoder(prompts={"query": "ask: "})
    assert made.fingerprint != asking.fingerprint
    assert identity(made) != identity(asking)
    embed(made, store, ["iron", "tea"], "passage")
    stages = {entry.stage for entry in store.entries()}
    embed(asking, store, ["iron", "tea"], "passage")
    assert {entry.stage for entry in store.entries()} == stages  # passages are encoded once
    queries = [embed(one, store, ["iron"], "query") for one in (made, asking)]
    assert np.abs(queries[0] - queries[1]).max() > 0.01


@pytest.mark.extra("openai")
def test_an_endpoints_model_is_known_by_its_name_too(capfd):
    nomic = OpenAIEncoder(model="nomic-embed-text:v1.5", base_url="http://127.0.0.1:1/v1")
    assert nomic.prompts == {"query": "search_query: ", "passage": "search_document: "}
    assert "nomic" in capfd.readouterr().err


# Similarity

PASSAGES = ("iron tablets", "iron tablets for mothers", "tea", "water and tea and iron", "hands", "wash your hands")
QUERIES = ("iron", "tea for mothers")


class Lengths(Encoder):
    """Counts of letters as they are."""

    similarity, fingerprint = "dot", "lengths"

    def encode(self, texts, role):
        return np.array([[text.count(letter) for letter in "abcdefghimnorstwy"] for text in texts], dtype=np.float32)


def by_products(query):
    """The passages by inner product with a query, which is a whole number."""
    scores = Lengths().encode(PASSAGES, "passage") @ Lengths().encode([query], "query")[0]
    order = np.argsort(-scores, kind="stable")
    return order.tolist(), scores[order].tolist()


@pytest.mark.soak
def test_the_whole_manual_has_the_score_of_sentence_transformers_own_evaluator(dot, manual_pages, manual_search):
    """By cosine it would be .5488."""
    from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

    model, folder = dot
    assert encoder(folder).similarity == "dot"
    ranking = rank(DenseRetriever(encoder(folder), NO_STORE), manual_search, 5)
    qrels, units = manual_pages.qrels, manual_pages.passage_units
    score = float(ndcg(judge(units[ranking.passages], qrels.query, qrels.unit, qrels.grade), 5).mean())
    relevant = defaultdict(set)
    for query, unit in zip(qrels.query.tolist(), qrels.unit.tolist(), strict=True):
        relevant[str(query)].add(str(unit))
    corpus = dict(zip(map(str, units.tolist()), manual_search.passages, strict=True))
    queries = {str(row): text for row, text in enumerate(manual_search.queries)}
    cutoffs = {key: [5] for key in ("ndcg_at_k", "accuracy_at_k", "precision_recall_at_k", "mrr_at_k", "map_at_k")}
    evaluator = InformationRetrievalEvaluator(queries, corpus, relevant, **cutoffs, show_progress_bar=False)
    [expected] = [value for name, value in evaluator(model).items() if name.endswith("dot_ndcg@5")]
    assert score == pytest.approx(expected, abs=1e-9)
    assert round(score, 4) == 0.4761


FIRST = Ranking(np.array([(0, 1, 2)] * 2), np.array([(3.0, 2.0, 1.0)] * 2))


def test_dense_retrieval_and_a_reranker_compare_by_inner_products_and_say_so():
    search, reranker = Search(PASSAGES, QUERIES), EncoderReranker(Lengths(), NO_STORE)
    assert "inner product" in reranker.formula
    reranked = reranker.rerank(search, FIRST, 3)
    for index in (ExactIndex(), FaissIndex("HNSW32")):
        ranking = rank(DenseRetriever(Lengths(), NO_STORE, index), search, 6)
        for row, query in enumerate(QUERIES):
            order, scores = by_products(query)
            assert (ranking.passages[row].tolist(), ranking.scores[row].tolist()) == (order, scores)
            assert reranked.scores[row].tolist() == [score for at, score in zip(order, scores, strict=True) if at < 3]


def test_a_model_for_another_similarity_is_refused_and_shortened_embeddings_keep_their_lengths(dot, tmp_path):
    other = shutil.copytree(dot[1], tmp_path / "model")
    settings = other / "config_sentence_transformers.json"
    settings.write_text(settings.read_text().replace('"dot"', '"euclidean"'))
    with pytest.raises(EncoderError, match=r"encoder\.similarity: .* compares by 'euclidean'; expected cosine or dot"):
        encoder(str(other))
    assert encoder(str(other), similarity="cosine").similarity == "cosine"
    shorter = encoder(dot[1], dimensions=2)
    assert shorter.reduce(np.array([[3, 4, 5]], np.float32)).tolist() == [[3, 4]]
    by_cosine = replace(shorter, similarity="cosine")
    assert by_cosine.reduce(np.array([[3, 4, 5]], np.float32)) == pytest.approx(np.array([[0.6, 0.8]]))


def test_the_redundancy_of_mmr_is_a_cosine_whatever_the_encoder():
    """Of two copies, one of them twice as long, the longer is no more redundant."""
    search = Search(("iron", "iron iron", "tea"), QUERIES)
    ranking = MmrReranker(Lengths(), NO_STORE, relevance=0.4, similarity="cosine").rerank(search, FIRST, 3)
    assert ranking.passages[0].tolist() == [0, 2, 1]
    assert ranking.scores.max() <= 1


# WordLlama

WORD_LLAMA = pytest.mark.skipif(find_spec("wordllama") is None, reason="the extra wordllama is not installed")


@WORD_LLAMA
def test_embeddings_of_wordllama_are_those_of_its_own_inference_on_its_own_files():
    import wordllama
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = Path(wordllama.__file__).parent
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    vectors = load_file(folder / "weights" / "l2_supercat_256.safetensors")["embedding.weight"]
    texts = [
        "Which test finds malaria?",
        "—",
        " ",
        "À 38,5 °C, on donne du paracétamol.",
        "日本",
        "Iron and folic acid. " * 300,
        *LENGTHS,
    ]
    expected = wordllama.WordLlamaInference(vectors, tokenizer).embed(texts, norm=True)
    for role in ("query", "passage"):
        np.testing.assert_allclose(WordLlamaEncoder().encode(texts, role), expected, atol=1e-6)


@WORD_LLAMA
@pytest.mark.usefixtures("processes")
def test_nothing_of_wordllama_is_imported_but_its_files_are_read():
    """The package sets up logging for the whole process, and its loader downloads."""
    code = "from ragsweep.retrieval import WordLlamaEncoder; WordLlamaEncoder().encode(['iron'], 'query');"
    code += "import sys; assert not {'wordllama', 'requests', 'torch'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", code], check=True)


@WORD_LLAMA
def test_other_files_of_wordllama_have_another_fingerprint_and_a_missing_package_is_named(tmp_path, monkeypatch):
    installed = Path(metadata.distribution("wordllama").locate_file("wordllama"))
    fingerprints = {WordLlamaEncoder().fingerprint}
    for changed in ("weights", "tokenizers"):
        folder = shutil.copytree(installed, tmp_path / changed / "wordllama")
        [file] = (folder / changed).glob("l2*")
        file.write_bytes(b"{}")
        with monkeypatch.context() as patch:
            patch.syspath_prepend(str(folder.parent))
            patch.delitem(sys.modules, "wordllama", raising=False)
            fingerprints.add(WordLlamaEncoder().fingerprint)
    assert len(fingerprints) == 3
    monkeypatch.setattr(model_files, "WORDLLAMA", "no_such_package")
    refusal = r"^encoder=wordllama: there is no .*; run pip install wordllama==0\.4\.0\.post1$"
    with pytest.raises(EncoderError, match=refusal):
        WordLlamaEncoder()
