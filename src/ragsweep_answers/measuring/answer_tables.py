"""Tables, files and facts of measured answers. `evaluation.json` has the fields of the reference framework."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from ragsweep.core.csv_files import QUERY_GROUP
from ragsweep.datasets import Dataset
from ragsweep.datasets.model.cases import Case
from ragsweep.statistics.intervals import Array
from ragsweep.tasks.scores import Measure, Score
from ragsweep_answers.measuring.answer_evaluation import Evaluation
from ragsweep_answers.measuring.measures import answer_errors as errors
from ragsweep_answers.measuring.measures.accuracy import NOT_ANSWERED, at_most
from ragsweep_answers.measuring.measures.calibration import bin_number
from ragsweep_answers.measuring.measures.retrieved import CUTOFFS, MAP, MRR, PRECISION, RECALL
from ragsweep_answers.measuring.proxies.pitfalls import PITFALLS

if TYPE_CHECKING:
    import pandas as pd

TENTHS = 10
DIGITS = 4  # of a confidence in a table
OPTIONS = {"answered": "chosen", "correct": "expected"}  # columns with texts of options, and those with their positions
RESULTS = {
    "query_id": "question_id",
    "correct_answer": "correct_answer",
    "letter": "predicted_answer",
    "correct": "is_correct",
    "confidence": "confidence",
    "error": "error",
    "specialty": "specialty",
    "difficulty": "difficulty",
    "time_ms": "time_ms",
}  # names in the reference framework, by ours


def items(dataset: Dataset) -> pd.DataFrame:
    """A row per case: id, text, specialty, correct option, difficulty, condition."""
    import pandas as pd

    rows = [
        {
            "query_id": case.query_id,
            "query": case.text,
            "query_type": case.specialty,
            "correct": case.correct,
            "difficulty": case.difficulty or "",
            "condition": case.condition or "",
        }
        for case in dataset.cases
    ]
    groups = [query.group or "" for query in dataset.queries]
    return pd.DataFrame(rows).assign(**({QUERY_GROUP: groups} if any(groups) else {}))


def details(evaluation: Evaluation) -> dict[str, list[str]]:
    """What depends on the configuration, as texts, for each case."""
    cases, answers = evaluation.cases, evaluation.cases["answer"].tolist()
    rules = cases["rules"] if "rules" in cases else [()] * len(cases)
    columns = {
        "answer": cases["letter"].fillna("").tolist(),
        "confidence": ["" if isnan(sure) else f"{sure:.{DIGITS}f}" for sure in cases["confidence"]],
        "withheld": ["yes" if row else "" for row in cases.get("withheld/share", ())],
        "error": cases["error"].tolist(),
        "dangerous": [_listed(rule.kind for rule in broken) for broken in rules],
        "evidence": [*map(_listed, cases["units"])],
        "lost": ["; ".join(answer.lost) for answer in answers],
        "causes": [_listed(answer.causes) for answer in answers],
    }
    shown = {"withheld": "withheld/share" in cases, "lost": evaluation.lost, "causes": evaluation.causes}
    return {name: texts for name, texts in columns.items() if shown.get(name, True)}


def _listed(names: Iterable[str]) -> str:
    """Different names, separated by semicolons."""
    return "; ".join(dict.fromkeys(names))


def answer_lines(cases: pd.DataFrame) -> Iterator[str]:
    """A JSON object per case, with everything that the answerer returned. The answerer `recorded` can read it."""
    columns = (cases[name] for name in ("case", "answer", "units", "confidence"))
    for case, answer, units, confidence in zip(*columns, strict=True):
        line = {
            "id": case.query_id,
            "answer": answer.letter,
            "confidence": None if isnan(confidence) else confidence,
            "probabilities": answer.probabilities or None,
            "reasoning": answer.reasoning,
            "evidence": units,
            "cited": answer.cited,
            "time_ms": answer.time_ms,
            "tokens_in": answer.tokens_in,
            "tokens_out": answer.tokens_out,
            "lost": answer.lost,
            "causes": answer.causes,
            "exchanges": [exchange._asdict() for exchange in answer.exchanges],
        }
        yield json.dumps(line, ensure_ascii=False) + "\n"


def tables(evaluation: Evaluation) -> dict[str, pd.DataFrame]:
    """Further tables by file name."""
    import pandas as pd

    letters = [*evaluation.letters]
    confusion = pd.DataFrame(evaluation.confusion, columns=[*letters, "no answer"])
    confusion.insert(0, "correct", letters)
    groups = [
        {"group": grouping, "name": name, **accuracy._asdict()}
        for grouping, accuracies in evaluation.by_group.items()
        for name, accuracy in accuracies
    ]
    confident = evaluation.confident_errors
    reasonings = [answer.reasoning for answer in confident["answer"]]
    pairs = pd.DataFrame(evaluation.confusions.pairs, columns=("first", "second", "times", "kind"))
    by_name = {
        "confusion_matrix.csv": confusion,
        "errors_by_specialty.csv": _errors_by_specialty(evaluation),
        "confused_conditions.csv": pairs,
        "high_confidence_errors.csv": _answered(confident, ["confidence"], ["query"]).assign(reasoning=reasonings),
    }
    if "rules" in evaluation.cases:
        broken = evaluation.cases.explode("rules").dropna(subset="rules")  # a row for each rule
        reasons = {name: [rule[name] for rule in map(vars, broken["rules"])] for name in ("kind", "reason")}
        by_name["dangerous_errors.csv"] = _answered(broken).assign(**reasons)
    return by_name | ({"accuracy_by_group.csv": pd.DataFrame(groups)} if groups else {})


def _answered(cases: pd.DataFrame, before: Sequence[str] = (), after: Sequence[str] = ()) -> pd.DataFrame:
    """What was answered to some of the cases, and what is correct, between other columns of theirs."""
    texts = {name: [*map(_option, cases["case"], cases[of])] for name, of in OPTIONS.items()}
    cases = cases.drop(columns=[*texts], errors="ignore").assign(**texts)
    return cases[["query_id", *before, *texts, *after]].reset_index(drop=True)


def _option(case: Case, position: int) -> str:
    letter, text = case.options[position]
    return f"{letter}) {text}"


def _errors_by_specialty(evaluation: Evaluation) -> pd.DataFrame:
    """How many wrong answers of each specialty are of each category, and how many reasonings show each pitfall."""
    import pandas as pd

    kinds = [name for name in errors.CATEGORIES if evaluation.is_judged or name not in errors.NEED_JUDGMENTS]
    counts = pd.DataFrame({name: evaluation.cases["error"] == name for name in kinds})
    counts = counts.join(evaluation.cases[["specialty", *PITFALLS]])
    return counts.groupby("specialty").sum().astype(int).reset_index()


def facts(evaluation: Evaluation, scores: Sequence[Score], measures: Sequence[Measure]) -> dict[str, Any]:
    """The measurement in the shape of the reference framework, as a JSON-compatible value.

    Args:
        evaluation: What was measured.
        scores: The metrics.
        measures: Further numbers.
    """
    named = {measure.metric.name: measure.value for measure in measures}
    values = {score.metric.name: score.value for score in scores}
    accuracy, cases = evaluation.accuracy, evaluation.cases
    correct, read = int(cases["correct"].sum()), cases["chosen"] != NOT_ANSWERED
    by_type: dict[str, int | None] = {**errors.counts(cases["error"].to_numpy())}
    by_type |= {} if evaluation.is_judged else dict.fromkeys(errors.NEED_JUDGMENTS)
    with_reasoning = evaluation.wrong[[*PITFALLS]].dropna()
    return {
        "overall_metrics": {
            "accuracy": accuracy.accuracy.value,
            "accuracy_low": accuracy.accuracy.low,
            "accuracy_high": accuracy.accuracy.high,
            "chance": accuracy.chance,
            "p_better_than_chance": accuracy.p_better,
            "p_worse_than_chance": accuracy.p_worse,
            "p_against_chance": accuracy.p,
            "total_questions": len(cases),
            "correct": correct,
            "incorrect": len(cases) - correct,
            "no_answer": {
                "questions": evaluation.unread,
                "as_wrong": accuracy.accuracy.value,
                "as_first": named["no_answer/accuracy_as_first"],
                "as_chance": named["no_answer/accuracy_as_chance"],
                "left_out": float(cases["correct"][read].mean()) if read.any() else None,
            },
            **({"withheld": int(cases["withheld/share"].sum())} if "withheld/share" in cases else {}),
            "lost_fields": dict(evaluation.lost),
            "causes": dict(evaluation.causes),
            **{
                f"by_{grouping}": {name: accuracy._asdict() for name, accuracy in groups}
                for grouping, groups in evaluation.by_group.items()
            },
            "confusion_matrix": {"letters": evaluation.letters, "counts": evaluation.confusion.tolist()},
        },
        "retrieval_metrics": _retrieval(evaluation)
        | {"avg_context_relevance": named.get("reasoning/context_relevance")},
        "reasoning_metrics": {
            "chain_completeness": named.get("reasoning/completeness"),
            "evidence_utilization": named.get("reasoning/evidence_cited"),
            "evidence_used_by_content": named.get("reasoning/evidence_used"),
            "avg_reasoning_length": named.get("reasoning/words"),
            "reasoning_coherence": named.get("reasoning/coherence"),
        },
        "calibration_metrics": {
            "brier_score": values.get("brier"),
            "ece": values.get("ece"),
            "not_measured": None if "ece" in values else evaluation.uncalibrated,
            "confidence_distribution": _distribution(evaluation.values("confidence")),
            **_of_kind(named, "confidence/"),
            **(evaluation.confidence.facts if evaluation.confidence else {}),
        },
        "safety_metrics": _safety(evaluation) | {"safety_score": named.get("safety/score")},
        "error_analysis": {
            "total_errors": len(evaluation.wrong),
            "retrieval_failures": by_type[errors.RETRIEVAL],
            "reasoning_failures": by_type[errors.REASONING],
            "high_confidence_errors": len(evaluation.confident_errors),
            "error_rate": len(evaluation.wrong) / len(cases),
            "by_type": by_type,
            "by_specialty": _errors_by_specialty(evaluation).set_index("specialty").to_dict("index"),
            "pitfalls": {"reasonings": len(with_reasoning), **with_reasoning.sum().astype(int).to_dict()},
            "confusions": dict(evaluation.confusions.counts),
            "common_confusions": [pair._asdict() for pair in evaluation.confusions.pairs],
        },
        "timing_metrics": _of_kind(named, "latency/"),
        "per_question_results": _results(cases),
    }


def _of_kind(named: Mapping[str, float], kind: str) -> dict[str, float]:
    """The numbers whose names begin so, without that."""
    return {name.removeprefix(kind): value for name, value in named.items() if name.startswith(kind)}


def _retrieval(evaluation: Evaluation) -> dict[str, Any]:
    evidence = evaluation.evidence
    if evidence is None:
        return {}
    named = {"precision": PRECISION, "recall": RECALL}
    return {
        **{f"{name}_at_{k}": evidence.at(metric, k) for name, metric in named.items() for k in CUTOFFS},
        "map": evidence.at(MAP, evidence.k),
        "mrr": evidence.at(MRR, evidence.k),
        "avg_documents_retrieved": float(evidence.retrieved.mean()),
        "judged_questions": len(evidence.judged.queries),
    }


def _distribution(confidence: Array) -> dict[str, int]:
    """Answers in each tenth of the confidence, in the bins of `calibration`."""
    counts = np.bincount(bin_number(confidence[~np.isnan(confidence)], TENTHS), minlength=TENTHS)
    return {f"{10 * tenth}-{10 * tenth + 10}%": count for tenth, count in enumerate(counts.tolist())}


def _safety(evaluation: Evaluation) -> dict[str, Any]:
    """Rates with what they are at most, with 95 % confidence; null where nothing could be checked."""
    checked, dangerous = evaluation.cases["safety/hallucination"].dropna().to_numpy(), evaluation.dangerous
    return {
        **_rate("hallucination_rate", checked),
        "checked_for_hallucination": len(checked),
        "dangerous_errors": None if dangerous is None else int(dangerous.sum()),
        **_rate("dangerous_error_rate", dangerous),
    }


def _rate(name: str, events: Array | None) -> dict[str, float | None]:
    if events is None or not len(events):
        return {name: None, f"{name}_at_most": None}
    count = int(events.sum())
    return {name: count / len(events), f"{name}_at_most": at_most(count, len(events))}


def _results(cases: pd.DataFrame) -> list[dict[str, Any]]:
    letters = [case.correct for case in cases["case"]]
    cases = cases.assign(correct_answer=letters, correct=cases["correct"] == 1, error=cases["error"].astype(object))
    rows = cases[[*RESULTS]].rename(columns=RESULTS).astype(object)
    rows = rows.where(rows.notna() & (rows != ""), None)
    return [{str(name): value for name, value in row.items()} for row in rows.to_dict("records")]
