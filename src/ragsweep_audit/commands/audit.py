"""Say what is wrong with a dataset: judged pages that are missing or look shifted, copies, damaged text, and so on.

ragsweep audit                                            # the bundled manual
ragsweep audit dataset=pdf dataset.documents=my_pdfs dataset.queries=my_questions.json
ragsweep audit dataset=beir dataset.path=DIR --json       # for programs
ragsweep audit 'audit.fail_on=[shifted_pages,absent_units]'

Exit status: 0; 3 where a finding is of a kind in audit.fail_on; 2 for bad input.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ragsweep.app.commands import composed, parser_of

if TYPE_CHECKING:
    from ragsweep.datasets import Dataset
    from ragsweep_audit.audit_check import DatasetAudit
    from ragsweep_audit.findings.finding import Audit


def main() -> int:
    """Print the findings about the dataset that the arguments choose."""
    parser = parser_of("audit", __doc__)
    parser.add_argument("overrides", nargs="*", metavar="name=value", help="settings, as for ragsweep run")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_intermixed_args()

    from ragsweep.app.error_messages import explained
    from ragsweep.core.terminal import NOT_ACCEPTED

    try:
        task, check = _built(arguments.overrides)
        items: Dataset = task.load()
        report = check.of(task.retrieval, items)
    except Exception as error:
        return explained(error)
    if arguments.json:
        from ragsweep_audit.dataset_audit import as_json

        print(as_json(items, report), end="")
    else:
        print(*_lines(items, report), sep="\n")
    return NOT_ACCEPTED if any(finding.kind in check.fail_on for finding in report.findings) else 0


def _built(overrides: Sequence[str]) -> tuple[Any, DatasetAudit]:
    """The task that the overrides describe, for which nothing but its settings is checked, and its audit."""
    from ragsweep.config.configuration_walk import Walk
    from ragsweep.core.errors import ConfigError
    from ragsweep_audit.audit_check import DatasetAudit

    walk = Walk(composed(overrides))
    task = walk.build("task")
    if task.retrieval is None:
        raise ConfigError(f"task: {walk.config.task._target_} has no audit; expected task=ranking or task=answers")
    return task, walk.build("audit", DatasetAudit)


def _lines(items: Dataset, report: Audit) -> Iterator[str]:
    from ragsweep_audit.findings.finding import NOTHING_WRONG

    yield f"{items.name}: {', '.join(f'{count:,} {noun}' for noun, count in items.profile.items())}"
    if any(report.coverage.values()):
        numbers = ", ".join(f"{count:,} {noun}" for noun, count in report.coverage.items())
        yield f"relevant {items.unit}s: {numbers}"
    if not report.findings:
        yield NOTHING_WRONG
    for finding in report.findings:
        yield f"\n{finding.kind} ({finding.count:,} of {finding.out_of:,})"
        yield from (f"  {sentence}" for sentence in (finding.problem, finding.cost, finding.advice))
    further = {"not checked": report.not_checked, "could be missed": report.undetectable, "groups": report.groups}
    for heading, sentences in further.items():
        if sentences:
            yield f"\n{heading}"
            yield from (f"  {sentence}" for sentence in sentences)
