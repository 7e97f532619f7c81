"""What the configuration accepts, and what it says took effect."""

import pytest
from hydra import compose, initialize_config_dir

from ragsweep.config import PROJECT, build, check, nearest, portable, register_resolvers, took_effect
from ragsweep.errors import ConfigError
from ragsweep.retrieval import HybridRetriever, SparseRetriever


@pytest.fixture
def composed():
    """The configuration that the given overrides make."""
    register_resolvers()

    def make(*overrides):
        with initialize_config_dir(str(PROJECT / "conf"), version_base="1.3"):
            return compose("config", list(overrides))

    return make


def test_the_defaults_pass(composed):
    check(composed())


@pytest.mark.parametrize(
    "override",
    [
        "k=true",
        "retriever.alpha=.nan",
        "retriever.alpha=true",
        "retriever.sparse.b=2",
        "retriever.sparse.backend=lucene",
        "retriever.sparse.variant=bm25",
        "retriever.sparse.delta=-1",
        "seed=-1",
        "store.enabled=1",
        "store.max_gb=-1",
        "encoder.precision=fp64",
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_by_its_name(composed, override):
    name = override.partition("=")[0]
    with pytest.raises(ConfigError, match=f"^{name}: found .*, expected "):
        check(composed(override))


def test_what_a_users_own_class_takes_is_its_own_affair(composed):
    check(composed("retriever=sparse", "retriever._target_=theirs.Retriever", "retriever.b=12"))


def test_a_sweep_needs_f1_to_be_decided(composed):
    with pytest.raises(ConfigError, match="f1 is missing"):
        check(composed("~evaluation.metrics.f1"))


def test_settings_are_read_from_the_built_objects(composed):
    config = composed("retriever=sparse", "retriever.k1=0.9")
    settings = took_effect(config, {"retriever": SparseRetriever(store=None, k1=1.2)})
    assert settings["retriever.k1"] == 1.2


def test_a_shared_part_is_named_by_its_group(composed):
    config = composed("encoder.device=cpu")
    settings = took_effect(config, {"retriever": build(config.retriever, "retriever")})
    assert settings["encoder.device"] == "cpu"
    assert isinstance(build(config.retriever, "retriever"), HybridRetriever)


@pytest.mark.parametrize("retriever", ["dense", "hybrid"])
def test_the_index_is_named_by_its_group(composed, retriever):
    config = composed(f"retriever={retriever}", "index=hnsw", "index.m=7")
    settings = took_effect(config, {"retriever": build(config.retriever, "retriever")})
    assert {name: value for name, value in settings.items() if name.startswith("index")} == {
        "index": "HnswIndex",
        "index.m": 7,
        "index.ef_construction": 200,
        "index.ef_search": 128,
    }


def test_a_setting_that_alpha_leaves_no_say_is_not_logged(composed):
    config = composed("retriever.alpha=0")
    settings = took_effect(config, {"retriever": build(config.retriever, "retriever")})
    assert "retriever.sparse.k1" in settings
    assert not any(
        name.startswith(("encoder", "index", "retriever.dense", "retriever.candidates")) for name in settings
    )


@pytest.mark.parametrize(
    ("overrides", "logged"),
    [
        ([], {"backend", "epsilon"}),
        (["retriever.sparse.backend=bm25s"], {"backend", "variant"}),
        (["retriever.sparse.backend=bm25s", "retriever.sparse.variant=bm25+"], {"backend", "variant", "delta"}),
    ],
    ids=["rank_bm25", "lucene", "bm25+"],
)
def test_a_setting_of_another_bm25_is_not_logged(composed, overrides, logged):
    config = composed("retriever.alpha=0", *overrides)
    settings = took_effect(config, {"retriever": build(config.retriever, "retriever")})
    shared = {f"retriever.sparse.{name}" for name in ("k1", "b", "stop_words", "stemmer")}
    own = {f"retriever.sparse.{name}" for name in logged}
    assert {name for name in settings if name.startswith("retriever.sparse.")} == shared | own


def test_the_metrics_arguments_are_logged(composed):
    config = composed("evaluation.metrics.ndcg.gain=exponential")
    settings = took_effect(config, {"evaluation": config.evaluation})
    assert settings["evaluation.metrics.ndcg"] == "ragsweep.evaluation.ndcg(gain=exponential)"


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
