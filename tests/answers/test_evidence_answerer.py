"""Answers by the similarity of each option to the evidence."""

import time
from typing import ClassVar

import numpy as np
import pytest
from letters import LetterEncoder

from ragsweep.core.hardware import machine
from ragsweep.datasets.model.cases import Option
from ragsweep.store.stage_store import NO_STORE
from ragsweep_answers.answering import Evidence, EvidenceAnswerer, Question
from ragsweep_answers.testing import AnswererContract

OPTIONS = (Option("A", "rest and fluids"), Option("B", "a rapid test"))
EVIDENCE = (Evidence("fever.pdf#2", "Every child with fever gets a rapid test."),)


class TestEvidence(AnswererContract):
    component = EvidenceAnswerer
    settings: ClassVar = {"encoder": LetterEncoder()}


def answers(number, **settings):
    """The answers to so many questions with an encoder that counts letters."""
    asked = [Question(f"q{at}", "", f"What is done in case {at}?", OPTIONS, EVIDENCE) for at in range(number)]
    return EvidenceAnswerer(LetterEncoder(), NO_STORE, **settings).answer(asked)


def test_the_probabilities_of_answers_by_evidence_have_a_fixed_scale():
    [usual], [sure] = answers(1), answers(1, scale=0.02)
    assert usual.letter == sure.letter == "AB"[int(np.argmax(usual.probabilities))]
    assert sum(usual.probabilities) == pytest.approx(1)
    odds = [np.log(max(answer.probabilities) / min(answer.probabilities)) for answer in (usual, sure)]
    assert odds[1] == pytest.approx(10 * odds[0])


def test_the_times_of_answers_by_evidence_add_up_to_the_time_of_all():
    started = time.perf_counter()
    given = answers(9)
    elapsed = 1000 * (time.perf_counter() - started)
    assert 0 < sum(answer.time_ms for answer in given) <= elapsed
    assert {answer.machines for answer in given} == {(machine(),)}
