"""Build the bundled training manual: Markdown sources in, one PDF page per `##` heading out.

    python scripts/build_manual.py

The same sources give the same bytes, so that a change of the PDF always comes from a change of the text.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import matplotlib
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from reportlab.lib import colors
from reportlab.lib.pagesizes import A5
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    Flowable,
    Frame,
    ListFlowable,
    ListItem,
    Paragraph,
    Spacer,
    Table,
    TableStyle,
)

MANUAL = Path(__file__).resolve().parents[1] / "data" / "cho_manual"
SOURCES = MANUAL / "source"
PDF = MANUAL / "documents" / "cho_training_manual.pdf"
TITLE = "Training Manual for Community Health Officers"

MARGIN = 13 * mm
INK = colors.HexColor("#1f3b4d")
RULE = colors.HexColor("#9fb3c0")


class ManualPage(NamedTuple):
    """One page as it is written: `number` is the physical page, from 1."""

    number: int
    chapter: str
    heading: str
    body: str


def manual_pages(sources: Path = SOURCES) -> list[ManualPage]:
    """Read the chapters in file order; every `##` heading opens a page."""
    pages: list[ManualPage] = []
    for path in sorted(sources.glob("*.md")):
        title, *sections = path.read_text(encoding="utf-8").split("\n## ")
        chapter = title.removeprefix("# ").strip()
        for section in sections:
            heading, _, body = section.partition("\n")
            pages.append(ManualPage(len(pages) + 1, chapter, heading.strip(), body.strip()))
    return pages


def build(pages: list[ManualPage], target: Path = PDF) -> None:
    """Draw the pages; raise `ValueError` where the text of one does not fit on its sheet."""
    fonts = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    pdfmetrics.registerFont(TTFont("Body", fonts / "DejaVuSans.ttf"))
    pdfmetrics.registerFont(TTFont("Body-Bold", fonts / "DejaVuSans-Bold.ttf"))
    pdfmetrics.registerFontFamily("Body", normal="Body", bold="Body-Bold")
    canvas = Canvas(str(target), pagesize=A5, invariant=1)
    canvas.setTitle(f"{TITLE}: Maternal, Newborn and Child Health")
    canvas.setAuthor("ragsweep")
    canvas.setSubject("Software test document; no medical advice")
    for page in pages:
        _draw(canvas, page)
    canvas.save()


def _draw(canvas: Canvas, page: ManualPage) -> None:
    width, height = A5
    canvas.setFont("Body", 6.5)
    canvas.setFillColor(INK)
    canvas.drawString(MARGIN, height - 9 * mm, page.chapter)
    canvas.drawRightString(width - MARGIN, 8 * mm, str(page.number))
    canvas.setStrokeColor(RULE)
    canvas.line(MARGIN, height - 10.5 * mm, width - MARGIN, height - 10.5 * mm)
    flowables: list[Flowable] = [Paragraph(page.heading, HEADING), *_flowables(page.body)]
    frame = Frame(
        MARGIN, 11 * mm, width - 2 * MARGIN, height - 24 * mm,
        leftPadding=0, rightPadding=0, topPadding=0, bottomPadding=0,
    )  # fmt: skip
    frame.addFromList(flowables, canvas)
    if flowables:
        raise ValueError(f"page {page.number}, {page.heading!r}: the text does not fit on the page")
    canvas.showPage()


TEXT = ParagraphStyle("text", fontName="Body", fontSize=8.8, leading=12.4, spaceAfter=5)
CELL = ParagraphStyle("cell", parent=TEXT, fontSize=7.8, leading=10.2, spaceAfter=0)
HEADING = ParagraphStyle("heading", parent=TEXT, fontName="Body-Bold", fontSize=13, leading=17,
                         textColor=INK, spaceAfter=7)  # fmt: skip
SUBHEADING = ParagraphStyle("subheading", parent=HEADING, fontSize=10, leading=13, spaceAfter=4)


def _flowables(markdown: str) -> list[Flowable]:
    tree = SyntaxTreeNode(MarkdownIt("commonmark").enable("table").parse(markdown))
    return [flowable for node in tree.children for flowable in _block(node)]


def _block(node: SyntaxTreeNode) -> list[Flowable]:
    if node.type == "paragraph":
        return [Paragraph(_inline(node), TEXT)]
    if node.type == "heading":
        return [Paragraph(_inline(node), SUBHEADING)]
    if node.type in ("bullet_list", "ordered_list"):
        items = [ListItem([Paragraph(_inline(item), TEXT)]) for item in node.children]
        bullet = "bullet" if node.type == "bullet_list" else "1"
        return [
            ListFlowable(items, bulletType=bullet, start="•" if bullet == "bullet" else None,
                         bulletFontName="Body", bulletFontSize=8, leftIndent=13),
            Spacer(0, 2),
        ]  # fmt: skip
    if node.type == "table":
        rows = [
            [Paragraph(_inline(cell), CELL) for cell in row.children]
            for section in node.children
            for row in section.children
        ]
        return [Table(rows, style=GRID, hAlign="LEFT", repeatRows=1), Spacer(0, 6)]
    raise ValueError(f"Markdown block {node.type!r} is outside the subset that the manual uses")


GRID = TableStyle(
    [
        ("GRID", (0, 0), (-1, -1), 0.4, RULE),
        ("BACKGROUND", (0, 0), (-1, 0), colors.HexColor("#e8eff3")),
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("LEFTPADDING", (0, 0), (-1, -1), 3),
        ("RIGHTPADDING", (0, 0), (-1, -1), 3),
        ("TOPPADDING", (0, 0), (-1, -1), 2),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 2.5),
    ]
)


def _inline(node: SyntaxTreeNode) -> str:
    """The text of a block as reportlab's mini-HTML: bold is all that the manual uses."""
    parts: list[str] = []
    for leaf in node.walk():
        if leaf.type == "text":
            text = leaf.content.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
            bold = leaf.parent is not None and leaf.parent.type == "strong"
            parts.append(f"<b>{text}</b>" if bold else text)
        elif leaf.type == "softbreak":
            parts.append(" ")
    return "".join(parts)


if __name__ == "__main__":
    pages = manual_pages()
    build(pages)
    print(f"{PDF.relative_to(MANUAL.parents[1])}: {len(pages)} pages")
