"""Time and confidence of answers by evidence."""

import time

import numpy as np
import pytest
from letters import LetterEncoder

from ragsweep.core.hardware import machine
from ragsweep.datasets.model.cases import Option
from ragsweep.store.stage_store import NO_STORE
from ragsweep_answers.answering import Evidence, EvidenceAnswerer, Question


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
