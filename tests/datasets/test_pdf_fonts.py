"""PDF files without their fonts: what is kept of them belongs to the machine's fonts, and the audit names them."""

import subprocess
import sys
from pathlib import Path

import pytest
from application import PROJECT

from ragsweep.datasets import PdfDocuments

TWO_LETTERS = "<002b0048> Tj"


def written(path, font, *others, text="(Fever) Tj"):
    """A PDF of one page, whose font is the first of these objects."""
    content = f"BT /F1 20 Tf 20 100 Td {text} ET"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R"
        " /Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        font,
        *others,
    ]
    text, offsets = "%PDF-1.4\n", []
    for number, each in enumerate(objects, start=1):
        offsets.append(len(text))
        text += f"{number} 0 obj\n{each}\nendobj\n"
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    text += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    text += f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{text.index('xref')}\n%%EOF"
    path.write_text(text)
    return path


def standard(path):
    return written(path, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")


def without_font(path, name="LiberationSans"):
    """Letters by their number in a font that is not in the file."""
    return written(
        path,
        f"<< /Type /Font /Subtype /Type0 /BaseFont /{name} /Encoding /Identity-H /DescendantFonts [6 0 R] >>",
        f"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /{name} /FontDescriptor 7 0 R"
        " /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>",
        f"<< /Type /FontDescriptor /FontName /{name} /Flags 4 /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 800"
        " /Descent -200 /CapHeight 700 /StemV 80 >>",
        text=TWO_LETTERS,
    )


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
from ragsweep.store.store import Store
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
