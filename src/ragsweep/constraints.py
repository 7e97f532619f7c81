"""Constraints for the settings of your own classes: `alpha: Annotated[float, Between(0, 1)]`.

Those of the package `annotated-types`, such as `Gt` and `MinLen`, work as well.
"""

from ragsweep.core.limits import Between, Text

__all__ = ["Between", "Text"]
