"""A configuration from a tracking store is data: nothing in it may run, read the environment or leave the project."""

import copy
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pytest
import yaml
from application import PROJECT
from composed_here import composed
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from ragsweep.config.configuration_walk import as_recorded
from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Code, mark_of
from ragsweep.core.project import portable
from ragsweep.experiment import Experiment
from ragsweep.models.encoders.model_files import MINILM
from ragsweep.replay import trusted_record
from ragsweep.replay.recorded_experiment import returning
from ragsweep.replay.trusted_record import RecordCheck, is_configured, keys_of, trusted
from ragsweep.retrieval import SparseRetriever


@pytest.fixture(scope="module")
def today():
    return composed()


@pytest.fixture(scope="module")
def logged(today):
    """What a run of the bundled dataset logs, as a value."""
    return portable(as_recorded(today))


def changed(logged, name, value):
    """The record with another value, in a copy of its own where a shared group stands by reference."""
    recorded = copy.deepcopy(logged)
    node = recorded
    *groups, last = name.split(".")
    for group in groups:
        if isinstance(node[group], str) and node[group].startswith("${"):
            node[group] = copy.deepcopy(recorded[node[group][2:-1]])
        node = node[group]
    node[last] = value
    return yaml.safe_dump(recorded, sort_keys=False)


def refusal(text, today, given=(), modules=()):
    """Why a record is refused; empty if it is not."""
    try:
        trusted(text, today, dict(given), modules)
    except ConfigError as error:
        return str(error)
    return ""


def to_name(text, today, given=()):
    """What has to be named to allow a record."""
    return refusal(text, today, given).partition("; to allow, add: ")[2].split()


def record_of(*overrides):
    return yaml.safe_dump(portable(as_recorded(composed(*overrides))), sort_keys=False)


@pytest.mark.usefixtures("long_work")
def test_what_we_log_is_trusted_and_means_the_same_in_this_clone(logged, today):
    config = trusted(yaml.safe_dump(logged), today, {}, ())
    assert Experiment.of(config).settings == Experiment.of(today).settings
    assert not Path(logged["dataset"]["documents"]).is_absolute()
    assert config.dataset.documents.startswith(str(PROJECT))


class Mine(SparseRetriever):
    pass


@dataclass(frozen=True)
class Answers:
    """A task as a user would write it, with a group of its own."""

    answerer: SparseRetriever
    threshold: float = 0.5


@pytest.mark.usefixtures("long_work")
def test_a_task_of_a_user_takes_its_own_groups_from_the_record(logged, today):
    answerer = {"_target_": f"{__name__}.Mine", "b": 0.5}
    task = {"_target_": f"{__name__}.Answers", "answerer": "${answerer}", "threshold": "${threshold}"}
    recorded = {"task": task, "answerer": answerer, "threshold": 0.25, "dataset": {"_target_": "os.system"}}
    recorded["decision"] = {"metric": "accuracy", "gains": []}
    trusts = trusted(yaml.safe_dump(recorded), today, {}, [__name__])
    assert (trusts.answerer, trusts.threshold, "dataset" in trusts) == (answerer, 0.25, False)
    assert (trusts.decision.metric, trusts.decision.gains) == ("accuracy", [])
    answerer["_target_"] = "ragsweep.retrieval.SparseRetriever"
    assert re.match(r"task\._target_: .* may not be built from a record", refusal(yaml.safe_dump(recorded), today))


def test_only_what_the_users_yaml_really_names_is_allowed(tmp_path, monkeypatch):
    group = tmp_path / "conf" / "retriever"
    group.mkdir(parents=True)
    (group / "mine.yaml").write_text('# was: _target_: theirs.Old\n_target_: "theirs.Quoted"\n')
    (group / "latin.yaml").write_bytes(b"# \xff\n_target_: theirs.Latin\n")
    (group / "broken.yaml").write_text("_target_: [theirs.Broken")
    monkeypatch.setenv("RAGSWEEP_PROJECT", str(tmp_path))
    is_configured.cache_clear()
    try:
        named = {"theirs.Quoted": True, "theirs.Latin": True, "theirs.Old": False, "theirs.Broken": False}
        assert {target: is_configured(target) for target in named} == named
    finally:
        is_configured.cache_clear()


