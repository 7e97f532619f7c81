"""`evaluation.json`: reads what a run writes, and refuses anything else in one line."""

import copy
import json
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from outcomes import FACTS as F1_FACTS
from outcomes import facts_of

from ragsweep.core.parsing import MalformedError
from ragsweep.tasks.facts import Facts, read_facts

FACTS = F1_FACTS | {
    "metrics": {"f1": F1_FACTS["metrics"]["f1"] | {"guessing": {"value": 0.25, "p": 0.5, "p_worse": 0.4}}}
}
F1 = F1_FACTS["metrics"]["f1"]
PLAIN = st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | st.text()
JSON = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))


def places(value, path=()):
    """The path of every value in the facts."""
    yield path
    for key in value if isinstance(value, dict) else ():
        yield from places(value[key], (*path, key))


@example(("metrics", "f1", "low"), 10**400)
@example(("at_k_ci",), {"no curve": {}})
@given(st.sampled_from(list(places(FACTS))), JSON)
def test_any_json_is_read_or_refused(place, value):
    facts = copy.deepcopy(FACTS) if place else value
    node = facts
    for key in place[:-1]:
        node = node[key]
    if place:
        node[place[-1]] = value
    with suppress(MalformedError):
        read = facts_of(facts)
        assert isinstance(read, Facts)
        assert all(isinstance(number, float) for curve in read.at_k.values() for number in curve)
        assert all(isinstance(name, str) for name in (read.dataset.digest, read.decided_by, *read.findings))
        assert all(isinstance(sentence, str) for sentences in read.sections.values() for sentence in sentences)
        assert all(
            [len(bound) for bound in bounds] == 2 * [len(read.at_k[name])] for name, bounds in read.at_k_ci.items()
        )


def test_what_is_written_is_read_and_a_file_that_is_none_is_refused_by_its_name(tmp_path):
    path, other_name = tmp_path / "evaluation.json", json.dumps(FACTS | {"metrics": {"f2": F1}})
    path.write_text(json.dumps(FACTS))
    assert read_facts(path) == facts_of(FACTS)
    for text in ('{"broken', "[" * 100_000, "9" * 5000, '{"a": NaN}', "null", other_name):
        path.write_text(text)
        with pytest.raises(MalformedError, match=r"^evaluation\.json: "):
            read_facts(path)


LARGE, GUESSED = 10**400, {"value": 1, "p": 2, "p_worse": 0}
UNREADABLE = [  # what is changed, and how the refusal begins
    ({"schema": 2**63}, "schema: found 9223372036854775808, expected another one; install the newest ragsweep"),
    ({"schema": LARGE}, f"schema: found {LARGE}"[:40]),
    ({"schema": 2, "dataset": None, "metrics": []}, "schema: found 2, expected 1; install the newest ragsweep"),
    ({"dataset": {"name": "a"}}, "dataset.digest: "),
    ({"at_k": {"recall": [0.5, "1"]}, "at_k_ci": {}}, "at_k.recall.1: "),
    ({"at_k": {"re\ncall": [LARGE]}, "at_k_ci": {}}, "at_k.re call.0: "),
    ({"at_k_ci": {"recall": {"low": [0.1], "high": [0.2]}}}, "at_k_ci.recall: "),
    ({"measures": {"f1": {"name": "f1", "title": "F1", "value": 1}}}, "measures.f1: another column"),
    ({"method": {"stands_for": {"alpha": LARGE}}}, "method.stands_for: "),
    ({"metrics": {"f1": F1 | {"guessing": GUESSED}}}, "metrics.f1: guessing: "),
    ({"metrics": {"f1": F1 | {"aggregate": True, "mean": 1}}}, "metrics.f1: an aggregate needs"),
]


@pytest.mark.usefixtures("long_work")
def test_what_cannot_be_read_is_one_line_that_names_the_field():
    for changes, message in UNREADABLE:
        with pytest.raises(MalformedError) as refused:
            facts_of(FACTS | changes)
        assert str(refused.value).startswith(message)
    with pytest.raises(MalformedError, match=r"100,000 of its fields"):  # at once
        facts_of(FACTS | {"sections": dict.fromkeys(map(str, range(100_000)))})
