"""Makes the page of optional members, as a hook of mkdocs: what a class may have besides its one method."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from ragsweep.core.capability import members, offered
from ragsweep.core.plugins import our_folders

PAGE = "reference/optional_members.md"
KINDS = {
    "rank": "A retriever",
    "learn_from_judgments": "A retriever that learns from judgments",
    "open": "An index",
    "expand": "A rewriter that searches several times",
    "fuse": "A fusion",
    "rerank": "A reranker",
    "load": "A dataset",
    "read": "A corpus or questions",
    "split": "A chunker",
    "offsets": "A tokenizer of a chunker",
    "measure": "A task",
    "answers": "A system with passages of its own",
    "answer": "An answerer",
    "complete": "A language model",
    "ask_each": "A language model that is asked one request at a time",
    "draft": "A generator of questions",
    "": "Any component",
}
HEAD = """# Optional members

What a class of your own may have besides the one method of its kind. It has a capability by having its members; what
it lacks is not asked of it. A name that is almost one of these is refused, in a run and by the conformance suite. The
protocols are for a type checker, which compares them with your class.
"""


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the page."""
    files.append(File.generated(config, PAGE, content="\n".join([HEAD, *_sections()])))
    return files


def _sections() -> Iterator[str]:
    for folder in our_folders():
        for path in sorted(folder.rglob("*.py")):
            if "@offered_with" in path.read_text("utf-8"):
                import_module(".".join(path.relative_to(folder.parent).with_suffix("").parts))
    by_kind = offered()
    if unknown := by_kind.keys() - KINDS:
        raise LookupError(f"KINDS has no name for a component with {', '.join(sorted(unknown))}")
    for method, title in KINDS.items():
        shown = {*by_kind["rank"]} if method == "learn_from_judgments" else set()
        rows = [row for each in by_kind[method] if each not in shown for row in _rows(each)]
        if rows:
            others = ", and what a retriever may have" if shown else ""
            yield from (f"## {title}", "", f"Besides `{method}`{others}:" if method else "Whatever its kind:", "")
            yield from ("| member | what it says | protocol |", "|---|---|---|", *rows, "")


def _rows(capability: type) -> Iterator[str]:
    """A row for each member: its signature or type, and its sentence."""
    source = inspect.getsource(capability)
    about = inspect.cleandoc(capability.__doc__ or "").partition("\n\n")[0].replace("\n", " ")
    name = f"`{capability.__module__}.{capability.__name__}`"
    for member in sorted(members(capability)):
        value = getattr(capability, member, None)
        if callable(value):
            arguments = ", ".join([*inspect.signature(value).parameters][1:])
            shown, said = f"{member}({arguments})", inspect.cleandoc(value.__doc__ or "").partition("\n\n")[0]
        else:
            line = re.search(rf"^    {member}: ([^#\n]+?)(?:  # (.*))?$", source, re.MULTILINE)
            doc = getattr(value, "__doc__", None) if isinstance(value, property) else None
            shown = f"{member}: {line[1]}" if line else member
            said = (line[2] if line else None) or inspect.cleandoc(doc or "").partition("\n\n")[0]
        yield f"| `{shown}` | {about} {said[:1].upper()}{said[1:]} | {name} |".replace("\n", " ")
