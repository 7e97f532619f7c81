"""The audit names PDF files without their fonts."""

import json

from font_pdfs import standard, without_font

from ragsweep.datasets import PageChunker, PdfDataset
from ragsweep.retrieval import SparseRetriever
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.ranking.metrics import ndcg
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings
from ragsweep.tasks.ranking.ranking_task import RankingTask
from ragsweep_answers.answering import RecordedAnswerer
from ragsweep_answers.cases import CaseColumns, CasesDataset
from ragsweep_answers.measuring.answer_settings import AnswerSettings
from ragsweep_answers.measuring.answers_task import AnswersTask
from ragsweep_audit.check import DatasetAudit


def test_the_audit_names_files_and_fonts(tmp_path):
    for name in ("a.pdf", "b.pdf"):
        (standard if name == "a.pdf" else without_font)(tmp_path / name)
    (tmp_path / "q.csv").write_text("query,relevant_docs\nfever,a.pdf#1\n")
    evaluation = EvaluationSettings("after_cutoff", 1, "linear", 10, {"ndcg": ndcg})
    dataset, retriever = PdfDataset("small", str(tmp_path), str(tmp_path / "q.csv")), SparseRetriever(NO_STORE)
    task = RankingTask(dataset, PageChunker(), retriever, evaluation, 1, 0, NO_STORE)
    [finding] = [each for each in DatasetAudit().of(task, task.load()).findings if each.kind == "fonts_of_machine"]
    assert (finding.count, finding.out_of, finding.examples) == (1, 2, ("b.pdf",))
    assert finding.details == {"fonts": {"b.pdf": ["LiberationSans"]}}


def test_the_audit_of_cases_names_them_too(tmp_path):
    without_font(tmp_path / "b.pdf")
    case = {"question": "Which?", "options": ["a", "b"], "answer": "A", "pages": ["b.pdf#1"]}
    (tmp_path / "cases.json").write_text(json.dumps([case]))
    columns = CaseColumns(relevant="pages")
    dataset = CasesDataset("small", str(tmp_path / "cases.json"), columns, documents=str(tmp_path))
    settings, retriever = AnswerSettings("after_cutoff", 1, 10, 10, 0.8, 0.5, []), SparseRetriever(NO_STORE)
    task = AnswersTask(dataset, PageChunker(), retriever, RecordedAnswerer("a.json"), settings, 1, 0, NO_STORE)
    assert "fonts_of_machine" in {each.kind for each in DatasetAudit().of(task, task.load()).findings}
