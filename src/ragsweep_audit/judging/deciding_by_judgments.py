"""Asks a judge until a race is decided, and keeps the decision and the judgments: in files, and in MLflow."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from ragsweep import tracking
from ragsweep.core.errors import ConfigError, DatasetError, RagsweepError, first_line
from ragsweep.core.terminal import counted
from ragsweep.datasets import Dataset, Judgment
from ragsweep.datasets.model.dataset import Qrels
from ragsweep.datasets.readers.qrels_files import HEADER, read_qrels
from ragsweep.replay.trusted_record import composed_today
from ragsweep.report.decision_record import VERSION, write_record
from ragsweep.tasks.ranking.ranking_tables import CHUNKS_BY_PAGES
from ragsweep_audit.judging.configurations import rankings_of_overrides, rankings_of_sweep
from ragsweep_audit.judging.guessed_judgments import about_model, model_of, with_guesses
from ragsweep_audit.judging.journal import Journal
from ragsweep_audit.judging.journal_head import JournalHead
from ragsweep_audit.judging.judge_request import JudgeRequest
from ragsweep_audit.judging.judges import QUIT, UNDO, FileJudge, Judge, TerminalJudge
from ragsweep_audit.judging.page_judge import PageJudge
from ragsweep_audit.judging.pool import Pool, Ranked
from ragsweep_audit.judging.race_state import as_record, decision, is_decided, state_line, verdicts

NAME = "judged"  # of the decision's tags and artifacts, and of its part of a sweep's decision.json
SAME_K = "They are compared at the same k, {0}, at which larger passages return more text."
CHOSEN_PAIRS = (
    "It has what was asked to choose, not all that is relevant: a sweep on it measures too low; decide by the above."
)
OF_DATASET = "dataset"  # the judgments of the dataset stand for the judge


def judge_until_decided(request: JudgeRequest) -> bool:
    """Ask until it is decided, print what is known after each judgment, and return whether it is decided."""
    if request.sweep_id:
        of_guess = about_model(request.overrides) if request.guess else []
        settings = [override for override in request.overrides if override not in of_guess]
        k, configurations = rankings_of_sweep(request.sweep_id, settings, request.allow)
    else:
        k, configurations = rankings_of_overrides(request.overrides)
    ranked = [*configurations]
    judge = _judge_of(request, ranked[0].items)
    hidden = map(_without_judgments, ranked) if request.source is not None else ranked
    pool = _with_guesses(Pool.of(hidden, request.metric, k, request.grades), request)
    about = (request.margin, request.level, request.seed, request.grades, request.judge)
    with closing(Journal(request.journal, pool, *about, only_read=request.verify)) as journal:
        return _ask_and_keep(request, journal, judge, ranked, k)


def _ask_and_keep(request: JudgeRequest, journal: Journal, judge: Judge, ranked: Sequence[Ranked], k: int) -> bool:
    """Ask with this journal, which is open."""
    pool, unit = journal.pool, ranked[0].items.unit
    run_ids = [configuration.run_id for configuration in ranked if configuration.run_id]
    if unit != "passage" and len({configuration.items.digest_of_passages for configuration in ranked}) > 1:
        print(CHUNKS_BY_PAGES.format(unit), SAME_K.format(k))
    left = f"{journal.race.differing:,} of {len(pool.pairs):,} pairs of a query and a {unit}"
    print(f"{counted(len(pool.labels), 'configuration')}; {left} can change the decision.")
    if journal.grades:
        print(f"{request.journal}: {counted(len(journal.grades), 'judgment')} so far.")
    try:
        _ask(journal, judge, 0 if request.verify else request.budget)
    except KeyboardInterrupt:
        journal = replace(journal, only_read=True)  # read anew, as a line may be half taken in
        print(f"\n{counted(len(journal.grades), 'judgment')} kept in {request.journal}: the same command goes on.")
        print(*decision(journal), _keep(journal, request, run_ids), sep="\n", flush=True)
        raise
    sentences = [*decision(journal), f"Judgments: {request.journal}"]
    print(*sentences, sep="\n", flush=True)
    judge.end(sentences)
    if not request.verify:
        print(_keep(journal, request, run_ids))
    if request.out is not None:
        _write(_judgments(journal), request.out)
        written = f"Written: {request.out}; use it by dataset.qrels={request.out}"
        print(written, CHOSEN_PAIRS, sep="\n")
    return is_decided(journal)


def _keep(journal: Journal, request: JudgeRequest, run_ids: Sequence[str]) -> str:
    """Write the decision, record it unless a file stood for the judge, and say where it is.

    A store that refuses loses nothing.
    """
    file = journal.path.with_suffix(".decision.json")
    try:
        write_record(file, {"version": VERSION, "sweep": request.sweep_id, NAME: as_record(journal)})
    except OSError as error:
        raise ConfigError(f"{file}: cannot be written ({error.strerror})") from error
    if request.source is not None:
        return f"Decision: {file}; a simulation is not recorded in MLflow"
    if not request.sweep_id:
        return f"Decision: {file}; of a sweep that has been run, it stands in MLflow, too: ragsweep judge SWEEP_ID"
    if not journal.grades and not is_decided(journal):
        return f"Decision: {file}; in MLflow once something is judged"
    try:
        address = _record(journal, request, run_ids)
    except RagsweepError as error:
        why = f"not recorded in MLflow ({first_line(error)})"
        return f"Decision: {file}; {why}: the same command records it once that works"
    return f"Decision: {file}, and in MLflow, beside what the sweep itself decided: {address}"


def _record(journal: Journal, request: JudgeRequest, run_ids: Sequence[str]) -> str:
    """Record the decision in MLflow, and return its address there."""
    record = as_record(journal)
    later = tracking.LaterDecision(
        name=NAME,
        sentences=record["headline"],
        record=record,
        tags={
            "decided": str(is_decided(journal)).lower(),
            "configuration": record["choice"] or "",
            "by": f"{record['metric']}@{record['at']}",
            "level": f"{record['level']:g}",
        },
        numbers={f"{NAME}/judgments": float(record["judgments"])},
        runs=dict(zip(run_ids, verdicts(journal), strict=True)),
        journal=journal.path,
    )
    return tracking.add_decision(composed_today(request.overrides)[0].tracking, request.sweep_id, later)


def _with_guesses(pool: Pool, request: JudgeRequest) -> Pool:
    """The pool with the guesses of its journal, or with new ones where a journal is begun with some."""
    head = JournalHead.read(request.journal)
    if head is not None:
        if request.guess and head.guessed is None:
            raise ConfigError(f"--guess: {request.journal} was begun without guesses; name a new file with --journal")
        pool = replace(pool, guessed=head.guesses)
    if request.verify or not request.guess:
        return pool
    model, guesser = model_of(request.overrides)
    pool = replace(pool, guesser=guesser)
    return with_guesses(pool, model, request.grades, request.guess_tokens) if head is None else pool


def _judge_of(request: JudgeRequest, items: Dataset) -> Judge:
    """Who judges."""
    if request.source is not None:
        return FileJudge(_grades(request.source, items), request.grades)
    if request.port is None or request.verify:
        return TerminalJudge(request.grades)
    page = PageJudge(request.grades, request.port)
    print(f"Judge at {page.address} (Ctrl-C stops; what is judged is kept)", flush=True)
    return page


def verify_alone(path: Path) -> bool:
    """Run a race again from its journal alone, print what it decides, and return whether it is decided.

    Raises:
        ConfigError: It is not a journal, or it was changed.
    """
    head = JournalHead.read(path)
    if head is None:
        raise ConfigError(f"{path}: is no journal of judgments")
    about = (head.margin, head.level, head.seed, head.highest, "")
    journal = Journal(path, head.as_pool(path), *about, only_read=True)
    print(*decision(journal), f"Judgments: {path}", sep="\n")
    return is_decided(journal)


def _ask(journal: Journal, judge: Judge, budget: int | None) -> None:
    """Ask until it is decided, the budget is spent or the judge stops."""
    state = state_line(journal)
    while not is_decided(journal) and (budget is None or len(journal.grades) < budget):
        asked = journal.ask()
        if asked is None:
            break
        answer = judge.answer(asked, state)
        if answer == QUIT:
            break
        if answer == UNDO:
            undone = "taken back" if journal.undo() else "nothing of yours can be taken back"
            state = f"{undone}; {state_line(journal)}"
            continue
        out = journal.answer(asked, None if answer is None else int(answer))
        state = state_line(journal, out)
        if out and not judge.shows_state:
            print(state, flush=True)


def _without_judgments(ranked: Ranked) -> Ranked:
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
    grades = {(judgment.query_id, judgment.unit): judgment.grade for _, judgment in read_qrels(Path(source), "--from")}
    queries, units = {query.query_id for query in items.queries}, set(items.units)
    if not any(query in queries and unit in units for query, unit in grades):
        raise ConfigError(f"--from: {source} judges none of the queries and {items.unit}s of {items.name}")
    return grades


def _write(judgments: Sequence[Judgment], out: Path) -> None:
    """Write judgments in the format of BEIR, which every dataset takes as `dataset.qrels`.

    Raises:
        ConfigError: The file exists, or cannot be written.
        DatasetError: A name cannot stand in such a file.
    """
    names = [name for judgment in judgments for name in judgment[:2]]
    if odd := [name for name in names if name != name.strip() or not name.isprintable()]:
        raise DatasetError(f"--out: {odd[0]!r} has white space that a line of judgments cannot have")
    lines = ["\t".join(map(str, line)) for line in [HEADER, *judgments]]
    try:
        with out.open("xb") as file:
            file.write("".join(f"{line}\n" for line in lines).encode())
    except OSError as error:
        raise ConfigError(f"--out: {out} cannot be written ({error.strerror})") from error


def _judgments(journal: Journal) -> list[Judgment]:
    """What was judged, without what the judge could not tell."""
    pairs, grades = journal.pairs, journal.grades.items()
    return [
        Judgment(pairs[number].query_id, pairs[number].unit, grade) for number, grade in grades if grade is not None
    ]
