"""What the configuration accepts, and what it says took effect."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, get_origin

import pytest
from application import PROJECT
from composed_here import composed
from omegaconf import OmegaConf

from ragsweep.config.annotations import is_component, optional, signature_of, target_of
from ragsweep.config.walk import STORE, Walk
from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Between, mark_of
from ragsweep.core.project import CONF, conf_folders, options_of, portable
from ragsweep.experiment import Experiment
from ragsweep.models.encoders.model_files import MINILM
from ragsweep.retrieval import Ranker
from ragsweep.store.identity import PLAIN
from ragsweep.store.stage_store import Store

NEEDS_MORE = ("encoder=openai", "evaluation=spans", "query=abbreviations", "reranker=cross_encoder")  # files, extras
ASKING = (
    "ingest=questions",
    "ingest=summary",
    "ingest=context",
    "query=hyde",
    "query=multi",
    "reranker=llm",
)  # a language model
LOCAL = pytest.mark.extra("local")
NEEDS_MORE += ("retriever=returned", "retriever=run_file")


def named_targets(conf):
    """The classes and functions that the options in a folder name."""
    texts = [file.read_text() for file in conf.rglob("*.yaml") if "hydra" not in file.parts]
    return {name for text in texts for name in re.findall(r"_target_: ([\w.]+)", text)}


@pytest.mark.usefixtures("long_work")
def test_the_defaults_pass():
    Experiment.built(composed())


ONE_MORE_ENCODER = "+retriever.dense.encoder={_target_:ragsweep.retrieval.SentenceTransformerEncoder,batch_size:0}"


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("k={a:1}", "k: found {'a': 1}, expected "),
        ("k=null", "k: found null, expected "),
        ("k=2.5", "k: found 2.5, expected "),
        ("retriever.alpha=1.5", "retriever.alpha: found 1.5, expected less than or equal to 1"),
        ("evaluation.collapse=never", "evaluation.collapse: found 'never', expected after_cutoff or before_cutoff"),
        ("k=[1,2]", "k: found [1, 2], expected "),
        ("~k", "k: no value; set it with +k=VALUE"),
        ("evaluation.collapse={a:1}", "evaluation.collapse: found {'a': 1}, expected after_cutoff or before_cutoff"),
        ("evaluation.resamples=1000000000", "evaluation.resamples: found 1000000000, expected "),
        ("evaluation.metrics.f1=null", "evaluation.metrics.f1: found null, expected "),
        ("evaluation.metrics.ndcg.gain=cubic", "evaluation.metrics.ndcg.gain: found 'cubic', expected linear or"),
        ("~retriever", "retriever: nothing is chosen; expected one of "),
        ("~evaluation", "evaluation: nothing is chosen; expected one of "),
        ("~evaluation.collapse", "evaluation.collapse: no value; set it with +evaluation.collapse=VALUE"),
        ("+evaluation.gamma=1", "evaluation.gamma: no such setting (evaluation has"),
        ("+tracking.resum=true", "tracking.resum: no such setting (did you mean tracking.resume?)"),
        ("store=null", "store: found null, expected "),
        ("retriever.dense.encoder=null", "retriever.dense.encoder: found null, expected an Encoder"),
        ("retriever.dense=foo", "retriever.dense: found 'foo', expected a Ranker"),
        ("retriever.dense.encoder=foo", "retriever.dense.encoder: found 'foo', expected one of minilm, "),
        (ONE_MORE_ENCODER, "retriever.dense.encoder.batch_size: found 0, expected "),
        ("retriever._target_=5", "retriever._target_: found 5, expected "),
        (
            "retriever._target_=ragsweep.retrieval.HybridRetriver",
            "retriever: ragsweep.retrieval.HybridRetriver cannot ",
        ),
        ("dataset.name={a:1}", "dataset.name: found {'a': 1}, expected "),
        ("dataset.store=null", "dataset.store: found null, expected a Store"),
        ("retriever.sparse.k1=1" + 400 * "0", "retriever.sparse.k1: found 1000"),
        ("retriever.sparse.k1=1e308", "retriever.sparse.k1: found 1e+308, expected less than or equal to 1000000"),
        ("index=hnsw index.refine=1" + 20 * "0", "index.refine: found 1000"),
        ("+retriever._args_=[1]", "retriever._args_: no such setting"),
        ("retriever.dense.index=${retriever}", "retriever: refers to itself"),
    ],
)
def test_no_mapping_and_no_null_gets_round_a_rule(override, expected):
    with pytest.raises(ConfigError, match=f"^{re.escape(expected)}"):
        Experiment.built(composed(*override.split()))


@dataclass(frozen=True)
class Asking:
    """A task as a user would write it: it takes several rankers, and has a default."""

    rankers: Sequence[Ranker]
    store: Store
    threshold: Annotated[float, Between(0, 1)] = 0.5


def asking(**settings):
    ranker = {"_target_": "ragsweep.retrieval.SparseRetriever", "store": "${store}"}
    task = {"_target_": f"{__name__}.Asking", "rankers": [ranker, {**ranker, "b": 0.5}], "store": "${store}"}
    return OmegaConf.merge({**composed(), "task": {}}, {"task": {**task, **settings}})


@pytest.mark.usefixtures("long_work")
def test_a_number_as_a_name_is_refused():
    config = composed("retriever=fused")
    OmegaConf.update(config, "retriever.rankers", {1: 0.5}, force_add=True)
    with pytest.raises(ConfigError, match=r"^retriever\.rankers\.1: found 1 as a name, expected a string"):
        Experiment.built(config)


class Hidden:
    """Keeps a component under another name."""

    def __init__(self, parts):
        self._parts = parts


@dataclass
class Part:
    """A component of a user's."""

    b: int


