"""The style of our charts: colours that colour-blind readers can tell apart, the same for the same thing everywhere."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os.path import commonprefix
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

from ragsweep.core.digest import digest
from ragsweep.core.terminal import one_line, shortened

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette (2008), one colour a metric in every chart, in the order of the metrics.
PALETTE = ("#0072B2", "#D55E00", "#000000", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
OTHER_METRIC = "#7f7f7f"
MARKERS = "osD^vP*Xhp"
BEST = "#D55E00"
BLUE = "#0072B2"
INTERVALS = "95 % bootstrap interval over queries"
MOST_TICKS = 11
LARGEST_DRAWN = 1e15  # larger values are not drawn on an axis
GRID = "#d9d9d9"
DPI = 100
QUARTERS = (0, 0.25, 0.5, 0.75, 1)  # few, since ticks and their labels take longest to draw
LONGEST_NAME, LONGEST_IN_LEGEND, LONGEST_WORD = 60, 24, 20  # characters of what is shown


def shown(text: object, longest: int = LONGEST_NAME) -> str:
    """A name as charts show it: in one line, shortened where it is long."""
    return shortened(one_line(str(text)), longest)


def shown_apart(texts: Sequence[object], longest: int = LONGEST_NAME) -> list[str]:
    """Names as charts show them. Where shortening makes some alike, without what all begin and end with."""
    lines = [one_line(str(text)) for text in texts]
    names = [shown(text, longest) for text in lines]
    if len({*names}) == len({*lines}):
        return names
    common = [commonprefix(side) for side in (lines, [text[::-1] for text in lines])]  # noqa: RUF071  # not of paths
    begin, end = (len(prefix) - len(re.sub(r".*[\W_]", "", prefix)) for prefix in common)  # whole words
    return [shown(f"...{text[begin : max(begin, len(text) - end)]}...", longest) for text in lines]


def plain_name(text: str) -> str:
    """A name that a file can have; where letters had to be replaced, a digest is appended."""
    name = re.sub(r"[^\w.-]", "_", text)[:LONGEST_NAME]
    return f"{name}{'' if name == text else '_' + digest(text)[:8]}"


def in_legend(*texts: object, longest: int = LONGEST_IN_LEGEND) -> list[str]:
    """Names for a legend; matplotlib leaves out names that begin with an underscore."""
    return [f" {name}" if name.startswith("_") else name for name in shown_apart(texts, longest)]


@contextmanager
def plain_text() -> Iterator[None]:
    """Draw text literally within the block.

    A `$` in a name does not start a formula. A letter that the font lacks is drawn as a box, without a warning.
    """
    import matplotlib as mpl

    settings = {"text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "ragsweep"}
    with mpl.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"(?s)Glyph .* missing from", category=UserWarning)
        yield


def colour(place: int) -> str:
    """The colour of the metric at this place, from 0."""
    return PALETTE[place] if place < len(PALETTE) else OTHER_METRIC


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value of a setting can be placed on a numeric axis."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST_DRAWN


def positions(values: Sequence[Any]) -> list[float]:
    """The positions of a setting's values on an axis: numbers at their value, others at 0, 1, 2, ..."""
    return [float(value) for value in values] if all(map(is_number, values)) else [float(n) for n in range(len(values))]


def ticks(
    values: Sequence[Any], *, at: Sequence[float] | None = None, room: int | None = None
) -> tuple[list[float], list[str]]:
    """Positions and labels of an axis over a setting's values, every n-th of many.

    Args:
        values: The setting's.
        at: Their positions; 0, 1, 2, ... by default.
        room: How many characters fit along the axis if the values are numbers; by default, any.
    """
    places = range(len(values)) if at is None else at
    longest = max((len(f"{value:g}") for value in values if is_number(value)), default=0)
    most = MOST_TICKS if room is None or not longest else min(MOST_TICKS, room // (longest + 1))
    step = -(-len(values) // most)
    labels = shown_apart([f"{value:g}" if is_number(value) else value for value in values], LONGEST_WORD)
    return list(places)[::step], labels[::step]


def whiskers(rows: pd.DataFrame, metric: str) -> list[Any]:
    """How far a mean's interval reaches below and above it; never less than 0, as rounding may have it."""
    mean, low, high = (rows[name].to_numpy() for name in (metric, f"{metric}_low", f"{metric}_high"))
    return [distance.clip(min=0) for distance in (mean - low, high - mean)]


def cutoff_ticks(largest: int) -> list[int]:
    """Ticks of an axis over the cutoffs: 1, and every fifth one; fewer of many."""
    step = 5 * max(1, largest // 50)
    return [1, *range(step, largest + 1, step)]


def panels(drawing: Figure, number: int, **space: float) -> tuple[list[Axes], list[Axes]]:
    """`number` panels in two rows with shared axes, the first row longer; and the unused places at the end."""
    columns = (number + 2) // 2
    every = list(drawing.subplots(2, columns, squeeze=False, sharex=True, sharey=True, gridspec_kw=space).ravel())
    for axes in every[number:]:
        axes.axis("off")
    for place, axes in enumerate(every[:number]):
        axes.tick_params(labelbottom=place + columns >= number, labelleft=place % columns == 0)
    return every[:number], every[number:]


def label(panels: Sequence[Axes], x: str, y: str) -> None:
    """Name the axes at the panels that have nothing below or beside them."""
    columns = (len(panels) + 2) // 2
    for place, axes in enumerate(panels):
        if place + columns >= len(panels):
            axes.set_xlabel(shown(x))
        if place % columns == 0:
            axes.set_ylabel(shown(y))


def shades(values: Sequence[Any], colormap: str = "viridis") -> dict[Any, Any]:
    """A colour for each value of a swept setting, dark to light in their order; also readable in grey."""
    from matplotlib import colormaps

    span = max(len(values) - 1, 1)
    return {value: colormaps[colormap](0.78 * index / span) for index, value in enumerate(values)}


def figure(
    width: float,
    height: float,
    title: str,
    subtitle: str,
    *,
    left: float = 0.75,
    right: float = 0.2,
    bottom: float = 0.6,
    top: float = 0.9,
) -> Figure:
    """An empty figure under the question that it answers; without pyplot and its global state.

    Margins are set, not computed: matplotlib's automatic layouts draw every chart twice.

    Args:
        width: In inches, as all that follows.
        height: Of the whole figure.
        title: The question.
        subtitle: What is drawn.
        left: Room for the axis beside the panels.
        right: Room for a legend.
        bottom: Room for the axis below.
        top: Room for title and subtitle.
    """
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(width, height), dpi=DPI)
    drawing.subplots_adjust(left / width, bottom / height, 1 - right / width, 1 - top / height)
    subtitle = "\n".join(shown(line, int(width / 0.068)) for line in subtitle.split("\n"))
    drawing.text(
        0.15 / width, 1 - 0.14 / height, shown(title, int(width / 0.115)), fontsize=13, fontweight="bold", va="top"
    )
    drawing.text(0.15 / width, 1 - 0.45 / height, subtitle, fontsize=9, color="#555555", va="top")
    return drawing


def dress(axes: Axes, *, grid: Literal["both", "x", "y"] = "y") -> None:
    """Remove the parts of a plot that carry no information."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(left=False, bottom=False)
    axes.grid(axis=grid, color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)


def save(drawing: Figure, path: Path) -> None:
    """Write the figure as PNG or SVG. An SVG keeps its text as text, and has no background."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".svg":
        drawing.savefig(path, transparent=True, metadata={"Date": None, "Creator": None})
    else:
        drawing.savefig(path, pil_kwargs={"compress_level": 2})
