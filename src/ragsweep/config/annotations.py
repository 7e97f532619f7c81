"""What a class or function may be built with: its parameters, and what their annotations accept.

    alpha: Annotated[float, Between(0, 1)]
    stemmer: str | None

pydantic checks a value by the annotation, and says what it expects. It works for users' classes, too, and with every
constraint of `annotated_types`.
"""

from __future__ import annotations

import difflib
import inspect
import re
import types
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import is_dataclass
from functools import cache
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Le

from ragsweep.core.plugins import is_ours

if TYPE_CHECKING:
    from pydantic import TypeAdapter

LONGEST_VALUE = 200  # characters of a value in an error
LITERALS = {None: "null", True: "true", False: "false"}
WHOLE_NUMBER = Annotated[int, Ge(-(2**63)), Le(2**63 - 1)]
PLAIN = {int: WHOLE_NUMBER, float: float, str: str, bool: bool, type(None): None}
REQUIRED = inspect.Parameter.empty  # in place of a default


class Parameter(NamedTuple):
    """A parameter of a class or function.

    Attributes:
        hint: Its annotation; None without one.
        default: Its default, or `REQUIRED`.
    """

    hint: Any
    default: object

    def expected(self, value: object) -> str:
        """What the annotation expects in place of a value; empty if it accepts that, or if it is the default."""
        is_default = (type(value), value) == (type(self.default), self.default)
        return "" if self.hint is None or is_default else expected(self.hint, value)


class Signature(NamedTuple):
    """The parameters of a class or function by name, and whether it takes others as well."""

    parameters: Mapping[str, Parameter]
    takes_others: bool


def target_of(name: str) -> Callable[..., Any] | None:
    """The class or function of this name; None where there is none."""
    with suppress(Exception, SystemExit):  # importing a user's module can raise anything
        target: Callable[..., Any] = resolve_name(name)
        return target
    return None


@cache
def signature_of(target: Callable[..., Any] | None) -> Signature:
    """The signature of a class or function; one that there is not, or that cannot be read, takes anything."""
    try:
        parameters = inspect.signature(target).parameters.values() if target else None
    except (TypeError, ValueError):  # one that is written in C
        parameters = None
    if parameters is None:
        return Signature({}, True)
    annotated: Any = target
    if inspect.isclass(target):  # the class whose `__init__` is called, and its fields where they make it
        made_by = next(kind for kind in target.__mro__ if "__init__" in vars(kind))
        annotated = made_by if "__dataclass_fields__" in vars(made_by) else vars(made_by)["__init__"]
    hints: dict[str, Any] = {}
    with suppress(Exception):  # an annotation that cannot be resolved, as it can be any code: then none is checked
        hints = get_type_hints(annotated, include_extras=True)
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    named = [parameter for parameter in parameters if parameter.kind not in variadic]
    by_name = {parameter.name: Parameter(hints.get(parameter.name), parameter.default) for parameter in named}
    return Signature(by_name, any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters))


def optional(hint: Any) -> Any:
    """The other type of a hint such as `int | None`; any other hint itself."""
    kinds = [kind for kind in get_args(hint) if kind is not type(None)]
    return kinds[0] if get_origin(hint) in (Union, types.UnionType) and len(kinds) == 1 else hint


def is_component(hint: Any) -> bool:
    """Whether an annotation asks for an object that the configuration describes: our own class, or a plugin's."""
    return inspect.isclass(hint) and is_ours(hint.__module__)


def settings_class(hint: Any) -> Any:
    """The class that settings without a `_target_` make; None if the annotation names none."""
    kind = optional(hint)
    return kind if is_component(kind) and is_dataclass(kind) else None


def inner_hint(hint: Any) -> Any:
    """The annotation of the items of a list, or of the values of a mapping."""
    arguments = [argument for argument in get_args(optional(hint)) if argument is not ...]
    return arguments[-1] if get_origin(optional(hint)) in (Mapping, Sequence, dict, list, tuple) else None


