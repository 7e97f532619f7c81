"""Each figure of a report can be drawn into axes of one's own."""

import itertools
from dataclasses import replace

import pytest
from outcomes import SETTINGS, Sweep, alpha_k, decided, grid, of_scores, outcome

import ragsweep
from ragsweep.core.errors import ConfigError
from ragsweep.report.notebook import SweepDecision
from ragsweep.report.report_charts import captions_of, report_charts
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
    curve = decision.decision.named.facts.at_k["recall"]
    assert any(line.get_ydata().tolist() == list(curve) for line in axes.lines if len(line.get_ydata()) == 20)


def test_a_gain_is_drawn_up_to_the_largest_swept_cutoff(axes):
    """The headline is about k 5, whose run has measured 20 cutoffs. A passage has 100 tokens."""
    deep = alpha_k(0.5, 100, 0.3)
    curves = {
        "recall": (*deep.facts.at_k["recall"], *[0.9] * 80),
        "context/tokens": tuple(100.0 * k for k in range(1, 101)),
    }
    runs = [alpha_k(0.5, 5, 0.3), replace(deep, facts=replace(deep.facts, at_k=curves, at_k_ci={}))]
    decision = decided(*runs, settings=replace(SETTINGS, at=5))
    ragsweep.plot.by_cutoff(SweepDecision(decision, "s1"), axes)
    [line] = axes.lines
    assert line.get_xdata().tolist() == [100 * k for k in range(1, 101)]
    assert [line.get_xdata()[place] for place in line.get_markevery()] == [500, 10_000]
    [above] = axes.child_axes
    named = {label.get_text(): place for label, place in zip(above.get_xticklabels(), above.get_xticks(), strict=True)}
    assert {"5", "100"} < {*named}
    assert all(place == 100 * int(name) for name, place in named.items())


def test_without_a_cost_a_gain_is_drawn_over_the_cutoff_itself(axes):
    decision = decide(grid(replace(SETTINGS, costs=[])))
    ragsweep.plot.by_cutoff(SweepDecision(decision, "s1"), axes)
    assert axes.get_xlabel() == "k"
    assert all(line.get_xdata().tolist() == [*range(1, 21)] for line in axes.lines)


def test_a_front_has_a_point_per_distinct_configuration(decision, axes):
    ragsweep.plot.front(decision, axes)
    assert axes.get_xlabel() == "Tokens"
    *dots, _ = axes.collections  # the last are the rings
    assert sum(len(points.get_offsets()) for points in dots) == len(decision.decision.fronts[0].sweep.outcomes)


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


def test_what_is_not_there_is_named(decision, axes):
    plot = ragsweep.plot
    for draw, name, message in (
        (plot.by_cutoff, "f3", "metric: found 'f3', expected one"),
        (plot.front, "price", "cost: found 'price', expected one"),
        (plot.one_setting, "beta", "found 'beta', expected a setting"),
    ):
        with pytest.raises(ConfigError, match=f"^{message}"):
            draw(decision, axes, name)


LONG = [f"a_long_name_{letter}" for letter in "abcdefghijklmnop"]
RUNS = {
    "alpha and k": grid().outcomes,
    "k alone": [alpha_k(0.7, k, 0.3) for k in (3, 4, 5, 20)],
    "sixty": [alpha_k(a / 12, k, 0.3 + a / 40) for a in range(12) for k in (1, 3, 5, 10, 20)],
    "long names": [outcome(name, 0.3 + 0.02 * place, {"strategy": name}) for place, name in enumerate(LONG)],
    "numbers and names": [
        outcome(f"{size} {name}", size / 1300, {"chunker.size": size, "encoder.model": name})
        for size in range(100, 1300, 100)
        for name in LONG[:4]
    ],
    "names and names": [
        outcome(f"{x} {y}", (len(x) + ord(y)) / 1000, {"chunker": x, "model": y}) for x in LONG[:4] for y in "abc"
    ],
    "dots in one place": [of_scores(name, [0.4 + n / 1000, 0.6] * 4, {"s": name}) for n, name in enumerate(LONG[:6])],
    "nothing right": [of_scores(f"a={a}", [0.0] * 8, {"a": a}) for a in (1, 2, 3)],
    "all right": [of_scores(f"a={a}", [1.0] * 8, {"a": a}) for a in ("x", "y")],
}
PHONE = 390 - 2 * 12.8  # pixels beside the margins of the page


def texts_of(drawing):
    """The texts that can be seen in a chart, with their boxes; on a phone, none is below 8 pixels."""
    from matplotlib.text import Text

    drawing.draw_without_rendering()
    hidden = [
        label
        for axes in drawing.findobj(lambda artist: hasattr(artist, "get_xticklabels"))
        for axis, ends in ((axes.xaxis, sorted(axes.get_xlim())), (axes.yaxis, sorted(axes.get_ylim())))
        for place, label in zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
        if not ends[0] - 1e-9 <= place <= ends[1] + 1e-9
    ]
    shown = [text for text in drawing.findobj(Text) if text.get_visible() and text.get_text() and text not in hidden]
    assert all(text.get_fontsize() * PHONE / (72 * drawing.get_figwidth()) > 8 for text in shown)
    return [(text.get_text(), text.get_window_extent()) for text in shown]


@pytest.mark.parametrize("name", RUNS)
def test_no_text_of_a_report_covers_another_or_leaves_its_chart_and_ticks_are_within_the_range(name):
    for file, drawing in report_charts(decided(*RUNS[name])):
        texts = texts_of(drawing)
        for (text, box), (other, below) in itertools.combinations(texts, 2):
            assert not box.padded(-1).overlaps(below), (file, text, other)
        for text, box in texts:
            assert drawing.bbox.x0 <= box.x0 < box.x1 <= drawing.bbox.x1, (file, text)
            assert drawing.bbox.y0 <= box.y0 < box.y1 <= drawing.bbox.y1, (file, text)
        for axes in drawing.axes:
            for axis, ends in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
                if axis.get_label_text() in ("F1", "Recall"):
                    ticks = [tick for tick in axis.get_ticklocs() if ends[0] <= tick <= ends[1]]
                    assert all(-1e-9 <= tick <= 1 + 1e-9 for tick in ticks), (file, ticks)


def test_an_axis_begins_where_the_data_do(axes):
    runs = [alpha_k(alpha, 5, 0.5) for alpha in (0, 0.5, 1)]
    info = {**runs[0].facts.metrics, "f1": replace(runs[0].facts.metrics["f1"], low=-1.0)}
    runs = [replace(run, facts=replace(run.facts, metrics=info)) for run in runs]
    ragsweep.plot.one_setting(SweepDecision(decided(*runs), "s1"), axes, "retriever.alpha")
    assert 0.3 < axes.get_ylim()[0] < axes.get_ylim()[1] < 0.7


def test_a_caption_counts_what_is_not_drawn():
    captions = captions_of(decided(*RUNS["sixty"]))
    assert captions["by_cutoff.svg"].endswith(" Drawn: the best 5 of 12 configurations.")
    drawn = [name for name, caption in captions.items() if "Drawn" not in caption]
    assert drawn == ["one_setting.svg", "cost_fronts.svg", "best_against_baseline.svg"]
    assert not any("Drawn" in caption for caption in captions_of(decide(grid())).values())
