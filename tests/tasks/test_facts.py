"""`evaluation.json`: reads what a run writes, and refuses anything else in one line."""

import copy
import json
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from outcomes import FACTS as F1_FACTS

from ragsweep.core.parsing import MalformedError
from ragsweep.tasks.facts import Facts, facts_of, read_facts

FACTS = F1_FACTS | {
    "metrics": {"f1": F1_FACTS["metrics"]["f1"] | {"guessing": {"value": 0.25, "p": 0.5, "p_worse": 0.4}}}
}
PLAIN = st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | st.text()
JSON = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))


def places(value, path=()):
    """The path of every value in the facts."""
    yield path
    for key in value if isinstance(value, dict) else ():
        yield from places(value[key], (*path, key))


@example(("metrics", "f1", "lowest"), 10**400)
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
        found = facts_of(facts)
        assert isinstance(found, Facts)
        assert all(isinstance(number, float) for curve in found.curves.values() for number in curve)
        assert all(isinstance(name, str) for name in (found.digest, found.decided_by, *found.findings))
        assert all(isinstance(said, str) for sentences in found.sections.values() for said in sentences)
        assert all(
            [len(bound) for bound in bounds] == 2 * [len(found.curves[name])]
            for name, bounds in found.intervals.items()
        )


@pytest.mark.parametrize("text", ['{"broken', "[" * 100_000, "9" * 5000, '{"a": NaN}', "null"])
def test_a_file_that_is_not_json_is_refused_by_its_name(tmp_path, text):
    (tmp_path / "evaluation.json").write_text(text)
    with pytest.raises(MalformedError, match=r"^evaluation\.json: "):
        read_facts(tmp_path / "evaluation.json")


def test_what_is_written_is_read(tmp_path):
    (tmp_path / "evaluation.json").write_text(json.dumps(FACTS))
    assert read_facts(tmp_path / "evaluation.json") == facts_of(FACTS)
