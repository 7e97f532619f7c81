"""What an annotation says a setting may be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from annotated_types import Ge, Interval, MaxLen, MinLen, MultipleOf, Predicate
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.config.components import signature_of
from ragsweep.config.rules import as_configured, rule_of
from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Between, Text
from ragsweep.store.stage_store import Store

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("hint", "words", "accepted", "refused"),
    [
        (int, "a whole number", [-1, 0, 2**62], [2**80, 1.0, True, "1", None, {}]),
        (float, "a number", [0, 1.5, 10**300], [10**400, NAN, INF, True, "1", None]),
        (bool, "true or false", [True, False], [1, "true", None]),
        (str, "a string", ["a", ""], [1, None, ["a"]]),
        (Text, "a string that is not empty", ["a"], ["", " ", 1, None, ["a"]]),
        (Annotated[int, Between(1)], "a whole number of at least 1", [1, 2**62], [0, 2**80, 1.5, None]),
        (Annotated[int, Between(1, 9)], "a whole number from 1 to 9", [1, 9], [0, 10]),
        (Annotated[float, Between(0, 1)], "a number from 0 to 1", [0, 0.5, 1], [-0.1, 1.1, NAN]),
        (Annotated[float, Between(0)], "a number of at least 0", [0, 1e300], [-1, INF]),
        (Annotated[float, Between(0)] | None, "a number of at least 0, or null", [0, None], [-1]),
        (Text | None, "a string that is not empty, or null", ["a", None], ["", {}]),
        (Annotated[int | None, Between(1)], "a whole number of at least 1, or null", [1, None], [0]),
        (Literal[True, 1, None], "true or 1 or null", [True, 1, None], [False, 1.0, "1"]),
        (Literal["a", "b"], "a or b", ["a"], ["c", None, {}, ["a"]]),
        (Literal["a"] | None, "a, or null", ["a", None], ["c"]),
        (
            Store,
            "the settings of a Store: _target_ and its arguments",
            [{"_target_": "x"}],
            [None, {}, "x", {"_target_": 5}],
        ),
        (list[str], "a list, each a string", [[], ["a", "b"], ("a",)], ["a", ["a", 1], None]),
        (Sequence[float] | None, "a list, each a number, or null", [None, [0.5, 1]], [0.5, ["0.5"]]),
        (
            Mapping[str, Annotated[int, Between(1)]],
            "a mapping of names, each a whole number of at least 1",
            [{}, {"a": 1}],
            [[1], {"a": 0}],
        ),
        (int | str, "a whole number or a string", [1, "a"], [1.5, True, None]),
        (
            Text | list[Text] | None,
            "a string that is not empty or a list, each a string that is not empty, or null",
            ["a", ["a"], None],
            ["", [""], 1],
        ),
        (Annotated[float, Interval(gt=0, lt=1)], "a number above 0 and below 1", [0.5], [0, 1, NAN]),
        (
            Annotated[int, MultipleOf(2), Ge(0), "unread"],
            "a whole number that is a multiple of 2 and of at least 0",
            [4],
            [3, -2],
        ),
        (
            Annotated[list[str], MinLen(1), MaxLen(2)],
            "a list of length 1 or more and of length 2 or less, each a string",
            [["a"]],
            [[], ["a", "b", "c"], [1]],
        ),
        (Annotated[str, Predicate(str.isupper)], "a string that isupper", ["A"], ["a", 1]),
        (
            Mapping[str, list[Mapping[str, Literal["a"]]]],
            "a mapping of names, each a list, each a mapping of names, each a",
            [{"x": [{"y": "a"}]}],
            [{"x": [{"y": "b"}]}, {"x": {"y": "a"}}],
        ),
        (Literal[1], "1", [1], [True, 1.0]),
        (list, "a list", [["a", 1]], ["a", {"a": 1}]),
        (dict, "a mapping of names", [{"a": 1}], [["a"], "a"]),
    ],
)
def test_a_rule_says_and_checks_the_same(hint, words, accepted, refused):
    rule = rule_of(hint)
    assert rule.expected == words
    assert all(map(rule.accepts, accepted))
    assert not any(map(rule.accepts, refused))


@pytest.mark.parametrize("hint", [tuple, int | object, object, "unresolved"])
def test_other_annotations_say_nothing(hint):
    assert rule_of(hint) is None


class Theirs:
    def __init__(self, depth: Annotated[int, Between(1)], free, mode: Literal["a"] = "a") -> None: ...


@dataclass
class TheirData(Theirs):
    depth: Annotated[int, Between(2)]


@dataclass
class TheirBase:
    depth: int


class TheirOwnInit(TheirBase):
    def __init__(self, depth: float = None, prefix: str = "", k1: int = 1.5) -> None: ...  # noqa: RUF013  # as users write it


def test_a_parameter_may_have_its_own_default_whatever_its_annotation_says():
    parameters = signature_of(TheirOwnInit).parameters
    for name, value in {"depth": None, "prefix": "", "k1": 1.5}.items():
        parameters[name].check(name, value)
    parameters["depth"].check("depth", 0.5)  # its own __init__ counts, not the fields of the class below
    with pytest.raises(ConfigError, match=r"k1: found 2\.5, expected a whole number"):
        parameters["k1"].check("k1", 2.5)


def their_function(judged, k: int, *, level: bool): ...


def cannot_be_resolved(depth: "Nowhere", size: "int"): ...  # noqa: F821


@dataclass
class OfUnknownType(TheirBase):
    path: "Nowhere"  # noqa: F821
    size: "int"


@pytest.mark.parametrize(
    ("target", "names"),
    [
        (Theirs, {"depth", "mode"}),
        (TheirData, {"depth"}),
        (their_function, {"k", "level"}),
        (cannot_be_resolved, {"size"}),
        (OfUnknownType, {"depth", "size"}),
        (dict, set()),
    ],
)
def test_the_rules_of_a_users_class_are_its_annotations(target, names):
    assert {name for name, each in signature_of(target).parameters.items() if each.rule} == names


@given(st.integers() | st.text() | st.floats() | st.none() | st.lists(st.integers()))
def test_a_value_is_shown_in_a_short_line(value):
    assert len(as_configured(value)) < 210
    assert "\n" not in as_configured(value)


def test_a_number_of_thousands_of_digits_can_be_shown():
    assert as_configured(10**5000) == "a number of thousands of digits"
