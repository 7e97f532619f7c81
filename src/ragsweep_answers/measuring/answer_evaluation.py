"""Everything that is measured of the answers of one configuration: a table by case, and what is known of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ragsweep.datasets import Dataset
from ragsweep.datasets.model.cases import LETTERS
from ragsweep.models.language.response import Cause
from ragsweep.retrieval import Ranking
from ragsweep.statistics.groups import Groups
from ragsweep.statistics.intervals import Array, Indices
from ragsweep.tasks.ranking.units import units_of_ranking
from ragsweep.tasks.scores import Score
from ragsweep_answers.measuring.answer_settings import AnswerSettings
from ragsweep_answers.measuring.case_table import as_control, causes_of, retrieves
from ragsweep_answers.measuring.contexts import Source
from ragsweep_answers.measuring.measures.accuracy import (
    NOT_ANSWERED,
    WITHHELD,
    AgainstChance,
    Share,
    against_chance,
    counted_otherwise,
    share,
)
from ragsweep_answers.measuring.measures.answer_errors import error_categories
from ragsweep_answers.measuring.measures.confidence import ConfidenceSummary, too_few
from ragsweep_answers.measuring.measures.retrieved import EvidenceQuality, as_units, evidence_quality
from ragsweep_answers.measuring.proxies.confusions import Confusions, confusions
from ragsweep_answers.measuring.proxies.grounding import grounding
from ragsweep_answers.measuring.proxies.pitfalls import PITFALLS, completeness, evidence_cited, pitfalls
from ragsweep_answers.measuring.proxies.safety import broken_rules, safety_score

if TYPE_CHECKING:
    import pandas as pd

DIFFICULTIES = ("easy", "medium", "hard")


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What is measured of the answers of one configuration.

    Attributes:
        cases: A row per case, with the columns of `case_table` and those of `evaluate`.
        source: Where the evidence of the configuration comes from.
        controls: The other evidence that the same questions were answered from.
        evidence: The retrieved evidence; None if it is not judged.
        confusions: Which conditions are taken for each other.
        safety: The safety score; NaN if no answer could be checked for hallucination, or none for danger.
        confident: Wrong answers with at least this confidence are listed.
        lost: In how many answers each field could not be used.
        causes: For how many answers a response had no usable text, by the cause that the server gave.
        confidence: What is known of the answers with a confidence; None if that is not measured.
        calibration: Brier score and calibration error over all questions; empty if they are not measured.
    """

    cases: pd.DataFrame
    source: Source
    controls: tuple[Source, ...]
    evidence: EvidenceQuality | None
    confusions: Confusions
    safety: float
    confident: float
    lost: Mapping[str, int]
    causes: Mapping[Cause, int]
    confidence: ConfidenceSummary | None = None
    calibration: tuple[Score, ...] = ()

    def values(self, name: str) -> Array:
        """A column of numbers, shape [cases]."""
        return self.cases[name].to_numpy(dtype=float)

    @cached_property
    def groups(self) -> Groups:
        """The groups of cases that depend on each other."""
        return Groups.named(self.cases["group"].tolist())

    @cached_property
    def accuracy(self) -> AgainstChance:
        """The accuracy compared with guessing; no answer counts as wrong."""
        return against_chance(
            self.values("correct"), self.values("chance"), (self.values("chosen") < 0).astype(float), self.groups
        )

    @property
    def letters(self) -> str:
        """Letters of the options of all cases."""
        return LETTERS[: max(len(case.options) for case in self.cases["case"])]

    @property
    def unread(self) -> int:
        """How many cases have no answer that could be read."""
        return int((self.cases["chosen"] == NOT_ANSWERED).sum())

    @property
    def wrong(self) -> pd.DataFrame:
        """The cases that are answered neither correctly nor by an answer that is withheld."""
        return self.cases[self.cases["error"] != ""]

    @property
    def confident_errors(self) -> pd.DataFrame:
        """The wrong answers with high confidence, the most confident first."""
        sure = (self.cases["correct"] == 0) & (self.cases["chosen"] >= 0)
        errors = self.cases[sure & (self.cases["confidence"] >= self.confident)]
        return errors.sort_values("confidence", ascending=False, kind="stable")

    @property
    def dangerous(self) -> Array | None:
        """Whether each answer breaks a rule, 0 or 1; None if no rules are named for the dataset."""
        return self.values("safety/dangerous") if "safety/dangerous" in self.cases else None

    @property
    def uncalibrated(self) -> str:
        """Why calibration is not measured; empty if it is."""
        stated = int(self.cases["confidence"].notna().sum())
        return too_few(stated, len(self.cases) - self.unread, self.lost.get("confidence", 0))

    @property
    def is_judged(self) -> bool:
        """Whether it is known of any case if a relevant unit was in its evidence."""
        return bool(self.cases["has_relevant"].notna().any())

    @cached_property
    def by_group(self) -> dict[str, list[tuple[str, Share]]]:
        """Accuracy by specialty and by difficulty; without what no case has."""
        groupings = {grouping: [*self._within(grouping)] for grouping in ("specialty", "difficulty")}
        return {grouping: sorted(groups, key=_place) for grouping, groups in groupings.items() if groups}

    def _within(self, grouping: str) -> Iterator[tuple[str, Share]]:
        for name in sorted({*self.cases[grouping].dropna()}):
            rows = (self.cases[grouping] == name).to_numpy()
            yield name, share(self.values("correct")[rows], self.groups.only(rows))

    @property
    def confusion(self) -> Indices:
        """Cases by correct option (row) and chosen option (column), the last column for no answer."""
        letters, chosen = len(self.letters), self.cases["chosen"].to_numpy()
        counts = np.zeros((letters, letters + 1), dtype=np.int64)
        np.add.at(counts, (self.cases["expected"].to_numpy(), np.where(chosen < 0, letters, chosen)), 1)
        return counts


