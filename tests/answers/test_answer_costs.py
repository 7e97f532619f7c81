"""Time and tokens of answers."""

import statistics
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from letters import LetterEncoder

from ragsweep.core.hardware import machine
from ragsweep.datasets.model.cases import Option
from ragsweep.store.stage_store import NO_STORE
from ragsweep_answers.answering import Evidence, EvidenceAnswerer, Question
from ragsweep_answers.measuring.measures.answer_costs import Cost, cost
from ragsweep_answers.measuring.scores import AnswerTimes, cost_measures


def test_a_cost_covers_the_answers_that_have_one():
    assert cost([10.0, None, 20.0, 40.0, 30.0]) == pytest.approx(Cost(4, 25, 25, 38.5, 100))


def test_no_cost_is_not_zero():
    assert cost([None, None]) is None


@given(st.lists(st.floats(0, 1e6), min_size=2))
def test_the_percentile_is_that_of_the_standard_library(values):
    found = cost(values)
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    assert (found.median, found.p95) == pytest.approx((statistics.median(values), cuts[94]))


def test_tokens_are_averaged_and_added_up_where_they_are_known():
    found = cost_measures(AnswerTimes([]), None, (np.array([100.0, 300.0]), None))
    assert {each.metric.name: each.value for each in found} == {"tokens/in": 200, "tokens/total_in": 400}


@pytest.mark.parametrize(("ms", "sample"), [([10.0, 30.0], [10, 30]), ([10.0, None], None)])
def test_the_mean_time_comes_with_the_times_that_a_test_needs(ms, sample):
    mean, *others = cost_measures(AnswerTimes(ms), None, (None, None))
    assert mean.metric.name == "latency/mean_ms"
    assert (None if mean.sample is None else mean.sample.tolist()) == sample
    assert {each.sample for each in others} == {None}


def by_evidence(**settings):
    """The answer to a question with an encoder that counts letters."""
    options = (Option("A", "rest and fluids"), Option("B", "a rapid test"))
    evidence = (Evidence("fever.pdf#2", "Every child with fever gets a rapid test."),)
    [given] = EvidenceAnswerer(LetterEncoder(), NO_STORE, **settings).answer(
        [Question("1", "", "What is done?", options, evidence)]
    )
    return given


def test_the_probabilities_of_answers_by_evidence_have_a_fixed_scale():
    usual, sure = by_evidence(), by_evidence(scale=0.02)
    assert usual.letter == sure.letter == "AB"[int(np.argmax(usual.probabilities))]
    assert sum(usual.probabilities) == pytest.approx(1)
    odds = [np.log(max(each.probabilities) / min(each.probabilities)) for each in (usual, sure)]
    assert odds[1] == pytest.approx(10 * odds[0])


def test_the_times_of_answers_by_evidence_add_up_to_the_time_of_all():
    options = (Option("A", "rest and fluids"), Option("B", "a rapid test"))
    evidence = (Evidence("fever.pdf#2", "Every child with fever gets a rapid test."),)
    asked = [
        Question(f"case-{number}", "", f"What is done in case {number}?", options, evidence) for number in range(9)
    ]
    started = time.perf_counter()
    answers = EvidenceAnswerer(LetterEncoder(), NO_STORE).answer(asked)
    elapsed = 1000 * (time.perf_counter() - started)
    assert 0 < sum(each.time_ms for each in answers) <= elapsed
    assert {each.machines for each in answers} == {(machine(),)}
