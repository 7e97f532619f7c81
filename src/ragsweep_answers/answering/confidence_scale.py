"""On which scale the confidences of a file are: 0 to 1, 0 to 10, or percent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Scale = Literal["unit", "ten", "percent"]
LARGEST_OF_SCALE: dict[Scale, int] = {"unit": 1, "ten": 10, "percent": 100}
MOST_BEYOND_SCALE = 0.05  # of the confidences above 1 may be beyond the end of their scale
LIKERT = 5  # scales from 1 to 5 are common, too


def scale_problem(confidences: Sequence[float], scale: Scale) -> str:
    """Why confidences are not on a scale, and which setting fits; empty if they may be on it.

    A number between 0 and 1 shows that the scale ends at 1, and one above 1 that it does not: the larger number of them
    decides, as a few odd ones are in many files. Where none is above 1, the scale ends at 1.

    Args:
        confidences: The numbers of a file, at least 0.
        scale: The scale that the configuration names.
    """
    within, above = sum(0 < each < 1 for each in confidences), sorted(each for each in confidences if each > 1)
    if len(above) <= within or not above:
        largest = max((each for each in confidences if each <= 1), default=0)
        fits = scale == "unit" or largest <= 0
        return "" if fits else f"but {'most are not' if above else 'none is'} above {largest:g}; {_set('unit')}"
    largest = above[-1 - int(MOST_BEYOND_SCALE * len(above))]
    likely = next((name for name, end in LARGEST_OF_SCALE.items() if largest <= end), None)
    if likely == scale:
        return ""
    if likely is None:
        return f"but they go up to {largest:g}"
    if likely == "percent":
        return f"but they go up to {largest:g}; in percent? {_set('percent')}"
    if scale == "percent":
        return f"but they go up to {largest:g} only; from 0 to 10? {_set('ten')}; if in percent, divide them by 100"
    other = "; from 1 to 5? divide them by 5" if largest <= LIKERT else ""
    return f"but they go up to {largest:g}; from 0 to 10? {_set('ten')}{other}"


def _set(scale: Scale) -> str:
    return f"set answerer.confidence_scale={scale}"
