"""What the configuration accepts, and what it says took effect."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Annotated, Literal, get_origin

import hydra
import pytest
from application import PROJECT
from composed_here import composed
from omegaconf import OmegaConf

from ragsweep.config.annotations import is_component, optional, signature_of, target_of
from ragsweep.config.configuration_walk import STORE, Walk
from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Between, mark_of
from ragsweep.core.project import CONF, conf_folders, options_of, portable, register_resolvers
from ragsweep.experiment import Experiment
from ragsweep.models.encoders.model_files import MINILM
from ragsweep.retrieval import Ranker
from ragsweep.store.identity import PLAIN
from ragsweep.store.stage_store import Store

pytestmark = pytest.mark.usefixtures("long_work")
SPARSE = "ragsweep.retrieval.SparseRetriever"
ENCODER = "{_target_:ragsweep.retrieval.SentenceTransformerEncoder,batch_size:0}"
REFUSED = [  # overrides, and how the line begins: the setting, what was found, and some of what is expected
    ("k={a:1}", "k: found {'a': 1}, expected "),
    ("k=null", "k: found null, expected "),
    ("~k", "k: no value; set it with +k=VALUE"),
    ("retriever.alpha=1.5", "retriever.alpha: found 1.5, expected less than or equal to 1"),
    ("evaluation.collapse=never", "evaluation.collapse: found 'never', expected after_cutoff or before_cutoff"),
    ("evaluation.resamples=1000000000", "evaluation.resamples: found 1000000000, expected "),
    ("evaluation.metrics.f1=null", "evaluation.metrics.f1: found null, expected "),
    ("evaluation.metrics.ndcg.gain=cubic", "evaluation.metrics.ndcg.gain: found 'cubic', expected linear or"),
    ("~retriever", "retriever: nothing is chosen; expected one of "),
    ("~evaluation.collapse", "evaluation.collapse: no value; set it with +evaluation.collapse=VALUE"),
    ("+evaluation.gamma=1", "evaluation.gamma: no such setting (evaluation has"),
    ("+tracking.resum=true", "tracking.resum: no such setting (did you mean tracking.resume?)"),
    ("store=null", "store: found null, expected "),
    ("retriever.dense.encoder=null", "retriever.dense.encoder: found null, expected an Encoder"),
    ("retriever.dense=foo", "retriever.dense: found 'foo', expected a Ranker"),
    ("retriever.dense.encoder=foo", "retriever.dense.encoder: found 'foo', expected one of minilm, "),
    (f"+retriever.dense.encoder={ENCODER}", "retriever.dense.encoder.batch_size: found 0, expected "),
    ("retriever._target_=5", "retriever._target_: found 5, expected "),
    ("retriever._target_=ragsweep.retrieval.HybridRetriver", "retriever: ragsweep.retrieval.HybridRetriver cannot "),
    ("dataset.name={a:1}", "dataset.name: found {'a': 1}, expected "),
    ("dataset.store=null", "dataset.store: found null, expected a Store"),
    ("retriever.sparse.k1=1" + 400 * "0", "retriever.sparse.k1: found 1000"),
    ("retriever.sparse.k1=1e308", "retriever.sparse.k1: found 1e+308, expected less than or equal to 1000000"),
    ("index=hnsw index.refine=1" + 20 * "0", "index.refine: found 1000"),
    ("+retriever._args_=[1]", "retriever._args_: no such setting"),
    ("retriever.dense.index=${retriever}", "retriever: refers to itself"),
    ("retriever=fused +retriever.rankers={1:0.5}", "retriever.rankers.1: found 1 as a name, expected a string"),
    ("~evaluation.metrics.ndcg", "decision.metric: found 'ndcg', expected a metric that is measured: "),
    ("k=500", "retriever.candidates: found 100, expected at least k (500)"),
]


def refusal(overrides, config=None):
    """The one line with which a configuration is refused; empty if it is accepted."""
    try:
        Experiment.built(config or composed(*overrides.split()))
    except ConfigError as error:
        [line] = str(error).splitlines()
        return line
    return ""


def test_no_mapping_and_no_null_gets_round_a_rule():
    lines = [(refusal(overrides), beginning) for overrides, beginning in REFUSED]
    for alpha in (0, 0.5):
        config = composed("k=5", f"retriever.alpha={alpha}")
        OmegaConf.update(config, "retriever.sparse", {**config.retriever, "alpha": 0.5, "candidates": 1}, merge=False)
        lines.append((refusal("", config), "retriever.sparse.candidates: found 1, expected at least k (5)"))
    assert [(line, beginning) for line, beginning in lines if not line.startswith(beginning)] == []


ACCEPTED = [
    *("", "k=100", "k=500 retriever.alpha=1", "k=500 retriever.candidates=null"),
    *("k=500 index=hnsw retriever=sparse", "k=500 index=hnsw retriever.alpha=0"),
]


def test_the_defaults_pass_and_k_may_be_as_large_as_the_candidates():
    assert [line for line in map(refusal, ACCEPTED) if line] == []


@dataclass(frozen=True)
class Asking:
    """A task as a user would write it: it takes several rankers, and has a default."""

    rankers: Sequence[Ranker]
    store: Store
    threshold: Annotated[float, Between(0, 1)] = 0.5


def asking(*rankers, **settings):
    of_rankers = [{"_target_": SPARSE, "store": "${store}", **ranker} for ranker in rankers]
    task = {"_target_": f"{__name__}.Asking", "rankers": of_rankers, "store": "${store}", **settings}
    return Walk(OmegaConf.merge({**composed(), "task": {}}, {"task": task})).build("task")


def test_every_component_in_a_list_is_checked_and_a_default_need_not_be_in_the_configuration():
    task = asking({}, {"b": 0.5})
    assert (task.threshold, [ranker.b for ranker in task.rankers]) == (0.5, [0.75, 0.5])
    with pytest.raises(ConfigError, match=r"^task\.threshold: found 2, expected less than or equal to 1"):
        asking(threshold=2)
    with pytest.raises(ConfigError, match=r"^task\.rankers\.1\.b: found 7, expected less than or equal to 1"):
        asking({}, {"b": 7})


def test_whatever_larger_parts_are_returned_the_documents_are_loaded_once():
    passage, window, page = (Experiment.of(composed(f"returns={name}")).items for name in ("passage", "window", "page"))
    assert window is page
    assert page.documents
    assert not passage.documents


@dataclass
class Part:
    """A component of a user's."""

    b: int


