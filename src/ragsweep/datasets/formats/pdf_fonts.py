"""Fonts that a PDF file does not contain, so that they are taken from the machine, or replaced.

What a letter of such a file is can depend on the font: the text that one machine reads is not that of another one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from ragsweep.core.capability import Capability, offered_with
from ragsweep.store.stage_store import Arrays, packed

LONGEST_FONT_NAME = 500  # bytes
STANDARD, REPLACED = "Chrom ", "Chrome "  # how pdfium calls its own fonts: for the 14 that every reader has, for others


class Font(NamedTuple):
    """A font that a file does not contain.

    Attributes:
        name: Its name.
        standard: Whether it is one of the 14 that every reader of PDF brings.
        missing: Whether the machine lacks it, too, so that it is replaced by another one.
        digest: Of the font that is taken.
    """

    name: str
    standard: bool
    missing: bool
    digest: str


@offered_with("load", "read")
@runtime_checkable
class NeedsFonts(Capability, Protocol):
    """Documents that can say which fonts of the machine they need."""

    def fonts(self) -> Mapping[str, Sequence[Font]]:
        """The fonts that each document needs and does not contain, without those of every reader; by its name."""
        ...


def pages_with_fonts(path: Path) -> Arrays:
    """The first page of each font that a file does not contain: the same on every machine. Empty if it is no PDF."""
    pages: dict[str, int] = {}
    for page, font in _fonts_of(path):
        if not _raw().FPDFFont_GetIsEmbedded(font):
            pages.setdefault(_text(_raw().FPDFFont_GetBaseFontName, font), page)
    return packed(part for name, page in pages.items() for part in (name, str(page)))


def fonts_on(pages: Sequence[int], path: Path) -> list[Font]:
    """The fonts on these pages that a file does not contain, as this machine has them, in the order of their names."""
    found: dict[str, Font] = {}
    for _, font in _fonts_of(path, pages):
        name = _text(_raw().FPDFFont_GetBaseFontName, font)
        if name in found or _raw().FPDFFont_GetIsEmbedded(font):
            continue
        family = _text(_raw().FPDFFont_GetFamilyName, font)
        found[name] = Font(name, family.startswith(STANDARD), family.startswith(REPLACED), _digest(font))
    return [found[name] for name in sorted(found)]


def _fonts_of(path: Path, pages: Sequence[int] | None = None) -> Iterator[tuple[int, Any]]:
    """The fonts of the texts on some pages, each once, with its first page."""
    import pypdfium2

    raw, seen = _raw(), set()
    try:
        with pypdfium2.PdfDocument(path) as pdf:
            for number in range(len(pdf)) if pages is None else sorted(set(pages)):
                page = pdf[number]
                for each in page.get_objects([raw.FPDF_PAGEOBJ_TEXT]):
                    font = raw.FPDFTextObj_GetFont(each.raw)
                    if font and (address := ctypes.addressof(font.contents)) not in seen:
                        seen.add(address)
                        yield number, font
    except (pypdfium2.PdfiumError, OSError):  # reading its text says what is wrong
        return


def _raw() -> Any:
    import pypdfium2.raw

    return pypdfium2.raw


def _text(call: Any, font: Any) -> str:
    text = ctypes.create_string_buffer(LONGEST_FONT_NAME)
    call(font, text, LONGEST_FONT_NAME)
    return text.value.decode("utf-8", "replace")


def _digest(font: Any) -> str:
    size = ctypes.c_size_t()
    _raw().FPDFFont_GetFontData(font, None, 0, size)
    data = (ctypes.c_uint8 * size.value)()
    _raw().FPDFFont_GetFontData(font, data, size.value, size)
    return sha256(bytes(data)).hexdigest()
