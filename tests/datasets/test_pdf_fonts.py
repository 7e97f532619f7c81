"""PDF files without their fonts: what is kept of them belongs to the machine's fonts."""

import pytest
from font_pdfs import without_font

from ragsweep.datasets import PdfDocuments
from ragsweep.datasets.formats import pdf_documents
from ragsweep.store.stage_store import Store


@pytest.mark.parametrize("name", ["Iron.ttf", "below/Iron.ttf"])
def test_a_store_of_a_machine_with_other_fonts_is_not_used(tmp_path, monkeypatch, name):
    without_font(tmp_path / "a.pdf")
    (tmp_path / "fonts").mkdir()
    monkeypatch.setattr(pdf_documents, "FONT_FOLDERS", (str(tmp_path / "fonts"), str(tmp_path / "none")))
    documents, kept = PdfDocuments(str(tmp_path / "a.pdf"), store=Store(str(tmp_path / "store"))), []
    for has_font in (False, True, False):
        font = tmp_path / "fonts" / name
        font.parent.mkdir(exist_ok=True)
        font.write_bytes(b"x") if has_font else font.unlink(missing_ok=True)
        pdf_documents._fonts.cache_clear()
        documents.read()
        kept.append(len([*(tmp_path / "store/pages").glob("*/")]))
    pdf_documents._fonts.cache_clear()
    assert kept == [1, 2, 2]