HOSTILE = {
    "another module": ("retriever._target_", "os.system"),
    "a module that ours imports": ("retriever._target_", "ragsweep.store.stage_store.shutil.rmtree"),
    "what ours imports from elsewhere": ("retriever._target_", "ragsweep.models.encoders.model_files.Path"),
    "one of ours that is no part of a configuration": ("retriever._target_", "ragsweep.app.cli.run"),
    "a module named like ours": ("dataset._target_", "ragsweep.datasets_of_others.Evil"),
    "hydra's own": ("evaluation.metrics.f1._target_", "hydra.utils.get_method"),
    "a target deep inside": ("retriever.dense.encoder._target_", "subprocess.Popen"),
    "a new node": ("dataset.documents", {"_target_": "builtins.exec", "_args_": ["raise SystemExit"]}),
    "a list of nodes": ("dataset.documents", [{"_target_": "builtins.eval", "_args_": ["1"]}]),
    "the environment": ("dataset.name", "${oc.env:HOME}"),
    "the environment in a key": ("dataset.name", {"${oc.env:HOME}": "x"}),
    "part of an interpolation": ("dataset.documents", "data/${oc.env:USER}"),
    "an absolute path": ("dataset.documents", "/etc"),
    "a path upwards": ("dataset.documents", "../../secrets"),
    "a path upwards from inside": ("dataset.documents", "data/../../secrets"),
    "a home": ("dataset.queries", "~/secrets.json"),
    "a model elsewhere": ("encoder.model", "/tmp/model"),
    "a model elsewhere, inside the retriever": ("retriever.dense.encoder.model", "/tmp/model"),
    "a model of a package": ("encoder.model", "wordllama"),
    "a model of the hub": ("encoder.model", "evil/model"),
    "a model of the hub without a group": ("encoder.model", "evil"),
    "a model of the hub, inside the retriever": ("retriever.dense.encoder.model", "evil/model"),
    "a model inside the project": ("encoder.model", "mlruns/artifacts/evil"),
    "arguments by position": ("retriever._args_", [1]),
    "a partial retriever": ("retriever._partial_", True),
    "another conversion": ("retriever._convert_", "object"),
    "nodes that are not built": ("retriever._recursive_", False),
    "a metric that is called at once": ("evaluation.metrics.f1._partial_", False),
    "a function of ours as a retriever": ("retriever._target_", "ragsweep.evaluation.evaluate"),
    "a metric as a retriever": ("retriever._target_", "ragsweep.evaluation.f1"),
    "a chunker as an index": ("retriever.dense.index._target_", "ragsweep.datasets.PageChunker"),
    "a store as a retriever": ("retriever.dense", {"_target_": "ragsweep.store.stage_store.Store", "path": "x"}),
    "another class as a store": ("dataset.store._target_", "ragsweep.retrieval.SentenceTransformerEncoder"),
    "an object as k": ("k", {"_target_": "ragsweep.store.stage_store.Store", "path": "x"}),
    "a list as a target": ("retriever._target_", []),
    "a way up that stays inside": ("dataset.split", "a/../b"),
    "no path at all": ("dataset.documents", "a\0b"),
    "half a character": ("dataset.documents", "\ud800"),
    "a date": ("seed", date(2026, 1, 1)),
    "no retriever": ("retriever", None),
    "a retriever of text": ("retriever", "SparseRetriever"),
}


NUMBERS = {"k": 10**9, "evaluation.resamples": -1, "retriever.candidates": 0, "seed": 10**4000 * -1}
OF_NO_GROUP = {  # a record refers to its own groups only
    "retriever.dense.encoder": "${tracking}",
    "retriever.dense.index": "${retriever}",  # our configuration has none there
    "dataset.documents": "${evaluation}",
    "encoder.model": "${hidden}",
    "dataset.queries": "${twice}",
    "dataset.qrels": "${chunker}",
}
NO_RECORD = {  # what is no file of settings, and what the refusal says
    **dict.fromkeys(["", "[1, 2]", "just text"], "holds no settings"),
    **dict.fromkeys(
        ["k: &a [1]\nseed: *a\n", "[" * 5000, "{a: " * 60 + "}" * 60, "k: " + "9" * 5000, "k: 2026-99-99", "a: b: c"],
        "config.yaml of the run cannot be read (",
    ),
}


