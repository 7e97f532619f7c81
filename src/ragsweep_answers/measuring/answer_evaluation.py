"""Everything that is measured of the answers of one configuration, as arrays over the cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ragsweep.datasets import Dataset
from ragsweep.models.language.response import Cause
from ragsweep.retrieval import Ranking
from ragsweep.statistics.groups import Groups
from ragsweep.statistics.intervals import Array, Indices
from ragsweep.tasks.ranking.units import units_of_ranking
from ragsweep_answers.measuring.answer_settings import AnswerSettings
from ragsweep_answers.measuring.answered import Answered, causes_of
from ragsweep_answers.measuring.measures.accuracy import (
    NOT_ANSWERED,
    WITHHELD,
    AgainstChance,
    NoAnswers,
    Share,
    accuracy_by_group,
    against_chance,
    confusion,
    no_answers,
)
from ragsweep_answers.measuring.measures.answer_errors import Categories, error_categories, high_confidence_errors
from ragsweep_answers.measuring.measures.confidence import too_few
from ragsweep_answers.measuring.measures.retrieved import EvidenceQuality, as_units, evidence_quality
from ragsweep_answers.measuring.proxies.confusions import Confusions, confusions
from ragsweep_answers.measuring.proxies.grounding import (
    coherence,
    context_relevance,
    evidence_used,
    grounding,
    hallucinated,
)
from ragsweep_answers.measuring.proxies.pitfalls import pitfalls
from ragsweep_answers.measuring.proxies.reasoning_quality import chain_completeness, evidence_cited, reasoning_words
from ragsweep_answers.measuring.proxies.safety import Rule, dangerous_errors, safety_score

DIFFICULTIES = ("easy", "medium", "hard")


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The values of one measurement. Arrays have shape [cases] and are NaN where something is not measured.

    Attributes:
        letters: Letters of the options of all cases.
        correct: Whether an answer is given and correct, 0 or 1.
        right: Whether the answer is correct, given or not, 0 or 1.
        chosen: Position of the chosen option; -1 if there is none, -2 if it is withheld.
        expected: Position of the correct option.
        chance: Probability of guessing the correct option.
        confidence: Probability that the answer is correct, as the answerer has it.
        groupings: Specialty and difficulty of each case; None if it has none.
        found: Whether a relevant unit was in the evidence that the answer was given from, 0 or 1.
        evidence: The retrieved evidence; None if it is not judged.
        relevance: How much of what is asked occurs in the evidence: 0, 1 or 2.
        completeness: Share of the five reasoning steps.
        words: Length of the reasoning, in words.
        cited: Share of the evidence that the answer cites.
        used: Share of the evidence that the reasoning uses, by its words.
        coherence: Share of the sentences of the reasoning that the evidence supports.
        hallucinated: Whether most of the reasoning is unsupported, 0 or 1.
        dangerous: The rules that each wrong answer breaks; None if no rules are named for the dataset.
        lost: In how many answers each field could not be used.
        lost_answers: How many answers have such a field.
        causes: For how many answers a response had no usable text, by the cause that the server gave.
        categories: Why each wrong answer is wrong; empty for a correct one.
        pitfalls: Which pitfalls each wrong answer shows, shape [wrong answers, pitfalls].
        confusions: Which conditions are taken for each other.
        confident: Positions of the wrong answers with high confidence, the most confident first.
        dependent: Groups of cases that depend on each other, such as paraphrases.
        controls: Whether each answer from other evidence is correct, 0 or 1, by the source of the evidence; NaN where
            the case has no such evidence.
    """

    letters: str
    correct: Array
    right: Array
    chosen: Indices
    expected: Indices
    chance: Array
    confidence: Array
    groupings: Mapping[str, Sequence[str | None]]
    found: Array
    evidence: EvidenceQuality | None
    relevance: Array
    completeness: Array
    words: Array
    cited: Array
    used: Array
    coherence: Array
    hallucinated: Array
    dangerous: Sequence[tuple[Rule, ...]] | None
    categories: Categories
    pitfalls: Array
    confusions: Confusions
    confident: Indices
    controls: Mapping[str, Array]
    dependent: Groups
    lost: Mapping[str, int] = field(default_factory=dict)
    lost_answers: int = 0
    causes: Mapping[Cause, int] = field(default_factory=dict)

    @cached_property
    def accuracy(self) -> AgainstChance:
        """The accuracy compared with guessing; no answer counts as wrong."""
        return against_chance(self.correct, self.chance, (self.chosen < 0).astype(float), self.dependent)

    @property
    def wrong(self) -> npt.NDArray[np.bool_]:
        """Whether a case is answered neither correctly nor by an answer that is withheld, shape [cases]."""
        wrong: npt.NDArray[np.bool_] = (self.correct == 0) & (self.chosen != WITHHELD)
        return wrong

    @property
    def withheld(self) -> Array:
        """Whether an answer is withheld, as its confidence is too low, 0 or 1, shape [cases]."""
        withheld: Array = (self.chosen == WITHHELD).astype(float)
        return withheld

    @property
    def unread(self) -> Array:
        """Whether no answer could be read, 0 or 1, shape [cases]."""
        unread: Array = (self.chosen == NOT_ANSWERED).astype(float)
        return unread

    @property
    def uncalibrated(self) -> str:
        """Why calibration is not measured; empty if it is."""
        stated = int((~np.isnan(self.confidence)).sum())
        return too_few(stated, int((self.unread == 0).sum()), self.lost.get("confidence", 0))

    @property
    def no_answers(self) -> NoAnswers:
        """The cases without a readable answer."""
        return no_answers(self.expected, self.chosen, self.chance)

    @cached_property
    def groups(self) -> dict[str, list[tuple[str, Share]]]:
        """Accuracy by specialty and by difficulty; without what no case has."""
        found = {
            grouping: accuracy_by_group(self.correct, names, self.dependent)
            for grouping, names in self.groupings.items()
        }
        return {grouping: sorted(groups, key=_place) for grouping, groups in found.items() if groups}

    @property
    def compared(self) -> dict[str, tuple[Array, Array]]:
        """For each control, which answers are correct without it and with it, over the cases that have its evidence."""
        known = {source: ~np.isnan(correct) for source, correct in self.controls.items()}
        return {source: (self.correct[known[source]], each[known[source]]) for source, each in self.controls.items()}

    @cached_property
    def confusion(self) -> Indices:
        """Cases by correct option (row) and chosen option (column), the last column for no answer."""
        return confusion(self.expected, self.chosen, len(self.letters))

    @property
    def endangering(self) -> Array | None:
        """Whether an answer breaks a rule, 0 or 1; None if there are no rules."""
        return None if self.dangerous is None else np.array([float(bool(broken)) for broken in self.dangerous])

    @property
    def safety(self) -> float:
        """The safety score; NaN if no answer could be checked for hallucination, or none for danger."""
        return np.nan if self.endangering is None else safety_score(self.hallucinated, self.endangering)


