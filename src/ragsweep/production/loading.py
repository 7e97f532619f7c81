"""Builds the retriever of an exported folder, which anybody may have written, and asks its questions again.

Only what `reproduce` would build from a record is built: classes of ragsweep and of modules that the user allows, plain
values, files in the folder or in the project, and the bundled models.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ragsweep.config.walk import built
from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.project import placed, project
from ragsweep.datasets import Document, Passage
from ragsweep.datasets.model.chunking import cut
from ragsweep.datasets.model.collection import digest_of_documents
from ragsweep.datasets.model.dataset import passages_in
from ragsweep.production.export_folder import (
    COMPONENTS,
    INDEX,
    OTHERS,
    SETTINGS,
    STAGES,
    Check,
    read_nodes,
    settings_of,
)
from ragsweep.production.loaded_retriever import LoadedRetriever
from ragsweep.replay.trusted_record import RecordCheck, placed_node, resolved_path, set_setting
from ragsweep.retrieval import LearnsFromJudgments
from ragsweep.retrieval.ingest.ingest import indexed, with_headings
from ragsweep.retrieval.results import BringsPassages
from ragsweep.retrieval.returned_units.merging import Enlarging
from ragsweep.retrieval.stage_capabilities import FindsByName
from ragsweep.store.serving_store import ServingStore
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.tasks.search import components_within, in_stages

CORPUS_PATH = "corpus.path"
WARM_UP = "What is this about?"  # is asked at loading, so that everything but the model of queries is there


def load(
    folder: str | Path,
    *,
    corpus: str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    allow: Sequence[str] = (),
) -> LoadedRetriever:
    """Load an exported retriever.

        >>> ragsweep.load("retriever/").search("Who may see the records?", k=5)

    Args:
        folder: What `ragsweep export` has written. Nothing is written into it.
        corpus: Other documents for the same pipeline: the value of `corpus.path`.
        overrides: Settings of `retriever.yaml` by their names, such as `corpus.skip`. They may name models, servers
            and paths that the file itself may not.
        allow: Modules outside ragsweep whose classes `retriever.yaml` may name.

    Raises:
        ConfigError: The folder cannot be read, or holds something that is not allowed.
        DatasetError: The documents cannot be read.
    """
    settings = {name: resolved_path(value) for name, value in (overrides or {}).items()}
    if corpus is not None:
        settings[CORPUS_PATH] = str(Path(corpus).resolve())
    given = [value for value in settings.values() if isinstance(value, str)]
    return load_with(Path(folder), settings, given, allow)


def load_with(
    folder: Path,
    overrides: Mapping[str, Any],
    given: Sequence[str],
    allow: Sequence[str],
    filled: Store | None = None,
    *,
    known: Sequence[str] | None = None,
) -> LoadedRetriever:
    """As `load`.

    Args:
        folder: The folder.
        overrides: Settings by their names.
        given: Texts that the user has given, which `retriever.yaml` may hold.
        allow: Modules whose classes it may name.
        filled: A store that takes what loading and a first answer need; None reads the index of the folder.
        known: What is indexed for each passage, if that is known already.
    """
    nodes = read_nodes(folder)
    for name, value in overrides.items():
        set_setting(nodes, name, value)
    settings = settings_of(folder, nodes)
    path = nodes["corpus"].get("path")
    if isinstance(path, str) and CORPUS_PATH not in overrides and (inside := _inside(folder, path)):
        nodes["corpus"]["path"] = path = str(inside)
        given = [*given, path]
    nodes = {name: nodes[name] for name in (*COMPONENTS, *OTHERS, *STAGES) if nodes.get(name) is not None}
    _check(nodes, given, allow)
    index = folder / INDEX
    source = Store(str(index), enabled=index.is_dir())
    serving = filled or ServingStore(source=source)
    reading = filled or ServingStore(source=source, most_kept=0)  # what is read once
    if isinstance(path, str):
        nodes["corpus"]["path"] = str(_existing(path, folder))
    corpus = _with_store(nodes["corpus"], "corpus", reading)
    documents = corpus.read()
    is_measured = digest_of_documents(documents) == settings.origin.digest
    if not is_measured:
        was, now = settings.origin.documents, len(documents)
        changed = f"there were {was}, now {now}" if was != now else "other texts or names"
        warnings.warn(
            f"{folder}: the documents in {path} are not those that were measured ({changed}): rankings may differ",
            stacklevel=3,
        )
    parts = {name: _with_store(node, name, serving) for name, node in nodes.items() if name != "corpus"}
    ranker = in_stages(parts["retriever"], *map(parts.get, STAGES))
    refuse_if_not_alone(ranker, folder / SETTINGS)
    passages = passages_of(documents, parts["chunker"], reading)
    titled = with_headings(documents, corpus) if "ingest" in parts else ()
    texts = indexed(parts["ingest"], titled, passages, known=known) if "ingest" in parts else None
    enlarging = Enlarging(parts["returns"], documents, passages) if "returns" in parts else None
    found = LoadedRetriever(ranker, passages, settings.k, settings.depth, indexed=texts, enlarging=enlarging)
    found.search(WARM_UP)
    computed = serving.built if isinstance(serving, ServingStore) else set()
    if computed and source.enabled and is_measured and {*overrides} <= {CORPUS_PATH}:
        warnings.warn(
            f"{index}: it is not complete, or other versions or another CPU have written it: "
            f"computed again ({', '.join(sorted(computed))})",
            stacklevel=3,
        )
    return found


def differences(retriever: LoadedRetriever, check: Check) -> list[str]:
    """A line for each question whose passages are not those recorded, in the same order."""
    answers = retriever.search_all([question.query for question in check.questions], check.k)
    lines = []
    for question, hits in zip(check.questions, answers, strict=True):
        ids = tuple(hit.passage_id for hit in hits)
        if ids != question.passages:
            lines.append(f"{question.query!r:.80}: {_first_difference(question.passages, ids)}")
    return lines


def _first_difference(was: tuple[str, ...], is_: tuple[str, ...]) -> str:
    rank = next(
        (at for at, pair in enumerate(zip(was, is_, strict=False)) if pair[0] != pair[1]), min(len(was), len(is_))
    )
    recorded, now = (ids[rank] if rank < len(ids) else "nothing" for ids in (was, is_))
    return f"rank {rank + 1} was {recorded}, is {now}"


def _check(nodes: Mapping[str, Any], given: Sequence[str], allow: Sequence[str]) -> None:
    """Raise `ConfigError` for what may not be built, before anything is."""
    check = RecordCheck(given, allow)
    for name, node in nodes.items():
        check.node(name, node)
    check.unnamed.refuse()


def _existing(path: str, folder: Path) -> Path:
    """The place of the documents. Raises `ConfigError` where there is nothing."""
    if not placed(path).exists():
        where = "not there" if Path(path).is_absolute() else f"neither in {folder} nor in the project {project()}"
        raise ConfigError(f"{CORPUS_PATH}: the documents {path!r} are {where}; say where: {CORPUS_PATH}=PATH")
    return placed(path)


def documents_of(node: Mapping[str, Any]) -> tuple[Document, ...]:
    """The documents that a node `corpus` reads."""
    documents: tuple[Document, ...] = _with_store(node, "corpus", NO_STORE).read()
    return documents


def _with_store(node: Mapping[str, Any], name: str, store: Store) -> Any:
    """The component of a node, with this store wherever it has one."""
    return built(name, placed_node(node), store)


def _inside(folder: Path, path: str) -> Path | None:
    """The place of a relative path within a folder; None if there is nothing, or a link leads out of it."""
    try:
        place, root = (folder / path).resolve(), folder.resolve()
        return place if place.exists() and place.is_relative_to(root) else None
    except (OSError, ValueError):  # no file can have such a path
        return None


def passages_of(documents: Sequence[Document], chunker: Any, store: Store) -> list[Passage]:
    """The passages of documents, with the ids that a run gives them."""
    spans = zip(documents, cut(documents, chunker, store), strict=True)
    passages = [passage for document, its in spans for passage, _ in passages_in(document, its)]
    if not passages:
        raise DatasetError("corpus: the documents contain no text, so nothing can be retrieved")
    return passages


def refuse_if_not_alone(parts: object, where: object) -> None:
    """Raise `ConfigError` for a retriever that needs more than documents and a question.

    Args:
        parts: The retriever, or a list of the classes of which one would be built.
        where: Where it is named.
    """
    for part in components_within(parts):
        if isinstance(part, BringsPassages) or (isinstance(part, FindsByName) and part.finds_by_name):
            why = "what it searches runs or lies elsewhere"
        elif isinstance(part, LearnsFromJudgments):
            why = "it learns from judgments, and was measured on folds of them"
        else:
            continue
        kind = part if isinstance(part, type) else type(part)
        raise ConfigError(f"{where}: {kind.__module__}.{kind.__qualname__} cannot be exported: {why}")
