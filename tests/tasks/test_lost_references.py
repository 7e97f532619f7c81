"""What a run records of the references that its parser has lost."""

import json

import pytest
from read_strictly import span_questions
from reportlab.pdfgen.canvas import Canvas

from ragsweep.datasets import OwnDataset, PageChunker, PdfDocuments
from ragsweep.datasets.formats.pdf_parsers import PARSERS
from ragsweep.retrieval import SparseRetriever
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.facts import read_facts
from ragsweep.tasks.measurement_files import write_measurement
from ragsweep.tasks.ranking import metrics
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings
from ragsweep.tasks.ranking.ranking_task import RankingTask

LEFT, RIGHT = ["Anaemia is common.", "Refer below 7 g/dl."], ["One tablet a day.", "Advise green leaves."]


@pytest.fixture
def facts_by(tmp_path):
    """The facts and the caution of a run with a parser, over two columns and questions about each."""
    canvas = Canvas(str(tmp_path / "a.pdf"), invariant=1)
    for at, lines in ((72, LEFT), (320, RIGHT)):
        for row, line in enumerate(lines):
            canvas.drawString(at, 700 - 20 * row, line)
    canvas.save()
    quotes = [*LEFT, *RIGHT, " ".join(LEFT), " ".join(RIGHT)]
    rows = [{"question": f"What of {quote}", "corpus_id": "a.pdf", "references": [quote]} for quote in quotes]
    (tmp_path / "q.json").write_text(json.dumps(rows))

    def run(parser, similarity=0.9):
        dataset = OwnDataset(
            "a", PdfDocuments(str(tmp_path), parser=parser), span_questions(str(tmp_path / "q.json"), similarity)
        )
        evaluation = EvaluationSettings("after_cutoff", 1, "linear", 100, {"recall": metrics.recall})
        task = RankingTask(dataset, PageChunker(), SparseRetriever(NO_STORE), evaluation, 1, 0, NO_STORE)
        items = task.load()
        measurement = task.measure(items)
        write_measurement(tmp_path / parser, measurement, items, "recall")
        return read_facts(tmp_path / parser / "results/evaluation.json"), measurement

    return run


class Across:
    """pypdf, with lines as they stand on the page, across its columns."""

    libraries = ("pypdf",)

    def texts(self, path):
        from pypdf import PdfReader

        with PdfReader(path) as pdf:
            yield from (page.extract_text(extraction_mode="layout") for page in pdf.pages)


@pytest.mark.extra("parsers")
def test_a_run_records_what_its_parser_loses_and_measures_the_other_questions(facts_by, monkeypatch):
    monkeypatch.setitem(PARSERS, "pypdf", Across())
    (usual, whole), (other, fewer) = facts_by("pdfium"), facts_by("pypdf")
    assert usual.dataset.digest != other.dataset.digest
    (strict, _), (lax, _) = facts_by("pypdf", 0.95), facts_by("pypdf", 0.5)
    assert strict.dataset.digest != lax.dataset.digest
    assert [each.measures["coverage/lost_references"].value for each in (usual, other)] == [0, 2]
    assert [len(each.per_item) for each in (whole, fewer)] == [6, 4]
    assert whole.caution == ""
    assert "loses 2 of 6 references" in fewer.caution
