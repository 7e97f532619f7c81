"""Constraints for the settings of your own classes: `alpha: Annotated[float, Between(0, 1)]`."""

from ragsweep.core.limits import Between, Text

__all__ = ["Between", "Text"]