def _place(group: tuple[str, Share]) -> int:
    """Known levels of difficulty stand in their order, other groups in that of the alphabet."""
    return DIFFICULTIES.index(group[0]) if group[0] in DIFFICULTIES else len(DIFFICULTIES)


def quality_of(
    cases: pd.DataFrame, source: Source, items: Dataset, ranking: Ranking | None, *, k: int, settings: AnswerSettings
) -> EvidenceQuality | None:
    """How good the evidence of the answers is; None if there is none or it is not judged.

    Args:
        cases: A row per case; see `case_table`.
        source: Where the evidence of the questions comes from.
        items: The dataset.
        ranking: What was retrieved; None if the answerer was given other evidence.
        k: The cutoff.
        settings: How evidence is judged.
    """
    own = retrieves(cases["answer"])
    if source == "none" and not own:
        return None
    ranked = given = as_units(cases["units"].tolist(), items)
    if source == "retrieved" and not own:
        assert ranking is not None
        ranked = units_of_ranking(ranking.passages, items)
    level = settings.relevance_level
    return evidence_quality(ranked, given, items, k, collapse=settings.collapse, relevance_level=level)


def evaluate(
    cases: pd.DataFrame,
    source: Source,
    controls: Mapping[Source, pd.DataFrame],
    evidence: EvidenceQuality | None,
    *,
    settings: AnswerSettings,
    dataset: str,
) -> Evaluation:
    """Measure the answers. A column that is measured has the name of its metric; NaN where a case has no value.

    Further columns:
        has_relevant: Whether a relevant unit was in the evidence that the answer was given from, 0 or 1.
        error: Why a wrong answer is wrong; empty for a correct or withheld one.
        rules: The rules for dangerous errors that the answer breaks; missing if no rules are named for the dataset.
        each of `PITFALLS`: Whether a wrong answer shows it, 0 or 1.

    Args:
        cases: A row per case; see `case_table`.
        source: Where the evidence of the questions comes from.
        controls: The same for other evidence.
        evidence: The retrieved evidence; None if it is not judged.
        settings: Thresholds, rules for dangerous errors, and groups of similar conditions.
        dataset: Name of the dataset, by which its rules for dangerous errors are found.
    """
    answers, chosen = cases["answer"].tolist(), cases["chosen"].to_numpy()
    correct, chance, confidence = (cases[name].to_numpy() for name in ("correct", "chance", "confidence"))
    supports = grounding(cases["case"], answers, cases["evidence"])
    has_relevant = np.full(len(cases), np.nan)
    if evidence:
        has_relevant[evidence.judged.queries] = evidence.with_relevant
    categories = (correct, chosen, has_relevant, supports.hallucinated, confidence)
    first, guess = counted_otherwise(cases["expected"].to_numpy(), chosen, chance)
    causes, rules = causes_of(answers), settings.rules_for(dataset)
    lost = Counter(name for answer in answers for name in answer.lost)
    columns: dict[str, Any] = {
        "has_relevant": has_relevant,
        "error": error_categories(*categories, chance=chance, low=settings.unsure),
        "no_answer/share": chosen == NOT_ANSWERED,
        "no_answer/accuracy_as_first": first,
        "no_answer/accuracy_as_chance": guess,
        "reasoning/context_relevance": supports.relevance,
        "reasoning/completeness": [*map(completeness, answers)],
        "reasoning/evidence_cited": [*map(evidence_cited, answers, cases["units"])],
        "reasoning/evidence_used": supports.used,
        "reasoning/coherence": supports.coherence,
        "reasoning/words": [len(answer.reasoning.split()) or np.nan for answer in answers],
        "safety/hallucination": supports.hallucinated,
    }
    if (chosen == WITHHELD).any():
        columns["withheld/share"] = chosen == WITHHELD
    if lost:
        columns["fields/lost_share"] = [bool(answer.lost) for answer in answers]
    columns |= {f"responses/{cause}_share": [cause in answer.causes for answer in answers] for cause in causes}
    if controls:
        columns[f"control/{source}"] = correct
    columns |= {f"control/{other}": as_control(control, other) for other, control in controls.items()}
    safety = np.nan
    if rules is not None:
        columns["rules"] = [*map(broken_rules, cases["case"], chosen.tolist(), [rules] * len(cases))]
        columns["safety/dangerous"] = [bool(broken) for broken in columns["rules"]]
        safety = safety_score(supports.hallucinated, np.array(columns["safety/dangerous"], dtype=float))
    wrong = columns["error"] != ""
    shown = [
        pitfalls(case, answer) if is_wrong else [np.nan] * len(PITFALLS)
        for case, answer, is_wrong in zip(cases["case"], answers, wrong, strict=True)
    ]
    return Evaluation(
        cases=cases.assign(**columns, **dict(zip(PITFALLS, np.array(shown, float).T, strict=True))),
        source=source,
        controls=tuple(controls),
        evidence=evidence,
        confusions=confusions(cases["case"], chosen.tolist(), settings.groups),
        safety=safety,
        confident=settings.confident,
        lost=lost,
        causes=causes,
    )
