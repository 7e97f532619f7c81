"""What is said of several datasets together: claims, a table, a block of `decision.json`, and a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ragsweep.core.terminal import counted
from ragsweep.report.claims import claims_of, headline
from ragsweep.report.decision_record import VERSION, as_record, write_record
from ragsweep.report.evidence import more_text
from ragsweep.report.report_page import Origin, facts, write_pages, write_sweep
from ragsweep.report.sentences import Claim, sentences
from ragsweep.report.value_words import cutoffs_in_words, joined
from ragsweep.statistics import FEW_QUERIES
from ragsweep.statistics.intervals import EQUAL
from ragsweep.sweeps import AcrossDatasets, Decision

STANDINGS = ("best", "tied", "worse")
NAMES_SHOWN = 5  # datasets in a sentence
ALONE = ("requirements", "one_configuration", "same_values", "too_few", "tied")  # vetoes of one dataset, and not of all


def claims_across(across: AcrossDatasets) -> list[Claim]:
    """What to take, how it stands on each dataset, and what is missing to know more; then what the table shows."""
    names = {"names": _and(across.names), "unfinished": [*across.unfinished]}
    if across.problem:
        reasons = [f"{label} ({why})" for label, why in across.left_out.items()]
        return [Claim("across_problem", {**names, "problem": across.problem, "left_out": reasons}, vetoes=True)]
    sweep = across.sweeps[0]
    at = "" if across.cutoff is None else f" at {cutoffs_in_words(sweep, across.cutoff)}"
    numbers = {**names, "at": at, "label": across.named, "metric": sweep.metric_title}
    elsewhere = [f"{cutoff}" for cutoff in across.cutoffs if cutoff != across.cutoff]
    about = Claim("across_table", {**numbers, "others": elsewhere, "prefer": sweep.settings.prefer}, "evidence")
    return [*_choice(across, numbers), *_cautions(across), about]


def _choice(across: AcrossDatasets, numbers: dict[str, Any]) -> Iterator[Claim]:
    vetoes, losses = _vetoes(across), across.regrets[:, across.place]
    ties = [label for label, verdict in across.verdicts.items() if verdict == "tied"]
    if vetoes:
        (first, (why, sentence)), *_ = vetoes.items()
        reason = {"dataset": first, "more": _and([*vetoes][1:]), "why": why, "sentence": sentence}
        yield Claim("across_veto", {**numbers, **reason}, vetoes=True)
    elif len(across.labels) == 1:
        yield Claim("across_one", {**numbers, "swept": [*across.shown]}, vetoes=True)
    elif all(choice.distinct == 1 for choice in across.choices):
        yield Claim("across_same", numbers, vetoes=True)
    elif across.told_apart:
        how = {"worse": "worse" in across.standings, "together": bool(across.tied.all()), "ties": ties}
        yield Claim("across_choice", {**numbers, **how})
    else:
        yield Claim("across_tied", numbers, vetoes=True)
    if across.regrets.any():
        stand = {own: _and(_where(across, [own == how for how in across.standings])) for own in STANDINGS}
        largest = {"loss": losses.max(), "on": across.names[losses.argmax()]}
        how = {"ahead": bool(across.tied.sum() == len(across.names)), "alone": not vetoes and not ties}
        yield Claim("across_stands", {**numbers, **stand, **largest, **how}, "evidence" if vetoes else "headline")


def _vetoes(across: AcrossDatasets) -> dict[str, tuple[str, str]]:
    """Of each dataset on which the configuration cannot be shipped, why: in a word, and in a sentence."""
    vetoes: dict[str, tuple[str, str]] = {}
    beaten = [label for label in across.labels if across.verdicts[label] == "worse"] if across.told_apart else []
    named = zip(across.names, across.sweeps, across.choices, across.runs[across.named], strict=True)
    for place, (name, sweep, choice, run) in enumerate(named):
        of_dataset = claims_of(Decision(sweep, {across.cutoff: replace(choice, of_headline=run)}))
        more = more_text(sweep, choice, run, [across.runs[label][place] for label in beaten])
        claims = [*of_dataset, *(Claim("unequal_text", numbers, vetoes=True) for numbers in more)]
        if veto := next((claim for claim in claims if claim.vetoes and claim.name not in ALONE), None):
            vetoes[name] = (veto.name.replace("_", " "), veto.sentence)
    return vetoes


def verdict_for_all(across: AcrossDatasets) -> str:
    """What is decided of the configuration to take: one of the `verdicts`, or `not shipped: ` and why."""
    why = next((why for why, _ in _vetoes(across).values()), None)
    return f"not shipped: {why}" if why else across.verdicts[across.named]


def _cautions(across: AcrossDatasets) -> Iterator[Claim]:
    """What failed, the datasets with few queries, the queries that count twice, and what was left out."""
    small = [own.allowed.groups.number < FEW_QUERIES and own.worse < own.distinct - 1 for own in across.choices]
    few = _where(across, small)
    shared = max(across.in_common.items(), key=lambda item: item[1], default=None)
    left_out = [label for label, verdict in across.verdicts.items() if verdict == "left out"]
    if few or shared or left_out or across.unfinished:
        numbers = {"few": few, "of_few": _and(few), "shared": shared, "left_out": left_out}
        yield Claim("across_cautions", {**numbers, "unfinished": [*across.unfinished]})


def _where(across: AcrossDatasets, chosen: Iterable[bool]) -> list[str]:
    return [name for name, is_chosen in zip(across.names, chosen, strict=True) if is_chosen]


def _and(names: Sequence[str]) -> str:
    """Some names: `a`, `a and b`, `a, b and c`; of many, the first ones and how many there are besides."""
    few = len(names) <= NAMES_SHOWN + 1
    return joined(names if few else [*names[:NAMES_SHOWN], f"{len(names) - NAMES_SHOWN} more"])


def across_in_words(across: AcrossDatasets) -> list[str]:
    """The headline."""
    return sentences(claims_across(across))


def about_across_table(across: AcrossDatasets) -> list[str]:
    """The sentences below the table: what its numbers are, and further evidence."""
    return sentences(claims_across(across), "evidence")


def across_table(across: AcrossDatasets) -> list[list[str]]:
    """A header, and a row per configuration, the one to take first: its value and loss on each dataset, its verdict."""
    if across.problem:
        return []
    heads = [f"{name} ({len(sweep.queries)})" for name, sweep in zip(across.names, across.sweeps, strict=True)]
    verdicts = {**across.verdicts, across.named: verdict_for_all(across)}
    losses, rows = across.regrets, []
    for place in sorted(range(len(across.labels)), key=lambda row: (row != across.place, losses[:, row].max())):
        values = zip(across.means[:, place], losses[:, place], strict=True)
        verdict, worse = verdicts[across.labels[place]], _and(_where(across, ~across.tied[:, place]))
        rows.append(
            [
                across.labels[place],
                *(f"{value:.3f} ({f'{loss:.3f} lost' if loss > EQUAL else 'best'})" for value, loss in values),
                f"{across.means[:, place].mean():.3f}",
                f"{losses[:, place].max():.3f}",
                f"{verdict}, worse on {worse}".removeprefix("worse, ") if worse else verdict,
            ]
        )
    rows += [[label, *[""] * (len(heads) + 2), f"left out: {why}"] for label, why in across.left_out.items()]
    return [["configuration", *heads, "mean", "largest loss", "verdict"], *rows]


def alone(across: AcrossDatasets, place: int) -> str:
    """The heading of what would be said of one dataset."""
    return f"If {across.names[place]} were the only dataset ({counted(len(across.sweeps[place].queries), 'query')}):"


def across_as_record(across: AcrossDatasets, sweep_id: str) -> dict[str, Any]:
    """The decision over several datasets, and that on each, for `decision.json`; `sweep_id` is its id in the store."""
    together = {"problem": across.problem} if across.problem else _record(across)
    datasets = {name: as_record(own, sweep_id) for name, own in zip(across.names, across.decisions, strict=True)}
    block = {"version": VERSION, "sweep": sweep_id, "headline": across_in_words(across)}
    return {**block, "across_datasets": together, "datasets": datasets}


def _record(across: AcrossDatasets) -> dict[str, Any]:
    def by_name(values: Iterable[Any]) -> dict[str, Any]:
        return dict(zip(across.names, values, strict=True))

    return {
        "problem": None,
        "metric": across.metric,
        "at": across.cutoff,
        "choice": {
            "label": across.named,
            "run_ids": by_name(run.run_id for run in across.runs[across.named]),
            "standing": by_name(across.standings),
            "largest_regret": across.regrets[:, across.place].max(),
        },
        "told_apart": across.told_apart,
        "configurations": [
            {
                "label": label,
                "verdict": across.verdicts[label],
                "values": by_name(across.means[:, place].tolist()),
                "regrets": by_name(across.regrets[:, place].tolist()),
                "mean": float(across.means[:, place].mean()),
            }
            for place, label in enumerate(across.labels)
        ],
        "best_mean": {"label": across.best_mean},
        "left_out": across.left_out,
    }


def write_across(folder: Path, across: AcrossDatasets, folders: Sequence[Path], origin: Origin) -> None:
    """Write the decision and report of a sweep over several datasets, and below `datasets` those of each.

    Args:
        folder: The sweep's folder.
        across: The decision over the datasets.
        folders: The folder of each dataset, below it.
        origin: Command, run id, commit and start of the sweep.
    """
    of_one = replace(origin, across=across_in_words(across)[0])
    for own, decision in zip(folders, across.decisions, strict=True):
        write_sweep(own, decision, of_one)
    write_record(folder / "decision.json", across_as_record(across, origin.run_id))
    _write_page(folder, across, folders, origin)


def _write_page(folder: Path, across: AcrossDatasets, folders: Sequence[Path], origin: Origin) -> None:
    """Write `report.html` and `report.md` of all datasets; each has its own report in one of `folders`, below."""
    content = {
        "title": f"Which {_and([*across.shown.values()]) or 'configuration'} for {_and(across.names)}?",
        "facts": facts(counted(len(across.outcomes), "run"), origin),
        "headline": across_in_words(across),
        "rows": across_table(across),
        "about": about_across_table(across),
        "parts": [
            (alone(across, place), headline(decision), (own / "report.html").relative_to(folder).as_posix())
            for place, (decision, own) in enumerate(zip(across.decisions, folders, strict=True))
        ],
        "command": origin.command,
    }
    write_pages(folder, "across", content)
