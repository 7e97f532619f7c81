"""The audit as a check of a run: it refuses datasets, and what it finds stands in the report."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ragsweep.datasets import Dataset
from ragsweep.tasks.run_check import Checked
from ragsweep.tasks.search import Retrieves
from ragsweep.tasks.task import Items, Task
from ragsweep_audit.audit_settings import AuditSettings
from ragsweep_audit.dataset_audit import as_json, audit, refuse, scanned_pages
from ragsweep_audit.findings.finding import Audit
from ragsweep_audit.findings.unknown import KIND as UNKNOWN

OF_RANKING = ("queries_without_judgments", "queries_without_relevant", "questions_left_out")  # change no answer


@dataclass(frozen=True)
class DatasetAudit(AuditSettings):
    """The audit of the dataset that a task retrieves from."""

    def accept(self, task: Task, items: Items) -> None:
        """Raise `NotAcceptedError` for findings that `fail_on` does not accept."""
        if not isinstance(task, Retrieves) or not isinstance(items, Dataset):
            return
        if self.fail_on:
            refuse(items.name, self.of(task, items).findings, self.fail_on)

    def examine(self, task: Task, items: Items) -> Checked:
        """The findings, and warnings about an encoder that does not know the language."""
        if not isinstance(task, Retrieves) or not isinstance(items, Dataset):
            return Checked()
        audited = self.of(task, items)
        files = {"audit.json": [as_json(items, audited)]}
        if not task.retrieval.is_measured:
            return Checked([each.text for each in audited.findings], files=files)
        unknown = [each.text for each in audited.findings if each.kind == UNKNOWN]
        sections = {"Tokens that the encoder does not know": unknown} if unknown else {}
        return Checked(audited.sentences, unknown, " ".join(unknown), sections, files)

    def of(self, task: Retrieves, items: Dataset) -> Audit:
        """What is wrong with the dataset."""
        retrieval = task.retrieval
        if not retrieval.is_measured and not items.passages:
            return Audit(not_checked=("Nothing was looked for: there are no documents.",))
        found = audit(
            items,
            self,
            retrieval.relevance_level,
            retrieval.store,
            retrieval.retriever,
            ranker=retrieval.ranker,
            pictures=scanned_pages(retrieval.dataset, items),
        )
        if retrieval.is_measured:
            return found
        return replace(found, findings=tuple(each for each in found.findings if each.kind not in OF_RANKING))
