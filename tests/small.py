"""A dataset small enough to sweep over in seconds: real PDF pages and questions about them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

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
    from reportlab.pdfgen.canvas import Canvas

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


SPANS = [  # question, and parts of the page that answer it
    ("How much paracetamol does a hot child need?", ["give paracetamol 15 mg/kg"]),
    ("Which test finds malaria?", ["Malaria is found with a rapid test"]),
    ("Why should iron not be taken with tea?", ["Iron tablets are taken daily", "not with tea"]),
    ("A tired, pale woman: what is it?", ["Anaemia makes a woman tired and pale"]),
    ("What clears worms?", ["Albendazole 400 mg clears them."]),
]


def span_arguments(folder: Path, spans: Sequence[tuple[str, Sequence[object]]] = SPANS) -> list[str]:
    """Write a text, and questions that parts of it answer, into `folder`; the overrides that select them."""
    (folder / "texts").mkdir(parents=True)
    text = "\n\n".join(page for pages in PAGES.values() for page in pages if page)
    (folder / "texts" / "manual.txt").write_text(text, encoding="utf-8")
    rows = [{"question": question, "corpus_id": "manual", "references": parts} for question, parts in spans]
    (folder / "spans.json").write_text(json.dumps(rows), encoding="utf-8")
    corpus = ["corpus=text", f"corpus.path={folder / 'texts'}", "dataset.name=small"]
    return [*corpus, "questions=spans", f"questions.path={folder / 'spans.json'}"]


CASES = [  # question, options with the correct one marked, page, specialty, difficulty
    ("How much paracetamol per kg?", ["5 mg", "*15 mg", "30 mg"], "fever.pdf#1", "fever", "easy"),
    ("Which test finds malaria?", ["*a rapid test", "an X-ray", "a urine test"], "fever.pdf#2", "fever", "easy"),
    ("What falls in dengue?", ["the pulse", "the sugar", "*the platelets"], "fever.pdf#4", "fever", "hard"),
    ("Below which haemoglobin is iron needed?", ["7 g/dl", "9 g/dl", "*11 g/dl"], "anaemia.pdf#1", "anaemia", "easy"),
    ("With what are iron tablets taken?", ["tea", "*lemon water", "milk"], "anaemia.pdf#2", "anaemia", "easy"),
    ("What clears worms?", ["*Albendazole", "iron", "paracetamol"], "anaemia.pdf#3", "anaemia", "hard"),
    ("What does anaemia make a woman?", ["hot", "*tired", "hungry"], "anaemia.pdf#1", "anaemia", "easy"),
    ("What may bleed in dengue?", ["*the gums", "the bones", "the hair"], "fever.pdf#4", "fever", "hard"),
]


def cases(copies: int = 1) -> list[dict[str, object]]:
    """The cases in the format of the bundled ones, several times with other ids."""
    return [
        {
            "id": f"case-{number}",
            "clinical_case": "",
            "question": question,
            "options": dict(zip("ABC", (option.lstrip("*") for option in options), strict=True)),
            "correct_answer": "ABC"[[option[0] for option in options].index("*")],
            "specialty": specialty,
            "difficulty": difficulty,
            "condition": specialty,
            "option_conditions": dict(zip("ABC", (option.lstrip("*") for option in options), strict=True)),
            "relevant_docs": [page],
        }
        for number, (question, options, page, specialty, difficulty) in enumerate(CASES * copies, start=1)
    ]


def case_arguments(folder: Path) -> list[str]:
    """Write documents and cases into `folder`; the overrides that answer the cases."""
    _, _, documents, _ = arguments(folder)
    (folder / "cases.json").write_text(json.dumps(cases()), encoding="utf-8")
    return ["task=answers", "dataset.name=small_cases", documents, f"dataset.cases={folder / 'cases.json'}"]