@pytest.mark.usefixtures("long_work")
def test_what_no_configuration_of_ours_has_is_refused(logged, today, tmp_path):
    told = {case: refusal(changed(logged, *change), today) for case, change in HOSTILE.items()}
    assert [case for case, (name, _) in HOSTILE.items() if not told[case].startswith(name)] == []
    more = {**logged, "hidden": "evil/model", "twice": "${oc.env:HOME}"}
    assert [name for name in OF_NO_GROUP if not refusal(changed(more, name, OF_NO_GROUP[name]), today)] == []
    for name, value in [*NUMBERS.items(), ("k", "3")]:  # numbers keep the rules of any configuration
        with pytest.raises(ConfigError, match=rf"^{name}: found "):
            Experiment.built(trusted(changed(logged, name, value), today, {}, ()))
    mark = tmp_path / "mark"
    texts = {
        **NO_RECORD,
        f"k: !!python/object/apply:os.system ['touch {mark}']": "config.yaml of the run cannot be read",
    }
    assert [text for text, fact in texts.items() if fact not in refusal(text, today)] == []
    assert not mark.exists()


def test_a_class_that_is_refused_is_not_imported_wherever_its_name_stands(logged, today, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("chunker.tokenizer", "retriever", "retriever.dense"):
        module = f"evil_{name.replace('.', '_')}"  # one that no other case has imported
        (tmp_path / f"{module}.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w')\nclass Thing: pass\n")
        node = {"path": "a", "_target_": f"{module}.Thing"}
        told = refusal(changed(logged, name, node), today)
        assert told.startswith(f"{name}._target_: {module}.Thing may not be built")
    assert not (tmp_path / "mark").exists()


SENT = {
    "language_model.base_url": "http://127.0.0.1:9/v1",
    "answerer.language_model.base_url": "http://127.0.0.1:9/v1",
    "language_model.api_key_env": "AWS_SECRET_ACCESS_KEY",
    "language_model.headers_env.api-key": "AWS_SECRET_ACCESS_KEY",
    "language_model.headers.X-Forward-To": "example.org",
    "language_model.query.forward-to": "example.org",
    "language_model.extra_body.api_base": "http://127.0.0.1:9/v1",
}


@pytest.mark.usefixtures("long_work")
def test_a_record_sends_no_key_to_a_server_that_only_it_names(today):
    asks = composed("task=answers", "answerer=llm", "language_model=openai", "language_model.model=mine")
    recorded = portable(as_recorded(asks))
    given = {"language_model.model": "mine"}
    trusted(yaml.safe_dump(recorded), today, given, ())
    for name, value in SENT.items():
        assert [*keys_of([f"{name}={value}"])] == [name]  # as the message says it
        record = changed(recorded, name, value)
        told = refusal(record, today, given)
        assert told.startswith(f"{name}: found '{value}'; a record names no server and no key"), name
        assert trusted(record, today, {**given, name: value}, ())


@pytest.mark.usefixtures("long_work")
def test_all_that_has_to_be_named_is_named_at_once_as_a_user_sets_it(today):
    """A model at a server on this machine, with a key and a file elsewhere; and several files elsewhere."""
    named = {
        "language_model.base_url": "http://127.0.0.1:11434/v1",
        "language_model.api_key_env": "MY_KEY",
        "language_model.model": "qwen3",
    }
    overrides = ["query=hyde", "language_model=openai", "dataset=pdf", "dataset.documents=/my/documents"]
    overrides += ["dataset.queries=data/questions.json"]
    recorded = record_of(*overrides, *(f"{name}={value}" for name, value in named.items()))
    expected = {f"{name}={named[name]}" for name in ("language_model.base_url", "language_model.api_key_env")}
    assert {*to_name(recorded, today)} >= {*expected, "dataset.documents=PATH", "language_model.model=MODEL"}
    told = refusal(recorded, today)
    assert "dataset.documents: found '/my/documents', outside the project" in told
    assert "language_model.model: found 'qwen3'" in told
    assert "; a record loads no model but " in told
    trusted(recorded, today, {**named, "dataset.documents": "/here"}, ())
    for name in ("words", MINILM):  # a server's, which are called like models here: it would get the user's own key
        recorded = record_of("query=hyde", "language_model=openai", f"language_model.model={name}")
        assert "language_model.model=MODEL" in to_name(recorded, today)
        trusted(recorded, today, {"language_model.model": name}, ())
    chosen = ["corpus=text", "corpus.path=/my/texts", "questions=table", "questions.path=/my/questions"]
    recorded = record_of(*chosen, "dataset.qrels=/my/qrels")
    names = ("corpus.path", "questions.path", "dataset.qrels")
    assert refusal(recorded, today).count("outside the project") == len(names)
    assert to_name(recorded, today) == [f"{name}=PATH" for name in names]
    config = trusted(recorded, today, {name: f"/here/{name}" for name in names}, ())
    places = [f"dataset.{name.removeprefix('dataset.')}" for name in names]
    assert [OmegaConf.select(config, place) for place in places] == [f"/here/{name}" for name in names]


STAGES_OF_OURS = [
    ["retriever=three_way", "encoder=wordllama", "chunker.unit=tokens"],
    ["retriever=routed", "reranker=encoder", "dynamic_k=gap"],
    pytest.param(["query=hyde", "dynamic_k=confidence"], marks=pytest.mark.extra("local")),
    pytest.param(["query=multi", "fusion=rrf"], marks=pytest.mark.extra("local")),
    ["query=spellcheck", "reranker=mmr"],
    ["retriever=pipeline", "+query@retriever.rewriter=spellcheck", "+reranker@retriever.reranker=mmr"],
]


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("overrides", STAGES_OF_OURS, ids=" ".join)
def test_what_a_run_with_stages_logs_is_trusted(today, overrides):
    experiment = Experiment.built(composed(*overrides))
    recorded = portable(as_recorded(experiment.config))
    again = trusted(yaml.safe_dump(recorded), today, {}, ())
    for name in ("retriever", "query", "reranker", "dynamic_k"):
        assert portable(OmegaConf.to_container(again)).get(name) == recorded[name]
    assert Experiment.built(again).settings == experiment.settings


def test_places_of_the_record_are_not_taken_over_and_a_link_out_of_the_project_is_outside(
    logged, today, tmp_path, monkeypatch
):
    places = dict.fromkeys(["store.path", "tracking.uri", "retriever.dense.store.path"], str(tmp_path))
    for name, value in {**places, "hydra": {"run": str(tmp_path)}}.items():
        config = trusted(changed(logged, name, value), today, {}, ())
        assert str(tmp_path) not in OmegaConf.to_yaml(config), name
        assert "hydra" not in config
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "data").symlink_to(tmp_path)
    monkeypatch.setenv("RAGSWEEP_PROJECT", str(tmp_path / "project"))
    told = refusal(changed(logged, "dataset.documents", "data/x"), today)
    assert re.match(r"dataset\.documents: found 'data/x', .*outside the project", told)


