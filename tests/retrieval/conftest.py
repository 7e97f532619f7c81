"""For all tests of this folder."""

from rankings import short_times  # noqa: F401
