"""The audit as a check of a run: it refuses datasets, and what it finds stands in the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from ragsweep.core.errors import ConfigError, NotAcceptedError
from ragsweep.core.limits import Between
from ragsweep.datasets import Dataset
from ragsweep.tasks.run_check import Checked
from ragsweep.tasks.search import Retrieval
from ragsweep.tasks.task import Task
from ragsweep_audit.dataset_audit import as_json, audit, finders
from ragsweep_audit.findings.finding import LEVEL, Audit, Audited
from ragsweep_audit.findings.unread_text import UnknownTokens


@dataclass(frozen=True)
class DatasetAudit:
    """The audit of the dataset that a task retrieves from. `docs/questions.md` gives the reasons.

    Attributes:
        fail_on: The kinds of findings that stop a run or a sweep before it starts, with exit status 3.
        level: The probability that `shifted_pages`, or `swapped_judgments`, is a false alarm.
    """

    fail_on: Sequence[str] = ()
    level: Annotated[float, Between(0, 1)] = LEVEL

    def __post_init__(self) -> None:
        kinds = [finder.kind for finder in finders()] if self.fail_on else []
        if unknown := [kind for kind in self.fail_on if kind not in kinds]:
            raise ConfigError(f"audit.fail_on: found {unknown[0]!r}, expected some of {', '.join(kinds)}")

    def accept(self, task: Task, items: Any) -> None:
        """Raise `NotAcceptedError` for findings that `fail_on` does not accept."""
        if not self.fail_on or task.retrieval is None:
            return
        findings = [finding for finding in self.of(task.retrieval, items).findings if finding.kind in self.fail_on]
        if refused := ", ".join(f"{finding.kind} ({finding.count})" for finding in findings):
            raise NotAcceptedError(f"{items.name}: audit.fail_on does not accept {refused}; ragsweep audit shows them")

    def examine(self, task: Task, items: Any) -> Checked:
        """The findings, and warnings about an encoder that does not know the language."""
        if task.retrieval is None:
            return Checked()
        report = self.of(task.retrieval, items)
        files = {"audit.json": [as_json(items, report)]}
        if not task.retrieval.is_measured:
            return Checked([finding.text for finding in report.findings], files=files)
        unknown = [finding.text for finding in report.findings if finding.kind == UnknownTokens.kind]
        sections = {"Tokens that the encoder does not know": unknown} if unknown else {}
        return Checked(report.sentences, unknown, " ".join(unknown), sections, files)

    def of(self, retrieval: Retrieval, items: Dataset) -> Audit:
        """What is wrong with the dataset."""
        dataset, retriever, ranker, relevance_level, store, is_measured = retrieval
        if not is_measured and not items.passages:
            return Audit(not_checked=("Nothing was looked for: there are no documents.",))
        chosen = [finder for finder in finders() if is_measured or not finder.of_rankings]
        return audit(Audited(items, relevance_level, self.level, store, retriever, ranker, dataset), chosen)