def test_references_that_multiply_are_refused(logged, today, monkeypatch):
    """Each of the groups has ten of the next one."""
    monkeypatch.setattr(trusted_record, "MOST_NODES", 1000)
    names = ["retriever", *(f"retriever{number}" for number in range(9))]
    several = {
        name: {"_target_": "ragsweep.retrieval.FusedRetriever", "rankers": {f"r{place}": after for place in range(10)}}
        for name, after in zip(names, [f"${{{name}}}" for name in [*names[1:], "last"]], strict=True)
    }
    several["last"] = logged["retriever"]
    assert "refers to more than 1,000 settings" in refusal(yaml.safe_dump({**logged, **several}), today)
    several["retriever"]["rankers"] = {f"r{place}": "${retriever}" for place in range(10)}
    assert refusal(yaml.safe_dump({**logged, **several}), today).startswith("retriever: refers to itself")


def test_a_model_is_the_word_of_the_user_of_today(logged, today):
    recorded = changed(logged, "encoder.model", "evil/model").replace(MINILM, "evil/model")
    models = {"task.tokenizer=MODEL", "encoder.model=MODEL", "chunker.tokenizer.model=MODEL"}
    counting = {"task.tokenizer": "good/model", "chunker.tokenizer.model": "good/model"}
    assert {*to_name(recorded, today)} == models
    assert {*to_name(recorded, today, {"task.tokenizer": "words"})} == models - {"task.tokenizer=MODEL"}
    assert to_name(recorded, today, counting) == ["encoder.model=MODEL"]
    config = trusted(recorded, today, {"encoder.model": "good/model", "encoder.device": "cpu", **counting}, ())
    for encoder in (config.encoder, config.retriever.dense.encoder):  # every copy of a shared group
        assert (encoder.device, encoder.model) == ("cpu", "good/model")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.dates() | st.text(max_size=5)
    | st.sampled_from(["/etc/passwd", "evil/model", "${k}", "os.system", "ragsweep.retrieval.HybridRetriever", "???"]),
    lambda inner: st.lists(inner, max_size=2)
    | st.dictionaries(st.sampled_from(["_target_", "_args_", "_partial_", "store", "a", "b/c"]), inner, max_size=3),
    max_leaves=4,
)  # fmt: skip


