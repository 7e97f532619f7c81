"""Promises, requirements and gates about questions that should find nothing."""

from dataclasses import replace

import numpy as np
import pytest
from outcomes import SETTINGS, decided, of_scores

from ragsweep.core.errors import ConfigError
from ragsweep.replay.gating import Gate, Verdict
from ragsweep.report.claims import claims_of
from ragsweep.report.report_charts import report_charts
from ragsweep.statistics import against_baseline
from ragsweep.sweeps import Sweep
from ragsweep.sweeps.decision_settings import check_measured
from ragsweep.tasks.metric import Metric

RATE = "false_find_rate"
HITS = np.linspace(0.51, 1, 100)  # scores of something relevant; questions without an answer score lower
ANSWERABLE = [None] * 20 + HITS.tolist()


def run(name, unanswerable, threshold=None):
    """A run with these first scores for questions without an answer, and a score threshold."""
    given = [0.0 if score is None else float(threshold is None or score >= threshold) for score in unanswerable]
    kept = [float(score is not None and (threshold is None or score >= threshold)) for score in ANSWERABLE]
    rate, bounds = float(np.mean(given)), {"low": 0.0, "high": 1.0}
    about = {"name": RATE, "title": "False find rate", "higher_is_better": False, "binary": True, **bounds}
    metrics = {
        "f1": {"name": "f1", "title": "F1", **bounds},
        "recall": {"name": "recall", "title": "Recall", **bounds},
        RATE: {**about, "aggregate": True, "mean": rate, "ci_low": rate, "ci_high": rate},
    }
    fact = {"metric": RATE, "metrics": [RATE], "false_finds": given, "scores": unanswerable, "answerable": ANSWERABLE}
    facts = {"metrics": metrics, "false_finds": {**fact, "found": ANSWERABLE}}
    swept = {"retriever.score_threshold": threshold or 0.0}
    return of_scores(name, np.array(kept) / 2, swept, recall=kept, facts=facts)


def low_scores(number):
    return np.linspace(0, 0.5, number).tolist()


def claim(decision):
    """The claim about the threshold, if there is one."""
    return next((claim for claim in claims_of(decision) if claim.name == "threshold"), None)


def promised(*runs, rate=0.05, **settings):
    return decided(*runs, settings=replace(SETTINGS, target={RATE: rate}, **settings))


@pytest.mark.usefixtures("drawing")
def test_the_headline_and_a_chart_say_below_which_score_to_return_nothing():
    threshold = claim(promised(run("a", low_scores(60))))
    numbers = threshold.numbers
    assert numbers["shown"]
    assert 0.5 < numbers["threshold"] <= 0.51
    assert (numbers["hits"], numbers["hits_kept"]) == pytest.approx((100 / 120, 100 / 120))
    assert f"Below a score of {numbers['threshold']:g} return nothing: at most 5 %" in threshold.sentence
    assert threshold.place == "headline"
    decision = promised(run("a", [None, *low_scores(59)]), run("b", low_scores(60)))
    [axes] = dict(report_charts(decision))["lowest_score.svg"].axes
    of_curves = {line.get_label(): line for line in axes.lines}
    for what, scores in (
        ("with an answer: get something relevant", ANSWERABLE),
        ("without an answer: get something", decision.named.facts.false_finds.scores),
    ):
        for threshold, share in zip(*of_curves[what].get_data(), strict=True):  # counted one by one
            assert share == sum(score is not None and score >= threshold for score in scores) / len(scores)
    assert of_curves["certified for at most 5 %"].get_xdata()[0] == claim(decision).numbers["threshold"]


def test_too_few_questions_are_told_how_many_it_takes_and_only_a_choice_by_them_is_corrected():
    """.95 ** 59 < .05, and 1 - .05 ** (1 / 20) = .139."""
    numbers = claim(promised(run("a", low_scores(20)))).numbers
    assert (numbers["shown"], numbers["threshold"], numbers["queries_needed"]) == (False, None, 59)
    assert numbers["upper_bound"] == pytest.approx(1 - 0.05 ** (1 / 20))
    assert claim(promised(run("a", [2.0] * 60))).numbers["hits_kept"] == 0
    assert claim(decided(run("a", low_scores(60)))) is None  # without a promise
    # Configurations that differ in their threshold alone have the same scores, and count once.
    runs = [run("a", low_scores(60)), run("b", low_scores(60), 0.2), run("c", (np.array(low_scores(60)) / 2).tolist())]
    assert promised(*runs).threshold.upper_bound < promised(*runs, require={RATE: 1.0}).threshold.upper_bound
    assert run("a", low_scores(60), 0.1).measured != run("b", low_scores(60), 0.4).measured


def test_neither_always_nor_never_meets_both_requirements_or_passes_both_gates():
    runs = [run("always", low_scores(60)), run("never", low_scores(60), 9), run("some", low_scores(60), 0.505)]
    choice = decided(*runs, settings=replace(SETTINGS, metric="recall", require={RATE: 0.05, "recall": 0.5})).headline
    assert choice.named.name == "some"
    assert set(choice.excluded) == {"always", "never"}
    gates = {("always", None): {"recall": 0, RATE: 1}, ("never", 9): {"recall": 1, RATE: 0}, ("same", 0.505): {}}
    for (name, threshold), verdicts in gates.items():
        candidate, baseline = run(name, low_scores(60), threshold), run("baseline", low_scores(60), 0.505)
        sweep = Sweep([candidate, baseline], {})
        for metric in ("recall", RATE):
            gains = sweep.sign(metric) * (candidate.values(metric) - baseline.values(metric))
            gate = Gate(metric, 0.1, sweep, against_baseline(gains, 0.1, 1.0, resamples=1000))
            assert gate.verdict == Verdict(verdicts.get(metric, 0))
            assert f"{len(gains)} queries" in list(gate.sentences())[1]


def test_what_no_question_is_marked_for_is_refused_in_one_line():
    for settings in ({"metric": RATE}, {"target": {RATE: 0.05}}, {"require": {RATE: 0.05}}, {"costs": [RATE]}):
        with pytest.raises(ConfigError, match=rf"^decision\.\w+: {RATE} is not measured: no question is marked$"):
            check_measured(replace(SETTINGS, **settings), [Metric(RATE, RATE)], "no question is marked")
