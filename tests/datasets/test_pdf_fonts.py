"""PDF files without their fonts: what is kept of them belongs to the machine's fonts, and the audit names them."""

import subprocess
import sys
from pathlib import Path

import pytest
from application import PROJECT
from font_pdfs import standard, without_font

from ragsweep.datasets import PdfDocuments


def test_the_fonts_that_every_reader_brings_are_not_named(tmp_path):
    standard(tmp_path / "a.pdf")
    without_font(tmp_path / "b.pdf", "NoSuchFont")
    [(source, [font])] = PdfDocuments(str(tmp_path)).fonts().items()
    assert (source, font.name, font.missing) == ("b.pdf", "NoSuchFont", True)


def test_a_file_with_its_fonts_needs_none():
    assert PdfDocuments(str(PROJECT / "data/cho_manual/documents")).fonts() == {}


SCRIPT = """
import ctypes, sys, pypdfium2, pypdfium2.raw as raw
raw.FPDF_DestroyLibrary()
folder = ctypes.create_string_buffer(sys.argv[2].encode())
paths = (ctypes.POINTER(ctypes.c_char) * 2)(ctypes.cast(folder, ctypes.POINTER(ctypes.c_char)), None)
raw.FPDF_InitLibraryWithConfig(raw.FPDF_LIBRARY_CONFIG(version=2, m_pUserFontPaths=paths))
from ragsweep.store.stage_store import Store
from ragsweep.datasets import PdfDocuments
documents = PdfDocuments(sys.argv[1], store=Store(sys.argv[3]))
documents.read()
print(*(f"{font.name} {font.missing}" for fonts in documents.fonts().values() for font in fonts))
"""


@pytest.mark.usefixtures("processes")
def test_a_store_of_a_machine_with_other_fonts_is_not_used(tmp_path):
    """The reader takes the fonts of one folder, as if they were all that the machine has."""
    import matplotlib

    fonts, none = tmp_path / "fonts", tmp_path / "none"
    fonts.mkdir()
    none.mkdir()
    font = Path(matplotlib.get_data_path()) / "fonts/ttf/STIXGeneral.ttf"
    (fonts / font.name).write_bytes(font.read_bytes())
    without_font(tmp_path / "a.pdf", "STIXGeneral")
    kept = []
    for folder in (none, fonts, none):
        command = [sys.executable, "-c", SCRIPT, str(tmp_path / "a.pdf"), str(folder), str(tmp_path / "store")]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        kept.append((said.strip(), len([*(tmp_path / "store/pages").glob("*/")])))
    assert kept == [("STIXGeneral True", 1), ("STIXGeneral False", 2), ("STIXGeneral True", 2)]