def settings_of(name, node):
    """The settings that a component which stands alone uses."""
    walk = Walk(OmegaConf.create({"seed": 3, "store": {"_target_": STORE, "path": "x"}, name: node}))
    walk.build(name)
    return walk.settings_of(name)


def test_a_component_that_is_kept_under_another_name_counts_by_its_class():
    parts = [{"_target_": f"{__name__}.Part", "b": 1}]
    settings = settings_of("retriever", {"_target_": f"{__name__}.Hidden", "parts": parts})
    assert settings["retriever.parts.0"] == f"{__name__}.Part"
    assert settings["retriever.parts.0.b"] == 1


@pytest.mark.usefixtures("long_work")
def test_a_default_of_a_task_need_not_be_in_the_configuration():
    walk = Walk(asking())
    task = walk.build("task")
    assert task.threshold == 0.5
    assert [ranker.b for ranker in task.rankers] == [0.75, 0.5]
    with pytest.raises(ConfigError, match=r"^task\.threshold: found 2, expected less than or equal to 1"):
        Walk(asking(threshold=2)).build("task")


@pytest.mark.usefixtures("long_work")
def test_every_component_in_a_list_is_checked():
    wrong = [{"_target_": "ragsweep.retrieval.SparseRetriever", "b": 7}]
    with pytest.raises(ConfigError, match=r"^task\.rankers\.0\.b: found 7, expected less than or equal to 1"):
        Walk(asking(rankers=wrong)).build("task")


@pytest.mark.usefixtures("long_work")
def test_k_may_not_be_larger_than_the_candidates():
    with pytest.raises(ConfigError, match=r"^retriever\.candidates: found 100, expected at least k \(500\)"):
        Experiment.of(composed("k=500"))


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("alpha", [0, 0.5])
def test_the_candidates_of_a_hybrid_within_another_count(alpha):
    config = composed("k=5", f"retriever.alpha={alpha}")
    OmegaConf.update(config, "retriever.sparse", {**config.retriever, "alpha": 0.5, "candidates": 1}, merge=False)
    with pytest.raises(ConfigError, match=r"^retriever\.sparse\.candidates: found 1, expected at least k \(5\)"):
        Experiment.of(config)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    "overrides",
    [
        "k=100",
        "k=500 retriever.alpha=1",
        "k=500 retriever.candidates=null",
        "k=500 index=hnsw retriever=sparse",
        "k=500 index=hnsw retriever.alpha=0",
    ],
)
def test_k_may_be_as_large_as_the_candidates(overrides):
    Experiment.of(composed(*overrides.split()))


