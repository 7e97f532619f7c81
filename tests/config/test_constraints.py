"""What an annotation says a setting may be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Ge, Interval, MaxLen, MinLen, MultipleOf, Predicate
from hypothesis import example, given
from hypothesis import strategies as st

from ragsweep.config.annotations import as_configured, expected, signature_of
from ragsweep.core.limits import Between, Text
from ragsweep.store.stage_store import NO_STORE, Store

INF, NAN = float("inf"), float("nan")


ANNOTATIONS = [  # what each accepts, and refuses
    (int, [-1, 0, 2**62], [2**80, 1.0, True, "1", None, {}]),
    (float, [0, 1.5, 10**300], [10**400, NAN, INF, True, "1", None]),
    (bool, [True, False], [1, "true", None]),
    (str, ["a", ""], [1, None, ["a"]]),
    (Text, ["a"], ["", " ", 1, None, ["a"]]),
    (Annotated[int, Between(1)], [1, 2**62], [0, 2**80, 1.5, None]),
    (Annotated[int, Between(1, 9)], [1, 9], [0, 10]),
    (Annotated[float, Between(0, 1)], [0, 0.5, 1], [-0.1, 1.1, NAN]),
    (Annotated[float, Between(0)], [0, 1e300], [-1, INF]),
    (Annotated[float, Between(0)] | None, [0, None], [-1]),
    (Text | None, ["a", None], ["", {}]),
    (Annotated[int | None, Between(1)], [1, None], [0]),
    (Literal[True, 1, None], [True, 1, None], [False, 1.0, "1"]),
    (Literal["a", "b"], ["a"], ["c", None, {}, ["a"]]),
    (Literal["a"] | None, ["a", None], ["c"]),
    (Store, [NO_STORE], [None, {}, "x", 5, []]),
    (list[str], [[], ["a", "b"]], ["a", ["a", 1], None]),
    (Sequence[float] | None, [None, [0.5, 1]], [0.5, ["0.5"]]),
    (Mapping[str, Annotated[int, Between(1)]], [{}, {"a": 1}], [[1], {"a": 0}]),
    (int | str, [1, "a"], [1.5, True, None]),
    (Text | list[Text] | None, ["a", ["a"], None], ["", [""], 1]),
    (Annotated[float, Interval(gt=0, lt=1)], [0.5], [0, 1, NAN]),
    (Annotated[int, MultipleOf(2), Ge(0), "unread"], [4], [3, -2]),
    (Annotated[list[str], MinLen(1), MaxLen(2)], [["a"]], [[], ["a", "b", "c"], [1]]),
    (Annotated[str, Predicate(str.isupper)], ["A"], ["a", 1]),
    (
        Mapping[str, list[Mapping[str, Literal["a"]]]],
        [{"x": [{"y": "a"}]}],
        [{"x": [{"y": "b"}]}, {"x": {"y": "a"}}],
    ),
    (Literal[1], [1], [True, 1.0]),
    (list, [["a", 1]], ["a", {"a": 1}]),
    (dict, [{"a": 1}], [["a"], "a"]),
]


def test_an_annotation_accepts_what_it_says_and_says_so_of_other_values():
    wrong = []
    for hint, accepted, refused in ANNOTATIONS:
        wrong += [(hint, value) for value in accepted if expected(hint, value)]
        wrong += [(hint, value) for value in refused if not expected(hint, value)]
    assert wrong == []


def test_what_is_expected_is_said_in_words_and_other_annotations_check_nothing():
    for hint, value, words in (
        (Annotated[float, Between(0, 1)] | None, 2, ["1", "null"]),
        (Literal["a", "b{c}", None], 2, ["a or b{c} or null"]),
        (Text, " ", ["is not empty"]),
        (Store | None, "x", ["Store", "null"]),
    ):
        assert [word for word in words if word not in expected(hint, value)] == [], hint
    assert [hint for hint in (object, int | object, Path, "unresolved") if expected(hint, "x")] == []


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
        assert not parameters[name].expected(value)
    assert not parameters["depth"].expected(0.5)  # its own __init__ counts, not the fields of the class below
    assert "integer" in parameters["k1"].expected(2.5)


def their_function(judged, k: int, *, level: bool): ...


def cannot_be_resolved(depth: "Nowhere", size: "int"): ...  # noqa: F821


@dataclass
class OfUnknownType(TheirBase):
    path: "Nowhere"  # noqa: F821
    size: "int"


def test_the_rules_of_a_users_class_are_its_annotations():
    for target, names in {
        Theirs: {"depth", "mode"},
        TheirData: {"depth"},
        their_function: {"k", "level"},
        cannot_be_resolved: set(),
        OfUnknownType: set(),
        dict: set(),
    }.items():
        parameters = signature_of(target).parameters
        assert {name for name, parameter in parameters.items() if parameter.hint} == names, target


@given(st.integers() | st.text() | st.floats() | st.none() | st.lists(st.integers()))
@example(10**5000)
def test_a_value_is_shown_in_a_short_line(value):
    assert len(as_configured(value)) < 210
    assert "\n" not in as_configured(value)
    assert as_configured(10**5000) == "a number of thousands of digits"
