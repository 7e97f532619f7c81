"""Digests of code: what a result was computed by, as far as that is written in Python outside installed packages."""

from __future__ import annotations

import ast
import inspect
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib import metadata
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ragsweep.core.digest import digest, digest_file

INSTALLED = ("site-packages", "dist-packages")
# These modules name, keep and report results. A change in them need not encode a corpus again.
NOT_COMPUTING = [
    f"ragsweep.core.{name}" for name in ("code", "constraints", "digest", "errors", "identity", "parsing", "store")
]


@cache
def digest_of_code() -> str:
    """Digest of the modules of ragsweep as they are now: what a commit says only of a clean checkout."""
    package = Path(__file__).parents[1]
    return digest([[str(file.relative_to(package)), digest_file(file)] for file in sorted(package.rglob("*.py"))])


def kind_of(thing: object) -> str:
    """The full name of an object's class."""
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


def name_of(thing: object) -> str:
    """The name of an object's class, in full if the class is not ours."""
    return type(thing).__name__ if type(thing).__module__.startswith("ragsweep.") else kind_of(thing)


def code_of(thing: object) -> list[str]:
    """Names an object's class, and the code that it is written in: what a subclass computes is not what we computed."""
    return [kind_of(thing), digest_of_module(type(thing).__module__)]


def code_of_call(call: Callable[..., Any]) -> str:
    """Digest of the code that a function is written in."""
    return digest_of_module(getattr(call, "func", call).__module__)  # partial(func) has no module of its own


@cache
def digest_of_module(name: str) -> str:
    """Digest of a module's source and of all that it imports, also within functions, but for installed packages.

    Only what an import statement names is found, not what `importlib.import_module` loads at run time.

    An installed package is known by its version. Code that is in no file, as in a notebook, has another digest in every
    process: nothing that was stored for it is found again. The files are read once a process, which computes by what it
    has loaded.
    """
    root = name.partition(".")[0]
    if root != "ragsweep" and _is_installed(root):
        return digest([root, *_versions(root), sys.version])
    sources: dict[str, str] = {}
    waiting = [name]
    while waiting:
        each = waiting.pop()
        if each in sources or each in NOT_COMPUTING:
            continue
        file = _file(each, name)
        if file is None:
            continue
        sources[each] = digest_file(file)
        if file.suffix == ".py":
            waiting += _imports(file, each)
    return digest(sources or uuid.uuid4().hex)


def _file(module: str, of: str) -> Path | None:
    """Where a module's source is; None where it is none, or one of an installed package that `of` is not part of.

    Nothing is imported for it, which could take long, or have effects.
    """
    loaded = sys.modules.get(module)
    if module == of and loaded and (where := getattr(loaded, "__file__", None)):
        return Path(inspect.getsourcefile(loaded) or where)  # a compiled module has no source
    root, *inner = module.split(".")
    spec = _spec(root)
    if spec is None or (root != of.partition(".")[0] and _is_installed(root)):
        return None
    folders = [Path(path) for path in spec.submodule_search_locations or ()]
    file = Path(spec.origin or "")
    for name in inner:
        found = [path for folder in folders for path in (folder / name / "__init__.py", folder / f"{name}.py")]
        folders = [folder / name for folder in folders]
        file = next((path for path in found if path.is_file()), Path())
    return file if file.suffix == ".py" and file.is_file() else None


@cache
def _is_installed(root: str) -> bool:
    """Whether a top-level module belongs to Python or to an installed package."""
    if root in sys.stdlib_module_names:
        return root != "__main__"
    spec = _spec(root)
    places = [spec.origin or "", *(spec.submodule_search_locations or [])] if spec else []
    return any(name in Path(place).parts for name in INSTALLED for place in places)


def _versions(root: str) -> list[str]:
    """Names and versions of the installed packages that have this top-level module."""
    names = [] if root in sys.stdlib_module_names else metadata.packages_distributions().get(root, [])
    return [f"{name} {metadata.version(name)}" for name in sorted(names)]


def _spec(module: str) -> ModuleSpec | None:
    with suppress(ImportError, ValueError):  # ValueError: a program, or a module that was made by hand
        return find_spec(module)
    return None


@cache
def _imports(file: Path, module: str) -> list[str]:
    """The modules that a file imports, and names that may be modules."""
    return list(_imported(file, module))


def _imported(file: Path, module: str) -> Iterator[str]:
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    try:
        parsed = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):  # whoever imports it will say so
        return
    for node in ast.walk(parsed):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            above = parents[: len(parents) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{name.name}" for name in node.names)
