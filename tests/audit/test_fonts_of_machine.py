"""The audit names PDF files without their fonts."""

import json

from ragsweep.datasets import PageChunker, PdfDataset
from ragsweep.retrieval import SparseRetriever
from ragsweep.store.store import NO_STORE
from ragsweep.tasks.ranking.metrics import ndcg
from ragsweep.tasks.ranking.settings import EvaluationSettings
from ragsweep.tasks.ranking.task import RankingTask
from ragsweep_answers.answering import RecordedAnswerer
from ragsweep_answers.cases import CaseColumns, CasesDataset
from ragsweep_answers.measuring.settings import AnswerSettings
from ragsweep_answers.measuring.task import AnswersTask
from ragsweep_audit.check import DatasetAudit

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
