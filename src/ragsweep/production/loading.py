"""Builds the retriever of an exported folder, which anybody may have written, and asks its questions again.

Only what `reproduce` would build from a record is built: classes of ragsweep and of modules that the user allows, plain
values, files in the folder or in the project, and the bundled models.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from ragsweep.config.configuration_walk import built
from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.project import placed, project
from ragsweep.datasets import Chunker, Corpus, Document, Passage
from ragsweep.datasets.model.chunking import cut
from ragsweep.datasets.model.collection import digest_of_documents
from ragsweep.datasets.model.dataset import passages_in
from ragsweep.production.export_folder import INDEX, PARTS, SETTINGS, STAGES, Check, read_settings
from ragsweep.production.loaded_retriever import LoadedRetriever
from ragsweep.replay.trusted_record import RecordCheck, resolved_path
from ragsweep.retrieval.ingest.ingest import Ingest, indexed
from ragsweep.retrieval.kinds import Expander, Reranker, Retriever, Rewriter
from ragsweep.retrieval.returned_units.merging import Enlarging
from ragsweep.retrieval.returned_units.units import ReturnedUnit
from ragsweep.store.stage_store import ServingStore, Store
from ragsweep.tasks.search import components_within, in_stages

OF_PARTS = (Corpus, Chunker, Ingest, Retriever, Rewriter | Expander, Reranker, Reranker, ReturnedUnit)
KINDS = dict(zip(PARTS, OF_PARTS, strict=True))
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
    indexed_texts: Sequence[str] | None = None,
) -> LoadedRetriever:
    """Load an exported retriever for `load` and for the check of an export.

    Args:
        folder: The folder.
        overrides: Settings by their names.
        given: Texts that the user has given, which `retriever.yaml` may hold.
        allow: Modules whose classes it may name.
        filled: A store that takes what loading and a first answer need; None reads the index of the folder.
        indexed_texts: What is indexed for each passage; None computes it.
    """
    settings = read_settings(folder, overrides)
    path = settings.corpus.get("path")
    inside = _inside(folder, path) if isinstance(path, str) and CORPUS_PATH not in overrides else None
    nodes = settings.parts
    if inside:
        nodes["corpus"] = {**nodes["corpus"], "path": inside}
    check = RecordCheck([*given, *([inside] if inside else [])], allow)
    nodes = {name: check.node(name, node, KINDS[name]) for name, node in nodes.items()}
    check.refuse_unnamed()
    if isinstance(path, str):
        nodes["corpus"]["path"] = _existing(nodes["corpus"]["path"], folder)
    index = folder / INDEX
    source = Store(str(index), enabled=index.is_dir())
    serving = filled or ServingStore(source=source)
    reading = filled or ServingStore(source=source, most_kept=0)  # what is read once
    corpus = built("corpus", nodes.pop("corpus"), reading)
    documents = corpus.read()
    is_measured = digest_of_documents(documents) == settings.origin.digest
    if not is_measured:
        was, now = settings.origin.documents, len(documents)
        changed = f"there were {was}, now {now}" if was != now else "other texts or names"
        warnings.warn(
            f"{folder}: the documents in {path} are not those that were measured ({changed}): rankings may differ",
            stacklevel=3,
        )
    parts = {name: built(name, node, serving) for name, node in nodes.items()}
    refuse_if_not_alone([*parts.values()], folder / SETTINGS)
    ranker = in_stages(parts["retriever"], *map(parts.get, STAGES))
    passages = passages_of(documents, parts["chunker"], reading)
    titled = corpus.with_headings(documents) if "ingest" in parts else ()
    texts = indexed(parts["ingest"], titled, passages, texts=indexed_texts) if "ingest" in parts else None
    enlarging = Enlarging(parts["returns"], documents, passages) if "returns" in parts else None
    retriever = LoadedRetriever(ranker, passages, settings.k, settings.depth, indexed=texts, enlarging=enlarging)
    retriever.search(WARM_UP)
    computed = serving.built if isinstance(serving, ServingStore) else set()
    if computed and source.enabled and is_measured and {*overrides} <= {CORPUS_PATH}:
        warnings.warn(
            f"{index}: it is not complete, or other versions or another CPU have written it: "
            f"computed again ({', '.join(sorted(computed))})",
            stacklevel=3,
        )
    return retriever


def differences(retriever: LoadedRetriever, check: Check) -> list[str]:
    """A line for each question whose passages are not those recorded, in the same order."""
    answers = retriever.search_all([question.query for question in check.questions], check.k)
    lines = []
    for question, hits in zip(check.questions, answers, strict=True):
        ranks = zip_longest(question.passages, (hit.passage_id for hit in hits), fillvalue="nothing")
        changed = (f"rank {rank} was {was}, is {now}" for rank, (was, now) in enumerate(ranks, start=1) if was != now)
        lines += [f"{question.query!r:.80}: {first}" for first in [*changed][:1]]
    return lines


def _existing(path: str, folder: Path) -> str:
    """The place of the documents. Raises `ConfigError` where there is nothing."""
    if not placed(path).exists():
        where = "not there" if Path(path).is_absolute() else f"neither in {folder} nor in the project {project()}"
        raise ConfigError(f"{CORPUS_PATH}: the documents {path!r} are {where}; say where: {CORPUS_PATH}=PATH")
    return str(placed(path))


def _inside(folder: Path, path: str) -> str | None:
    """The place of a relative path within a folder; None if there is nothing, or a link leads out of it."""
    try:
        place, root = (folder / path).resolve(), folder.resolve()
        return str(place) if place.exists() and place.is_relative_to(root) else None
    except (OSError, ValueError):  # no file can have such a path
        return None


def passages_of(documents: Sequence[Document], chunker: Any, store: Store) -> list[Passage]:
    """The passages of documents, with the ids that a run gives them."""
    spans = zip(documents, cut(documents, chunker, store), strict=True)
    passages = [passage for document, parts in spans for passage, _ in passages_in(document, parts)]
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
        kind = part if isinstance(part, type) else type(part)
        learns = issubclass(kind, Retriever | Reranker) and kind.learns
        if not learns and not (issubclass(kind, Retriever) and (kind.brings_passages or kind.finds_by_name)):
            continue
        why = "it learns from judgments, and was measured on folds of them"
        if not learns:
            why = "what it searches runs or lies elsewhere"
        raise ConfigError(f"{where}: {kind.__module__}.{kind.__qualname__} cannot be exported: {why}")
