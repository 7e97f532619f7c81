"""Tests of metrics and tasks."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from ragsweep.core.arrays import NOTHING
from ragsweep.core.csv_files import TIME
from ragsweep.core.drawing import save_charts
from ragsweep.core.errors import ConfigError
from ragsweep.store.stage_store import Store
from ragsweep.tasks.charts import draw
from ragsweep.tasks.measurement_files import write_measurement
from ragsweep.tasks.metric import metric_of
from ragsweep.tasks.ranking.judging import Judged, judge
from ragsweep.tasks.ranking.spans.spans import Spans
from ragsweep.tasks.task import Items, Measurement, Task
from ragsweep.testing.component import ComponentContract

DEPTH, QUERIES = 12, 30
MEASURED_WORDS = ("iron", "tea", "fever", "daily", "The", "dose,", "water", "child")
CUTOFFS = (1, 3, 10, DEPTH, 2 * DEPTH)


class MetricContract:
    """Tests of a metric of rankings.

    Attributes:
        metric: Your function: `(judged, k)` to an array of shape [queries].
    """

    metric: ClassVar[Callable[[Judged, int], Any]]

    @pytest.fixture(params=["after_cutoff", "before_cutoff"])
    def judged(self, request: pytest.FixtureRequest) -> Judged:
        """Judged rankings: with and without hits, shorter than the cutoff, with repeated units, of graded units.

        Their queries have references, too: some overlap, and some are in no passage.
        """
        judged = judge(*_judgments(), collapse=request.param)
        return replace(judged, spans=_spans(judged))

    @pytest.fixture
    def function(self) -> Callable[[Judged, int], Any]:
        """The metric, which is a plain function and no method of the test."""
        named: Any = vars(next(base for base in type(self).__mro__ if "metric" in vars(base)))["metric"]
        function: Callable[[Judged, int], Any] = named.__func__ if isinstance(named, staticmethod) else named
        return function

    def test_a_query_has_one_value_within_the_bounds(self, function: Any, judged: Judged) -> None:
        described = metric_of("metric", function)
        for k in CUTOFFS:
            values = function(judged, k)
            assert values.shape == judged.queries.shape, f"k={k}"
            assert values.dtype == np.float64, f"k={k}"
            assert np.isfinite(values).all(), f"k={k}"
            assert ((values >= described.low) & (values <= described.high)).all(), f"k={k}"

    def test_a_query_is_measured_the_same_beside_any_others(self, function: Any, judged: Judged) -> None:
        each_alone = [_rows(judged, [row]) for row in range(len(judged.queries))]
        for k in CUTOFFS:
            assert [function(alone, k)[0] for alone in each_alone] == function(judged, k).tolist(), f"k={k}"

    def test_what_stands_behind_the_cutoff_does_not_count(self, function: Any, judged: Judged) -> None:
        """A metric at k is a property of the first k ranks and of the judgments."""
        for k in CUTOFFS:
            cut = {name: getattr(judged, name)[:, :k] for name in ("units", "ranks", "repeated", "gains", "hits")}
            if judged.spans:
                cut["spans"] = replace(judged.spans, passages=judged.spans.passages[:, :k])
            assert function(replace(judged, **cut), k).tolist() == function(judged, k).tolist(), f"k={k}"

    def test_it_leaves_the_judged_ranking_as_it_was(self, function: Any, judged: Judged) -> None:
        before = {field.name: np.copy(getattr(judged, field.name)) for field in fields(judged)}
        function(judged, 3)
        assert all(np.array_equal(getattr(judged, name), value) for name, value in before.items())


class TaskContract(ComponentContract):
    """Tests of a task; `settings` are what its configuration gives it."""

    @pytest.fixture
    def items(self, made: Task) -> Items:
        """What the task loads."""
        loaded: Items = made.load()
        return loaded

    @pytest.fixture
    def measurement(self, made: Task, items: Items) -> Measurement:
        """What it measures."""
        return made.measure(items)

    def test_it_loads_the_same_items_each_time(self, store: Store, items: Items) -> None:
        again: Items = self.make(store).load()
        assert (again.digest, again.digest_of_all) == (items.digest, items.digest_of_all)
        assert isinstance(items.name, str)
        assert all(isinstance(count, int) for count in items.profile.values())

    def test_it_measures_what_it_announces(self, made: Task, items: Items, measurement: Measurement) -> None:
        """The metrics are those of `metrics`, in the same order, without those that it says it could not measure.

        Those of some items follow, unless it says what these lack.
        """
        optional = made.optional_metrics if not made.lacks(items) else ()
        expected = [metric for metric in (*made.metrics, *optional) if metric.name not in measurement.not_measured]
        assert [score.metric for score in measurement.scores] == expected

    def test_every_value_is_within_its_bounds(self, measurement: Measurement) -> None:
        for score in measurement.scores:
            values = np.array([score.value, score.low, score.high])
            values = values if score.per_item is None else np.append(values, score.per_item)
            assert np.isfinite(values).all()
            assert ((values >= score.metric.low - 1e-12) & (values <= score.metric.high + 1e-12)).all()
            assert score.low <= score.high

    def test_a_score_is_the_mean_of_its_items_or_has_resamples(self, measurement: Measurement) -> None:
        for score in measurement.scores:
            if score.per_item is None:
                assert score.resampled is not None
            else:
                assert score.value == pytest.approx(score.per_item.mean(), abs=1e-12)
                assert score.per_item.shape == (len(measurement.items),)

    def test_its_measures_are_those_it_announces(self, made: Task, measurement: Measurement) -> None:
        """A sweep may require or save them, so their names and bounds must be known beforehand."""
        announced = made.measures
        for measure in measurement.measures:
            assert measure.metric in announced
            several = [values_of for values_of in (measure.per_item, measure.sample) if values_of is not None]
            values = np.concatenate([[measure.value], *several])
            assert np.isfinite(values).all()
            assert ((values >= measure.metric.low) & (values <= measure.metric.high)).all()
            if measure.per_item is not None:
                assert measure.per_item.shape == (len(measurement.items),)

    def test_items_can_be_told_apart(self, measurement: Measurement) -> None:
        assert measurement.items["query_id"].is_unique
        assert {"query", "query_type"} <= {*measurement.items.columns}
        assert all(len(texts) == len(measurement.items) for texts in measurement.details.values())

    def test_it_measures_the_same_each_time(self, store: Store, items: Items, measurement: Measurement) -> None:
        again: Measurement = self.make(store).measure(items)
        assert again.values == measurement.values
        tables = [measured.per_item.drop(columns=TIME, errors="ignore") for measured in (again, measurement)]
        assert tables[0].equals(tables[1])

    def test_some_items_have_the_values_that_they_have_among_all(
        self, made: Task, items: Items, measurement: Measurement
    ) -> None:
        """A race measures a few at a time. A task that does not race says so."""
        try:
            ids = [*made.item_groups(items)]
        except ConfigError:
            pytest.skip("it does not race")
        everything = measurement.items["query_id"].tolist()
        assert {*ids} <= {*everything}
        few = made.measure_some(items, {*ids[::2]})
        assert {*few.items["query_id"]} == {*ids[::2]}
        rows = [everything.index(name) for name in few.items["query_id"]]
        for score_of_few, score in zip(few.scores, measurement.scores, strict=False):
            if score.per_item is not None and len(score.per_item) == len(everything):
                assert score_of_few.per_item is not None
                assert score_of_few.per_item.tolist() == score.per_item[rows].tolist(), score.metric.name

    def test_it_can_be_drawn_in_another_process(self, measurement: Measurement) -> None:
        pickle.loads(pickle.dumps((measurement.charts, replace(measurement, files={}))))

    def test_tables_and_charts_can_be_written(self, tmp_path: Path, items: Items, measurement: Measurement) -> None:
        decides = measurement.scores[0].metric.name
        write_measurement(tmp_path, measurement, items, decides)
        save_charts(tmp_path / "charts", draw, measurement, decides, 100, 0)
        assert (tmp_path / "results" / "per_query.csv").stat().st_size > 0


def _judgments() -> Iterator[Any]:
    """Rankings of units and their judgments, as `judge` takes them: drawn at random, the same each time."""
    random = np.random.default_rng(0)
    units = random.integers(0, 20, (QUERIES, DEPTH))
    units[np.arange(DEPTH) >= random.integers(0, DEPTH + 1, (QUERIES, 1))] = NOTHING
    query, unit = (axis.ravel() for axis in np.mgrid[:QUERIES, :20])
    judged = random.random(query.size) < 0.3
    yield from (units, query[judged], unit[judged], random.integers(0, 4, judged.sum()))


def _spans(judged: Judged) -> Spans:
    """References of the judged queries, and passages that are the units: drawn at random, the same each time."""
    random = np.random.default_rng(1)

    def places(number: int) -> Any:
        start = random.integers(0, 150, number)
        return np.column_stack([start, start + random.integers(1, 20, number)])

    def texts(number: int) -> tuple[str, ...]:
        return tuple(" ".join(random.choice(MEASURED_WORDS, 8)) for _ in range(number))

    rows = np.sort(np.append(np.arange(len(judged.queries)), random.integers(0, len(judged.queries), QUERIES)))
    return Spans(
        passages=judged.units,
        rows=rows,
        spans=places(20),
        documents=random.integers(0, 3, 20),
        texts=texts(20),
        reference_spans=places(len(rows)),
        reference_documents=random.integers(0, 3, len(rows)),
        reference_texts=texts(len(rows)),
        relevant=np.argwhere(random.random((len(judged.queries), 20)) < 0.1),
    )


def _rows(judged: Judged, rows: list[int]) -> Judged:
    """The judged rankings of some queries."""
    arrays = {field.name: getattr(judged, field.name) for field in fields(judged)}
    cut: dict[str, Any] = {name: array[rows] for name, array in arrays.items() if isinstance(array, np.ndarray)}
    return replace(judged, **cut, spans=judged.spans and _spans_of_rows(judged.spans, rows))


def _spans_of_rows(spans: Spans, rows: list[int]) -> Spans:
    """The spans of some queries."""
    mine, relevant = np.isin(spans.rows, rows), np.isin(spans.relevant[:, 0], rows)
    return replace(
        spans,
        passages=spans.passages[rows],
        rows=np.searchsorted(rows, spans.rows[mine]),
        reference_spans=spans.reference_spans[mine],
        reference_documents=spans.reference_documents[mine],
        reference_texts=tuple(text for text, kept in zip(spans.reference_texts, mine, strict=True) if kept),
        relevant=np.column_stack([np.searchsorted(rows, spans.relevant[relevant, 0]), spans.relevant[relevant, 1]]),
    )
