"""Each figure of a report can be drawn into axes of one's own."""

import itertools
from dataclasses import replace

import pytest
from outcomes import SETTINGS, Sweep, alpha_k, decided, grid, of_scores, outcome

import ragsweep
from ragsweep.core.errors import ConfigError
from ragsweep.report.decision_charts import cost_fronts
from ragsweep.report.notebook import SweepDecision
from ragsweep.report.settings_charts import one_setting
from ragsweep.sweeps import decide

pytestmark = pytest.mark.usefixtures("drawing")


def empty_axes():
    from matplotlib.figure import Figure

    return Figure().subplots()


@pytest.fixture
def axes():
    return empty_axes()


@pytest.fixture(scope="module")
def decision():
    return SweepDecision(decide(grid()), "s1")


def test_a_gain_is_drawn_over_the_cutoff(decision, axes):
    ragsweep.plot.by_cutoff(decision, axes)
    assert axes.get_ylabel() == "Recall"
    curve = decision.decision.named.facts.curves["recall"]
    assert any(line.get_ydata().tolist() == list(curve) for line in axes.lines if len(line.get_ydata()) == 20)


def test_a_gain_is_drawn_up_to_the_largest_swept_cutoff(axes):
    """The headline is about k 5, whose run has measured 20 cutoffs."""
    deep = alpha_k(0.5, 100, 0.3)
    curves = {name: (*curve, *[curve[-1]] * 80) for name, curve in deep.facts.curves.items()}
    runs = [alpha_k(0.5, 5, 0.3), replace(deep, facts=replace(deep.facts, curves=curves, intervals={}))]
    decision = decided(*runs, settings=replace(SETTINGS, at=5))
    ragsweep.plot.by_cutoff(SweepDecision(decision, "s1"), axes)
    assert max(len(line.get_xdata()) for line in axes.lines) == 100
    assert axes.get_xlim()[1] > 100
    assert axes.get_xticks().tolist() == [1, *range(10, 101, 10)]


def test_a_front_has_a_point_per_distinct_configuration(decision, axes):
    ragsweep.plot.front(decision, axes)
    assert axes.get_xlabel() == "Tokens"
    points = sum(len(each.get_offsets()) for each in axes.collections[:2])
    assert points == len(decision.decision.fronts[0].sweep.outcomes)


def test_names_that_do_not_fit_below_a_chart_are_beside_it_without_overlaps():
    names = [f"a_long_name_{letter}" for letter in "abcdefghijklmnop"]
    runs = [outcome(name, 0.3 + 0.02 * place, {"strategy": name}) for place, name in enumerate(names)]
    drawing = one_setting(decide(Sweep(runs, {}, SETTINGS)), "strategy")
    labels = drawing.axes[0].get_yticklabels()
    assert [label.get_text() for label in labels] == names
    boxes = sorted((label.get_window_extent() for label in labels), key=lambda box: box.y0)
    assert all(below.y1 <= above.y0 for below, above in itertools.pairwise(boxes))
    assert min(box.x0 for box in boxes) > 0


def test_a_setting_and_two_settings_are_drawn(decision, axes):
    ragsweep.plot.one_setting(decision, axes, "retriever.alpha")
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0", "0.5", "1"]
    runs = [
        outcome(f"{size} {model}", (size + len(model)) / 1000, {"chunker.size": size, "encoder.model": model})
        for size in (300, 500)
        for model in ("a", "bcd")
    ]
    two, other = SweepDecision(decide(Sweep(runs, {}, SETTINGS)), "s2"), empty_axes()
    ragsweep.plot.heat_map(two, other, "chunker.size", "encoder.model")
    assert other.images[0].get_array().shape == (2, 2)


def test_differences_are_drawn_from_gain_to_loss(decision, axes):
    ragsweep.plot.differences(decision, axes)
    gains, losses = (shape.get_data().values for shape in axes.patches)
    heights = list(gains + losses)
    assert len(heights) == 20
    assert heights == sorted(heights, reverse=True)
    assert min(gains) >= 0 >= max(losses)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda decision, axes: ragsweep.plot.by_cutoff(decision, axes, "f3"), "metric: found 'f3', expected one"),
        (lambda decision, axes: ragsweep.plot.front(decision, axes, "price"), "cost: found 'price', expected one"),
        (lambda decision, axes: ragsweep.plot.one_setting(decision, axes, "beta"), "found 'beta', expected a setting"),
    ],
)
def test_what_is_not_there_is_named(decision, axes, draw, message):
    with pytest.raises(ConfigError, match=f"^{message}"):
        draw(decision, axes)


def test_names_of_dots_in_one_place_do_not_cover_each_other_and_none_is_cut_off():
    rows = {"a_long_name_a": [0.4, 0.6] * 4, "a_long_name_b": [0.6, 0.4] * 4, "a_long_name_c": [0.5] * 8}
    runs = [of_scores(name, row, {"strategy": name}) for name, row in rows.items()]
    drawing = cost_fronts(decide(Sweep(runs, {}, SETTINGS)))
    assert {len(axes.texts) for axes in drawing.axes} == {3}
    drawing.canvas.draw()
    for axes in drawing.axes:
        boxes = [text.get_window_extent() for text in axes.texts]
        assert not any(one.overlaps(other) for place, one in enumerate(boxes) for other in boxes[:place])
        points = [x for each in axes.collections for x, _ in each.get_offsets()]
        assert max(points) < axes.get_xlim()[1]
