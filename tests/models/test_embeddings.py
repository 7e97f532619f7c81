"""Embeddings that are kept, and those of an OpenAI-compatible endpoint, which does not always behave."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path
from string import ascii_lowercase, digits

import letters as letters_module
import numpy as np
import pytest
from application import PROJECT
from endpoint_server import EndpointServer, Reply
from letters import LetterEncoder, numbered
from question_server import KEY
from warm import Process

from ragsweep.core.errors import ConfigError, ModelError, RagsweepError
from ragsweep.core.project import SWEEP_ID
from ragsweep.core.timing import without_timing
from ragsweep.models.encoders.embeddings import ENCODED_AT_ONCE, embed, encoding_ms
from ragsweep.models.language.endpoint import say_spent
from ragsweep.retrieval import DenseRetriever, OpenAIEncoder, Search, SentenceTransformerEncoder, rank
from ragsweep.store.identity import identity
from ragsweep.store.stage_store import NO_STORE
from ragsweep.testing import EncoderContract

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
    encoder = SentenceTransformerEncoder(device="cpu")
    here = encoder.encode(CORPUS, "passage")
    for end in (1, 2, 3):  # appending gives what one fresh encoding gives, bit for bit
        np.testing.assert_array_equal(embed(encoder, store, CORPUS[:end], "passage"), here[:end])
    file = tmp_path / "there.npz"
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path), "ATEN_CPU_CAPABILITY": "default"}
    command = [sys.executable, "-c", ON_THIS_CPU, store.path, file, *CORPUS]
    done = subprocess.run(command, env=environment, check=True, capture_output=True)
    assert b"%|" not in done.stderr, "a model that loads, or encodes, fills a log with its progress"
    there = np.load(file)
    np.testing.assert_array_equal(there["kept"], there["fresh"])
    stages = [entry.stage for entry in store.entries()]
    assert (len(stages), len({*stages})) == (4, 2)
    if (here == there["fresh"]).all():
        pytest.skip("this CPU computes the same without its vector instructions")


def process(store, end, seconds):
    """Encode `numbered(end)` in a process that says how many texts it encodes at a time."""
    arguments = [store.path, str(end), str(seconds)]
    return Process(Path(letters_module.__file__), arguments, Path(store.path).parent, {**os.environ})


def encoded_of(store, texts):
    """Which texts are encoded, those that the store does not have; the embeddings are as of all."""
    encoder = LetterEncoder()
    embeddings = embed(encoder, store, texts, "passage")
    np.testing.assert_array_equal(embeddings, LetterEncoder().encode(texts, "passage"))
    return encoder.asked


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
def test_a_killed_encoding_goes_on_where_it_was_and_a_whole_corpus_leaves_its_pieces_alone(letters, store):
    texts = numbered(2 * ENCODED_AT_ONCE + 1)
    killed = process(store, len(texts), seconds=3)
    for _ in range(2):  # it has kept the first piece and begun the second
        killed.stdout.readline()
    embed(letters, store, [f"{text} z" for text in numbered(ENCODED_AT_ONCE + 1)], "passage")
    killed.kill()
    killed.communicate()
    assert encoded_of(store, texts) == texts[ENCODED_AT_ONCE:]
    assert len(list(store.entries())) == 2  # no piece of either


TEXTS = [f"text {number} of the corpus" for number in range(10)]


def vector(text):
    """The letters and digits of a text, counted: an embedding that is not normalised."""
    return [text.lower().count(character) + 0.5 for character in ascii_lowercase + digits]


def changed(change):
    """Replies with embeddings, of which something is changed."""

    def reply(prompt, times):
        texts = prompt.split("\n")
        rows = [{"object": "embedding", "index": row, "embedding": vector(text)} for row, text in enumerate(texts)]
        usage = {"prompt_tokens": 10 * len(texts), "total_tokens": 10 * len(texts)}
        body = {"object": "list", "data": rows[::-1], "usage": usage}  # in any order
        change(body["data"])
        return Reply(json.dumps(body).encode())

    return reply


OPENAI = pytest.mark.extra("openai")


@pytest.fixture
def server(secret_key):
    with EndpointServer(good) as server:
        yield server


@pytest.fixture
def encoder(server):
    return OpenAIEncoder(model="model", base_url=server.url, timeout_s=5, retries=2, batch_size=4)


def asked(server):
    """How often each text was sent."""
    return Counter(text for request in server.requests for text in request["input"])


@OPENAI
class TestOpenAI(EncoderContract):
    component = OpenAIEncoder

    @pytest.fixture(autouse=True)
    def endpoint(self, server):
        type(self).settings = {"model": "model", "base_url": server.url, "batch_size": 5}


@OPENAI
def test_embeddings_are_those_of_the_texts_in_their_order_normalised_unless_for_inner_products(encoder, server):
    """Also without indices, such as those of an older Infinity. Gemini leaves out the index 0 alone."""
    expected = np.array([vector(text) for text in TEXTS])
    normalised = expected / np.linalg.norm(expected, axis=1, keepdims=True)
    unnumbered = changed(lambda rows: [rows.reverse(), *(row.pop("index") for row in rows)])
    for reply in (good, unnumbered, changed(lambda rows: rows[-1].pop("index"))):
        server.reply = reply
        np.testing.assert_allclose(encoder.encode(TEXTS, "passage"), normalised, atol=1e-6)
    by_dot = replace(encoder, similarity="dot")
    assert by_dot.encode(TEXTS, "passage").tolist() == expected.tolist()
    ranking = rank(DenseRetriever(by_dot, NO_STORE), Search(tuple(TEXTS), ("corpus",)), 1)
    assert ranking.scores[0, 0] == (expected @ vector("corpus")).max()


def number(value):
    return changed(lambda rows: rows[0]["embedding"].__setitem__(3, value))


good = changed(lambda rows: None)
NO_MODEL = json.dumps({"error": {"message": f"no model, {KEY}"}}).encode()
WRONG = [
    (changed(lambda rows: rows.pop()), "of shape [3, 36], expected [4 texts, dimensions]"),
    (changed(lambda rows: rows[0].update(index=0)), "other indices than 0 to 3, each once"),
    (changed(lambda rows: [row.pop("index") for row in rows[:2]]), "other indices than 0 to 3"),
    (changed(lambda rows: rows[0].update(embedding="AAAA")), "no list of embeddings"),
    (changed(lambda rows: rows[0].update(embedding=[1.0])), "no list of embeddings of the same dimensions"),
    (changed(lambda rows: [row.update(embedding=[0.0, 0.0]) for row in rows]), "of zeros only"),
    (number(float("nan")), "not finite"),
    (number(1e300), "not finite"),
    (lambda prompt, times: Reply(b"<html>"), "cannot be read"),
    (lambda prompt, times: Reply(NO_MODEL), "is an error: no model, ***;"),
]


@OPENAI
def test_a_response_that_is_no_embeddings_is_one_line_and_not_paid_for_again(encoder, server):
    for row, (reply, expected) in enumerate(WRONG, start=1):
        server.reply = reply
        with pytest.raises(RagsweepError, match=rf"\A{server.url}: the response [^\n]+\Z") as caught:
            replace(encoder, concurrency=1).encode(TEXTS[:4], "passage")
        assert expected in str(caught.value)
        assert KEY not in str(caught.value)
        assert len(server.requests) == row


@OPENAI
def test_a_prompt_precedes_each_text_of_its_role_and_of_a_long_text_only_the_beginning_is_sent(encoder, server, capfd):
    prompted = replace(encoder, prompts={"query": "ask: "})
    assert (prompted.encode(["iron"], "query") == encoder.encode(["ask: iron"], "query")).all()
    assert (prompted.encode(["iron"], "passage") == encoder.encode(["iron"], "passage")).all()
    assert asked(server) == {"ask: iron": 2, "iron": 2}
    replace(encoder, truncate=30).encode(["tea" * 20, "iron"], "passage")
    assert server.requests[-1]["input"] == ["tea" * 10, "iron"]
    assert "encoder.truncate=30: only the beginning of longer texts is sent" in capfd.readouterr().err
    assert replace(prompted, truncate=6).truncate == 6
    with pytest.raises(ConfigError, match=r"^encoder\.truncate: found 5, expected more than the 5 characters.*query"):
        replace(prompted, truncate=5)


@OPENAI
def test_settings_that_change_an_embedding_change_the_fingerprint(encoder, server):
    variants = [encoder, *(replace(encoder, **{name: value}) for name, value in CHANGING.items())]
    identities = [json.dumps(identity(variant)) for variant in variants]
    assert len({variant.fingerprint for variant in variants}) == len({*identities}) == len(variants)
    other = replace(encoder, headers_env={"api-key": "OTHER_KEY"}, api_key_env=None)
    assert json.dumps(identity(other)) == identities[0]
    replace(encoder, **CHANGING).encode(TEXTS[:1], "query")
    assert server.path == "/v1/embeddings?api-version=2024-10-21"
    assert (server.requests[-1]["task_type"], server.headers["X-Tier"]) == ("RETRIEVAL_QUERY", "flex")


@OPENAI
def test_all_requests_are_counted_those_that_take_the_time_too(encoder, server, store, capfd, monkeypatch):
    monkeypatch.setattr("ragsweep.core.timing.ROUNDS", 1)
    queries = [f"query {number}" for number in range(9)]
    embed(encoder, store, queries, "query")
    encoding_ms(encoder, store, queries)
    say_spent()
    assert f"model: {len(server.requests)} requests to {server.url}" in capfd.readouterr().err
    assert len(server.requests) == 3 + 1 + 9
    encoding_ms(encoder, store, queries)
    with without_timing():
        encoding_ms(encoder, store, queries[1:])
    say_spent()
    assert server.url not in capfd.readouterr().err


CHANGING = {
    "truncate": 9,
    "query": {"api-version": "2024-10-21"},
    "extra_body": {"task_type": "RETRIEVAL_QUERY"},
    "headers": {"X-Tier": "flex"},
    "prompts": {"query": "ask: "},
    "similarity": "dot",
}


@OPENAI
def test_each_text_is_sent_once_also_after_a_start_that_has_reached_the_limit_on_tokens(
    encoder, server, store, monkeypatch
):
    texts = [*TEXTS, *TEXTS[:3]]
    limited = replace(encoder, max_tokens_total=50, concurrency=1)
    with pytest.raises(ModelError, match=r"^encoder\.max_tokens_total: .* what the store has is kept"):
        embed(limited, store, texts, "passage")
    assert len(server.requests) == 2  # they cost 80 tokens
    monkeypatch.setenv(SWEEP_ID, "another start")
    first = embed(replace(encoder, concurrency=1), store, texts, "passage")
    np.testing.assert_array_equal(embed(replace(encoder, batch_size=7), store, texts, "passage"), first)
    np.testing.assert_array_equal(embed(encoder, store, [*TEXTS, "a new text"], "passage")[:10], first[:10])
    assert ({*asked(server).values()}, len(asked(server))) == ({1}, 11)


PROGRAM = """
import sys
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.retrieval import OpenAIEncoder
from ragsweep.models.encoders.embeddings import embed
url, folder, *texts = sys.argv[1:]
encoder = OpenAIEncoder(model="model", base_url=url, batch_size=2, concurrency=2)
embed(encoder, Store(folder), texts, "passage")
"""


@OPENAI
def test_a_killed_process_goes_on_with_the_rest(encoder, server, store):
    texts = [f"text number {number}" for number in range(24)]
    middle, hurry = threading.Event(), threading.Event()

    def slow(prompt, times):
        if len(server.requests) > 6:
            middle.set()
            hurry.wait(30)
        return good(prompt, times)

    server.reply = slow
    command = [sys.executable, "-c", PROGRAM, server.url, store.path, *texts]
    killed = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(PROJECT / "src")})
    assert middle.wait(60)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    hurry.set()
    kept = embed(replace(encoder, batch_size=2, concurrency=2), store, texts, "passage")
    sent = asked(server)
    assert len(sent) == 24
    assert sent.total() <= 24 + 4  # two requests were on their way
    np.testing.assert_array_equal(kept, encoder.encode(texts, "passage"))
