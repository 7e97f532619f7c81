"""With which machine latency was measured, and where a decision says that machines differ."""

from dataclasses import replace

import pytest
from outcomes import FACTS, SETTINGS, decided, of_scores

from ragsweep.core.parsing import MalformedError
from ragsweep.report.evidence_section import evidence
from ragsweep.report.report_sentences import headline
from ragsweep.report.timing_words import doubts

HERE, ELSEWHERE, UNKNOWN = ["AMD EPYC, 2 cores"], ["Intel Xeon, 8 cores"], []
MS = "latency/mean_ms"


def measured_on(*machines, settings=SETTINGS):
    """The decision between two configurations whose latency was measured with these; None where nothing was noted."""
    runs = []
    for alpha, names in zip((0.3, 0.7), machines, strict=True):
        measure = {**FACTS["measures"][MS], "value": 20, **({} if names is None else {"machines": names})}
        facts = {"measures": {**FACTS["measures"], MS: measure}}
        runs.append(of_scores(f"alpha={alpha}", [0.2, 0.9, alpha] * 10, {"retriever.alpha": alpha}, facts=facts))
    return decided(*runs, settings=settings)


@pytest.mark.parametrize("machines", [(HERE, HERE), (None, None), (UNKNOWN, UNKNOWN)])
def test_times_of_one_machine_need_no_word(machines):
    assert doubts(measured_on(*machines)) == []


@pytest.mark.parametrize("other", [ELSEWHERE, UNKNOWN, None, [*HERE, "the endpoint example.org"]])
def test_times_of_different_machines_are_not_compared_without_a_word(other):
    decision = measured_on(HERE, other)
    [sentence] = doubts(decision)
    assert sentence in evidence(decision)
    assert f"{HERE[0]}: alpha 0.3" in sentence
    assert f"{other[-1] if other else 'an unknown machine'}: alpha 0.7" in sentence


def test_the_evidence_says_with_what_latency_was_measured():
    assert any(HERE[0] in sentence for sentence in evidence(measured_on(HERE, HERE)))
    assert not any("machine" in sentence for sentence in evidence(measured_on(None, None)))
    assert any("unknown machine" in sentence for sentence in evidence(measured_on(UNKNOWN, UNKNOWN)))


def test_a_preference_by_latency_is_doubted_where_it_is_first_read():
    decision = measured_on(HERE, ELSEWHERE, settings=replace(SETTINGS, prefer=MS))
    [sentence] = doubts(decision)
    assert sentence in headline(decision)
    assert sentence not in evidence(decision)
    tokens = measured_on(HERE, ELSEWHERE, settings=replace(SETTINGS, prefer="context/tokens"))
    assert sentence not in headline(tokens)


@pytest.mark.parametrize("wrong", ["this", [1], {"this": 1}])
def test_machines_of_a_record_that_cannot_be_are_refused(wrong):
    with pytest.raises(MalformedError):
        measured_on(wrong, HERE)
