"""What a report says of several parsers."""

import numpy as np
import pytest
from outcomes import FACTS, SETTINGS, outcome

from ragsweep.report.parser_words import parsers_in_words
from ragsweep.sweeps import Sweep, decide
from ragsweep.tasks.ranking.lost_references import LOST

NUMBER = {"title": LOST.title, "unit": LOST.unit, "higher_is_better": False}


def words(references=0, **lost):
    """The sentence about these parsers, each of which loses a number of references."""
    runs = []
    for parser, number in ((parser, each) for parser, those in lost.items() for each in np.atleast_1d(those).tolist()):
        about = {"name": "manual", "digest": f"{parser} {number}", "source": "s", "parser": parser, "texts": parser}
        about["references"] = references
        measures = {**FACTS["measures"], **({LOST.name: {**NUMBER, "value": number}} if references else {})}
        facts = {"dataset": about, "measures": measures}
        swept = {"corpus.parser": parser, "questions.similarity": number}
        runs.append(outcome(f"parser={parser} similarity={number}", 0.5, swept, facts=facts.items()))
    [together] = Sweep(runs, {}, SETTINGS).by_dataset
    [sentence] = parsers_in_words(decide(together))
    return sentence


@pytest.mark.parametrize(
    ("lost", "expected"),
    [
        ({"pypdf": 6, "pdfium": 0}, "References: pypdf loses 6 of 144; pdfium loses none."),
        ({"pypdf": 6, "pdfium": 0, "mupdf": 0}, "References: pypdf loses 6 of 144; pdfium, mupdf lose none."),
        ({"pypdf": 0, "pdfium": 0}, "Compared on 20 questions"),
    ],
)
def test_it_is_said_of_each_parser_what_it_loses(lost, expected):
    assert words(144, **lost).startswith(expected)


def test_one_parser_may_lose_more_at_another_similarity():
    assert words(144, pdfium=0, pypdf=(4, 6)).startswith("References: pypdf loses 4 to 6 of 144; pdfium loses none.")


def test_judgments_of_pages_and_documents_hold_for_every_parser():
    assert "pages and documents are the same" in words(pypdf=0, pdfium=0)
