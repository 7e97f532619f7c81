"""Asks a judge until a race is decided, and writes the judgments where a sweep finds them."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ragsweep import tracking
from ragsweep.core.errors import ConfigError
from ragsweep.core.terminal import counted
from ragsweep.datasets import Dataset, Judgment
from ragsweep.datasets.formats.questions.trec_topics import read_trec_qrels
from ragsweep.datasets.model.dataset import Qrels
from ragsweep.replay.trusted_record import composed_today
from ragsweep.tasks.ranking.ranking_tables import CHUNKS_BY_PAGES
from ragsweep_audit.judging.configurations import of_overrides, of_sweep
from ragsweep_audit.judging.journal import Journal
from ragsweep_audit.judging.judges import QUIT, UNDO, FileJudge, Judge, TerminalJudge
from ragsweep_audit.judging.keeping_decisions import JOURNAL, Keeping
from ragsweep_audit.judging.pool import Pool, Ranked
from ragsweep_audit.judging.recorded_pool import LARGEST_HEAD_MB, RecordedPool
from ragsweep_audit.judging.state import decision, is_decided, state_line
from ragsweep_audit.reviewing import write_judgments

OF_DATASET = "dataset"  # the judgments of the dataset stand for the judge


@dataclass(frozen=True)
class JudgeRequest:
    """What to judge; the attributes are the options of `ragsweep judge`.

    Attributes:
        budget: How many judgments there may be in the journal; None if any number.
        verify: Whether nothing is asked.
        source: A file of judgments, or `dataset`, that stands for the judge; None asks at the terminal.
    """

    sweep_id: str
    overrides: Sequence[str]
    modules: Sequence[str]
    metric: str
    margin: float
    level: float
    highest: int
    budget: int | None
    verify: bool
    journal: Path
    source: str | None
    judge: str
    seed: int
    out: Path | None


def judge_until_decided(request: JudgeRequest) -> bool:
    """Ask until it is decided, print what is known after each judgment, and return whether it is decided."""
    if request.sweep_id:
        k, configurations = of_sweep(request.sweep_id, request.overrides, request.modules)
    else:
        k, configurations = of_overrides(request.overrides)
    if request.verify and not request.journal.is_file() and request.sweep_id:
        return _verify_recorded(request)
    ranked = [*configurations]
    judge: Judge = TerminalJudge(request.highest)
    if request.source is not None:
        judge = FileJudge(_grades(request.source, ranked[0].items), request.highest)
    hidden = map(_hidden, ranked) if request.source is not None else ranked
    pool = Pool.of(hidden, request.metric, k, request.highest)
    about = (request.margin, request.level, request.seed, request.highest, request.judge)
    journal = Journal(request.journal, pool, *about, only_read=request.verify)
    if ranked[0].items.unit != "passage" and len({each.items.digest_of_passages for each in ranked}) > 1:
        print(CHUNKS_BY_PAGES.format(ranked[0].items.unit))
    run_ids = [each.run_id for each in ranked if each.run_id]
    keeping = Keeping(journal, request.sweep_id, request.overrides, run_ids, request.source is not None)
    left = f"{journal.race.differing:,} of {len(pool.pairs):,} pairs of a query and a {ranked[0].items.unit}"
    print(f"{counted(len(pool.labels), 'configuration')}; {left} can change the decision.")
    if journal.grades:
        print(f"{request.journal}: {counted(len(journal.grades), 'judgment')} so far.")
    try:
        _ask(journal, judge, 0 if request.verify else request.budget)
    except KeyboardInterrupt:
        print(f"\n{counted(len(journal.grades), 'judgment')} kept in {request.journal}: the same command goes on.")
        print(*decision(journal), keeping.keep(), sep="\n", flush=True)
        raise
    print(*decision(journal), f"Judgments: {request.journal}", sep="\n", flush=True)
    if not request.verify:
        print(keeping.keep())
    if request.out is not None:
        print(write_judgments(ranked[0].dataset, _judgments(journal), request.out))
    return is_decided(journal)


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


def _verify_recorded(request: JudgeRequest) -> bool:
    """Verify the journal that MLflow keeps of a sweep, where there is none on this machine."""
    today = composed_today(request.overrides)[0].tracking
    text = tracking.fetch_text(today, request.sweep_id, JOURNAL, LARGEST_HEAD_MB)
    if text is None:
        raise ConfigError(f"--verify: neither {request.journal} nor the sweep in MLflow has a journal of judgments")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        path.write_text(text, encoding="utf-8")
        return verify_alone(path, f"{JOURNAL} of the sweep in MLflow")


def _ask(journal: Journal, judge: Judge, budget: int | None) -> None:
    """Ask until it is decided, the budget is spent or the judge stops."""
    while not is_decided(journal) and (budget is None or len(journal.grades) < budget):
        asked = journal.ask()
        if asked is None:
            break
        answer = judge.answer(asked)
        if answer == QUIT:
            break
        if answer == UNDO:
            print("taken back" if journal.undo() else "nothing of yours can be taken back")
            continue
        out = journal.answer(asked, None if answer is None else int(answer))
        if out or isinstance(judge, TerminalJudge):
            print(state_line(journal, out), flush=True)


def _hidden(ranked: Ranked) -> Ranked:
    """The ranking of a configuration without the judgments of its dataset."""
    nothing = np.empty(0, dtype=np.int64)
    return ranked._replace(items=replace(ranked.items, qrels=Qrels(nothing, nothing, nothing)))


def _grades(source: str, items: Dataset) -> dict[tuple[str, str], int]:
    """The judgments that stand for a judge."""
    if source == OF_DATASET:
        if not len(items.qrels.grade):
            raise ConfigError(f"--from: {items.name} has no judgments; name a file of some")
        columns = (column.tolist() for column in vars(items.qrels).values())
        return {
            (items.queries[query].query_id, items.units[unit]): grade
            for query, unit, grade in zip(*columns, strict=True)
        }
    if not Path(source).is_file():
        raise ConfigError(f"--from: {source} is not a file; expected judgments in TREC format, or {OF_DATASET}")
    grades = {(each.query_id, each.unit): each.grade for each in read_trec_qrels(Path(source))}
    known = {query.query_id for query in items.queries}, set(items.units)
    if not any(query in known[0] and unit in known[1] for query, unit in grades):
        raise ConfigError(f"--from: {source} judges none of the queries and {items.unit}s of {items.name}")
    return grades


def _judgments(journal: Journal) -> list[Judgment]:
    """What was judged, without what the judge could not tell."""
    pairs, grades = journal.pairs, journal.grades.items()
    return [
        Judgment(pairs[number].query_id, pairs[number].unit, grade) for number, grade in grades if grade is not None
    ]