class Theirs:
    """A retriever of a user's, which keeps settings as something else, or under other names."""

    mode, size = "auto", property(lambda self: 2 * self._size)  # an attribute of the class is not the setting

    def __init__(self, *, mode, size, depth, hidden, parts, store, weights):
        self._mode, self._size, self.depth, self._hidden = mode, size, 2 * depth, hidden
        self.parts, self.store, self.weights = parts, store, {1: object()}


class Letters:
    """Names one setting as a text, whose letters would be names."""

    without_effect = "store"

    def __init__(self, store):
        self.store = store


GIVEN = {
    **{"mode": "first", "size": 3, "depth": 2, "store": "redis", "weights": [1, 2]},
    "hidden": [{"_target_": f"{__name__}.Part", "b": 1}],
    "parts": [{"_target_": "ragsweep.datasets.RecursiveChunker", "overlap": 0, "size": size} for size in (9, 8)],
}
SETTINGS = {
    "retriever": f"{__name__}.Theirs",
    **{"retriever.mode": "first", "retriever.size": 6, "retriever.depth": 4},
    **{"retriever.hidden.0": f"{__name__}.Part", "retriever.hidden.0.b": 1},
    **{"retriever.parts.0": "RecursiveChunker", "retriever.parts.0.overlap": 0, "retriever.parts.0.size": 9},
    **{"retriever.parts.1": "RecursiveChunker", "retriever.parts.1.overlap": 0, "retriever.parts.1.size": 8},
    "retriever.store": "redis",  # only our own store decides no number
    "retriever.weights": [1, 2],  # what the object has made of it has no words
}


def settings_of(**retriever):
    """The settings that a retriever which stands alone uses."""
    walk = Walk(OmegaConf.create({"seed": 3, "store": {"_target_": STORE, "path": "x"}, "retriever": retriever}))
    walk.build("retriever")
    return walk.settings_of("retriever")


def test_settings_are_those_of_the_built_objects_by_their_places():
    assert settings_of(_target_=f"{__name__}.Theirs", **GIVEN) == SETTINGS
    for text in ("None", "1", "linear, x=1", "[1]", "a'b"):  # each is told from what it reads like
        metric = {"_target_": "builtins.dict", "_partial_": True, "gain": text}
        assert (
            settings_of(_target_="builtins.dict", metric=metric)["retriever.metric"] == f"builtins.dict(gain={text!r})"
        )
    path, uri = f"{PROJECT}/data/x", f"sqlite:///{PROJECT}/mlruns/db"  # told relative to the project
    assert portable({"at": path, "uri": uri}) == {"at": "data/x", "uri": "sqlite:///mlruns/db"}
    with pytest.raises(ConfigError, match=r"Letters\.without_effect: found the text 'store', expected names"):
        settings_of(_target_=f"{__name__}.Letters", store="x")


def used(*overrides):
    """The settings that a run really uses."""
    return dict(Experiment.built(composed(*overrides)).settings)


def test_what_refers_to_a_group_or_names_its_option_is_built_once_and_named_like_the_group():
    walk = Walk(composed("reranker=mmr", "encoder.device=cpu"))
    task = walk.build("task")
    assert task.reranker.encoder is task.retriever.dense.encoder
    assert {path for path in walk.settings if path.endswith("encoder.device")} == {"encoder.device"}
    assert walk.parts["encoder"] is task.reranker.encoder
    settings = used("retriever=three_way")  # with two encoders
    assert (settings["encoder.model"], settings["retriever.rankers.static.encoder.model"]) == (MINILM, "wordllama")
    named, referring = (
        used("retriever=three_way", f"retriever.rankers.static.encoder={encoder}")
        for encoder in ("minilm", "${encoder}")
    )
    assert named == referring != settings


