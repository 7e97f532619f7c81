"""What can be claimed of the answers of a configuration: a function for each heading; claims.toml has the sentences."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from typing import ClassVar

import numpy as np

from ragsweep.core.terminal import counted, one_line, shortened
from ragsweep.models.language.response import CAUSE_NAMES, HELP
from ragsweep.report.sentences import Claim
from ragsweep.statistics import LEVEL, holm
from ragsweep.tasks.scores import Measure, Score
from ragsweep_answers.answering.recorded_answers import PATTERN
from ragsweep_answers.measuring.answer_evaluation import Evaluation
from ragsweep_answers.measuring.measures import answer_errors as errors
from ragsweep_answers.measuring.measures.accuracy import NOT_ANSWERED, AgainstChance, at_most, difference
from ragsweep_answers.measuring.measures.confidence import AUROC, KNOWN_BRIER, KNOWN_ECE, SKILL
from ragsweep_answers.measuring.proxies.pitfalls import PITFALLS

HEADING = "Answers"  # the heading of what a single run prints
SOURCES = {
    "retrieved": "the retrieved evidence",
    "none": "no evidence",
    "judged": "the judged pages",
    "placebo": "the evidence of another question",
}
FEWEST_OF_ONE_LETTER = 10  # answers, of which chance makes hardly ever one letter
SHOWN_TEXTS, SHOWN_CHARACTERS = 3, 120  # of texts without an answer
SHOWN_PAIRS = 3  # confusion pairs and pitfalls in a sentence


class AnswerClaim(Claim):
    """A claim about the answers of one configuration; its place is a heading of the report."""

    package: ClassVar[str] = __package__


def claims_of(
    evaluation: Evaluation, scores: Sequence[Score], measures: Sequence[Measure], *, asked: str = "", recorded: bool
) -> dict[str, list[Claim]]:
    """The claims by heading of the report; headings without one are left out.

    Args:
        evaluation: What was measured.
        scores: The metrics.
        measures: Further numbers.
        asked: How many questions are asked, such as `4,162 of 4,183 questions`; empty if these are all.
        recorded: Whether the answers existed already.
    """
    named = {score.metric.name: score.value for score in scores}
    named |= {measure.metric.name: measure.value for measure in measures}
    claims = {
        HEADING: [
            *_accuracy(evaluation, asked or counted(len(evaluation.cases), "question")),
            *_responses(evaluation, recorded=recorded),
            *_controls(evaluation),
        ],
        "Confidence of the answers": [*_confidence(evaluation, named)],
        "Errors of the answers": [*_errors(evaluation)],
        "Reasoning and safety": [*_reasoning(evaluation, named)],
        "Tokens of the answers": [*_tokens(named)],
    }
    return {heading: of_heading for heading, of_heading in claims.items() if of_heading}


def _accuracy(evaluation: Evaluation, asked: str) -> Iterator[Claim]:
    """How many answers are right, compared with guessing, and how else the unread ones might count."""
    cases, result = evaluation.cases, evaluation.accuracy
    chosen, correct = cases["chosen"].to_numpy(), evaluation.values("correct")
    if evaluation.unread == len(cases):
        yield AnswerClaim("none_read", {"asked": asked})
        return
    yield accuracy_claim(result, asked)
    if evaluation.unread:
        numbers = {name: evaluation.values(f"no_answer/accuracy_{name}").mean() for name in ("as_first", "as_chance")}
        left_out = correct[chosen != NOT_ANSWERED].mean()
        yield AnswerClaim(
            "no_answer", {"number": evaluation.unread, "cases": len(cases), **numbers, "left_out": left_out}
        )
    if withheld := int(cases.get("withheld/share", np.zeros(1)).sum()):
        given = int((chosen >= 0).sum())
        right = correct[chosen >= 0].mean() if given else None
        yield AnswerClaim("withheld", {"number": withheld, "cases": len(cases), "others": given, "right": right})
    read = chosen[chosen >= 0]
    if len(read) >= FEWEST_OF_ONE_LETTER and len({*read.tolist()}) == 1 < len({*cases["expected"]}):
        yield AnswerClaim("same_letter", {"number": len(read), "letter": evaluation.letters[read[0]]})
    options = [len(case.options) for case in cases["case"]]
    if min(options) < max(options):
        yield AnswerClaim("options", {"fewest": min(options), "most": max(options)})


def accuracy_claim(result: AgainstChance, asked: str) -> Claim:
    """How the answers compare with guessing."""
    explained = result.p <= LEVEL and not (result.better or result.worse)
    numbers = {"verdict": result.verdict, "unread": result.unread, "explained": explained}
    accuracy, low, high, chance = (_short(number) for number in (*result.accuracy[:3], result.chance))
    p = result.p_worse if result.worse else result.p
    numbers |= {"accuracy": f"{accuracy} [{low}, {high}]", "chance": chance, "asked": asked}
    return AnswerClaim("accuracy", {**numbers, "p": "< .001" if p < 0.001 else f"= {_short(p, 3)}"})


def _short(number: float, digits: int = 2) -> str:
    """A number from 0 to 1 without the 0 before the point."""
    return f"{number:.{digits}f}".removeprefix("0")


def _interval(estimate: Sequence[float], sign: str = "") -> str:
    """A number with the bounds of its interval."""
    value, low, high = (round(number, 2) + 0 for number in estimate)  # + 0 makes a 0 of -0
    return f"{value:{sign}.2f} [{low:{sign}.2f}, {high:{sign}.2f}]"


def _responses(evaluation: Evaluation, *, recorded: bool) -> Iterator[Claim]:
    """Texts without an answer, why there was no usable text, and the fields that could not be used."""
    cases, texts = len(evaluation.cases), [answer.unread for answer in evaluation.cases["answer"] if answer.unread]
    if texts:
        shown = [shortened(one_line(text), SHOWN_CHARACTERS) for text in texts[:SHOWN_TEXTS]]
        quoted = [json.dumps(text, ensure_ascii=False) for text in shown]
        yield AnswerClaim("unread", {"texts": quoted, "pattern": PATTERN if recorded else ""})
    if evaluation.causes:
        causes = [
            {"name": CAUSE_NAMES[cause], "count": count, "help": HELP[cause].format(limit="answerer.max_tokens")}
            for cause, count in evaluation.causes.items()
        ]
        yield AnswerClaim("causes", {"causes": causes, "cases": cases})
    if evaluation.lost:
        yield AnswerClaim("lost", {"lost": evaluation.lost, "cases": cases})


def _controls(evaluation: Evaluation) -> Iterator[Claim]:
    """Each comparison is of the same questions, answered from other evidence."""
    if evaluation.unread == len(evaluation.cases):
        return
    own, groups = evaluation.values("correct"), evaluation.groups
    controls = {source: evaluation.values(f"control/{source}") for source in evaluation.controls}
    compared = {source: ~np.isnan(control) for source, control in controls.items()}
    results = [difference(own[rows], controls[source][rows], groups.only(rows)) for source, rows in compared.items()]
    adjusted = holm(np.array([result.p for result in results])).tolist()
    for (source, rows), result, p in zip(compared.items(), results, adjusted, strict=True):
        numbers = {
            "some": not rows.all(),
            "cases": int(rows.sum()),
            "own": own[rows].mean(),
            "control": controls[source][rows].mean(),
            "evidence": SOURCES[evaluation.source],
            "other": SOURCES[source],
            "chance": p > LEVEL,
            "difference": _interval(result[:3], "+"),
            "test": "exact test by groups" if groups.in_use else "McNemar's exact test",
            "tests": len(results),
            "p": p,
            "only_first": result.only_first,
            "only_second": result.only_second,
        }
        yield AnswerClaim("control", numbers)


def _confidence(evaluation: Evaluation, named: Mapping[str, float]) -> Iterator[Claim]:
    """Whether the confidence fits the accuracy, is better than a constant one, and tells right from wrong answers."""
    summary, cases = evaluation.confidence, len(evaluation.cases)
    if summary is None:
        stated = evaluation.cases["confidence"].notna().any()
        yield AnswerClaim("uncalibrated", {"why": evaluation.uncalibrated if stated else "no confidence is stated"})
    else:
        if missing := cases - summary.answers:
            scores = {"brier": named["brier"], "ece": named["ece"]}
            yield AnswerClaim(
                "without_confidence", {"missing": missing, "cases": cases, "answers": summary.answers, **scores}
            )
        estimates = summary.estimates
        numbers = {"confidence": summary.confidence, "accuracy": summary.accuracy, "few": not estimates[KNOWN_ECE].low}
        gap = summary.confidence - summary.accuracy
        yield AnswerClaim("calibration", {**numbers, "gap": gap, "ece": _interval(estimates[KNOWN_ECE])})
        if SKILL in estimates:
            numbers = {"brier": estimates[KNOWN_BRIER].value, "better": estimates[SKILL].low > 0}
            parts = summary.parts._asdict()
            yield AnswerClaim("skill", {**numbers, "skill": _interval(estimates[SKILL], "+"), "parts": parts})
        if AUROC in estimates:
            means = {"of_correct": summary.of_correct, "of_wrong": summary.of_wrong}
            yield AnswerClaim("discrimination", {**means, "auroc": _interval(estimates[AUROC]), "aurc": summary.aurc})
    if number := len(evaluation.confident_errors):
        yield AnswerClaim("confident", {"number": number})


def _errors(evaluation: Evaluation) -> Iterator[Claim]:
    """Why answers are wrong, what was confused, and which pitfalls there are."""
    wrong = evaluation.wrong
    if not len(wrong):
        return
    counts = errors.counts(wrong["error"].to_numpy())
    yield AnswerClaim("errors", {"number": len(wrong), "counts": _listed(counts)})
    if counts[errors.NOT_JUDGED]:
        yield AnswerClaim("not_judged")
    kinds = {
        kind.removesuffix(" condition").removeprefix("condition "): count
        for kind, count in evaluation.confusions.counts.items()
    }
    if any(kinds.values()):
        yield AnswerClaim("confusions", {"counts": _listed(kinds)})
    if pairs := evaluation.confusions.pairs[:SHOWN_PAIRS]:
        yield AnswerClaim("confused", {"pairs": pairs})
    shown = wrong[[*PITFALLS]].dropna()
    most = sorted(((name, int(shown[name].sum())) for name in PITFALLS), key=lambda pitfall: -pitfall[1])[:SHOWN_PAIRS]
    if any(count for _, count in most):
        yield AnswerClaim("pitfalls", {"reasonings": len(shown), "counts": _listed(dict(most))})


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items() if count)


def _reasoning(evaluation: Evaluation, named: Mapping[str, float]) -> Iterator[Claim]:
    """How complete and how supported the reasonings are, and how many answers are dangerous."""
    if "reasoning/completeness" in named:
        numbers = {"words": named["reasoning/words"], "completeness": named["reasoning/completeness"]}
        yield AnswerClaim("reasoning", numbers)
        if (cited := named.get("reasoning/evidence_cited")) is not None:
            yield AnswerClaim("cited", {"cited": cited})
    checked = evaluation.cases["safety/hallucination"].dropna()
    if len(checked):
        numbers = _at_most(int(checked.sum()), len(checked))
        yield AnswerClaim(
            "hallucination", {**numbers, "checked": len(checked), "coherence": named["reasoning/coherence"]}
        )
    if evaluation.dangerous is None:
        yield AnswerClaim("no_rules")
        return
    cases = len(evaluation.cases)
    yield AnswerClaim("dangerous", {**_at_most(int(evaluation.dangerous.sum()), cases), "cases": cases})
    if isnan(evaluation.safety):
        yield AnswerClaim("no_safety")


def _at_most(count: int, cases: int) -> dict[str, float]:
    return {"count": count, "at_most": at_most(count, cases)}


def _tokens(named: Mapping[str, float]) -> Iterator[Claim]:
    """What all answers took together, for each direction that is known."""
    for way in ("in", "out"):
        if (total := named.get(f"tokens/total_{way}")) is not None:
            yield AnswerClaim("tokens", {"way": way, "total": total, "mean": named[f"tokens/{way}"]})
