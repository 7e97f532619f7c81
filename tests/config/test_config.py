"""What the configuration accepts, and what it says took effect."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import pytest
from application import PROJECT
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from ragsweep.config.checking import build, build_around, check
from ragsweep.config.components import digests_of_others, nearest
from ragsweep.config.used_settings import effective_settings, short_paths
from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Between
from ragsweep.core.project import portable, register_resolvers
from ragsweep.datasets import RecursiveChunker
from ragsweep.experiment import GROUPS_OF_NO_TASK, Experiment
from ragsweep.models.encoders.model_files import MINILM
from ragsweep.retrieval import Ranker, SparseRetriever
from ragsweep.store.stage_store import Store


@pytest.fixture
def composed():
    """The configuration that the given overrides make."""
    register_resolvers()

    def make(*overrides):
        with initialize_config_dir(str(PROJECT / "conf"), version_base="1.3"):
            return compose("config", list(overrides))

    return make


@pytest.mark.usefixtures("long_work")
def test_the_defaults_pass(composed):
    check(composed(), GROUPS_OF_NO_TASK)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    "override",
    [
        "k=true",
        "retriever.alpha=.nan",
        "retriever.sparse.b=2",
        "retriever.sparse.backend=lucene",
        "store.enabled=1",
        "encoder.precision=fp64",
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_by_its_name(composed, override):
    name = override.partition("=")[0]
    with pytest.raises(ConfigError, match=f"^{name}: found .*, expected "):
        check(composed(override), GROUPS_OF_NO_TASK)


ONE_MORE_ENCODER = "+retriever.dense.encoder={_target_:ragsweep.retrieval.SentenceTransformerEncoder,batch_size:0}"


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("k={a:1}", "k: found {'a': 1}, expected a whole number from 1 to 1000"),
        ("k=null", "k: found null, expected"),
        ("k=2.5", "k: found 2.5, expected a whole number from 1 to 1000"),
        ("retriever.alpha=1.5", "retriever.alpha: found 1.5, expected a number from 0 to 1"),
        ("evaluation.collapse=never", "evaluation.collapse: found 'never', expected after_cutoff or before_cutoff"),
        ("k=[1,2]", "k: found [1, 2], expected"),
        ("~k", "k: found null, expected"),
        ("evaluation.collapse={a:1}", "evaluation.collapse: found {'a': 1}, expected after_cutoff or before_cutoff"),
        (
            "evaluation.resamples=1000000000",
            "evaluation.resamples: found 1000000000, expected a whole number from 100",
        ),
        ("evaluation.metrics.f1=null", "evaluation.metrics.f1: found null, expected a mapping with _target_"),
        ("evaluation.metrics.ndcg.gain=cubic", "evaluation.metrics.ndcg.gain: found 'cubic', expected linear or"),
        ("~retriever", "retriever: found null, expected a mapping with _target_"),
        ("~evaluation", "evaluation.collapse: found null"),
        ("+evaluation.gamma=1", "evaluation.gamma: no such setting (evaluation has"),
        ("+tracking.resum=true", "tracking.resum: no such setting (did you mean tracking.resume?)"),
        ("store=null", "store: found null"),
        ("retriever.dense.encoder=null", "retriever.dense.encoder: found null, expected the settings of an Encoder"),
        ("retriever.dense=foo", "retriever.dense: found 'foo', expected one of "),
        (ONE_MORE_ENCODER, "retriever.dense.encoder.batch_size: found 0, expected a whole number of at least 1"),
        ("retriever._target_=5", "retriever: found {"),
        ("dataset.name={a:1}", "dataset.name: found {'a': 1}, expected a string"),
        ("dataset.store=null", "dataset.store: found null, expected the settings of a Store"),
        ("retriever.sparse.k1=1" + 400 * "0", "retriever.sparse.k1: found 1000"),
        ("retriever.sparse.k1=1e308", "retriever.sparse.k1: found 1e+308, expected a number from 0 to 1000000"),
        ("index=hnsw index.ef_search=1" + 20 * "0", "index.ef_search: found 1000"),
    ],
)
def test_no_mapping_and_no_null_gets_round_a_rule(composed, override, expected):
    with pytest.raises(ConfigError, match=f"^{re.escape(expected)}"):
        check(composed(*override.split()), GROUPS_OF_NO_TASK)


@dataclass(frozen=True)
class Asking:
    """A task as a user would write it: it takes several rankers, and has a default."""

    rankers: Sequence[Ranker]
    store: Store
    threshold: Annotated[float, Between(0, 1)] = 0.5


def asking(composed, **settings):
    ranker = {"_target_": "ragsweep.retrieval.SparseRetriever", "store": "${store}"}
    task = {"_target_": f"{__name__}.Asking"}
    more = {"task": task, "rankers": [ranker, {**ranker, "b": 0.5}], **settings}
    return OmegaConf.merge({name: value for name, value in composed().items() if name != "task"}, more)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    ("attribute", "value", "message"),
    [
        ("without_effect", "alpha", "without_effect: found a str, expected a tuple or list or set or frozenset"),
        ("without_effect", property(lambda self: 1 / 0), r"without_effect: cannot be read \(division by zero\)"),
        ("at_least", ["k"], "at_least: found a list, expected a dict"),
    ],
)
def test_what_a_component_says_of_itself_is_checked(composed, monkeypatch, attribute, value, message):
    monkeypatch.setattr(SparseRetriever, attribute, value, raising=False)
    with pytest.raises(ConfigError, match=f"SparseRetriever.{message}"):
        Experiment.of(composed("retriever=sparse"))


@pytest.mark.usefixtures("long_work")
def test_a_number_as_a_name_is_refused(composed):
    config = composed()
    OmegaConf.update(config, "retriever.weights", {1: 0.5}, force_add=True)
    with pytest.raises(ConfigError, match=r"^retriever\.weights\.1: found 1 as a name, expected a string"):
        check(config, GROUPS_OF_NO_TASK)


@pytest.mark.usefixtures("long_work")
def test_the_code_of_a_component_in_a_list_counts(composed):
    config = asking(composed, rankers=[{"_target_": "simulated.alike"}])
    assert "simulated.alike" in digests_of_others(config)


class Hidden:
    """Keeps a component under another name."""

    def __init__(self, parts):
        self._parts = parts


def test_a_component_that_is_kept_under_another_name_counts_by_its_target():
    node = OmegaConf.create({"parts": [{"_target_": "theirs.Part", "b": 1}]})
    settings = effective_settings(OmegaConf.create({"retriever": node}), {"retriever": Hidden(["built"])})
    assert settings["retriever.parts.0"] == "theirs.Part"


@pytest.mark.usefixtures("long_work")
def test_a_default_of_a_task_need_not_be_in_the_configuration(composed):
    config = check(asking(composed), GROUPS_OF_NO_TASK)
    task = build_around(config, "task")
    assert task.threshold == 0.5
    assert [ranker.b for ranker in task.rankers] == [0.75, 0.5]
    with pytest.raises(ConfigError, match=r"^threshold: found 2, expected a number from 0 to 1"):
        check(asking(composed, threshold=2), GROUPS_OF_NO_TASK)


@pytest.mark.usefixtures("long_work")
def test_every_component_in_a_list_is_checked(composed):
    wrong = [{"_target_": "ragsweep.retrieval.SparseRetriever", "b": 7}]
    with pytest.raises(ConfigError, match=r"^rankers\.0\.b: found 7, expected a number from 0 to 1"):
        check(asking(composed, rankers=wrong), GROUPS_OF_NO_TASK)


@pytest.mark.usefixtures("long_work")
def test_k_may_not_be_larger_than_the_candidates(composed):
    with pytest.raises(ConfigError, match=r"^retriever\.candidates: found 100, expected at least k \(500\)"):
        Experiment.of(composed("k=500"))


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("alpha", [0, 0.5])
def test_the_candidates_of_a_hybrid_within_another_count(composed, alpha):
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
def test_k_may_be_as_large_as_the_candidates(composed, overrides):
    Experiment.of(composed(*overrides.split()))


@pytest.mark.usefixtures("long_work")
def test_whatever_larger_parts_are_returned_the_documents_are_loaded_once(composed):
    passage, window, page = (Experiment.of(composed(f"returns={name}")).items for name in ("passage", "window", "page"))
    assert window is page
    assert page.documents
    assert not passage.documents


@pytest.mark.usefixtures("long_work")
def test_what_a_users_own_class_does_not_annotate_is_not_checked(composed):
    check(composed("retriever=sparse", "retriever._target_=theirs.Retriever", "retriever.b=12"), GROUPS_OF_NO_TASK)


@pytest.mark.usefixtures("long_work")
def test_a_sweep_is_decided_by_a_metric_that_is_measured(composed):
    with pytest.raises(ConfigError, match=r"^decision\.metric: found 'ndcg', expected a metric that is measured: "):
        Experiment.of(composed("~evaluation.metrics.ndcg"))


def used(config, *names):
    """The settings that these parts of a configuration really use, by their paths and by their short names."""
    config = check(config, GROUPS_OF_NO_TASK)
    settings = effective_settings(config, {name: build(config[name], name) for name in names})
    names = short_paths(settings, config)
    return settings, {names[path]: value for path, value in settings.items()}


@pytest.mark.usefixtures("long_work")
def test_settings_are_read_from_the_built_objects(composed):
    config = composed("retriever=sparse", "retriever.k1=0.9")
    settings = effective_settings(config, {"retriever": SparseRetriever(store=None, k1=1.2)})
    assert settings["retriever.k1"] == 1.2


@pytest.mark.usefixtures("long_work")
def test_a_shared_part_is_shown_by_its_group(composed):
    by_path, shown = used(composed("encoder.device=cpu"), "retriever")
    assert by_path["retriever.dense.encoder.device"] == shown["encoder.device"] == "cpu"
    assert len(by_path) == len(shown)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("retriever", ["dense", "hybrid"])
def test_the_index_is_shown_by_its_group(composed, retriever):
    _, shown = used(composed(f"retriever={retriever}", "index=hnsw", "index.m=7"), "retriever")
    assert {name: value for name, value in shown.items() if name.startswith("index")} == {
        "index": "HnswIndex",
        "index.m": 7,
        "index.ef_construction": 200,
        "index.ef_search": 128,
    }


ANOTHER_DENSE = {
    "_target_": "ragsweep.retrieval.DenseRetriever",
    "store": "${store}",
    "encoder": {"_target_": "ragsweep.retrieval.SentenceTransformerEncoder", "model": MINILM, "device": "cpu"},
}


@pytest.mark.usefixtures("long_work")
def test_two_encoders_in_one_retriever_keep_their_settings_apart(composed):
    config = composed("encoder.device=cpu", "index=hnsw")
    config.retriever.sparse = ANOTHER_DENSE
    settings, shown = used(config, "retriever")
    assert settings["retriever.dense.encoder.model"] == settings["retriever.sparse.encoder.model"] == MINILM
    assert settings.items() >= {"retriever.dense.index.m": 32, "retriever.dense.encoder.device": "cpu"}.items()
    assert {"retriever.dense.encoder.model", "retriever.sparse.encoder.model", "index.m"} <= shown.keys()
    assert "encoder.model" not in shown


@pytest.mark.usefixtures("long_work")
def test_a_setting_that_has_no_effect_at_this_alpha_is_not_logged(composed):
    settings, shown = used(composed("retriever.alpha=0"), "retriever")
    assert "retriever.sparse.k1" in settings
    absent = ("encoder", "index", "retriever.dense", "retriever.candidates")
    assert not any(name.startswith(absent) for name in [*settings, *shown])


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    ("overrides", "logged"),
    [
        ([], {"backend", "epsilon"}),
        (["retriever.sparse.backend=bm25s"], {"backend"}),
    ],
    ids=["rank_bm25", "bm25s"],
)
def test_a_setting_of_another_bm25_is_not_logged(composed, overrides, logged):
    settings, _ = used(composed("retriever.alpha=0", *overrides), "retriever")
    shared = {f"retriever.sparse.{name}" for name in ("k1", "b", "stop_words", "stemmer", "score_threshold")}
    own = {f"retriever.sparse.{name}" for name in logged}
    assert {name for name in settings if name.startswith("retriever.sparse.")} == shared | own


@pytest.mark.usefixtures("long_work")
def test_the_metrics_arguments_are_logged(composed):
    config = composed("evaluation.metrics.ndcg.gain=exponential")
    settings = effective_settings(config, {"evaluation": config.evaluation})
    assert settings["evaluation.metrics.ndcg"] == "ragsweep.evaluation.ndcg(gain=exponential)"


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("value", ["None", "1", "linear, x=1", "[1]", "a'b"])
def test_a_text_is_told_from_what_it_reads_like(composed, value):
    def logged(given):
        config = composed()
        OmegaConf.update(config, "evaluation.metrics.ndcg.gain", given)
        return effective_settings(config, {"evaluation": config.evaluation})["evaluation.metrics.ndcg"]

    assert logged(value) == f"ragsweep.evaluation.ndcg(gain={value!r})"


@pytest.mark.usefixtures("long_work")
def test_the_code_of_what_hydra_hands_on_counts(composed):
    handed = "{_target_: hydra.utils.get_method, path: small.arguments}"
    assert "small.arguments" in digests_of_others(composed(f"+evaluation.metrics.other={handed}"))


class Shadowed:
    """Keeps a setting under another name; that of its class is not the setting."""

    mode = "auto"
    size = property(lambda self: 2 * self._size)

    def __init__(self, mode, size):
        self._mode, self._size = mode, size


def test_an_attribute_of_the_class_is_not_the_setting():
    config = OmegaConf.create({"retriever": {"mode": "first", "size": 3}})
    settings = effective_settings(config, {"retriever": Shadowed("first", 3)})
    assert settings == {"retriever.mode": "first", "retriever.size": 6}


@pytest.mark.usefixtures("long_work")
def test_positional_arguments_of_a_metric_are_logged(composed):
    config = composed("+evaluation.metrics.ndcg._args_=[3]")
    settings = effective_settings(config, {"evaluation": config.evaluation})
    assert "_args_=[3]" in settings["evaluation.metrics.ndcg"]


class Several:
    """A retriever of a user's, made of others."""

    def __init__(self, parts, store, weights):
        self.parts, self.store, self.weights = parts, store, {1: object()}


