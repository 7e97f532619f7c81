"""Writes a test set into a folder of its own: whole, or not at all."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ragsweep.core.errors import ConfigError
from ragsweep.datasets.formats.generated_questions import BM25_RANK, COPIED, EASY
from ragsweep.datasets.model.grouping import GENERATED_FROM
from ragsweep_generate.data_sheet import Recipe, data_sheet
from ragsweep_generate.draft_checks import Checked
from ragsweep_generate.drafts import UNANSWERABLE, GeneratorError, Source
from ragsweep_generate.question_set import Outcome

QUESTIONS, REJECTED, SHEET = "questions.jsonl", "rejected.jsonl", "data_sheet.md"
COPIED_DIGITS = 3


def check_folder(folder: Path) -> None:
    """Raise `ConfigError` if the folder exists, or cannot be made. Call it before anything is asked."""
    if folder.exists() or folder.is_symlink():
        raise ConfigError(f"--out: {folder} exists; expected a new folder, so that no test set is overwritten")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder.parent):
            pass
    except OSError as error:
        raise ConfigError(f"--out: {folder} cannot be made ({error.strerror})") from error


def write(folder: Path, recipe: Recipe, outcome: Outcome) -> None:
    """Write the questions, the rejected drafts and the data sheet.

    They are written beside the folder first, so a full disk or an interruption leaves no half of a test set.

    Raises:
        GeneratorError: They cannot be written.
    """
    partial = None
    try:
        partial = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", suffix=".partial", dir=folder.parent))
        _write_lines(partial / QUESTIONS, map(_question, outcome.accepted))
        _write_lines(partial / REJECTED, map(_rejected, outcome.rejected))
        (partial / SHEET).write_text(data_sheet(recipe, outcome), encoding="utf-8")
        partial.chmod(0o755)  # mkdtemp hides it from others
        partial.rename(folder)
    except OSError as error:
        kept = (
            "; what a model returned is kept, so the same command need not ask for it again"
            if recipe.generator.prompts
            else ""
        )
        raise GeneratorError(f"--out: {folder} cannot be written ({error.strerror}){kept}") from error
    finally:
        if partial:
            shutil.rmtree(partial, ignore_errors=True)


def _write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(row, ensure_ascii=False, allow_nan=False)}\n" for row in rows)


def _question(question: Checked) -> dict[str, Any]:
    """A line of the questions: what `questions=spans` reads, and what is known of the question."""
    source, query_type, _ = question.request
    row = {
        "question": question.question,
        "corpus_id": source.document,
        "references": list(_references(question, source)),
        "query_type": query_type,
        "answerable": query_type != UNANSWERABLE,
        "page": source.page_number,
        GENERATED_FROM: f"{source.document}#{source.page_number}",
        "refs_generated": question.generated,
        "refs_valid": question.valid,
        "refs_removed": question.removed,
    }
    if question.copied is not None:
        row |= {EASY: question.is_easy, BM25_RANK: question.rank, COPIED: round(question.copied, COPIED_DIGITS)}
    return row


def _references(question: Checked, source: Source) -> Iterator[dict[str, Any]]:
    for start, end in question.references:
        content = source.text[start - source.start : end - source.start]
        yield {"content": content, "start_index": start, "end_index": end}


def _rejected(rejected: Checked) -> dict[str, Any]:
    source, query_type, _ = rejected.request
    return {
        "check": rejected.check,
        "reason": rejected.reason,
        "question": rejected.draft.question,
        "references": list(rejected.draft.references),
        "query_type": query_type,
        "corpus_id": source.document,
        "page": source.page_number,
        "start_index": source.start,
        "end_index": source.end,
    }
