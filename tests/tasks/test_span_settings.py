"""The settings of the metrics of spans, as a configuration sets them."""

import json

import pytest
import small
from application import succeeded
from composed_here import composed

from ragsweep.experiment import Experiment

SPANS = ["evaluation=spans", "evaluation.resamples=100"]
UNPLACED = [("Which test finds malaria?", ["found with a rapid test, given at once"]), *small.SPANS[2:]]


@pytest.fixture
def measured(tmp_path):
    """The values that `evaluation=spans` measures of a small text, with some of its settings changed."""

    def measure(*overrides, spans=small.SPANS, folder="data"):
        chunks = ["chunker.size=60", "chunker.overlap=30", "retriever=sparse", "k=3", "store.enabled=false"]
        data = small.span_arguments(tmp_path / folder, spans)
        return Experiment.of(composed(*data, *chunks, *SPANS, *overrides)).measure()

    return measure


def changed(one, other):
    """The kinds of metrics in which two measurements differ."""
    return {name.partition("/")[0] for name, value in one.values.items() if value != other.values[name]}


@pytest.mark.usefixtures("long_work")
def test_each_setting_changes_what_it_is_about_and_each_kind_of_metrics_has_a_panel(measured):
    plain = measured()
    assert changed(plain, measured("evaluation.token=word", folder="1")) == {"token"}
    assert changed(plain, measured("evaluation.span_overlap=chroma", folder="2")) == {"token"}
    assert changed(plain, measured("evaluation.fuzzy_threshold=0.2", folder="3")) == {"passage"}
    draw, *given = plain.charts
    [(_, chart)] = draw(*given)
    shown = [axes.get_ylim()[1] > 2 for axes in chart.axes]
    assert shown == [False, False, False, True, False]  # token, passage, document, its count, the ranking's


@pytest.mark.usefixtures("long_work")
def test_words_may_stand_elsewhere_and_without_offsets_the_threshold_decides_which_passages_are_relevant(measured):
    spans, loose = [("Is there bleeding and belly pain?", ["tired and pale"])], "evaluation.fuzzy_threshold=0.3"
    characters, words = (
        measured(loose, f"evaluation.token={token}", spans=spans, folder=token) for token in ("character", "word")
    )
    assert (characters.values["passage/coverage"], words.values["passage/coverage"]) == (0, 1)
    by_words = "evaluation.token=word"
    loose, strict = (
        measured(by_words, f"evaluation.fuzzy_threshold={threshold}", spans=UNPLACED, folder=threshold)
        for threshold in ("0.6", "0.9")
    )
    assert loose.facts["queries_without_relevant"] == []
    assert strict.facts["queries_without_relevant"] == ["1"]
    assert any("not at exactly one place of the document" in sentence for sentence in loose.findings)


def test_a_sweep_over_chunks_is_decided_by_spans(application, tmp_path):
    chosen = ["evaluation=spans", "retriever=sparse", "chunker.overlap=0", "chunker.size=60,200"]
    given = application.arguments(*small.span_arguments(tmp_path / "data"), *chosen, "decision.metric=token/iou")
    succeeded(application.script_here("run", "-m", *given))
    [parent] = application.parents()
    decision = json.loads((application.artifacts(parent) / "decision.json").read_text())
    assert decision["not_shipped"] != "unequal text"
    runs = {run.info.run_name: run.data.metrics for run in application.children()}
    assert runs["size=60"]["token/precision_omega"] > runs["size=200"]["token/precision_omega"]
