"""Collections in folders of ours: complete or absent, since each is written beside its place and then renamed."""

from __future__ import annotations

import json
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from filelock import FileLock

from ragsweep.core.digest import digest, version
from ragsweep.core.errors import RetrieverError, first_line
from ragsweep.core.limits import Text
from ragsweep.core.parsing import MalformedError, from_json, read_text
from ragsweep.core.progress import progress
from ragsweep.models.encoders.encoder import Embeddings
from ragsweep.retrieval.indexes.engine import Ask, Corpus, ranked_by_engine
from ragsweep.retrieval.indexes.index import Nearest
from ragsweep.retrieval.ranking import Ranking
from ragsweep.store.stage_store import Store
from ragsweep_engines.manifest import DamagedError, expect_noted, expect_room, manifest, may_be_damage, say_damaged

LABEL = "collection.json"  # of a collection: says what it holds
LARGEST_LABEL_MB = 1
PARTIAL, DELETED, LOCK = ".partial", ".deleted", ".lock"


@dataclass(frozen=True)
class FolderIndex(ABC):
    """An engine in this process that keeps its collections in a folder, each in a folder of its own.

    Attributes:
        store: Has the folder of the collections, `engines/NAME`, unless `path` names another.
        path: Another folder for the collections.
    """

    name: ClassVar[str]
    libraries: ClassVar[tuple[str, ...]]  # the package of the engine

    store: Store
    path: Text | None = None

    def open_corpus(self, corpus: Corpus) -> Nearest:
        """Open the collection of a corpus, building it if it is absent, and again if it is damaged."""
        if self.path is None and not self.store.enabled:
            folder = tempfile.TemporaryDirectory(prefix=f"ragsweep-{self.name}-")
            nearest = self._search(corpus, self._collection(Path(folder.name), corpus))
            vars(nearest)["folder"] = folder  # is deleted with it, after the collection was closed
            return nearest
        return self._search(corpus, self._collection(self._folder, corpus))

    def delete(self, corpus_digest: str) -> None:
        """Delete the collections of a corpus, whatever their settings."""
        for label in self._folder.glob(f"*/{LABEL}"):
            is_complete = not label.parent.suffix  # not one that is being built or deleted
            if is_complete and _noted_in(label.parent).get("corpus") == corpus_digest:
                unwanted = label.parent.with_suffix(DELETED)
                with FileLock(label.parent.with_suffix(LOCK)):
                    shutil.rmtree(unwanted, ignore_errors=True)  # of a killed process
                    shutil.rmtree(label.parent.rename(unwanted))  # so that nobody finds half of it
                label.parent.with_suffix(LOCK).unlink(missing_ok=True)

    @property
    @abstractmethod
    def _built_with(self) -> Mapping[str, Any]:
        """The settings that decide what is built."""

    @abstractmethod
    def _build(self, place: Path, embeddings: Embeddings) -> None:
        """Build a collection in a folder that is absent."""

    @abstractmethod
    def _check(self, place: Path, noted: Mapping[str, Any]) -> None:
        """Raise `DamagedError` if a collection has not what was noted when it was built.

        A `RetrieverError` counts as damage if what it was raised for may be.
        """

    @abstractmethod
    def _search(self, corpus: Corpus, place: Path) -> Nearest:
        """Search a collection."""

    def _ranked(self, corpus: Corpus, place: Path, ask: Ask, most: int | None) -> Nearest:
        """Search by what finds passages in a collection.

        Args:
            corpus: What the collection holds.
            place: Its folder.
            ask: Finds the passages for some queries.
            most: The most passages that it finds for a query; None if there is no limit.
        """
        size = np.array([sum(file.stat().st_size for file in place.rglob("*") if file.is_file())])

        def nearest(queries: Embeddings, depth: int) -> Ranking:
            depth = depth if most is None else min(depth, most)
            ranking = ranked_by_engine(ask, corpus.embeddings, queries, depth, corpus.longest)
            return replace(ranking, index_bytes=size)

        return nearest

    @property
    def _folder(self) -> Path:
        return Path(self.path or Path(self.store.path) / "engines" / self.name)

    def _collection(self, folder: Path, corpus: Corpus) -> Path:
        """The folder of a collection, which is built if it is absent, and again if it is damaged."""
        [library] = self.libraries
        label = {"corpus": corpus.digest, "settings": dict(self._built_with), library: version(library)}
        place = folder / digest(label)[:32]
        with suppress(DamagedError):
            self._check_noted(place, label)
            return place
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RetrieverError(f"index={self.name}: {folder} cannot be a folder ({error.strerror})") from error
        with FileLock(place.with_suffix(LOCK)):
            if place.exists():
                try:
                    self._check_noted(place, label)
                    return place  # another process has built it while this one waited
                except DamagedError as error:
                    if self.path is not None and not (place / LABEL).exists():
                        found = f"{place} was not written by ragsweep"
                        raise RetrieverError(f"index.path: {found}; set another index.path") from None
                    say_damaged(self.name, place, error)
            expect_room(self.name, folder, corpus.embeddings)
            partial = place.with_suffix(PARTIAL)
            for leftover in (partial, place):  # of a killed process, or damaged
                shutil.rmtree(leftover, ignore_errors=True)
            with progress(f"building a collection of {len(corpus.embeddings):,} passages"):
                self._build(partial, corpus.embeddings)
            noted = {**label, **manifest(corpus.embeddings)}
            (partial / LABEL).write_text(json.dumps(noted), encoding="utf-8")
            self._check_noted(partial, label)
            partial.rename(place)
        return place

    def _check_noted(self, place: Path, label: Mapping[str, Any]) -> None:
        noted = _noted_in(place)
        expect_noted(noted, label)
        try:
            self._check(place, noted)
        except DamagedError:
            raise
        except RetrieverError as error:
            if not may_be_damage(error.__context__):
                raise
            raise DamagedError(str(error)) from error


def _noted_in(place: Path) -> dict[str, Any]:
    """What a collection says that it holds; empty where there is none."""
    try:
        noted = from_json(read_text(place / LABEL, LARGEST_LABEL_MB))
    except MalformedError:
        return {}
    except OSError as error:
        if not may_be_damage(error):
            raise RetrieverError(f"{place / LABEL}: cannot be read ({first_line(error)})") from error
        return {}
    return noted if isinstance(noted, dict) else {}
