"""A store for single questions: what is used again stays in memory, and nothing is written."""

import numpy as np
import pytest

from ragsweep.store.serving_store import ServingStore
from ragsweep.store.stage_store import Store


@pytest.fixture
def source(tmp_path):
    store = Store(str(tmp_path / "source"))
    store.get("terms", ["corpus"], numbers(1))
    return store


def numbers(value):
    def build():
        return {"value": np.array([value])}

    return build


def refuse():
    pytest.fail("was computed again")


def test_a_stage_of_the_source_is_read_and_one_that_it_lacks_is_computed_once(source, tmp_path):
    serving = ServingStore(source=source)
    kept = set(tmp_path.rglob("*"))
    assert serving.get("terms", ["corpus"], numbers(2))["value"] == 1
    assert serving.built == set()
    made = []

    def build():
        made.append(1)
        return {"value": np.array([3])}

    assert [serving.get("ranking", ["query"], build)["value"].item() for _ in range(3)] == [3, 3, 3]
    assert (made, serving.built) == ([1], {"ranking"})
    assert set(tmp_path.rglob("*")) == kept


def test_what_every_question_uses_stays_while_earlier_questions_go():
    serving = ServingStore(most_kept=3)
    corpus, question = numbers(1), numbers(2)
    for each in range(10):
        serving.get("terms", ["corpus"], corpus)
        serving.get("ranking", [each], question)
    assert serving.find("terms", ["corpus"], corpus) is not None
    assert [each for each in range(10) if serving.find("ranking", [each], question)] == [8, 9]


def test_the_entries_of_a_stage_are_those_of_the_source_and_those_in_memory(source):
    serving = ServingStore(source=source)
    serving.get("terms", ["another"], numbers(5))
    assert sorted(each["value"].item() for each in serving.arrays("terms")) == [1, 5]
    assert [*serving.entries()] == serving.clear() == []
    assert len([*source.entries()]) == 1
