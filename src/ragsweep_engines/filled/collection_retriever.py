"""A collection that somebody else has filled, in a folder or on a server."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from ragsweep.core.digest import digest
from ragsweep.core.limits import OwnData, Text
from ragsweep_engines.filled.filled_retriever import FilledRetriever
from ragsweep_engines.folder_copies import digest_of
from ragsweep_engines.server_address import ServerAddress


@dataclass(frozen=True, kw_only=True)
class CollectionRetriever(FilledRetriever):
    """A collection of a database of vectors.

    Attributes:
        collection: Its name.
        path: Folder of a database, of which a copy is opened, as engines write into what they open; None takes the
            server.
        database: On the server; None takes the usual one.
    """

    server: ClassVar[ServerAddress]
    without_effect: ClassVar[tuple[str, ...]] = (*FilledRetriever.without_effect, "path")  # the fingerprint counts

    collection: OwnData
    path: Text | None = None
    database: Text | None = None

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the files of the folder, or of the address of the server."""
        return digest(self.server.host) if self._folder is None else digest_of(self._folder)

    @cached_property
    def _folder(self) -> Path | None:
        if self.path is None:
            return None
        folder = Path(self.path)
        self._expect(folder)
        return folder

    @abstractmethod
    def _expect(self, folder: Path) -> None:
        """Raise `ConfigError` if a folder is none of this engine."""
