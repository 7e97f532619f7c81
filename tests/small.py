"""A dataset small enough to sweep over in seconds: real PDF pages and questions about them."""

from __future__ import annotations

import json
from pathlib import Path

from reportlab.pdfgen.canvas import Canvas

PAGES = {
    "fever.pdf": [
        "Fever in a child: measure the temperature, give paracetamol 15 mg/kg, look for danger signs.",
        "Malaria is found with a rapid test; treat at once and give the whole course.",
        "",
        "Dengue makes the platelets fall. Watch for bleeding and belly pain.",
    ],
    "anaemia.pdf": [
        "Anaemia makes a woman tired and pale. Haemoglobin below 11 g/dl needs iron.",
        "Iron tablets are taken daily with lemon water, not with tea.",
        "Worms take blood from children. Albendazole 400 mg clears them.",
    ],
}
QUERIES = [
    ("How much paracetamol does a hot child need?", ["fever.pdf#1"], "factual"),
    ("Which test finds malaria?", ["fever.pdf#2"], "factual"),
    ("Why should iron not be taken with tea?", ["anaemia.pdf#2"], "conceptual"),
    ("A tired, pale woman: what is it?", ["anaemia.pdf#1", "anaemia.pdf#2"], "diagnostic"),
    ("What clears worms?", ["anaemia.pdf#3"], "procedural"),
]


def write_pdf(path: Path, pages: list[str]) -> Path:
    """A PDF with one line of text a page."""
    canvas = Canvas(str(path))
    for text in pages:
        canvas.drawString(20, 700, text)
        canvas.showPage()
    canvas.save()
    return path


def write_queries(path: Path, queries: list[tuple[str, list[str], str]] = QUERIES) -> Path:
    """A query file in our format."""
    fields = ("query", "relevant_docs", "query_type")
    path.write_text(json.dumps([dict(zip(fields, query, strict=True)) for query in queries]), encoding="utf-8")
    return path


def arguments(folder: Path) -> list[str]:
    """Write the dataset into `folder`; the overrides that select it."""
    (folder / "pdfs").mkdir(parents=True)
    for name, pages in PAGES.items():
        write_pdf(folder / "pdfs" / name, pages)
    queries = write_queries(folder / "questions.json")
    return ["dataset=pdf", "dataset.name=small", f"dataset.documents={folder / 'pdfs'}", f"dataset.queries={queries}"]
