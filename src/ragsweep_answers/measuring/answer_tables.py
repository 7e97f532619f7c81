"""Tables, files and facts of measured answers. `evaluation.json` has the fields of the reference framework."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from ragsweep.core.csv_files import QUERY_GROUP
from ragsweep.datasets import Dataset
from ragsweep.datasets.model.cases import Case
from ragsweep.statistics.intervals import Array
from ragsweep.tasks.task import Measure, Score
from ragsweep_answers.measuring.answer_evaluation import Evaluation
from ragsweep_answers.measuring.answered import Answered
from ragsweep_answers.measuring.measures import answer_errors as errors
from ragsweep_answers.measuring.measures.accuracy import at_most
from ragsweep_answers.measuring.measures.calibration import bin_number
from ragsweep_answers.measuring.measures.retrieved import CUTOFFS
from ragsweep_answers.measuring.proxies.pitfalls import PITFALLS

if TYPE_CHECKING:
    import pandas as pd

TENTHS = 10
DIGITS = 4  # of a confidence in a table


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


def details(answered: Answered, evaluation: Evaluation) -> dict[str, list[str]]:
    """What depends on the configuration, as texts, for each case."""
    confidence = ["" if np.isnan(each) else f"{each:.{DIGITS}f}" for each in evaluation.confidence]
    broken = evaluation.dangerous or [()] * len(answered.cases)
    lost = {"lost": ["; ".join(each.lost) for each in answered.answers]} if evaluation.lost else {}
    causes = {"causes": ["; ".join(dict.fromkeys(each.causes)) for each in answered.answers]}
    return {
        "answer": [each.letter or "" for each in answered.answers],
        "confidence": confidence,
        **({"withheld": ["yes" if each else "" for each in evaluation.withheld]} if evaluation.withheld.any() else {}),
        "error": evaluation.categories.tolist(),
        "dangerous": ["; ".join(dict.fromkeys(rule.kind for rule in rules)) for rules in broken],
        "evidence": ["; ".join(dict.fromkeys(units)) for units in answered.units],
        **lost,
        **(causes if evaluation.causes else {}),
    }


def answer_lines(answered: Answered, confidence: Array) -> Iterator[str]:
    """A JSON object per case, with everything that the answerer returned. The answerer `recorded` can read it."""
    rows = zip(answered.cases, answered.answers, answered.units, confidence.tolist(), strict=True)
    for case, each, units, sure in rows:
        yield (
            json.dumps(
                {
                    "id": case.query_id,
                    "answer": each.letter,
                    "confidence": None if isnan(sure) else sure,
                    "probabilities": list(each.probabilities) or None,
                    "reasoning": each.reasoning,
                    "evidence": list(units),
                    "cited": list(each.cited),
                    "time_ms": each.time_ms,
                    "tokens_in": each.tokens_in,
                    "tokens_out": each.tokens_out,
                    "lost": list(each.lost),
                    "causes": list(each.causes),
                    "exchanges": [exchange._asdict() for exchange in each.exchanges],
                },
                ensure_ascii=False,
            )
            + "\n"
        )


def tables(answered: Answered, evaluation: Evaluation) -> dict[str, pd.DataFrame]:
    """Further tables by file name."""
    import pandas as pd

    letters = [*evaluation.letters]
    confusion = pd.DataFrame(evaluation.confusion, columns=[*letters, "no answer"])
    confusion.insert(0, "correct", letters)
    groups = [
        {"group": grouping, "name": name, **each._asdict()}
        for grouping, some in evaluation.groups.items()
        for name, each in some
    ]
    found = {
        "confusion_matrix.csv": confusion,
        "errors_by_specialty.csv": errors.counts_by_group(evaluation.categories, evaluation.groupings["specialty"])
        .drop(columns=[*errors.not_known(evaluation.found)])
        .rename_axis("specialty")
        .reset_index(),
        "confused_conditions.csv": pd.DataFrame(
            evaluation.confusions.pairs, columns=("first", "second", "times", "kind")
        ),
        "high_confidence_errors.csv": pd.DataFrame(
            [_confident_error(answered, evaluation, row) for row in evaluation.confident],
            columns=["query_id", "confidence", "answered", "correct", "query", "reasoning"],
        ),
    }
    if evaluation.dangerous is not None:
        columns = ["query_id", "answered", "correct", "kind", "reason"]
        found["dangerous_errors.csv"] = pd.DataFrame([*_dangerous_errors(answered, evaluation)], columns=columns)
    return found | ({"accuracy_by_group.csv": pd.DataFrame(groups)} if groups else {})


def facts(
    answered: Answered,
    evaluation: Evaluation,
    scores: Sequence[Score],
    measures: Sequence[Measure],
    confidence: Mapping[str, Any],
) -> dict[str, Any]:
    """The measurement in the shape of the reference framework, as a JSON-compatible value.

    Args:
        answered: Cases and answers.
        evaluation: What was measured.
        scores: The metrics.
        measures: Further numbers.
        confidence: What else is known of the confidence; empty if no answer has one.
    """
    named = {each.metric.name: each.value for each in measures}
    values = {score.metric.name: score for score in scores}
    accuracy = evaluation.accuracy
    correct = int(evaluation.correct.sum())
    wrong = evaluation.correct == 0
    found: dict[str, int | None] = {**errors.counts(evaluation.categories)}
    found |= dict.fromkeys(errors.not_known(evaluation.found))
    return {
        "overall_metrics": {
            "accuracy": accuracy.accuracy.value,
            "accuracy_low": accuracy.accuracy.low,
            "accuracy_high": accuracy.accuracy.high,
            "chance": accuracy.chance,
            "p_better_than_chance": accuracy.p_better,
            "p_worse_than_chance": accuracy.p_worse,
            "p_against_chance": accuracy.p,
            "total_questions": len(wrong),
            "correct": correct,
            "incorrect": len(wrong) - correct,
            "no_answer": evaluation.no_answers._asdict(),
            **({"withheld": int(evaluation.withheld.sum())} if evaluation.withheld.any() else {}),
            "lost_fields": dict(evaluation.lost),
            "causes": dict(evaluation.causes),
            **{
                f"by_{grouping}": {name: each._asdict() for name, each in groups}
                for grouping, groups in evaluation.groups.items()
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
            "brier_score": values["brier"].value if "brier" in values else None,
            "ece": values["ece"].value if "ece" in values else None,
            "not_measured": None if "ece" in values else evaluation.uncalibrated,
            "confidence_distribution": _distribution(evaluation.confidence),
            **{name.partition("/")[2]: value for name, value in named.items() if name.startswith("confidence/")},
            **confidence,
        },
        "safety_metrics": _safety(evaluation) | {"safety_score": named.get("safety/score")},
        "error_analysis": {
            "total_errors": int(evaluation.wrong.sum()),
            "retrieval_failures": found[errors.RETRIEVAL],
            "reasoning_failures": found[errors.REASONING],
            "high_confidence_errors": len(evaluation.confident),
            "by_type": dict(found),
            "pitfalls": _pitfalls(evaluation),
            "confusions": dict(evaluation.confusions.counts),
            "common_confusions": [pair._asdict() for pair in evaluation.confusions.pairs],
        },
        "timing_metrics": {
            name.partition("/")[2]: value for name, value in named.items() if name.startswith("latency/")
        },
        "per_question_results": [_result(answered, evaluation, row) for row in range(len(wrong))],
    }


def _retrieval(evaluation: Evaluation) -> dict[str, Any]:
    evidence = evaluation.evidence
    if evidence is None:
        return {}
    named = {each.metric.name.partition("/")[2]: each.value for each in evidence.measures}
    return {
        **{f"{name}_at_{k}": evidence.at(name, k) for name in ("precision", "recall") for k in CUTOFFS},
        "map": named["map"],
        "mrr": named["mrr"],
        "avg_documents_retrieved": float(evidence.retrieved.mean()),
        "judged_questions": len(evidence.judged.queries),
    }


def _distribution(confidence: Array) -> dict[str, int]:
    """Answers in each tenth of the confidence, in the bins of `calibration`."""
    counts = np.bincount(bin_number(confidence[~np.isnan(confidence)], TENTHS), minlength=TENTHS)
    return {f"{10 * tenth}-{10 * tenth + 10}%": count for tenth, count in enumerate(counts.tolist())}


def _safety(evaluation: Evaluation) -> dict[str, Any]:
    """Rates with what they are at most, with 95 % confidence; null where nothing could be checked."""
    checked = evaluation.hallucinated[~np.isnan(evaluation.hallucinated)]
    hallucinated = int(checked.sum())
    cases = len(evaluation.correct)
    dangerous = None if evaluation.endangering is None else int(evaluation.endangering.sum())
    return {
        "hallucination_rate": hallucinated / len(checked) if len(checked) else None,
        "hallucination_rate_at_most": at_most(hallucinated, len(checked)) if len(checked) else None,
        "checked_for_hallucination": len(checked),
        "dangerous_errors": dangerous,
        "dangerous_error_rate": None if dangerous is None else dangerous / cases,
        "dangerous_error_rate_at_most": None if dangerous is None else at_most(dangerous, cases),
    }


def _pitfalls(evaluation: Evaluation) -> Mapping[str, Any]:
    read = ~np.isnan(evaluation.pitfalls).any(axis=1)
    counts = evaluation.pitfalls[read].sum(axis=0).astype(int).tolist()
    return {"reasonings": int(read.sum()), **dict(zip(PITFALLS, counts, strict=True))}


def _result(answered: Answered, evaluation: Evaluation, row: int) -> dict[str, Any]:
    case, given = answered.cases[row], answered.answers[row]
    sure = evaluation.confidence[row]
    return {
        "question_id": case.query_id,
        "correct_answer": case.correct,
        "predicted_answer": given.letter,
        "is_correct": bool(evaluation.correct[row]),
        "confidence": None if np.isnan(sure) else float(sure),
        "error": str(evaluation.categories[row]) or None,
        "specialty": case.specialty,
        "difficulty": case.difficulty,
        "time_ms": given.time_ms,
    }


def _confident_error(answered: Answered, evaluation: Evaluation, row: int) -> dict[str, Any]:
    case, given = answered.cases[row], answered.answers[row]
    return {
        "query_id": case.query_id,
        "confidence": float(evaluation.confidence[row]),
        "answered": _option(case, evaluation.chosen[row]),
        "correct": _option(case, evaluation.expected[row]),
        "query": case.text,
        "reasoning": given.reasoning,
    }


def _dangerous_errors(answered: Answered, evaluation: Evaluation) -> Iterator[dict[str, str]]:
    """A row for each rule that a wrong answer breaks."""
    for row, broken in enumerate(evaluation.dangerous or ()):
        for rule in broken:
            case = answered.cases[row]
            yield {
                "query_id": case.query_id,
                "answered": _option(case, evaluation.chosen[row]),
                "correct": _option(case, evaluation.expected[row]),
                "kind": rule.kind,
                "reason": rule.reason,
            }


def _option(case: Case, position: int) -> str:
    letter, text = case.options[position]
    return f"{letter}) {text}"
