"""Embeddings from an OpenAI-compatible endpoint, over HTTP, from a server that does not always behave."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import replace
from string import ascii_lowercase, digits

import numpy as np
import pytest
from application import PROJECT
from endpoint_server import EndpointServer, Reply, defaults_of
from omegaconf import OmegaConf
from question_server import KEY

from ragsweep.core.errors import ConfigError, EncoderError, ModelError
from ragsweep.core.project import SWEEP_ID
from ragsweep.core.timing import without_timing
from ragsweep.models.encoders.embeddings import embed, encoding_ms
from ragsweep.models.language.endpoint import say_spent
from ragsweep.retrieval import DenseRetriever, OpenAIEncoder, Search, rank
from ragsweep.store.identity import identity
from ragsweep.store.stage_store import NO_STORE
from ragsweep.testing import EncoderContract

pytestmark = [pytest.mark.extra("openai"), pytest.mark.usefixtures("secret_key")]
TEXTS = [f"text {number} of the corpus" for number in range(10)]


def vector(text, dimensions=36):
    """The letters and digits of a text, counted: an embedding that is not normalised."""
    return [text.lower().count(character) + 0.5 for character in (ascii_lowercase + digits)[-dimensions:]]


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


good = changed(lambda rows: None)


@pytest.fixture
def server():
    with EndpointServer(good) as server:
        yield server


@pytest.fixture
def encoder(server):
    return OpenAIEncoder(model="model", base_url=server.url, timeout_s=5, retries=2, batch_size=4)


def asked(server):
    """How often each text was sent."""
    return Counter(text for request in server.requests for text in request["input"])


def failure(encoder, texts=TEXTS):
    with pytest.raises((ModelError, EncoderError)) as caught:
        encoder.encode(texts, "passage")
    assert "\n" not in str(caught.value)
    assert KEY not in str(caught.value)
    return str(caught.value)


def test_a_prompt_precedes_each_text_of_its_role(server, encoder):
    prompted = replace(encoder, prompts={"query": "ask: "})
    assert (prompted.encode(["iron"], "query") == encoder.encode(["ask: iron"], "query")).all()
    assert (prompted.encode(["iron"], "passage") == encoder.encode(["iron"], "passage")).all()
    assert asked(server) == {"ask: iron": 2, "iron": 2}
    assert prompted.fingerprint != encoder.fingerprint


class TestOpenAI(EncoderContract):
    component = OpenAIEncoder

    @pytest.fixture(autouse=True)
    def endpoint(self, server):
        type(self).settings = {"model": "model", "base_url": server.url, "batch_size": 5}


def test_embeddings_are_those_of_the_texts_in_their_order_normalised_unless_for_inner_products(encoder):
    expected = np.array([vector(text) for text in TEXTS])
    normalised = expected / np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(encoder.encode(TEXTS, "passage"), normalised, atol=1e-6)
    by_dot = replace(encoder, similarity="dot")
    assert by_dot.encode(TEXTS, "passage").tolist() == expected.tolist()
    assert by_dot.fingerprint != encoder.fingerprint
    ranking = rank(DenseRetriever(by_dot, NO_STORE), Search(tuple(TEXTS), ("corpus",)), 1)
    assert ranking.scores[0, 0] == (expected @ vector("corpus")).max()


def number(value):
    return changed(lambda rows: rows[0]["embedding"].__setitem__(3, value))


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


def test_a_response_that_is_no_embeddings_is_one_line_and_not_paid_for_again(encoder, server):
    for row, (reply, expected) in enumerate(WRONG, start=1):
        server.reply = reply
        line = failure(replace(encoder, concurrency=1), TEXTS[:4])
        assert line.startswith(f"{server.url}: the response ")
        assert expected in line
        assert len(server.requests) == row


def test_embeddings_without_an_index_are_in_the_order_of_the_texts(encoder, server):
    """Such as those of an older Infinity. Gemini leaves out the index 0 alone."""
    expected = encoder.encode(TEXTS, "passage")
    unnumbered = changed(lambda rows: [rows.reverse(), *(row.pop("index") for row in rows)])
    for reply in (unnumbered, changed(lambda rows: rows[-1].pop("index"))):
        server.reply = reply
        np.testing.assert_array_equal(encoder.encode(TEXTS, "passage"), expected)


def test_of_a_long_text_only_the_beginning_is_sent(encoder, server, capfd):
    cut = replace(encoder, truncate=30).encode(["tea" * 20, "iron"], "passage")
    assert server.requests[-1]["input"] == ["tea" * 10, "iron"]
    np.testing.assert_array_equal(cut, encoder.encode(["tea" * 10, "iron"], "passage"))
    assert "encoder.truncate=30: only the beginning of longer texts is sent" in capfd.readouterr().err


def test_a_cut_that_leaves_only_the_prompt_is_refused(encoder):
    prompts = {"query": "ask: "}
    assert replace(encoder, prompts=prompts, truncate=6).truncate == 6
    with pytest.raises(ConfigError, match=r"^encoder\.truncate: found 5, expected more than the 5 characters.*query"):
        replace(encoder, prompts=prompts, truncate=5)


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


def test_settings_that_change_an_embedding_change_the_fingerprint(encoder, server):
    variants = [encoder, *(replace(encoder, **{name: value}) for name, value in CHANGING.items())]
    assert len({variant.fingerprint for variant in variants}) == len(variants)
    assert len({identity_of(variant) for variant in variants}) == len(variants)
    other = replace(encoder, headers_env={"api-key": "OTHER_KEY"}, api_key_env=None)
    assert identity_of(other) == identity_of(encoder)
    replace(encoder, **CHANGING).encode(TEXTS[:1], "query")
    assert server.path == "/v1/embeddings?api-version=2024-10-21"
    assert server.requests[-1]["task_type"] == "RETRIEVAL_QUERY"
    assert server.headers["X-Tier"] == "flex"


def identity_of(encoder):
    return json.dumps(identity(encoder))


CHANGING = {
    "truncate": 9,
    "query": {"api-version": "2024-10-21"},
    "extra_body": {"task_type": "RETRIEVAL_QUERY"},
    "headers": {"X-Tier": "flex"},
}


def test_the_store_keeps_embeddings_and_each_text_is_sent_once(encoder, server, store):
    first = embed(encoder, store, [*TEXTS, *TEXTS[:3]], "passage")
    again = embed(replace(encoder, batch_size=7), store, [*TEXTS, *TEXTS[:3]], "passage")
    grown = embed(encoder, store, [*TEXTS, "a new text"], "passage")
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(grown[:10], first[:10])
    assert {*asked(server).values()} == {1}
    assert len(asked(server)) == 11


def test_the_limit_on_tokens_keeps_what_was_paid_for_and_a_new_start_goes_on(encoder, server, store, monkeypatch):
    limited = replace(encoder, max_tokens_total=50, concurrency=1)
    with pytest.raises(ModelError, match=r"^encoder\.max_tokens_total: .* what the store has is kept"):
        embed(limited, store, TEXTS, "passage")
    assert len(server.requests) == 2  # they cost 80 tokens
    monkeypatch.setenv(SWEEP_ID, "another start")
    embed(replace(encoder, concurrency=1), store, TEXTS, "passage")
    assert {*asked(server).values()} == {1}


PROGRAM = """
import sys
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.retrieval import OpenAIEncoder
from ragsweep.models.encoders.embeddings import embed
url, folder, *texts = sys.argv[1:]
encoder = OpenAIEncoder(model="model", base_url=url, batch_size=2, concurrency=2)
embed(encoder, Store(folder), texts, "passage")
"""


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
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(PROJECT / "src")})
    assert middle.wait(60)
    process.send_signal(signal.SIGKILL)
    process.wait()
    hurry.set()
    kept = embed(replace(encoder, batch_size=2, concurrency=2), store, texts, "passage")
    np.testing.assert_array_equal(kept, encoder.encode(texts, "passage"))
    again = Counter(text for request in server.requests[:-6] for text in request["input"])
    assert len(again) == 24
    assert sum(again.values()) <= 24 + 4  # two requests were on their way


def test_the_shipped_configuration_has_every_setting_and_its_default():
    node = OmegaConf.to_container(OmegaConf.load(PROJECT / "conf/encoder/openai.yaml"))
    assert node.pop("_target_") == "ragsweep.retrieval.OpenAIEncoder"
    defaults = defaults_of(OpenAIEncoder)
    assert {*node} == {*defaults}
    assert node.pop("model") == "???"
    assert {*node.pop("prompts").values()} == {None}
    assert node.items() <= defaults.items()
