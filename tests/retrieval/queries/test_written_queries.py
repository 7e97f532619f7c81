"""Queries that a language model writes: of an endpoint, over HTTP, and of SmolLM2."""

from dataclasses import replace
from typing import ClassVar

import pytest
from application import PROJECT
from endpoint_server import EndpointServer, completion, defaults_of
from omegaconf import OmegaConf
from rankings import SPARSE

from ragsweep.core.digest import digest
from ragsweep.retrieval import (
    OpenAIModel,
    PipelineRetriever,
    Search,
    SmolLM2Model,
    TransformersModel,
    WeightedSum,
    WrittenQuery,
    rank,
)
from ragsweep.store.identity import identity
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.testing import ExpanderContract
from ragsweep.testing.component import SEARCH

pytestmark = [pytest.mark.extra("openai"), pytest.mark.usefixtures("secret_key")]
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


def serve():
    with EndpointServer(write) as server:
        yield server


shared = pytest.fixture(scope="module")(serve)
server = pytest.fixture(serve)


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


def test_what_is_written_finds_what_the_query_does_not(model):
    assert (rank(SPARSE, TABLETS, 3).passages == -1).all()
    ranking = rank(PipelineRetriever(SPARSE, hyde(model)), TABLETS, 3)
    assert ranking.passages[0, 0] == 1
    assert ranking.latency_ms[0] >= 1  # a request takes its time


def test_phrasings_are_the_lines_without_marks_and_without_the_query(model):
    texts = ["Iron against What stops pallor?", "Folic acid, What stops pallor?", "Zinc"]
    for place, expected in (("beside", ["What stops pallor?", *texts]), ("instead", texts)):
        searches, _, changes, _ = multi(model, place=place).expand(TABLETS, SPARSE)
        assert [search.queries[0] for search in searches] == expected
        assert changes == ("11 words by the model",)


def test_the_query_stands_for_phrasings_that_are_missing(model, server):
    server.reply = lambda prompt, times: completion("Only one" if "pallor" in prompt else "")
    search = replace(TABLETS, queries=("pallor", "zinc"))
    searches, _, changes, _ = multi(model, lines=2).expand(search, SPARSE)
    assert [searched.queries for searched in searches] == [("pallor", "zinc"), ("Only one", "zinc"), ("pallor", "zinc")]
    assert changes == ("2 words by the model", "")


def test_a_run_without_a_store_pays_once(model, server):
    """A pipeline expands queries for the ranking, for the table of queries and to explain."""
    pipeline = PipelineRetriever(SPARSE, hyde(replace(model, store=NO_STORE)))
    rank(pipeline, TABLETS, 3)
    assert "Iron" in pipeline.details(TABLETS)["searched"][0]
    assert len(server.requests) == 1


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
    assert len({digest(identity(variant)) for variant in variants}) == len(variants)
    same = [replace(made, language_model=replace(model, concurrency=1, timeout_s=1)), made]
    assert len({digest(identity(variant)) for variant in same}) == 1


CHANGES = {"model": "other", "base_url": "http://127.0.0.1:1/v1", "temperature": 1.0, "seed": 1}


SHIPPED = {
    "query/hyde": WrittenQuery,
    "language_model/openai": OpenAIModel,
    "language_model/smollm2": SmolLM2Model,
    "language_model/transformers": TransformersModel,
}


def test_the_shipped_configuration_has_every_setting_and_its_default():
    for file, component in SHIPPED.items():
        node = OmegaConf.to_container(OmegaConf.load(PROJECT / f"conf/{file}.yaml"), resolve=False)
        assert node.pop("_target_") == f"ragsweep.retrieval.{component.__name__}"
        defaults = defaults_of(component)
        assert {*node} == {*defaults}
        plain = {name: value for name, value in node.items() if value != "???" and "$" not in str(value)}
        plain.pop("prompt", None)  # it has no default
        assert plain.items() <= defaults.items()


@pytest.mark.extra("local")
def test_smollm2_writes_passages_and_phrasings(tmp_path):
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