def expected(hint: Any, value: object) -> str:
    """What an annotation expects in place of a value, in words; empty if it accepts the value."""
    from pydantic import ValidationError  # here, as it takes 0.2 s

    try:
        _adapter(hint).validate_python(value)
    except ValidationError as error:
        msgs = dict.fromkeys(fault["msg"] for fault in error.errors(include_url=False, include_context=False))
        texts = [re.sub("^(?:Input should be|Value error,) ", "", text) for text in msgs if not text.endswith(" None")]
        words = " or ".join([*texts, *(["null"] if type(None) in get_args(hint) else [])])
        return re.sub(r"Predicate '(?:\w+\.)*(\w+)' failed", lambda name: f"what {name[1].replace('_', ' ')}", words)
    return ""


@cache
def _adapter(hint: Any) -> TypeAdapter[Any]:
    from pydantic import ConfigDict, TypeAdapter

    strict = ConfigDict(strict=True, allow_inf_nan=False, arbitrary_types_allowed=True)
    return TypeAdapter(_checked(hint), config=strict)


def _checked(hint: Any) -> Any:
    """An annotation as pydantic checks a setting by it; what is not plain, and no component, is not checked."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        kind, *metadata = arguments
        inner = optional(kind)
        if inner is not kind:  # Annotated[int | None, Ge(1)] means what Annotated[int, Ge(1)] | None does
            return _checked(Annotated[(inner, *metadata)]) | None
        return Annotated[(_checked(kind), *metadata)]
    if origin is Literal:  # pydantic takes True for 1
        exact = [(type(option), option) for option in arguments]
        options = (LITERALS[option] if isinstance(option, bool | None) else str(option) for option in arguments)
        return _only(lambda value: (type(value), value) in exact, " or ".join(options))
    if origin in (Union, types.UnionType):
        return Union[tuple(_checked(kind) for kind in arguments)]  # noqa: UP007
    if (origin or hint) in (Mapping, dict):
        of_values = _checked(arguments[1]) if arguments else Any
        return dict[str, of_values]  # type: ignore[valid-type]
    if (origin or hint) in (Sequence, list, tuple):
        kinds = [kind for kind in arguments if kind is not ...]
        of_items = _checked(kinds[0]) if len(kinds) == 1 else Any
        return list[of_items]  # type: ignore[valid-type]
    if origin is Callable or hint is Callable:
        return Callable
    if is_component(hint):
        article = "an" if hint.__name__[:1] in "AEIOU" else "a"
        words = f"{article} {hint.__name__}: _target_ and its arguments"
        return _only(lambda value: not isinstance(value, bool | int | float | str | list | dict | None), words)
    return next((checked for plain, checked in PLAIN.items() if hint is plain), Any)


def _only(accepts: Callable[[Any], bool], words: str) -> Any:
    """The annotation of the values that a function accepts; for others, these words say what is expected."""
    from pydantic import AfterValidator

    def check(value: object) -> object:
        if not accepts(value):
            raise ValueError(words)
        return value

    return Annotated[Any, AfterValidator(check)]


def as_configured(value: object) -> str:
    """A value as an error shows it: as it is written in a configuration, cut where it is long."""
    if value is None:
        return "null"
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print so many digits
        return "a number of thousands of digits"
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."


def nearest(name: str, settings: Sequence[str]) -> str:
    """' (did you mean ...?)' for the setting with the most similar name, or the names of its group, or both."""
    group, _, last = name.rpartition(".")
    settings = [name for name in settings if not name.endswith("_")]  # not _target_ and its like
    beside = [name for name in settings if name.rpartition(".")[0] == group]
    has = f"{group} has {', '.join(name.rpartition('.')[2] for name in beside)}" if group and beside else ""
    for names, cutoff, before in ((beside, 0.7, ""), (settings, 0.75, has)):  # of other groups must be more alike
        by_last = {name.rpartition(".")[2].casefold(): name for name in names}
        if close := difflib.get_close_matches(last.casefold(), list(by_last), n=1, cutoff=cutoff):
            return f" ({before}{'; ' if before else ''}did you mean {by_last[close[0]]}?)"
    return has and f" ({has})"
