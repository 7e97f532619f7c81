"""What is found for questions that the documents do not answer, and what a lowest score would change.

As in selective prediction (El-Yaniv and Wiener 2010), a retriever may return nothing: the scores say how sure it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ragsweep.core.arrays import NOTHING
from ragsweep.core.terminal import counted
from ragsweep.datasets import Dataset
from ragsweep.retrieval import Ranking
from ragsweep.statistics.certified_threshold import lowest_threshold
from ragsweep.statistics.intervals import COVERAGE, Array, resample_weights, wilson
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.ranking.coverage import unanswerable
from ragsweep.tasks.ranking.judging import Judged
from ragsweep.tasks.task import Score, mean_scores

if TYPE_CHECKING:
    import pandas as pd

RATE = Metric("false_find_rate", "False find rate", higher_is_better=False, low=0, high=1, binary=True, wilson=True)
ANSWERED = Metric("answered_rate", "Answered rate", low=0, high=1)
AREA = Metric("false_find_auc", "False find AUC", low=0, high=1)
BALANCE = Metric("hit_or_refuse", "Hit or refuse", low=0, high=1)
METRICS = (RATE, ANSWERED, BALANCE, AREA)
HEADING = "When nothing should be found"
NONE_MARKED = "no question of the dataset is marked answerable: false; to show a rate of 0.05 it takes at least 59"
RATES_SHOWN = (0.05, 0.1, 0.2)


class JudgedRanking(NamedTuple):
    """A ranking of all questions, and the judged one of those that have judgments."""

    ranking: Ranking
    judged: Judged


@dataclass(frozen=True, eq=False)
class FalseFinds:
    """Scores without the threshold of the run, and what is returned with it. Where nothing is, the score is -inf.

    Attributes:
        unanswerable: The first score for each question without an answer, shape [unanswerable].
        false_finds: Whether the run returns something for it, 0 or 1, same shape.
        answerable: The first score for each judged question, shape [queries].
        answered: Whether the run returns something for it, 0 or 1, same shape.
        hits: Whether something relevant is within the cutoff, 0 or 1, same shape.
        found: The score of its first relevant passage within the cutoff, same shape.
    """

    unanswerable: Array
    false_finds: Array
    answerable: Array
    answered: Array
    hits: Array
    found: Array

    def scores(self, resamples: int, seed: int) -> list[Score]:
        """The metrics, in the order of `METRICS`.

        Args:
            resamples: Of all questions, those with an answer and those without.
            seed: Of the resamples.
        """
        items = len(self.answerable) + len(self.unanswerable)
        whole = np.ones((items, 1))
        of_each: list[Callable[[Array], Array]] = [self._rate, self._balance, self._area]
        blocks = [[of(block) for of in of_each] for block in resample_weights(items, resamples, seed)]
        drawn = dict(zip(of_each, map(np.concatenate, zip(*blocks, strict=True)), strict=True))

        def aggregate(metric: Metric, of: Callable[[Array], Array]) -> Score:
            values = drawn[of]
            low, high = np.quantile(values, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2])
            return Score(metric, float(of(whole)[0]), float(low), float(high), resampled=values)

        bounds = [float(each) for each in wilson(self.false_finds.sum(), len(self.false_finds))]
        answered = mean_scores([ANSWERED], self.answered[np.newaxis], resamples=resamples, seed=seed)
        return [
            replace(aggregate(RATE, self._rate), low=bounds[0], high=bounds[1]),
            *answered,
            aggregate(BALANCE, self._balance),
            aggregate(AREA, self._area),
        ]

    def _rate(self, weight: Array) -> Array:
        """The share of false finds by the weight of each question, shape [questions, resamples]."""
        weight = weight[len(self.answerable) :]
        return _over(self.false_finds @ weight, weight.sum(axis=0), 0.0)

    def _balance(self, weight: Array) -> Array:
        """The geometric mean of the hit rate and the share of questions without an answer that get nothing.

        It is 0 for who always returns something and for who never does (Kubat and Matwin 1997).
        """
        others = weight[: len(self.hits)]
        return np.sqrt(_over(self.hits @ others, others.sum(axis=0), 0.0) * (1 - self._rate(weight)))

    def _area(self, weight: Array) -> Array:
        """The area under the curve of hits over false finds, by the weight of each question.

        It is the probability that the first relevant passage of a question has a higher score than the first passage of
        a question without an answer. Equal scores count half (Mann and Whitney 1947). A question without a hit loses
        against all, also against those for which nothing is returned.
        """
        of_found, of_others = weight[: len(self.found)], weight[len(self.found) :]
        order = np.argsort(self.unanswerable)
        below = np.pad(of_others[order].cumsum(axis=0), ((1, 0), (0, 0)))
        lower, equal = (np.searchsorted(self.unanswerable[order], self.found, side) for side in ("left", "right"))
        equal = np.where(self.found == -np.inf, 0, equal)
        won = (of_found * (below[lower] + below[equal]) / 2).sum(axis=0)
        return _over(won, of_found.sum(axis=0) * of_others.sum(axis=0), 0.5)

    @property
    def facts(self) -> dict[str, Any]:
        """As a JSON-compatible value: a score is null where there is none."""
        scores = {"scores": self.unanswerable, "answerable": self.answerable, "found": self.found}
        return {
            "metric": RATE.name,
            "metrics": [RATE.name, BALANCE.name, AREA.name],
            "false_finds": self.false_finds.tolist(),
            **{name: [each if each > -np.inf else None for each in row.tolist()] for name, row in scores.items()},
        }

    def curve(self) -> pd.DataFrame:
        """A row per threshold, from the highest: the three rates that it leaves."""
        import pandas as pd

        known = np.unique(np.concatenate([self.unanswerable, self.answerable, self.found]))[::-1]
        thresholds = known[known > -np.inf]
        columns = {RATE.name: self.unanswerable, ANSWERED.name: self.answerable, "hit_rate": self.found}
        return pd.DataFrame(
            {"score_threshold": thresholds} | {name: _reaching(each, thresholds) for name, each in columns.items()}
        )

    def sentences(self, scores: Sequence[Score]) -> Iterator[str]:
        """What the report says, from the metrics."""
        rate, answered, _, area = scores
        number, finds = len(self.unanswerable), int(self.false_finds.sum())
        yield (
            f"The documents do not answer {counted(number, 'question')}. Something is returned for {finds} of them: "
            f"false find rate {rate.value:.3f} [{rate.low:.3f}, {rate.high:.3f}]. Of the {len(self.answerable):,} "
            f"others, something is returned for {answered.value:.3f}."
        )
        yield (
            "A first relevant passage has a higher score than the first passage of a question without an answer with "
            f"probability {area.value:.3f} [{area.low:.3f}, {area.high:.3f}] (area under the curve; ties count half)."
        )
        tops = np.concatenate([self.unanswerable, self.answerable])
        value, times = np.unique(tops[tops > -np.inf], return_counts=True)
        if len(times) and times.max() > len(tops) / 2:
            yield (
                f"The first score is {value[times.argmax()]:g} for {times.max():,} of {len(tops):,} questions: no "
                "threshold can tell these apart. A fusion that scales the scores of each question does that."
            )
            return
        thresholds = [lowest_threshold(self.unanswerable, int(share * number), self.found) for share in RATES_SHOWN]
        for threshold in dict.fromkeys(each for each in thresholds if each > -np.inf):
            wrong, hits = (_reaching(each, np.array([threshold]))[0] for each in (self.unanswerable, self.found))
            yield (
                f"Here a score_threshold of {threshold} leaves {wrong:.3f} false finds, and something relevant for "
                f"{hits:.3f} of the others."
            )
        yield f"For a promise about other questions than these, set decision.target={{{RATE.name}: 0.05}}."


def false_finds(items: Dataset, given: JudgedRanking, free: JudgedRanking, k: int) -> FalseFinds:
    """What is found for the questions that the documents do not answer, and for the others.

    Args:
        items: The dataset, with at least one such question.
        given: What the run returns.
        free: What it returns without its threshold.
        k: The cutoff.
    """
    ranking, judged = given
    rows, others = unanswerable(items), judged.queries
    first, returned = free.ranking.scores[:, 0], (ranking.passages[:, 0] != NOTHING).astype(float)
    ranks = np.broadcast_to(free.judged.ranks, free.judged.units.shape)
    scores = np.take_along_axis(free.ranking.scores[others], ranks, axis=1)
    return FalseFinds(
        unanswerable=first[rows],
        false_finds=returned[rows],
        answerable=first[others],
        answered=returned[others],
        hits=judged.hits[:, :k].any(axis=1).astype(float),
        found=np.where(free.judged.hits, scores, -np.inf)[:, :k].max(axis=1, initial=-np.inf),
    )


def _over(part: Array, whole: Array, otherwise: float) -> Array:
    """The shares, and this value where a resample has nothing of a kind."""
    share: Array = np.divide(part, whole, out=np.full_like(whole, otherwise), where=whole > 0)
    return share.clip(max=1)  # sums are rounded


def _reaching(scores: Array, thresholds: Array) -> Array:
    """The share of the scores that reach each threshold; -inf reaches none."""
    known = np.sort(scores[scores > -np.inf])
    share: Array = (len(known) - np.searchsorted(known, thresholds)) / len(scores)
    return share
