"""Each figure of a report can be drawn into axes of one's own."""

import itertools
from dataclasses import replace

import pytest
from outcomes import SETTINGS, alpha_k, decided, grid, of_scores, outcome

import ragsweep
from ragsweep.core.errors import ConfigError
from ragsweep.report.notebook import SweepDecision
from ragsweep.report.report_charts import captions_of, report_charts
from ragsweep.sweeps import decide

pytestmark = pytest.mark.usefixtures("drawing")


def axes():
    from matplotlib.figure import Figure

    return Figure().subplots()


def drawn(name, runs, *arguments, **settings):
    """The axes into which `ragsweep.plot.NAME` has drawn the decision between these runs."""
    into = axes()
    decision = decided(*runs, settings=replace(SETTINGS, **settings))
    getattr(ragsweep.plot, name)(SweepDecision(decision, "s1"), into, *arguments)
    return into


GRID = grid().outcomes


def test_a_gain_is_drawn_over_the_cutoff_or_its_cost_up_to_the_largest_swept_cutoff():
    over_tokens = drawn("by_cutoff", GRID)
    assert over_tokens.get_ylabel() == "Recall"
    curve = decided(*GRID).named.facts.at_k["recall"]
    curves = [line.get_ydata() for line in over_tokens.lines if len(line.get_ydata()) == 20]
    assert any(points.tolist() == list(curve) for points in curves)
    over_k = drawn("by_cutoff", GRID, costs=[])
    assert over_k.get_xlabel() == "k"
    assert all(line.get_xdata().tolist() == [*range(1, 21)] for line in over_k.lines)
    # The headline is about k 5, whose run has measured 20 cutoffs. A passage has 100 tokens.
    deep = alpha_k(0.5, 100, 0.3)
    curves = {
        "recall": (*deep.facts.at_k["recall"], *[0.9] * 80),
        "context/tokens": tuple(100.0 * k for k in range(1, 101)),
    }
    runs = [alpha_k(0.5, 5, 0.3), replace(deep, facts=replace(deep.facts, at_k=curves, at_k_ci={}))]
    into = drawn("by_cutoff", runs, at=5)
    [line] = into.lines
    assert line.get_xdata().tolist() == [100 * k for k in range(1, 101)]
    assert [line.get_xdata()[place] for place in line.get_markevery()] == [500, 10_000]
    [above] = into.child_axes
    named = {label.get_text(): place for label, place in zip(above.get_xticklabels(), above.get_xticks(), strict=True)}
    assert {"5", "100"} < {*named}
    assert all(place == 100 * int(name) for name, place in named.items())


def test_each_figure_shows_the_configurations_settings_and_differences_it_is_about():
    front = drawn("front", GRID)
    assert front.get_xlabel() == "Tokens"
    *dots, _ = front.collections  # the last are the rings
    assert sum(len(points.get_offsets()) for points in dots) == len(decided(*GRID).fronts[0].sweep.outcomes)
    labels = drawn("one_setting", GRID, "retriever.alpha").get_xticklabels()
    assert [label.get_text() for label in labels] == ["0", "0.5", "1"]
    runs = [alpha_k(alpha, 5, 0.5) for alpha in (0, 0.5, 1)]
    info = {**runs[0].facts.metrics, "f1": replace(runs[0].facts.metrics["f1"], low=-1.0)}
    runs = [replace(run, facts=replace(run.facts, metrics=info)) for run in runs]
    low, high = drawn("one_setting", runs, "retriever.alpha").get_ylim()
    assert 0.3 < low < high < 0.7  # an axis begins where the data do
    [image] = drawn("heat_map", RUNS["numbers and names"], "chunker.size", "encoder.model").images
    assert image.get_array().shape == (4, 12)
    gains, losses = (shape.get_data().values for shape in drawn("differences", GRID).patches)
    heights = list(gains + losses)
    assert len(heights) == 20
    assert heights == sorted(heights, reverse=True)
    assert min(gains) >= 0 >= max(losses)
    for name, missing in (("by_cutoff", "f3"), ("front", "price"), ("one_setting", "beta")):
        with pytest.raises(ConfigError, match=f"found '{missing}', expected "):
            drawn(name, GRID, missing)


LONG = [f"a_long_name_{letter}" for letter in "abcdefghijklmnop"]
RUNS = {
    "alpha and k": GRID,
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


def test_a_caption_counts_what_is_not_drawn():
    captions = captions_of(decided(*RUNS["sixty"]))
    assert captions["by_cutoff.svg"].endswith(" Drawn: the best 5 of 12 configurations.")
    drawn = [name for name, caption in captions.items() if "Drawn" not in caption]
    assert drawn == ["one_setting.svg", "cost_fronts.svg", "best_against_baseline.svg"]
    assert not any("Drawn" in caption for caption in captions_of(decide(grid())).values())
