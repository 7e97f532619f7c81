"""Shared by all rooms: errors, digests, plugins, the project folder, the terminal, untrusted files, chart style."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from importlib import import_module


def lazy_names(package: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The functions `__getattr__` and `__dir__` of a package, which are imported when first used (PEP 562).

    Args:
        package: Its name. It imports its names below `if TYPE_CHECKING`, which is read here.
    """
    [block] = [node for node in ast.parse(inspect.getsource(sys.modules[package])).body if isinstance(node, ast.If)]
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    module_of = {name.name: str(node.module) for node in imports for name in node.names}

    def get(name: str) -> object:
        if home := module_of.get(name):
            return import_module(f"{home}.{name}") if home == package else getattr(import_module(home), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, lambda: sorted({*vars(sys.modules[package]), *module_of})
