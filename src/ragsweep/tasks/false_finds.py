"""What is found for questions that the documents do not answer, and what a threshold would change.

As in selective prediction (El-Yaniv and Wiener 2010), a system may hold back what it has: a score, or its confidence,
says how sure it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ragsweep.core.style import BEST, BLUE, QUARTERS, dress, figure
from ragsweep.core.terminal import counted
from ragsweep.statistics.certificate import lowest_threshold
from ragsweep.statistics.groups import Groups
from ragsweep.statistics.intervals import Array, effective_queries, resample_weights, wilson
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.scores import Score, mean_scores
from ragsweep.tasks.task import Measurement

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

ANSWERED = Metric("answered_rate", "Answered rate", low=0, high=1)
NONE_MARKED = (
    "no question of the dataset is marked answerable: false, as tables, spans and cases can be; to show a "
    "rate of 0.05 it takes at least 59"
)
RATES_SHOWN = (0.05, 0.1, 0.2)


class ThresholdWords(NamedTuple):
    """How a task speaks of a threshold.

    Attributes:
        scale: What the threshold is on.
        hold_back: What happens below it.
        get: What a question gets above it.
        get_right: What it gets at best.
    """

    scale: str = "score"
    hold_back: str = "return nothing"
    get: str = "get something"
    get_right: str = "get something relevant"


class Kind(NamedTuple):
    """What a task finds.

    Attributes:
        rate: The share of questions without an answer that get something.
        balance: The geometric mean of the share of other questions that get what is right, and 1 - `rate`.
        area: The area under the curve of right finds over false finds.
        right: Name of the share of the other questions that get what is right.
        heading: Of the section of the report.
        words: How it speaks of a threshold.
    """

    rate: Metric
    balance: Metric
    area: Metric
    right: str
    heading: str = "When nothing should be found"
    words: ThresholdWords = ThresholdWords()

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """All metrics of questions without an answer, in display order."""
        return self.rate, ANSWERED, self.balance, self.area

    @property
    def files(self) -> str:
        """Name of the table and of the chart of the curve."""
        return f"{self.rate.name.removesuffix('_rate')}s"

    @property
    def threshold(self) -> str:
        """Name of the column of thresholds."""
        return f"{self.words.scale}_threshold"


@dataclass(frozen=True, eq=False)
class FalseFinds:
    """The scores of a run without its threshold, and what it returns with it; -inf is the score of nothing.

    Attributes:
        kind: What is found.
        unanswerable: The highest score for each question without an answer, shape [unanswerable].
        false_finds: Whether the run gives something for it, 0 or 1, same shape.
        answerable: The highest score for each other question, shape [queries].
        answered: Whether the run gives something for it, 0 or 1, same shape.
        hits: Whether it gives what is right, 0 or 1, same shape.
        right_scores: The highest score of what is right, same shape.
        groups: The groups of all questions: those with an answer, then those without.
    """

    kind: Kind
    unanswerable: Array
    false_finds: Array
    answerable: Array
    answered: Array
    hits: Array
    right_scores: Array
    groups: Groups

    def scores(self, resamples: int, seed: int) -> list[Score]:
        """The metrics, in the order of `Kind.metrics`, with intervals by resamples of all questions."""
        items = len(self.answerable) + len(self.unanswerable)
        metrics = {self.kind.rate: self._rate, self.kind.balance: self._balance, self.kind.area: self._area}
        blocks = resample_weights(items, resamples, seed, self.groups)
        drawn = zip(*([of(block) for of in metrics.values()] for block in blocks), strict=True)
        rate, balance, area = (
            Score.of_resamples(metric, float(of(np.ones((items, 1)))[0]), values)
            for (metric, of), values in zip(metrics.items(), map(np.concatenate, drawn), strict=True)
        )
        answerable = np.arange(items) < len(self.answerable)
        number = effective_queries(self.false_finds, self.groups.only(~answerable))
        low, high = wilson(self.false_finds.mean() * number, number)
        answered = mean_scores(
            [ANSWERED], self.answered[np.newaxis], groups=self.groups.only(answerable), resamples=resamples, seed=seed
        )
        return [replace(rate, low=float(low), high=float(high)), *answered, balance, area]

    def added_to(self, measured: Measurement, resamples: int, seed: int) -> Measurement:
        """What is measured of the other questions, with the metrics, sentences, table and chart of these."""
        scores = self.scores(resamples, seed)
        return replace(
            measured,
            scores=[*measured.scores, *scores],
            facts={**measured.facts, "false_finds": self.facts},
            sections={**measured.sections, self.kind.heading: [*self.sentences(scores)]},
            tables={**measured.tables, f"{self.kind.files}.csv": self.curve()},
            charts=(draw, self, *measured.charts),
        )

    def _rate(self, weight: Array) -> Array:
        """The share of false finds by the weight of each question, shape [questions, resamples]."""
        weight = weight[len(self.answerable) :]
        return _over(self.false_finds @ weight, weight.sum(axis=0), 0.0)

    def _balance(self, weight: Array) -> Array:
        """The geometric mean of the share of right finds and that of questions without an answer that get nothing.

        It is 0 for who always gives something and for who never does (Kubat and Matwin 1997).
        """
        of_hits = weight[: len(self.hits)]
        return np.sqrt(_over(self.hits @ of_hits, of_hits.sum(axis=0), 0.0) * (1 - self._rate(weight)))

    def _area(self, weight: Array) -> Array:
        """The area under the curve of right finds over false finds, by the weight of each question.

        It is the probability that what is right for a question has a higher score than what is given for a question
        without an answer. Equal scores count half (Mann and Whitney 1947). A question that gets nothing right loses
        against all, also against those for which nothing is given.
        """
        of_right, of_others = weight[: len(self.right_scores)], weight[len(self.right_scores) :]
        order = np.argsort(self.unanswerable)
        below = np.pad(of_others[order].cumsum(axis=0), ((1, 0), (0, 0)))
        ascending = self.unanswerable[order]
        lower, equal = (np.searchsorted(ascending, self.right_scores, side) for side in ("left", "right"))
        equal = np.where(self.right_scores == -np.inf, 0, equal)
        won = (of_right * (below[lower] + below[equal]) / 2).sum(axis=0)
        return _over(won, of_right.sum(axis=0) * of_others.sum(axis=0), 0.5)

    @property
    def facts(self) -> dict[str, Any]:
        """As a JSON-compatible value: a score is null where there is none."""
        scores = {"scores": self.unanswerable, "answerable": self.answerable, "found": self.right_scores}
        return {
            "metric": self.kind.rate.name,
            "metrics": [self.kind.rate.name, self.kind.balance.name, self.kind.area.name],
            "words": self.kind.words._asdict(),
            "false_finds": self.false_finds.tolist(),
            **{name: [score if score > -np.inf else None for score in row.tolist()] for name, row in scores.items()},
        }

    def curve(self) -> pd.DataFrame:
        """A row per threshold, from the highest: the three rates that it leaves."""
        import pandas as pd

        scores = {self.kind.rate.name: self.unanswerable, ANSWERED.name: self.answerable}
        scores[self.kind.right] = self.right_scores
        thresholds = np.unique(np.concatenate([*scores.values()]))[::-1]
        thresholds = thresholds[thresholds > -np.inf]
        shares = {name: _reaching(of_questions, thresholds) for name, of_questions in scores.items()}
        return pd.DataFrame({self.kind.threshold: thresholds} | shares)

    def sentences(self, scores: Sequence[Score]) -> Iterator[str]:
        """What the report says, from the metrics."""
        rate, answered, _, area = scores
        number, finds, words = len(self.unanswerable), int(self.false_finds.sum()), self.kind.words
        yield (
            f"The documents do not answer {counted(number, 'question')}; {finds:,} of these {words.get}: "
            f"{rate.metric.title.lower()} {rate.value:.3f} [{rate.low:.3f}, {rate.high:.3f}]. Of the "
            f"{len(self.answerable):,} others, {answered.value:.3f} {words.get}, and {self.hits.mean():.3f} "
            f"{words.get_right}."
        )
        yield (
            f"What is right has a higher {words.scale} than what a question without an answer gets with probability "
            f"{area.value:.3f} [{area.low:.3f}, {area.high:.3f}] (area under the curve; ties count half)."
        )
        tops = np.concatenate([self.unanswerable, self.answerable])
        value, times = np.unique(tops[tops > -np.inf], return_counts=True)
        if len(times) and times.max() > len(tops) / 2:
            yield (
                f"The highest {words.scale} is {value[times.argmax()]:g} for {times.max():,} of {len(tops):,} "
                "questions: no threshold can tell these apart, as where each question has a scale of its own."
            )
            return
        lowest = [lowest_threshold(self.unanswerable, int(share * number), self.right_scores) for share in RATES_SHOWN]
        thresholds = np.array([*dict.fromkeys(threshold for threshold in lowest if threshold > -np.inf)])
        wrong, right = (_reaching(scores, thresholds) for scores in (self.unanswerable, self.right_scores))
        for threshold, of_these, of_others in zip(thresholds.tolist(), wrong, right, strict=True):
            if of_others > 0:
                yield (
                    f"Here, with a {self.kind.threshold} of {threshold}, {of_these:.3f} of these {words.get}, and "
                    f"{of_others:.3f} of the others {words.get_right}."
                )
        if not len(thresholds) or right.any():
            yield f"For a promise about other questions than these, set decision.target={{{rate.metric.name}: 0.05}}."

    def chart(self) -> Figure:
        """What does a threshold leave?"""
        words, rate, curve = self.kind.words, self.kind.rate, self.curve()
        drawing = figure(
            6,
            5,
            f"What does a {words.scale} threshold leave?",
            f"{len(self.unanswerable)} questions without an answer, {len(self.answerable)} others; a point a threshold",
        )
        axes = drawing.subplots()
        wrong, right = (np.array([0.0, *curve[name], *curve[name].tail(1)]) for name in (rate.name, self.kind.right))
        wrong[-1] = 1.0  # a larger share of false finds brings nothing right
        nothing = f"{words.scale}s that tell nothing"
        axes.plot([0, 1], [0, right[-1]], color="#999999", linewidth=1, linestyle=":", label=nothing)
        axes.plot(wrong, right, color=BLUE, label="thresholds, from the highest")
        this_run = self.false_finds.mean(), self.hits.mean()
        axes.plot(*this_run, "D", color=BEST, markersize=8, label="this run", clip_on=False, zorder=3)
        axes.set(
            xlabel=f"{rate.title.lower()}: questions without an answer that {words.get}",
            ylabel=f"others that {words.get_right}",
            xlim=(0, 1),
            ylim=(0, 1.02),
            xticks=QUARTERS,
            yticks=QUARTERS,
        )
        axes.legend(loc="lower right", frameon=False)
        dress(axes)
        return drawing


def draw(finds: FalseFinds, draw_others: Callable[..., Iterator[tuple[str, Figure]]], *given: Any) -> Iterator[Any]:
    """The other charts of a run with their file names, and that of the curve."""
    yield from draw_others(*given)
    yield f"{finds.kind.files}.png", finds.chart()


def _over(part: Array, total: Array, otherwise: float) -> Array:
    """Each part as a share of its total, or `otherwise` where the total is 0."""
    share: Array = np.divide(part, total, out=np.full_like(total, otherwise), where=total > 0)
    return share.clip(max=1)  # sums are rounded


def _reaching(scores: Array, thresholds: Array) -> Array:
    """The share of the scores that reach each threshold; -inf reaches none."""
    reached = np.sort(scores[scores > -np.inf])
    return (len(reached) - np.searchsorted(reached, thresholds)) / len(scores)
