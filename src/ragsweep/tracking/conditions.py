"""Search conditions for MLflow. Ids in them may come from a store or a journal, so they must not add conditions."""

from __future__ import annotations

import re

from ragsweep.core.errors import TrackingError


def tagged(tag: str, value: object) -> str:
    """The condition that a tag of ours has this value: an id, a digest or a number.

    Raises:
        TrackingError: The value is something else.
    """
    if not re.fullmatch(r"[0-9A-Za-z_-]{1,100}", str(value)):
        raise TrackingError(f"found {str(value)[:40]!r}, expected an id: only letters and digits")
    return f"tags.`{tag}` = '{value}'"