def test_parts_in_a_list_are_named_by_their_places():
    parts = [{"_target_": "ragsweep.datasets.RecursiveChunker", "size": size, "overlap": 0} for size in (9, 8)]
    config = OmegaConf.create({"retriever": {"parts": parts, "store": "redis", "weights": [1, 2]}})
    built = Several([RecursiveChunker(9, 0), RecursiveChunker(8, 0)], "redis", [1, 2])
    assert effective_settings(config, {"retriever": built}) == {
        "retriever.parts.0": "RecursiveChunker",
        "retriever.parts.0.overlap": 0,
        "retriever.parts.0.size": 9,
        "retriever.parts.1": "RecursiveChunker",
        "retriever.parts.1.overlap": 0,
        "retriever.parts.1.size": 8,
        "retriever.store": "redis",  # only our own store decides no number
        "retriever.weights": [1, 2],  # what the object has made of it has no words
    }


def test_a_path_that_only_contains_the_projects_is_left_alone():
    assert portable(f"/mnt{PROJECT}/data") == f"/mnt{PROJECT}/data"


def test_a_path_inside_the_project_is_told_relative_to_it():
    assert portable({"at": f"{PROJECT}/data/x", "uri": f"sqlite:///{PROJECT}/mlruns/db"}) == {
        "at": "data/x",
        "uri": "sqlite:///mlruns/db",
    }


def test_the_nearest_name_is_offered():
    assert nearest("retriever.alhpa", ["retriever.alpha", "k"]) == " (did you mean retriever.alpha?)"


def test_without_a_near_name_the_neighbours_are_listed():
    assert nearest("retriever.zzz", ["retriever.alpha", "retriever.b"]) == " (retriever has alpha, b)"
