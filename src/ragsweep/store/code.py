"""Digests of the code that computed a result: Python code, and the versions of installed packages."""

from __future__ import annotations

import sys
import unicodedata
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ragsweep.core.digest import digest, digest_file, version
from ragsweep.core.plugins import KERNEL, is_ours, our_folders

# they compute; each imports only those after it
ROOMS = ("tasks", "retrieval", "models", "datasets", "text", "statistics", "core")
LIBRARIES = (  # with which they compute, of the packages that ragsweep requires
    *("faiss-cpu", "markdown-it-py", "numpy", "nupunkt", "pandas", "pypdfium2", "PyStemmer", "rank-bm25", "rapidfuzz"),
    *("regex", "scikit-learn", "scipy", "sentence-transformers", "tokenizers", "torch", "transformers", "wordllama"),
)
SOURCES = (".py", ".txt", ".so", ".pyd")  # texts beside modules are prompts
INSTALLED = ("site-packages", "dist-packages")


@cache
def digest_of_code() -> str:
    """Digest of the code of ragsweep and its plugins that decides the results of a run, as it is now.

    A commit does not cover changes in the checkout.
    """
    plugins = [folder for folder in our_folders() if folder.name != KERNEL]
    return digest([_digest_of_rooms(ROOMS), [_digest_of_folder(folder) for folder in plugins]])


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
    """Digest of the code that a module belongs to.

    Of the kernel, its room and the computing rooms below it count; of a plugin, the whole package as well; of a user's
    package, that package, and of a user's single file, the modules beside it. Installed packages are represented by
    their versions, and so is Unicode, which decides what a letter is. What a user's module imports from another folder
    does not count. Code that is in no file, such as a notebook cell, gets a new digest in every process, so that no
    stored result is found. Files are read once per process, because the process runs the code that it has loaded.
    """
    root, *inner = name.split(".")
    if root == KERNEL:
        room = inner[0] if inner else ""
        return _digest_of_rooms(ROOMS[ROOMS.index(room) :] if room in ROOMS else ROOMS)
    place = _place(name)
    if is_ours(root) and place:
        return digest([_digest_of_rooms(ROOMS), _digest_of_folder(place)])
    if root in sys.stdlib_module_names - {"__main__"} or (place and {*INSTALLED} & {*place.parts}):
        names = [] if root in sys.stdlib_module_names else metadata.packages_distributions().get(root, [])
        return digest([root, *(f"{name} {metadata.version(name)}" for name in sorted(names)), sys.version])
    return digest([unicodedata.unidata_version, _digest_of_folder(place) if place else uuid.uuid4().hex])


@cache
def _digest_of_rooms(rooms: tuple[str, ...]) -> str:
    [kernel] = [folder for folder in our_folders() if folder.name == KERNEL]
    versions = [f"{name} {version(name)}" for name in LIBRARIES]
    return digest([unicodedata.unidata_version, versions, [_digest_of_folder(kernel / room) for room in rooms]])


@cache
def _digest_of_folder(place: Path) -> str:
    """Digest of the sources in a folder, or beside a single file."""
    return digest([[name, digest_file(file)] for name, file in sorted(_sources(place))])


def _sources(place: Path) -> Iterator[tuple[str, Path]]:
    folder = place if place.is_dir() else place.parent
    for file in folder.rglob("*") if place.is_dir() else folder.iterdir():
        is_other = place.is_file() and file.suffix == ".txt" and not file.name.startswith(place.stem)
        if file.suffix in SOURCES and file.is_file() and not is_other:
            yield file.relative_to(folder).as_posix(), file


def _place(name: str) -> Path | None:
    """The folder of a module's package, or the file of a module that is in none; None without either."""
    root = name.partition(".")[0]
    loaded = sys.modules.get(root)
    if not hasattr(loaded, "__path__") and (file := getattr(loaded, "__file__", None)):
        return Path(file)
    with suppress(ImportError, ValueError):  # ValueError: __main__, or a module made at run time
        if spec := find_spec(root):
            places = map(Path, filter(None, [*(spec.submodule_search_locations or ()), spec.origin]))
            return next((place for place in places if place.exists()), None)
    return None