@pytest.mark.usefixtures("long_work")
def test_whatever_larger_parts_are_returned_the_documents_are_loaded_once():
    passage, window, page = (Experiment.of(composed(f"returns={name}")).items for name in ("passage", "window", "page"))
    assert window is page
    assert page.documents
    assert not passage.documents


@pytest.mark.usefixtures("long_work")
def test_a_sweep_is_decided_by_a_metric_that_is_measured():
    with pytest.raises(ConfigError, match=r"^decision\.metric: found 'ndcg', expected a metric that is measured: "):
        Experiment.of(composed("~evaluation.metrics.ndcg"))


def used(config):
    """The settings that a run really uses."""
    return dict(Experiment.built(config).settings)


@dataclass
class Doubled:
    """Makes something else of its setting."""

    size: int

    def __post_init__(self):
        self.size *= 2


def test_settings_are_read_from_the_built_objects():
    assert settings_of("retriever", {"_target_": f"{__name__}.Doubled", "size": 2})["retriever.size"] == 4


@pytest.mark.usefixtures("long_work")
def test_what_refers_to_a_group_is_built_once_and_named_like_the_group():
    walk = Walk(composed("reranker=mmr", "encoder.device=cpu"))
    task = walk.build("task")
    assert task.reranker.encoder is task.retriever.dense.encoder
    assert {path for path in walk.settings if path.endswith("encoder.device")} == {"encoder.device"}
    assert walk.parts["encoder"] is task.reranker.encoder


@pytest.mark.usefixtures("long_work")
def test_two_encoders_in_one_retriever_keep_their_settings_apart():
    settings = used(composed("retriever=three_way"))
    assert (settings["encoder.model"], settings["retriever.rankers.static.encoder.model"]) == (MINILM, "wordllama")


@pytest.mark.usefixtures("long_work")
def test_an_option_given_by_its_name_that_is_the_chosen_one_is_that():
    assert used(composed("retriever=three_way", "retriever.rankers.static.encoder=minilm")) == used(
        composed("retriever=three_way", "retriever.rankers.static.encoder=${encoder}")
    )


@pytest.mark.usefixtures("long_work")
def test_a_setting_that_has_no_effect_at_this_alpha_is_not_logged():
    settings = used(composed("retriever.alpha=0"))
    assert "retriever.sparse.k1" in settings
    absent = ("encoder", "index", "retriever.dense", "retriever.candidates")
    assert not any(name.startswith(absent) for name in settings)


@pytest.mark.parametrize("value", ["None", "1", "linear, x=1", "[1]", "a'b"])
def test_a_text_is_told_from_what_it_reads_like(value):
    node = {"_target_": "builtins.dict", "metric": {"_target_": "builtins.dict", "_partial_": True, "gain": value}}
    assert settings_of("retriever", node)["retriever.metric"] == f"builtins.dict(gain={value!r})"


class Shadowed:
    """Keeps a setting under another name; that of its class is not the setting."""

    mode = "auto"
    size = property(lambda self: 2 * self._size)

    def __init__(self, mode, size):
        self._mode, self._size = mode, size


def test_an_attribute_of_the_class_is_not_the_setting():
    settings = settings_of("retriever", {"_target_": f"{__name__}.Shadowed", "mode": "first", "size": 3})
    assert settings == {"retriever": f"{__name__}.Shadowed", "retriever.mode": "first", "retriever.size": 6}


class Letters:
    """Names one setting as a text, whose letters would be names."""

    without_effect = "store"

    def __init__(self, store):
        self.store = store


def test_a_text_in_place_of_names_is_refused():
    with pytest.raises(ConfigError, match=r"Letters\.without_effect: found the text 'store', expected names"):
        settings_of("retriever", {"_target_": f"{__name__}.Letters", "store": "x"})