def test_a_setting_that_has_no_effect_at_this_alpha_is_not_logged():
    settings = used("retriever.alpha=0")
    assert "retriever.sparse.k1" in settings
    absent = ("encoder", "index", "retriever.dense", "retriever.candidates")
    assert not any(name.startswith(absent) for name in settings)


NEEDS_MORE = {  # files, extras
    *("encoder=openai", "evaluation=spans", "query=abbreviations", "reranker=cross_encoder"),
    *("retriever=returned", "retriever=run_file"),
}
ASKING = [  # a language model
    "ingest=questions query=hyde reranker=llm",
    "ingest=summary query=multi",
    "ingest=context",
]
GROUPS = "chunker dynamic_k encoder evaluation fusion index ingest query reranker retriever returns".split()
CHOICES = [
    [f"{group}={option}" for option in options_of(group) if (CONF / group / f"{option}.yaml").is_file()]
    for group in GROUPS
]
PLAIN_CHOICES = [[one for one in choices if one not in {*NEEDS_MORE, *" ".join(ASKING).split()}] for choices in CHOICES]
OPTIONS = [" ".join(filter(None, row)) for row in zip_longest(*PLAIN_CHOICES)]  # of each group another one


@pytest.mark.parametrize(
    "options", [*OPTIONS, *(pytest.param(row, marks=pytest.mark.extra("local")) for row in ASKING)]
)
def test_every_plain_setting_of_a_used_component_has_the_path_where_it_is_written(options):
    """And nothing else is there but what objects say of the content of files; each part is visited once."""
    config, visited = composed(*options.split()), []

    def note(frame, event, _):
        if event == "call" and frame.f_code is Walk._own.__code__:
            visited.append(frame.f_locals["path"])

    sys.setprofile(note)
    try:
        walk = Walk(config)
        walk.build("task")
    finally:
        sys.setprofile(None)
    settings = {path: value for path, value in walk.settings.items() if not path.endswith(".fingerprint")}
    assert len(visited) == len({*visited}) > 50
    assert {*settings} <= {*visited}
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


def test_what_a_setting_names_is_known_by_its_annotation():
    """A new class must not forget the mark, without which a record could choose a model, a server or a key."""
    telling = re.compile(r"model|tokenizer|(base_)?ur[li]|headers\w*|\w*_env|call")
    unmarked = []
    files = [file for conf in conf_folders() for file in conf.rglob("*.yaml") if "hydra" not in file.parts]
    targets = {name for file in files for name in re.findall(r"_target_: ([\w.]+)", file.read_text())}
    for target in {name for name in targets if not name.startswith("hydra")}:
        for name, parameter in signature_of(target_of(target)).parameters.items():
            plain = not is_component(optional(parameter.hint)) and get_origin(parameter.hint) is not Literal
            if telling.fullmatch(name) and plain and not mark_of(parameter.hint):
                unmarked.append(f"{target}.{name}")
    assert unmarked == []


OWN = {
    "encoder/letters.yaml": "_target_: letters.LetterEncoder\nseconds: ${k}\n",
    "reranker/letters.yaml": "_target_: ragsweep.retrieval.EncoderReranker\nencoder: letters\nstore: ${store}\n",
}


@pytest.fixture
def built(tmp_path, monkeypatch):
    """Builds the task of a project that has groups of its own."""
    monkeypatch.setenv("RAGSWEEP_PROJECT", str(tmp_path))
    for name, text in OWN.items():
        (tmp_path / "conf" / name).parent.mkdir(parents=True)
        (tmp_path / "conf" / name).write_text(text)
    register_resolvers()

    def build(*overrides):
        with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
            walk = Walk(hydra.compose("config", [f"hydra.searchpath=[file://{tmp_path / 'conf'}]", *overrides]))
        return walk, walk.build("task")

    return build


def test_a_name_stands_for_the_file_of_the_option_with_its_references_filled_in(built):
    walk, task = built("retriever.fusion=rrf", "reranker=letters", "k=7")
    for name, node in {"rrf": walk.config.retriever.fusion, "minmax": walk.config.fusion}.items():
        assert node == OmegaConf.to_container(OmegaConf.load(CONF / f"fusion/{name}.yaml"), resolve=False)
    assert task.retriever.fusion.constant == walk.settings["retriever.fusion.constant"] == 60
    assert type(task.reranker.encoder).__name__ == "LetterEncoder"
    assert task.reranker.encoder.seconds == walk.settings["k"] == 7
    _, task = built("retriever=pipeline", "retriever.reranker=none")
    assert task.retriever.reranker is None


def test_a_name_of_no_option_is_refused_in_one_line(built):
    for overrides, beginning in (
        (["retriever.fusion=rff"], "retriever.fusion: found 'rff', expected one of minmax, rrf, "),
        (["retriever.fusion=../store"], "retriever.fusion: found '../store', expected one of minmax"),
        (["returns=parent", "returns.chunker=nosuch"], "returns.chunker: found 'nosuch', expected one of fixed"),
    ):
        with pytest.raises(ConfigError) as refused:
            built(*overrides)
        [line] = str(refused.value).splitlines()
        assert line.startswith(beginning)
