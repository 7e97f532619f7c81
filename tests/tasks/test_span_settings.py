"""The settings of the metrics of spans, as a configuration sets them."""

import copy
import json

import pytest
import small
import yaml
from application import PROJECT
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from ragsweep.core.project import register_resolvers
from ragsweep.experiment import Experiment

UNPLACED = [("Which test finds malaria?", ["found with a rapid test, given at once"]), *small.SPANS[2:]]


@pytest.fixture(scope="module")
def composed():
    """A configuration of `evaluation=spans`, without the paths of its data."""
    register_resolvers()
    chunks = ["chunker.size=60", "chunker.overlap=30", "retriever=sparse", "k=3", "store.enabled=false"]
    data = ["corpus=text", "questions=spans", "dataset.name=small"]
    with initialize_config_dir(str(PROJECT / "conf"), version_base="1.3"):
        return compose("config", [*data, *chunks, "evaluation=spans", "evaluation.resamples=100"])


@pytest.fixture
def measured(tmp_path, composed):
    """The values that this configuration measures of a small text, with some of its settings changed."""

    def measure(*overrides, spans=small.SPANS, folder="data"):
        config = copy.deepcopy(composed)
        for override in (*small.span_arguments(tmp_path / folder, spans), *overrides):
            name, _, value = override.partition("=")
            if "." in name:
                OmegaConf.update(config, name, yaml.safe_load(value))
        return Experiment.of(config).measure()

    return measure


def changed(one, other):
    """The kinds of metrics in which two measurements differ."""
    return {name.partition("/")[0] for name, value in one.values.items() if value != other.values[name]}


@pytest.mark.usefixtures("long_work")
def test_each_setting_changes_what_it_is_about(measured):
    plain = measured()
    assert changed(plain, measured("evaluation.token=word", folder="1")) == {"token"}
    assert changed(plain, measured("evaluation.span_overlap=chroma", folder="2")) == {"token"}
    assert changed(plain, measured("evaluation.fuzzy_threshold=0.2", folder="3")) == {"passage"}


@pytest.mark.usefixtures("long_work")
def test_a_passage_may_hold_words_of_a_reference_that_stands_elsewhere(measured):
    spans, loose = [("Is there bleeding and belly pain?", ["tired and pale"])], "evaluation.fuzzy_threshold=0.3"
    characters, words = (
        measured(loose, f"evaluation.token={token}", spans=spans, folder=token) for token in ("character", "word")
    )
    assert (characters.values["passage/coverage"], words.values["passage/coverage"]) == (0, 1)


@pytest.mark.usefixtures("long_work")
def test_the_threshold_also_decides_which_passages_are_relevant_without_offsets(measured):
    by_words = "evaluation.token=word"
    loose, strict = (
        measured(by_words, f"evaluation.fuzzy_threshold={threshold}", spans=UNPLACED, folder=threshold)
        for threshold in ("0.6", "0.9")
    )
    assert loose.facts["queries_without_relevant"] == []
    assert strict.facts["queries_without_relevant"] == ["1"]
    assert any("not at exactly one place of the document" in sentence for sentence in loose.findings)


def test_a_sweep_over_chunks_is_decided_by_spans(application, tmp_path):
    data = small.span_arguments(tmp_path / "data")
    sweep = ["chunker.size=60,200", "decision.metric=token/iou"]
    process = application.run("-m", *data, "evaluation=spans", "retriever=sparse", "chunker.overlap=0", *sweep)
    assert process.returncode == 0, process.stderr
    [parent] = application.parents()
    decision = json.loads((application.artifacts(parent) / "decision.json").read_text())
    assert decision["not_shipped"] != "unequal text"
    runs = {run.info.run_name: run.data.metrics for run in application.children()}
    assert runs["size=60"]["token/precision_omega"] > runs["size=200"]["token/precision_omega"]


@pytest.mark.usefixtures("long_work")
def test_many_metrics_get_a_panel_for_each_kind_and_one_for_counts(measured):
    draw, *given = measured().charts
    [(_, chart)] = draw(*given)
    shown = [axes.get_ylim()[1] > 2 for axes in chart.axes]
    assert shown == [False, False, False, True, False]  # token, passage, document, its count, the ranking's