class Several:
    """A retriever of a user's, made of others."""

    def __init__(self, parts, store, weights):
        self.parts, self.store, self.weights = parts, store, {1: object()}


def test_parts_in_a_list_are_named_by_their_places():
    chunker = {"_target_": "ragsweep.datasets.RecursiveChunker", "overlap": 0}
    parts = [{**chunker, "size": size} for size in (9, 8)]
    node = {"_target_": f"{__name__}.Several", "parts": parts, "store": "redis", "weights": [1, 2]}
    assert settings_of("retriever", node) == {
        "retriever": f"{__name__}.Several",
        "retriever.parts.0": "RecursiveChunker",
        "retriever.parts.0.overlap": 0,
        "retriever.parts.0.size": 9,
        "retriever.parts.1": "RecursiveChunker",
        "retriever.parts.1.overlap": 0,
        "retriever.parts.1.size": 8,
        "retriever.store": "redis",  # only our own store decides no number
        "retriever.weights": [1, 2],  # what the object has made of it has no words
    }


OPTIONS = [
    pytest.param(f"{group}={option}", marks=[LOCAL] if f"{group}={option}" in ASKING else [])
    for group in "chunker dynamic_k encoder evaluation fusion index ingest query reranker retriever returns".split()
    for option in options_of(group)
    if (CONF / group / f"{option}.yaml").is_file() and f"{group}={option}" not in NEEDS_MORE
]


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("option", OPTIONS)
def test_every_plain_setting_of_a_used_component_has_the_path_where_it_is_written(option):
    """And nothing else is there but what objects say of the content of files."""
    config = composed(option, *(["retriever=dense"] if option.startswith("index") else []))
    walk = Walk(config)
    walk.build("task")
    settings = {path: value for path, value in walk.settings.items() if not path.endswith(".fingerprint")}
    for path, value in settings.items():
        assert OmegaConf.select(config, path, default="absent") != "absent", path
        node = OmegaConf.select(config, path)
        assert OmegaConf.is_config(node) or value == portable(node) or node is None or path in walk.parts, path
    for path, part in walk.parts.items():
        node = OmegaConf.select(config, path)
        without_effect = {"store", *getattr(part, "without_effect", ())}
        for key in [key for key in node if not str(key).startswith("_") and key not in without_effect]:
            if not OmegaConf.is_interpolation(node, key) and isinstance(node[key], PLAIN):
                assert f"{path}.{key}" in settings


def test_a_path_inside_the_project_is_told_relative_to_it():
    assert portable({"at": f"{PROJECT}/data/x", "uri": f"sqlite:///{PROJECT}/mlruns/db"}) == {
        "at": "data/x",
        "uri": "sqlite:///mlruns/db",
    }


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["retriever=three_way", "reranker=mmr"],
        pytest.param(["retriever=routed", "query=multi"], marks=LOCAL),
    ],
)
def test_every_part_of_a_configuration_is_visited_once(overrides):
    config = composed(*overrides)
    visited = []

    def note(frame, event, _):
        if event == "call" and frame.f_code is Walk._own.__code__:
            visited.append(frame.f_locals["path"])

    sys.setprofile(note)
    try:
        experiment = Experiment.built(config)
    finally:
        sys.setprofile(None)
    assert len(visited) == len({*visited}) > 50
    assert {path for path in experiment.settings if not path.endswith(".fingerprint")} <= {*visited}


def test_what_a_setting_names_is_known_by_its_annotation():
    """A new class must not forget the mark, without which a record could choose a model, a server or a key."""
    telling = re.compile(r"model|tokenizer|(base_)?ur[li]|headers\w*|\w*_env|call")
    unmarked = []
    for target in {name for conf in conf_folders() for name in named_targets(conf) if not name.startswith("hydra")}:
        for name, parameter in signature_of(target_of(target)).parameters.items():
            plain = not is_component(optional(parameter.hint)) and get_origin(parameter.hint) is not Literal
            if telling.fullmatch(name) and plain and not mark_of(parameter.hint):
                unmarked.append(f"{target}.{name}")
    assert unmarked == []
