"""Capabilities: who has one, and whose member is almost one."""

from dataclasses import dataclass
from typing import ClassVar

import pytest
from application import PROJECT
from letters import LetterEncoder
from seams import classes_named_in

import ragsweep.tasks.task_capabilities  # noqa: F401
from ragsweep.core.capability import misspelt
from ragsweep.core.errors import ConfigError
from ragsweep.retrieval import DenseRetriever, FusedRetriever, PipelineRetriever, SparseRetriever
from ragsweep.retrieval.stage_capabilities import ChoosesCandidates, HasDetails, HasSections
from ragsweep.retrieval.trace import Traces
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.ranking.ranking_task import RankingTask


class Ranks:
    def rank(self, search, depth): ...


def test_a_component_has_a_capability_by_its_members():
    assert isinstance(SparseRetriever(NO_STORE), Traces)
    assert not isinstance(DenseRetriever(LetterEncoder(), NO_STORE), Traces)
    assert isinstance(PipelineRetriever(Ranks()), HasDetails | HasSections)


def test_a_subclass_takes_a_method_back_but_none_is_a_value_of_a_setting():
    class Silent(SparseRetriever):
        trace = None

    @dataclass
    class Reranks:
        candidates: int | None = None

    assert not isinstance(Silent(NO_STORE), Traces)
    assert isinstance(Reranks(), ChoosesCandidates)


def test_a_class_that_inherits_from_a_capability_is_a_class_as_any():
    class Explains(Traces):
        def trace(self, search, query): ...

    assert isinstance(Explains(), Explains)
    assert not isinstance(SparseRetriever(NO_STORE), Explains)


def method(self, *others): ...


@pytest.mark.parametrize(
    ("kind", "typo", "meant"),
    [
        ("rank", "traec", "trace"),
        ("rank", "detail", "details"),
        ("rank", "section", "sections"),
        ("rank", "chek", "check"),
        ("rank", "silence", "silences"),
        ("rank", "learn_from_judgement", "learn_from_judgments"),
        ("rerank", "candidate", "candidates"),
        ("fuse", "normalization", "normalisation"),
        ("split", "accross_pages", "across_pages"),
        ("measure", "measure_s", "measures"),
        ("load", "picture", "pictures"),
    ],
)
def test_a_misspelt_member_is_named(kind, typo, meant):
    component = type("Mine", (), {kind: method, typo: method})()
    assert f"Mine.{typo}: did you mean {meant}?" in misspelt(component)


def test_a_task_refuses_a_stage_or_a_dataset_with_a_misspelt_member():
    class Mine(Ranks):
        detail = method

    with pytest.raises(ConfigError, match=r"Mine\.detail: did you mean details\?"):
        RankingTask(None, None, FusedRetriever({"mine": Mine()}), None, 3, 0, NO_STORE)
    dataset = type("Mine", (), {"load": method, "picture": method})()
    with pytest.raises(ConfigError, match=r"Mine\.picture: did you mean pictures\?"):
        RankingTask(dataset, None, Ranks(), None, 3, 0, NO_STORE)


def test_settings_and_private_names_are_no_misspellings():
    @dataclass
    class Mine(Ranks):
        detail: int = 1
        limit: ClassVar[int] = 3

        def _traces(self): ...

    class Old(Ranks):
        def __init__(self, section=3):
            self.section = section

    assert [misspelt(each) for each in (Mine(), Old(), Ranks())] == [None] * 3


def test_a_class_that_has_the_member_does_not_misspell_it_but_one_that_inherits_it_does():
    both = type("Both", (Ranks,), {"trace": method, "traces": method})
    assert misspelt(both()) is None
    assert "Mine.traec: did you mean trace?" in misspelt(type("Mine", (both,), {"traec": method})())


def test_members_of_another_kind_are_not_meant():
    assert misspelt(type("Mine", (), {"rewrite": method, "traec": method})()) is None


def test_no_component_that_is_shipped_has_a_misspelt_member():
    classes = classes_named_in(PROJECT / "conf")
    assert len(classes) > 50
    assert [*filter(None, map(misspelt, classes))] == []
