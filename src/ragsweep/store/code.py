"""Digests of the code that computed a result: Python code, and the versions of installed packages."""

from __future__ import annotations

import ast
import inspect
import os
import re
import sys
import unicodedata
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from importlib import metadata
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ragsweep.core.digest import digest, digest_file, version
from ragsweep.core.plugins import is_ours, our_folders

MODULES = {  # of packages that ragsweep requires, where the module has another name
    "faiss-cpu": "faiss",
    "hydra-core": "hydra",
    "markdown-it-py": "markdown_it",
    "pystemmer": "Stemmer",
    "pyyaml": "yaml",
    "scikit-learn": "sklearn",
}
INSTALLED = ("site-packages", "dist-packages")
# These modules name, store and report results. After a change in them, nothing has to be computed again.
NOT_COMPUTING = (
    *(f"ragsweep.core.{name}" for name in "capability digest errors limits parsing progress".split()),
    *(f"ragsweep.store.{name}" for name in "code identity key_capabilities stage_store".split()),
)


@cache
def digest_of_code() -> str:
    """Digest of the modules of ragsweep and of its plugins, with the texts beside them, as they are now.

    A commit does not cover changes in the checkout.
    """
    named = {
        str(file.relative_to(package.parent)): file
        for package in our_folders()
        for module in package.rglob("*.py")
        for file in (module, *_texts_beside(module))
    }
    return digest([[name, digest_file(named[name])] for name in sorted(named)])


def kind_of(thing: object) -> str:
    """The full name of an object's class."""
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


def name_of(thing: object) -> str:
    """The name of an object's class, in full if the class is not ours."""
    return type(thing).__name__ if is_ours(type(thing).__module__) else kind_of(thing)


def code_of(thing: object) -> list[str]:
    """The name of an object's class and the digest of its code: a subclass may compute something else."""
    return [kind_of(thing), digest_of_module(type(thing).__module__)]


def code_of_call(call: Callable[..., Any]) -> str:
    """Digest of the code of a function."""
    return digest_of_module((call.func if isinstance(call, partial) else call).__module__)  # a partial has none


@cache
def digest_of_module(name: str) -> str:
    """Digest of the source of a module and of all modules that it imports, also within functions.

    A text file beside a module whose name begins with the module's name, such as a prompt, belongs to the source. Only
    import statements are followed, not `importlib.import_module`. Installed packages are represented by their versions,
    and so is Unicode, which decides what a letter is. Of what ragsweep imports, the packages that it requires count; a
    component names those of an extra as `libraries`, so that installing one does not compute everything again.
    Code that is not in a file, such as a notebook cell, gets a new digest in every process, so that no stored result is
    found. Files are read once per process, because the process runs the code that it has loaded.
    """
    root = name.partition(".")[0]
    if not is_ours(root) and _is_installed(root):
        return digest([root, *_versions(root), sys.version])
    sources: dict[str, str] = {}
    waiting = [name]
    while waiting:
        each = waiting.pop()
        if each in sources or each in NOT_COMPUTING:
            continue
        file = _file(each, name)
        if file is None:
            if package := _package_of(each.partition(".")[0], root):
                sources[f"package {package}"] = version(package)
            continue
        sources[each] = digest_file(file)
        sources |= {f"{each}: {text.name}": digest_file(text) for text in _texts_beside(file)}
        if file.suffix == ".py":
            waiting += _imports(file, each)
    return digest([unicodedata.unidata_version, sources or uuid.uuid4().hex])


@cache
def _texts_beside(module: Path) -> tuple[Path, ...]:
    """The text files in a module's folder whose names begin with its name."""
    return tuple(module.parent.glob(f"{module.stem}*.txt"))


def _file(module: str, of: str) -> Path | None:
    """The source file of a module; None where there is none, or where it belongs to another installed package."""
    loaded = sys.modules.get(module)
    if module == of and loaded and (where := getattr(loaded, "__file__", None)):
        return Path(inspect.getsourcefile(loaded) or where)  # a compiled module has no source
    return _file_of_package(module, of.partition(".")[0])


@cache
def _file_of_package(module: str, package: str) -> Path | None:
    """As `_file`, for all modules of a package. Nothing is imported, since that could be slow or have side effects."""
    root, *inner = module.split(".")
    spec = _spec(root)
    if spec is None or (root != package and not is_ours(root) and _is_installed(root)):
        return None
    folders = [*(spec.submodule_search_locations or ())]
    file = spec.origin or ""
    for name in inner:
        found = [path for each in folders for path in (f"{each}/{name}/__init__.py", f"{each}/{name}.py")]
        folders = [f"{each}/{name}" for each in folders]
        file = next(filter(os.path.isfile, found), "")
    return Path(file) if file.endswith(".py") and Path(file).is_file() else None


@cache
def _is_installed(root: str) -> bool:
    """Whether a top-level module belongs to Python or to an installed package."""
    if root in sys.stdlib_module_names:
        return root != "__main__"
    spec = _spec(root)
    places = [spec.origin or "", *(spec.submodule_search_locations or [])] if spec else []
    return any(name in Path(place).parts for name in INSTALLED for place in places)


@cache
def _package_of(root: str, of: str) -> str | None:
    """The installed package that brings a top-level module, if its version counts for the code of another one."""
    if root == of or is_ours(root) or root in sys.stdlib_module_names or not _is_installed(root):
        return None
    return _required().get(root) if is_ours(of) else next(iter(_distributions().get(root, ())), None)


@cache
def _required() -> dict[str, str]:
    """The packages that ragsweep requires, without its extras, by their modules."""
    required = [each for each in metadata.requires("ragsweep") or () if "extra ==" not in each]
    names = [re.split(r"[^\w.-]", each, maxsplit=1)[0] for each in required]
    return {MODULES.get(name.lower(), name.replace("-", "_")): name for name in names}


@cache
def _distributions() -> Mapping[str, list[str]]:
    return metadata.packages_distributions()


def _versions(root: str) -> list[str]:
    """Names and versions of the installed packages that have this top-level module."""
    names = [] if root in sys.stdlib_module_names else _distributions().get(root, [])
    return [f"{name} {metadata.version(name)}" for name in sorted(names)]


def _spec(module: str) -> ModuleSpec | None:
    with suppress(ImportError, ValueError):  # ValueError: __main__, or a module made at run time
        return find_spec(module)
    return None


@cache
def _imports(file: Path, module: str) -> list[str]:
    """The modules that a file imports, and names that may be modules."""
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    try:
        parsed = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):  # importing it will raise the error
        return []
    found: list[str] = []
    for node in _statements(parsed.body):
        if isinstance(node, ast.Import):
            found += (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            above = parents[: len(parents) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            found += (base, *(f"{base}.{name.name}" for name in node.names))
    return found


def _statements(block: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Those of a block and of all blocks in it. `ast.walk` would visit every expression, too."""
    for each in block:
        yield each
        for name in ("body", "handlers", "orelse", "finalbody", "cases"):
            yield from _statements(getattr(each, name, ()))
