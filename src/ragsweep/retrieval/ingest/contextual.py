"""Passages that are indexed with where they stand in their document: title > heading > subheading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from ragsweep.core.terminal import one_line
from ragsweep.datasets import Document, Passage
from ragsweep.datasets.chunkers.markdown import headings_in
from ragsweep.datasets.model.collection import Heading
from ragsweep.retrieval.ingest.ingest import Ingest
from ragsweep.store.stage_store import NO_STORE, Store

FILES = (".txt", ".md", ".markdown", ".html", ".htm", ".docx", ".pdf")  # other documents have ids, which say nothing
BETWEEN = " > "


@dataclass(frozen=True)
class ContextualIngest(Ingest):
    """Indexes each passage below the title of its document and the headings above it.

    Attributes:
        title: Whether the headings begin with the title; None begins with it where there are several documents, since
            that of the only document tells nothing apart.
        store: Keeps what is indexed.
    """

    title: bool | None = None
    store: Store = NO_STORE

    def index_texts(self, documents: Sequence[Document], passages: Sequence[Passage]) -> list[str]:
        """Each passage below its headings."""
        above = heading_paths(documents, passages, title=len(documents) > 1 if self.title is None else self.title)
        texts = [passage.text for passage in passages]
        return [f"{path}\n{text}" if path else text for path, text in zip(above, texts, strict=True)]


def heading_paths(documents: Sequence[Document], passages: Sequence[Passage], *, title: bool = True) -> list[str]:
    """The title of the document and the headings above each passage; empty where there are none.

    A heading within the passage is not above it. The title is that of the PDF, or the only heading of the highest level
    if the document begins with it, or else the name of the file.
    """
    least = 0 if title else 1
    outlines = {document.source: [one for one in _outline(document) if one.level >= least] for document in documents}
    return [BETWEEN.join(_above(outlines[passage.source], passage)) for passage in passages]


def _above(outline: Sequence[Heading], passage: Passage) -> list[str]:
    begins = passage.start + len(passage.text) - len(passage.text.lstrip())
    path: list[Heading] = []
    for heading in outline:
        if heading.start > begins:
            break
        path = [*(above for above in path if above.level < heading.level), heading]
    return [above.text for above in path if above.start < begins]


def _outline(document: Document) -> Iterator[Heading]:
    """The title, as a heading of level 0, and the headings."""
    is_file = PurePosixPath(document.source.removesuffix(".gz")).suffix.lower() in FILES
    headings = document.headings or (tuple(_marked(document.text)) if is_file else ())
    highest = [heading for heading in headings if heading.level <= 1]
    if len(highest) == 1 and highest[0] == headings[0]:
        headings = (headings[0]._replace(level=0), *headings[1:])
    elif is_file and not (headings and headings[0].level == 0):
        name = PurePosixPath(document.source.removesuffix(".gz")).stem
        yield Heading(-1, 0, " ".join(name.replace("_", " ").replace("-", " ").split()))
    yield from headings


def _marked(text: str) -> Iterator[Heading]:
    """The headings of Markdown, which web pages and Word documents have become."""
    for start, end, level in headings_in(text):
        first, *underline = text[start:end].strip().splitlines()
        words = one_line(" ".join([first, *underline[:-1]]) if underline else first.strip("# \t"))
        if words:
            yield Heading(start, level, words)
