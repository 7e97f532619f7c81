"""Makes the outcomes of a sweep from scores."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pandas as pd

from ragsweep.core.csv_files import QUERY_GROUP
from ragsweep.core.json_records import from_record
from ragsweep.report.claims import claims_of
from ragsweep.retrieval import HybridRetriever, SparseRetriever
from ragsweep.retrieval.kinds import Method, Ranker
from ragsweep.store.stage_store import NO_STORE
from ragsweep.sweeps import Decision, DecisionSettings, Outcome, Sweep, decide
from ragsweep.sweeps.configuration_names import as_number
from ragsweep.tasks.evaluation_record import Facts
from ragsweep.tasks.metric import Guessing

SETTINGS = DecisionSettings("f1", gains=["recall"], costs=["context/tokens", "latency/mean_ms"])
MEASURED = {"dataset.name": "manual", "evaluation.resamples": "1000", "seed": "0"}
CURVE = np.linspace(0.2, 0.9, 20)
SHARE = {"higher_is_better": True, "low": 0.0, "high": 1.0}
FACTS = {
    "method": {},
    "sections": {},
    "control": "",
    "dataset": {"name": "manual", "digest": "d1", "unit": "page"},
    "decided_by": "f1",
    "item_columns": ["relevant"],
    "metrics": {"f1": {"name": "f1", "title": "F1", **SHARE}, "recall": {"name": "recall", "title": "Recall", **SHARE}},
    "findings": ["Every page has text."],
    "measures": {
        name: {"name": name, "value": value, "title": title, "unit": unit, "higher_is_better": False}
        for name, value, title, unit in (
            ("context/tokens", 500, "Tokens", "tokens"),
            ("latency/mean_ms", 20, "Latency", "ms"),
        )
    },
    "cutoff": "k",
    "at_k": {"recall": CURVE.tolist(), "context/tokens": [100.0 * k for k in range(1, 21)]},
    "at_k_ci": {"recall": {"low": (CURVE - 0.1).tolist(), "high": (CURVE + 0.1).tolist()}},
}


def facts_of(record) -> Facts:
    """The facts in the contents of `results/evaluation.json`."""
    return from_record(Facts, json.dumps(record))


def of_scores(
    name, scores, swept, types=None, facts=(), *, latency=20.0, recall=None, groups=None, **settings
) -> Outcome:
    """A run with these F1 values, one per query. A passage has 100 tokens."""
    count = len(scores)
    table = pd.DataFrame(
        {
            "query_id": [str(number) for number in range(1, count + 1)],
            "query": [f"Question {number}?" for number in range(1, count + 1)],
            "query_type": types or "",
            "f1": scores,
            "recall": scores if recall is None else recall,
            "context/tokens": 100.0 * float(settings.get("k", 5)),
            "retrieved": "",
            "relevant": "a.pdf#1",
        }
    )
    if groups is not None:
        table[QUERY_GROUP] = groups
    settings = {"k": "5", "retriever": "HybridRetriever", **MEASURED, **settings}
    values = {"context/tokens": 100.0 * float(settings["k"]), "latency/mean_ms": latency}
    measures = {name: {**about, "value": values[name]} for name, about in FACTS["measures"].items()}
    record = {**FACTS, "measures": measures, "method": asdict(method(settings)), **dict(facts)}
    return Outcome(name, f"id-{name}", swept, settings, table, facts_of(record))


class Dense(Ranker):
    """What a hybrid needs of a dense retriever to say what it is."""

    method = Method("", "pure dense retrieval")
    rank = print


def method(settings: Mapping[str, str]) -> Method:
    """The method of the retriever with these settings."""
    sparse = SparseRetriever(NO_STORE)
    alpha = as_number(settings.get("retriever.alpha", ""))
    hybrid = HybridRetriever(Dense(), sparse, alpha) if isinstance(alpha, int | float) else None
    retrievers = {"HybridRetriever": hybrid, "SparseRetriever": sparse}
    of_retriever = getattr(retrievers.get(settings["retriever"]), "method", Method())
    stands_for = {f"retriever.{name}": value for name, value in of_retriever.stands_for.items()}
    return replace(of_retriever, stands_for=stands_for, chosen_by=["retriever"])


def outcome(name, f1, swept, **settings) -> Outcome:
    """A run whose 20 queries have F1 values around `f1`."""
    return of_scores(name, np.clip(f1 + np.linspace(-0.1, 0.1, 20), 0, 1), swept, **settings)


def alpha_k(alpha, k, f1) -> Outcome:
    settings = {"retriever.alpha": str(alpha), "k": str(k)}
    return outcome(f"alpha={alpha} k={k}", f1, {"retriever.alpha": alpha, "k": k}, **settings)


def grid(settings=SETTINGS) -> Sweep:
    runs = [alpha_k(alpha, k, 0.3 + alpha / 10 - k / 100) for alpha in (0, 0.5, 1) for k in (3, 5)]
    return Sweep(runs, {}, settings)


def decided(*runs, settings=SETTINGS, unfinished=()):
    """The decision between these runs."""
    return decide(Sweep(runs, dict(unfinished), settings))


def claims(decision: Decision) -> dict[str, Mapping[str, Any]]:
    """The numbers of each claim, by its name."""
    return {claim.name: {**claim.about, **claim.numbers} for claim in claims_of(decision)}


def noisy(means, queries=40, noise=0.05):
    """Scores around these means, one row per mean, with independent noise."""
    rng = np.random.default_rng(1)
    common = rng.normal(0, 0.1, queries)
    return np.clip(np.array(means)[:, None] + common + rng.normal(0, noise, (len(means), queries)), 0, 1)


def with_measure(run: Outcome, name: str, **changed) -> Outcome:
    """The run with another value, or another description, of something that was measured."""
    measures = {**run.facts.measures, name: replace(run.facts.measures[name], **changed)}
    return replace(run, facts=replace(run.facts, measures=measures))


def over_alpha(scores, alphas: Sequence[float], types=None, **settings) -> Sweep:
    """A sweep over alpha with these scores, shape [configurations, queries]."""
    runs = []
    for alpha, row in zip(alphas, scores, strict=True):
        effective_settings = {"retriever.alpha": str(alpha), **settings}
        runs.append(of_scores(f"alpha={alpha:g}", row, {"retriever.alpha": alpha}, types, **effective_settings))
    return Sweep(runs, {}, SETTINGS)


def as_guesses(decision: Decision, chance: float, p: Sequence[float]) -> Decision:
    """A decision on runs that can be compared with guessing: its value, and a p-value for each run."""
    runs = []
    for run, p_value in zip(decision.sweep.outcomes, p, strict=True):
        f1 = replace(run.facts.metrics["f1"], guessing=Guessing(chance, p_value, p_value))
        runs.append(replace(run, facts=replace(run.facts, metrics={**run.facts.metrics, "f1": f1})))
    return decide(replace(decision.sweep, outcomes=runs))
