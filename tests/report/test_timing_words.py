"""In what circumstances latency was measured, and where a decision says that they differ."""

from dataclasses import replace

import pytest
from outcomes import FACTS, SETTINGS, decided, of_scores

from ragsweep.core.parsing import MalformedError
from ragsweep.report.evidence_section import evidence
from ragsweep.report.report_sentences import headline
from ragsweep.report.timing_words import doubts

NOON = 1_780_000_000  # 2026-05-28 20:26:40 UTC
DAY = 24 * 60 * 60
QUIET = {"queries": 16, "first": NOON, "last": NOON + 5, "load": 0.1, "machines": ["AMD EPYC, 2 cores"], "ms": 50}
BUSY = {**QUIET, "load": 1.5}
ELSEWHERE = {**QUIET, "machines": ["Intel Xeon, 8 cores"]}
LATER = {**QUIET, "first": NOON + 40 * DAY, "last": NOON + 40 * DAY}
UNKNOWN = {"queries": 0, "first": 0, "last": 0, "load": None, "machines": [], "ms": 0}
MS = "latency/mean_ms"


def measured_in(*circumstances, settings=SETTINGS, latencies=(20, 20)):
    """The decision between two configurations whose latency was measured in these circumstances."""
    runs = []
    for alpha, taken, ms in zip((0.3, 0.7), circumstances, latencies, strict=True):
        measure = {**FACTS["measures"][MS], "value": ms, **({"taken": taken} if taken else {})}
        facts = {"measures": {**FACTS["measures"], MS: measure}}
        runs.append(of_scores(f"alpha={alpha}", [0.2, 0.9, alpha] * 10, {"retriever.alpha": alpha}, facts=facts))
    return decided(*runs, settings=settings)


@pytest.mark.parametrize(
    ("circumstances", "said"),
    [
        ((QUIET, QUIET), ""),
        ((BUSY, BUSY), ""),
        ((QUIET, {**QUIET, "load": 0.6}), ""),
        ((QUIET, {**QUIET, "first": NOON + 20 * DAY, "last": NOON + 20 * DAY}), ""),
        ((QUIET, {**QUIET, "load": None}), ""),
        ((None, None), ""),
        ((UNKNOWN, UNKNOWN), ""),
        ((QUIET, ELSEWHERE), "different machines (AMD EPYC, 2 cores: alpha 0.3; Intel Xeon, 8 cores: alpha 0.7)"),
        ((QUIET, BUSY), "more load for alpha 0.7"),
        ((BUSY, {**BUSY, "load": 4}), "more load for alpha 0.7"),
        ((QUIET, {**QUIET, "at_once": 8}), "numbers of queries at a time (1: alpha 0.3; 8: alpha 0.7)"),
        ((QUIET, LATER), "40 days apart"),
        ((QUIET, UNKNOWN), "unknown circumstances for alpha 0.7"),
        ((QUIET, None), "unknown circumstances for alpha 0.7"),
    ],
)
def test_latencies_of_different_circumstances_are_not_compared_without_a_word(circumstances, said):
    decision = measured_in(*circumstances)
    found = doubts(decision)
    assert len(found) == (1 if said else 0)
    assert said in "".join(found)
    assert [sentence for sentence in evidence(decision) if "evaluation.latency=again" in sentence and said] == found


def test_the_evidence_says_when_and_where_latency_was_measured():
    sentence = "Latency: 16 queries, one at a time, on 2026-05-28 at 20:26 UTC, AMD EPYC, 2 cores, load 0.1 per core."
    assert sentence in evidence(measured_in(QUIET, QUIET))
    assert not any("AMD" in sentence for sentence in evidence(measured_in(None, None)))
    assert any("unknown circumstances" in sentence for sentence in evidence(measured_in(UNKNOWN, UNKNOWN)))


def test_a_requirement_that_was_checked_under_load_says_so():
    required = replace(SETTINGS, require={MS: 50})
    [sentence] = doubts(measured_in(BUSY, BUSY, settings=required))
    assert sentence in headline(measured_in(BUSY, BUSY, settings=required))
    assert "decision.require.latency/mean_ms" in sentence
    assert "alpha 0.3, alpha 0.7" in sentence
    assert doubts(measured_in(QUIET, QUIET, settings=required)) == []


def test_a_preference_by_latency_is_doubted_where_it_is_first_read():
    preferred = replace(SETTINGS, prefer=MS)
    decision = measured_in(QUIET, ELSEWHERE, settings=preferred)
    [sentence] = doubts(decision)
    assert sentence in headline(decision)
    assert sentence not in evidence(decision)
    tokens = measured_in(QUIET, ELSEWHERE, settings=replace(SETTINGS, prefer="context/tokens"))
    assert sentence not in headline(tokens)


@pytest.mark.parametrize("wrong", [{"first": -1}, {"ms": -1}, {"last": 1e300}, {"load": -0.5}, {"first": NOON + 9}])
def test_circumstances_of_a_record_that_cannot_be_are_refused(wrong):
    with pytest.raises(MalformedError):
        measured_in({**QUIET, **wrong}, QUIET)
