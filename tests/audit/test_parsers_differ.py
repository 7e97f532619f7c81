"""Documents that two parsers read otherwise."""

import json
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.core.errors import ConfigError
from ragsweep.datasets import Dataset, OwnDataset, PageChunker, PdfDocuments, SpanQuestions, TextCorpus
from ragsweep.retrieval import SparseRetriever
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.ranking.metrics import recall
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings
from ragsweep.tasks.ranking.ranking_task import RankingTask
from ragsweep_audit.check import DatasetAudit, read_otherwise
from ragsweep_audit.findings.parsers import difference, parsers_differ

LEFT, RIGHT = "Anaemia is common in pregnancy", "Give one tablet a day"
WORDS = st.lists(st.sampled_from("a b c d".split()), max_size=7)


def longest_common(one, other):
    """The length of the longest common subsequence, by the definition."""
    if not one or not other:
        return 0
    if one[0] == other[0]:
        return 1 + longest_common(one[1:], other[1:])
    return max(longest_common(one[1:], other), longest_common(one, other[1:]))


@given(WORDS, WORDS)
def test_the_figures_are_those_of_a_slow_count(one, other):
    found = difference(" ".join(one), " ".join(other))
    missing = sum(max(0, one.count(word) - other.count(word)) for word in {*one})
    further = sum(max(0, other.count(word) - one.count(word)) for word in {*other})
    assert (found.words, found.only_here, found.only_there) == (len(one), missing, further)
    assert found.moved == (Counter(one) & Counter(other)).total() - longest_common(one, other)


def test_equal_readings_have_no_finding():
    assert not [*parsers_differ({"a.pdf": [LEFT, RIGHT]}, {"a.pdf": [LEFT, f"{RIGHT}\n"]}, "pypdf")]


def test_a_document_is_named_with_what_one_parser_lacks_and_where():
    own = {"a.pdf": [LEFT, RIGHT], "b.pdf": [LEFT]}
    [found] = parsers_differ(own, {"a.pdf": [LEFT, "Give one"], "b.pdf": [LEFT]}, "pypdf")
    assert (found.count, found.out_of, found.examples) == (1, 2, ("a.pdf#2",))
    assert found.details["documents"]["a.pdf"] == {
        "words": 10,
        "only_here": 3,
        "only_there": 0,
        "moved": 0,
        "only_here_words": ["tablet", "a", "day"],
        "only_there_words": [],
    }


@pytest.mark.extra("parsers")
def test_columns_that_are_read_across_stand_in_another_order(tmp_path):
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(tmp_path / "a.pdf"), invariant=1)
    for at, text in ((72, LEFT), (320, RIGHT)):
        for row, word in enumerate(text.split()):
            canvas.drawString(at, 700 - 20 * row, word)
    canvas.save()
    documents = PdfDocuments(str(tmp_path), parser="pypdf")
    [found] = parsers_differ(documents.texts(), documents.texts("pdfplumber"), "pdfplumber")
    assert found.details["documents"]["a.pdf"]["only_here"] == 0
    assert found.details["documents"]["a.pdf"]["moved"] == 4


def test_a_parser_that_is_not_installed_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(ConfigError, match=r"audit\.other_parser: pypdf needs pypdf"):
        [*read_otherwise(PdfDocuments("a"), "pypdf")]


@pytest.mark.extra("parsers")
def test_the_parser_that_reads_the_corpus_already_is_refused(tmp_path, write_pdf):
    write_pdf(tmp_path / "a.pdf", LEFT)
    for parser, other in (("pdfium", "pypdf"), ("pypdf", "pdfium")):
        documents = PdfDocuments(str(tmp_path), parser=parser)
        assert not [*read_otherwise(documents, other)]
        with pytest.raises(ConfigError, match=rf"audit\.other_parser: found {parser}, which reads .* already"):
            [*read_otherwise(documents, parser)]


@pytest.fixture
def of_text(tmp_path):
    (tmp_path / "a.txt").write_text(LEFT)
    rows = [{"question": "Who?", "corpus_id": "a.txt", "references": [LEFT]}]
    (tmp_path / "spans.json").write_text(json.dumps(rows))
    return OwnDataset("a", TextCorpus(str(tmp_path / "a.txt")), SpanQuestions(str(tmp_path / "spans.json")))


def test_documents_that_no_other_parser_can_read_are_refused_before_a_run(of_text):
    evaluation = EvaluationSettings("after_cutoff", 1, "linear", 100, {"recall": recall})
    task = RankingTask(of_text, PageChunker(), SparseRetriever(NO_STORE), evaluation, 1, 0, NO_STORE)
    items = Dataset.from_collection(of_text.load(), PageChunker())
    for fail_on in ((), ("parsers_differ",)):
        with pytest.raises(ConfigError, match=r"audit\.other_parser: found pdfium"):
            DatasetAudit(fail_on, other_parser="pdfium").accept(task, items)
