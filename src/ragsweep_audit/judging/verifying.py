"""Computes a decision again from the journal alone."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from ragsweep import tracking
from ragsweep.core.errors import ConfigError
from ragsweep.replay.trusted_record import composed_today
from ragsweep_audit.judging.journal import Journal
from ragsweep_audit.judging.keeping_decisions import JOURNAL
from ragsweep_audit.judging.recorded_pool import LARGEST_HEAD_MB, RecordedPool
from ragsweep_audit.judging.state import decision, is_decided


def verify_alone(path: Path, name: str = "") -> bool:
    """Run a race again from its journal alone, print what it decides, and return whether it is decided.

    Args:
        path: The journal.
        name: What the journal is called in the output; its path unless given.

    Raises:
        ConfigError: It is not a journal, or it was changed.
    """
    head = RecordedPool.read(path)
    journal = Journal(path, head.as_pool(path), head.margin, head.level, head.seed, head.highest, "", only_read=True)
    print(*decision(journal), f"Judgments: {name or path}", sep="\n")
    return is_decided(journal)


def verify_recorded(sweep_id: str, overrides: Sequence[str], absent: Path) -> bool:
    """Verify the journal that MLflow keeps of a sweep, as there is none on this machine.

    Args:
        sweep_id: The sweep.
        overrides: `name=value`: the place of the store.
        absent: The journal that is not there.

    Raises:
        ConfigError: The sweep has none either.
    """
    text = tracking.fetch_text(composed_today(overrides)[0].tracking, sweep_id, JOURNAL, LARGEST_HEAD_MB)
    if text is None:
        raise ConfigError(f"--verify: neither {absent} nor the sweep in MLflow has a journal of judgments")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        path.write_text(text, encoding="utf-8")
        return verify_alone(path, f"{JOURNAL} of the sweep in MLflow")
