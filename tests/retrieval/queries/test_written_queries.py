"""Queries that a language model writes: of an endpoint, over HTTP, and of SmolLM2."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from application import PROJECT
from endpoint_server import EndpointServer, completion, defaults_of, problem
from omegaconf import OmegaConf
from question_server import KEY

from ragsweep.core.digest import digest
from ragsweep.core.errors import ConfigError, ModelError
from ragsweep.core.timing import TIMED_QUERIES
from ragsweep.models.language import smollm2
from ragsweep.retrieval import (
    OpenAIModel,
    PipelineRetriever,
    Search,
    SmolLM2Model,
    SparseRetriever,
    WeightedSum,
    WrittenQuery,
    rank,
)
from ragsweep.store.identity import identity
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.testing import ExpanderContract
from ragsweep.testing.component import SEARCH

pytestmark = [pytest.mark.extra("openai"), pytest.mark.usefixtures("secret_key")]
SPARSE = SparseRetriever(NO_STORE)
TABLETS = Search(SEARCH.passages, ("What stops pallor?",))
HYDE, MULTI = (OmegaConf.load(PROJECT / f"conf/query/{file}.yaml").prompt for file in ("hyde", "multi"))


def hyde(model, **settings):
    return WrittenQuery(language_model=model, prompt=HYDE, **settings)


def multi(model, **settings):
    given = {"lines": 3, "place": "beside", "fusion": WeightedSum(), **settings}
    return WrittenQuery(language_model=model, prompt=MULTI, **given)


def write(prompt, times):
    """What a good model writes."""
    question = next(line for line in prompt.splitlines() if line.startswith("Question: "))[10:]
    if prompt.endswith("Passage:"):
        return completion(f"Iron and folic acid\ntablets. {question.upper()}")
    return completion(
        f"Here are some:\n1. Iron against {question}\n2) “Folic acid, {question}”\n- {question}\n\n4. Zinc"
    )


@pytest.fixture(scope="module")
def shared():
    with EndpointServer(write) as server:
        yield server


@pytest.fixture
def server():
    with EndpointServer(write) as server:
        yield server


@pytest.fixture
def model(server, tmp_path):
    return OpenAIModel(model="model", base_url=server.url, timeout_s=5, retries=2, store=Store(str(tmp_path / "s")))


class OfEndpoint:
    """Settings with a model behind an endpoint, whose responses the store of a test keeps."""

    more: ClassVar = {}

    @pytest.fixture(autouse=True)
    def endpoint(self, shared):
        type(self).settings = {"language_model": OpenAIModel(model="model", base_url=shared.url), **self.more}

    def make(self, store):
        made = super().make(store)
        return replace(made, language_model=replace(made.language_model, store=store))


class TestHyDE(OfEndpoint, ExpanderContract):
    component = WrittenQuery
    more: ClassVar = {"prompt": HYDE}


class TestMulti(OfEndpoint, ExpanderContract):
    component = WrittenQuery
    more: ClassVar = {"prompt": MULTI, "lines": 3, "place": "beside", "fusion": WeightedSum()}


def test_the_query_and_the_passage_are_searched_for(model):
    [search], _, changes, _ = hyde(model).expand(TABLETS, SPARSE)
    assert search.queries == ("What stops pallor? Iron and folic acid tablets. WHAT STOPS PALLOR?",)
    assert changes == ("8 words by the model",)


def test_the_passage_alone_is_searched_for(model):
    [search], *_ = hyde(model, place="instead").expand(TABLETS, SPARSE)
    assert search.queries == ("Iron and folic acid tablets. WHAT STOPS PALLOR?",)


def test_what_is_written_finds_what_the_query_does_not(model):
    assert (rank(SPARSE, TABLETS, 3).passages == -1).all()
    found = rank(PipelineRetriever(SPARSE, hyde(model)), TABLETS, 3)
    assert found.passages[0, 0] == 1
    assert found.latency_ms[0] >= 1  # a request takes its time


@pytest.mark.parametrize("with_query", [True, False])
def test_phrasings_are_the_lines_without_marks_and_without_the_query(model, with_query):
    made = multi(model, place="beside" if with_query else "instead")
    searches, _, changes, _ = made.expand(TABLETS, SPARSE)
    texts = ["Iron against What stops pallor?", "Folic acid, What stops pallor?", "Zinc"]
    assert [each.queries[0] for each in searches] == ["What stops pallor?"] * with_query + texts
    assert changes == ("11 words by the model",)


def test_the_rankings_of_phrasings_are_fused(model):
    made = multi(model, lines=2)
    fused = rank(PipelineRetriever(SPARSE, made), TABLETS, 3)
    texts = ["What stops pallor?", "Iron against What stops pallor?", "Folic acid, What stops pallor?"]
    alone = [rank(SPARSE, replace(TABLETS, queries=(text,)), 3) for text in texts]
    expected = WeightedSum().fuse(alone)
    np.testing.assert_array_equal(fused.passages[0, :2], expected.passages[0, :2])
    np.testing.assert_allclose(fused.scores[0, :2], expected.scores[0, :2])


def test_as_many_phrasings_are_asked_for_as_the_setting_says(model, server):
    for phrasings in (1, 5):
        searches, *_ = multi(model, lines=phrasings).expand(TABLETS, SPARSE)
        assert len(searches) == 1 + phrasings
        assert f" in {phrasings} different ways" in server.requests[-1]["messages"][-1]["content"]


def test_the_query_stands_for_phrasings_that_are_missing(model, server):
    server.reply = lambda prompt, times: completion("Only one" if "pallor" in prompt else "")
    search = replace(TABLETS, queries=("pallor", "zinc"))
    searches, _, changes, _ = multi(model, lines=2).expand(search, SPARSE)
    assert [each.queries for each in searches] == [("pallor", "zinc"), ("Only one", "zinc"), ("pallor", "zinc")]
    assert changes == ("2 words by the model", "")


def test_a_refusal_leaves_the_query(model, server):
    server.reply = lambda prompt, times: completion(None, refusal="no")
    for with_query in (True, False):
        [search], _, changes, _ = hyde(model, place="after" if with_query else "instead").expand(TABLETS, SPARSE)
        assert (search.queries, changes) == (TABLETS.queries, ("",))


def test_nothing_is_asked_twice(model, server):
    twice = replace(TABLETS, queries=("a", "b", "a"))
    first = hyde(model).expand(twice, SPARSE)
    assert len(server.requests) == 2
    again = hyde(model).expand(twice, SPARSE)
    assert len(server.requests) == 2
    np.testing.assert_array_equal(again.latency_ms, first.latency_ms)  # of the first time


def test_a_text_has_at_most_the_tokens_that_the_setting_says(model, server):
    for most in (None, 9):
        hyde(model, max_tokens=most).expand(TABLETS, SPARSE)
    assert [request["max_completion_tokens"] for request in server.requests] == [256, 9]


def test_a_run_without_a_store_pays_once(model, server):
    """A pipeline expands queries for the ranking, for the table of queries and to explain."""
    pipeline = PipelineRetriever(SPARSE, hyde(replace(model, store=NO_STORE)))
    rank(pipeline, TABLETS, 3)
    assert "Iron" in pipeline.details(TABLETS)["searched"][0]
    assert len(server.requests) == 1


def test_the_limit_on_tokens_is_one_line(model):
    limited = hyde(replace(model, max_tokens_total=1))
    limited.expand(TABLETS, SPARSE)
    with pytest.raises(ModelError, match=r"^language_model\.max_tokens_total: .* tokens are spent"):
        limited.expand(replace(TABLETS, queries=("Another?",)), SPARSE)


def test_a_wrong_key_is_one_line(model, server):
    server.reply = lambda prompt, times: problem(401, f"wrong key {KEY}")
    with pytest.raises(
        ModelError, match=r"401 the key in the variable \w+ \(language_model\.api_key_env\) is not accepted"
    ) as e:
        hyde(model).expand(TABLETS, SPARSE)
    assert KEY not in str(e.value)


def test_a_failure_that_may_pass_is_tried_again(model, server):
    server.reply = lambda prompt, times: problem(429) if times == 1 else write(prompt, times)
    assert hyde(model).expand(TABLETS, SPARSE).changes != ("",)
    assert len(server.requests) == 2


def test_what_changes_a_text_changes_the_identity(model):
    made = hyde(model)
    variants = [
        made,
        replace(made, place="instead"),
        replace(made, max_tokens=9),
        *(replace(made, language_model=replace(model, **{name: value})) for name, value in CHANGES.items()),
        multi(model),
        multi(model, fusion=WeightedSum([1, 1, 1, 1])),
        multi(model, lines=2),
    ]
    assert len({digest(identity(each)) for each in variants}) == len(variants)
    same = [replace(made, language_model=replace(model, concurrency=1, timeout_s=1)), made]
    assert len({digest(identity(each)) for each in same}) == 1


CHANGES = {"model": "other", "base_url": "http://127.0.0.1:1/v1", "temperature": 1.0, "seed": 1}


def test_a_sample_of_queries_is_timed(model):
    search = replace(TABLETS, queries=tuple(f"query {number}" for number in range(40)))
    assert len(hyde(model).expand(search, SPARSE).latency_ms) == TIMED_QUERIES


def test_a_model_that_cannot_be_asked_is_refused():
    with pytest.raises(
        ConfigError, match=r"^query\.language_model: .* does not inherit from ragsweep.models.LanguageModel"
    ):
        hyde("gpt")


@pytest.mark.parametrize(
    ("file", "component"),
    [
        ("query/hyde", WrittenQuery),
        ("language_model/openai", OpenAIModel),
        ("language_model/smollm2", SmolLM2Model),
    ],
)
def test_the_shipped_configuration_has_every_setting_and_its_default(file, component):
    node = OmegaConf.to_container(OmegaConf.load(PROJECT / f"conf/{file}.yaml"), resolve=False)
    assert node.pop("_target_") == f"ragsweep.retrieval.{component.__name__}"
    defaults = defaults_of(component)
    assert {*node} == {*defaults}
    plain = {name: value for name, value in node.items() if value != "???" and "$" not in str(value)}
    plain.pop("prompt", None)  # it has no default
    assert plain.items() <= defaults.items()


@pytest.mark.extra("local")
def test_smollm2_writes_passages_and_phrasings(tmp_path):
    smollm2.load(NO_STORE)  # once per process
    model = SmolLM2Model(Store(str(tmp_path / "s")))
    search = replace(TABLETS, queries=("When are iron tablets taken?", "???"))
    made = hyde(model, max_tokens=6)
    [searched], latency_ms, changes, _ = made.expand(search, SPARSE)
    assert all(text.startswith(query) for text, query in zip(searched.queries, search.queries, strict=True))
    assert len(searched.queries[0].split()) > 5
    assert all(changes)
    assert (latency_ms > 1).all()
    assert hyde(model, max_tokens=6).expand(search, SPARSE)[0][0].queries == searched.queries
    assert hyde(model).max_tokens == 128
    short = replace(made, max_tokens=2).expand(search, SPARSE)
    assert len(short.searches[0].queries[0]) < len(searched.queries[0])


def test_a_refusal_in_words_is_counted_and_not_searched(tmp_path, capfd):
    with EndpointServer(lambda prompt, times: completion("I'm sorry, but I can't help with that.")) as server:
        model = OpenAIModel(model="model", base_url=server.url, store=Store(str(tmp_path / "s")))
        asked = replace(TABLETS, queries=("What stops pallor?", "What is zinc?", "What ends it?"))
        [search], *_ = hyde(model).expand(asked, SPARSE)
    assert search.queries == asked.queries
    assert "wrote nothing for 3 of 3 queries" in capfd.readouterr().err
