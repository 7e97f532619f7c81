"""Names of a package that are imported when they are first used (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module


def lazy_names(
    package: str, homes: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The functions `__getattr__` and `__dir__` of a package, whose importer does not wait for what it does not use.

    Args:
        package: Its name.
        homes: The names that each of its modules defines; a module's own name may be among them.
    """
    module_of = {name: f"{package}.{module}" for module, names in homes.items() for name in names}

    def get(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(module_of[name])
        return module if module_of[name] == f"{package}.{name}" else getattr(module, name)

    return get, lambda: sorted({*vars(sys.modules[package]), *module_of})
