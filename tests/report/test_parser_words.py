"""What a report says of several parsers."""

import pytest
from outcomes import FACTS, decided, outcome

from ragsweep.report.parser_words import parsers_in_words
from ragsweep.tasks.ranking.lost_references import LOST

NUMBER = {"title": LOST.title, "unit": LOST.unit, "higher_is_better": False}


def words(references=0, **lost):
    """The sentence about these parsers, each of which loses a number of references."""
    runs = []
    for parser, number in lost.items():
        about = {"name": "manual", "digest": parser, "source": "s", "parser": parser, "references": references}
        measures = {**FACTS["measures"], **({LOST.name: {**NUMBER, "value": number}} if references else {})}
        facts = {"dataset": about, "measures": measures}
        runs.append(outcome(f"parser={parser}", 0.5, {"corpus.parser": parser}, facts=facts.items()))
    [sentence] = parsers_in_words(decided(*runs))
    return sentence


@pytest.mark.parametrize(
    ("lost", "expected"),
    [
        ({"pypdf": 6, "pdfium": 0}, "References: pypdf loses 6 of 144; pdfium loses none."),
        ({"pypdf": 6, "pdfium": 0, "pymupdf": 0}, "References: pypdf loses 6 of 144; pdfium, pymupdf lose none."),
        ({"pypdf": 0, "pdfium": 0}, "Compared on 20 questions"),
    ],
)
def test_it_is_said_of_each_parser_what_it_loses(lost, expected):
    assert words(144, **lost).startswith(expected)


def test_judgments_of_pages_and_documents_hold_for_every_parser():
    assert "pages and documents are the same" in words(pypdf=0, pdfium=0)