def settings_of(node, prefix=""):
    """The dotted names of a node and of all within it."""
    for key, value in node.items() if isinstance(node, dict) else ():
        yield f"{prefix}{key}"
        yield from settings_of(value, f"{prefix}{key}.")


@pytest.mark.usefixtures("long_work")
@settings(phases=[Phase.generate], suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_a_record_holds_only_what_is_ours_is_built(logged, today, data):
    changes = st.tuples(st.sampled_from(sorted(settings_of(logged))), VALUES)
    with suppress(ConfigError):
        config = trusted(changed(logged, *data.draw(changes)), today, {}, ())
        for name in settings_of(OmegaConf.to_container(config)):
            if name.partition(".")[0] in ("dataset", "chunker", "encoder", "retriever", "evaluation"):
                value = OmegaConf.select(config, name)
                if name.endswith("_target_"):
                    assert value.startswith("ragsweep.")
                if name.endswith(".model"):
                    assert value in (None, logged["encoder"]["model"]) or not isinstance(value, str)


MINE = """
import os
import subprocess
from functools import partial
from subprocess import run

class Retriever: ...

class Client:
    def search(self, query): ...

client = Client()
shell = partial(subprocess.run, shell=True)
"""


def test_only_what_an_allowed_module_defines_is_built_and_asked(logged, today, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.syspath_prepend(str(tmp_path))

    def told(target, modules=("mine",)):
        return refusal(changed(logged, "retriever", {"_target_": target}), today, {}, modules)

    assert told("mine.Retriever") == ""
    assert "mine.Retriever may not be built from a record" in told("mine.Retriever", ["min"])
    assert "nowhere.X: cannot be imported" in told("nowhere.X", ["nowhere"])
    for name in ("os.system", "run", "shell", "client", "subprocess.run", "subprocess"):
        for target in (f"mine.{name}", f"mine:{name}"):
            assert f"{target} may not be built from a record" in told(target), target
    check = RecordCheck((), ["mine"])
    for call in ("mine:client", "mine:client.search", "mine:shell"):  # with arguments of the record, these may be asked
        assert check.node("call", call, Code, mark_of(Code)) == call
    for call in ("mine:subprocess.run", "mine:subprocess", "os:system"):
        with pytest.raises(ConfigError, match="may not be called"):
            check.node("call", call, Code, mark_of(Code))


RECORD = 'retriever: {_target_: mine.System, call: "mine:search", first_page: 0}'


def test_of_a_retriever_whose_system_is_gone_only_how_results_are_matched_is_kept():
    retriever = returning(RECORD)
    assert (retriever.pop("_target_"), retriever.pop("first_page")) == ("ragsweep.retrieval.ReturnedRetriever", 0)
    assert "call" not in retriever
    for record in ("k: 5", "retriever: sparse", "- 1", "a: {"):
        with pytest.raises(ConfigError, match=r"config\.yaml of the run"):
            returning(record)
