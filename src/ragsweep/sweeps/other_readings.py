"""Runs whose documents were read by different parsers, put together on the questions that every parser leaves whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress

from ragsweep.sweeps.outcome import Outcome

LEAST_QUERIES = 2  # of a comparison


def on_common_queries(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The runs, of which those on the same files and questions, read by different parsers, have the same queries.

    Their texts differ, and so do the digests of their datasets: without this, each parser would be a dataset of its
    own. A parser can lose references, which leaves questions out of its runs; such a question is left out of all.
    """
    of_source: dict[str, list[Outcome]] = {}
    for run in outcomes:
        of_source.setdefault(run.facts.dataset.source, []).append(run)
    together = {source: runs for source, runs in of_source.items() if source and _differ_in_parser(runs)}
    common = {source: _common(runs) for source, runs in together.items()}
    return [
        _of(run, queries) if len(queries := common.get(run.facts.dataset.source, set())) >= LEAST_QUERIES else run
        for run in outcomes
    ]


def parsers_of(outcomes: Sequence[Outcome]) -> dict[str, Outcome]:
    """The parsers of runs that were put together, each with a run; empty if these are not several."""
    parsers = {run.facts.dataset.parser: run for run in outcomes if run.facts.dataset.source}
    return parsers if len(parsers) > 1 else {}


def differ_by_parser_alone(outcomes: Sequence[Outcome]) -> bool:
    """Whether each configuration has a parser of its own: what is to be chosen then is no budget."""
    return len({str(run.configuration) for run in outcomes}) == len(parsers_of(outcomes))


def _differ_in_parser(runs: Sequence[Outcome]) -> bool:
    """Whether the texts differ by the parser alone, not by what else a machine has, such as fonts."""
    texts = {(run.facts.dataset.parser, run.facts.dataset.texts or run.facts.dataset.digest) for run in runs}
    return 1 < len({parser for parser, _ in texts}) == len(texts)


def _common(runs: Sequence[Outcome]) -> set[str]:
    """The ids of the queries that all runs have."""
    return set[str].intersection(*({*run.per_query["query_id"]} for run in runs))


def _of(run: Outcome, queries: set[str]) -> Outcome:
    """A run with some of its queries. Curves of metrics, which are means over all of its queries, become empty."""
    facts = replace(run.facts, dataset=replace(run.facts.dataset, digest=run.facts.dataset.source))
    kept = run.per_query["query_id"].isin(queries)
    if kept.all():
        return replace(run, facts=facts)
    finds = facts.false_finds
    if finds is not None:
        answerable, right = (tuple(compress(scores, kept)) for scores in (finds.answerable, finds.found))
        finds = replace(finds, answerable=answerable, found=right)
    table = run.per_query[kept].reset_index(drop=True)
    recounted = {name: float(table[name].mean()) for name in facts.measures if name in table}
    measures = {**facts.measures} | {name: replace(facts.measures[name], value=v) for name, v in recounted.items()}
    curves = {name: () if name in facts.metrics else curve for name, curve in facts.at_k.items()}
    facts = replace(facts, measures=measures, at_k=curves, at_k_ci={}, false_finds=finds)
    return replace(run, per_query=table, facts=facts)