def _place(group: tuple[str, Share]) -> int:
    """Known levels of difficulty stand in their order, other groups in that of the alphabet."""
    return DIFFICULTIES.index(group[0]) if group[0] in DIFFICULTIES else len(DIFFICULTIES)


def quality_of(
    answered: Answered, items: Dataset, ranking: Ranking | None, k: int, settings: AnswerSettings
) -> EvidenceQuality | None:
    """How good the evidence of the answers is; None if there is none or it is not judged.

    Args:
        answered: The cases of the dataset, and answers.
        items: The dataset.
        ranking: What was retrieved; None if the answerer was given other evidence.
        k: The cutoff.
        settings: How evidence is judged.
    """
    if answered.source == "none" and not answered.retrieved:
        return None
    ranked = given = as_units(answered.units, items)
    if answered.source == "retrieved" and not answered.retrieved:
        assert ranking is not None
        ranked = units_of_ranking(ranking.passages, items)
    level = settings.relevance_level
    return evidence_quality(ranked, given, items, k, collapse=settings.collapse, relevance_level=level)


def evaluate(
    answered: Answered,
    evidence: EvidenceQuality | None,
    controls: Mapping[str, Array],
    settings: AnswerSettings,
    dataset: str,
) -> Evaluation:
    """Measure the answers.

    Args:
        answered: Cases and answers.
        evidence: The retrieved evidence; None if it is not judged.
        controls: See `Evaluation`.
        settings: Thresholds, rules for dangerous errors, and groups of similar conditions.
        dataset: Name of the dataset, by which its rules for dangerous errors are found.
    """
    cases, answers = answered.cases, answered.answers
    compared = grounding(cases, answers, answered.evidence)
    unsupported, found = hallucinated(compared), np.full(len(cases), np.nan)
    if evidence:
        found[evidence.judged.queries] = evidence.found
    wrong = np.flatnonzero((answered.correct == 0) & (answered.chosen != WITHHELD)).tolist()
    rules = settings.rules_for(dataset)
    return Evaluation(
        letters=max((case.letters for case in cases), key=len),
        correct=answered.correct,
        right=answered.right,
        chosen=answered.chosen,
        expected=answered.expected,
        chance=answered.chance,
        confidence=answered.confidence,
        groupings={
            "specialty": [case.specialty for case in cases],
            "difficulty": [case.difficulty for case in cases],
        },
        found=found,
        evidence=evidence,
        relevance=context_relevance(compared),
        completeness=chain_completeness(answers),
        words=reasoning_words(answers),
        cited=evidence_cited(answers, answered.units),
        used=evidence_used(compared),
        coherence=coherence(compared),
        hallucinated=unsupported,
        dangerous=None if rules is None else dangerous_errors(cases, answered.chosen, rules),
        categories=error_categories(
            *(answered.correct, answered.chosen, found, unsupported, answered.confidence),
            chance=answered.chance,
            low=settings.unsure,
        ),
        pitfalls=pitfalls([cases[row] for row in wrong], [answers[row] for row in wrong]),
        confusions=confusions(cases, answered.chosen, settings.groups),
        confident=high_confidence_errors(
            answered.correct, np.where(answered.chosen < 0, np.nan, answered.confidence), high=settings.confident
        ),
        controls=controls,
        dependent=answered.groups,
        lost=Counter(name for each in answers for name in each.lost),
        lost_answers=sum(bool(each.lost) for each in answers),
        causes=causes_of(answers),
    )
