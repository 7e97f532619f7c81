"""What users' classes say of their settings: `alpha: Annotated[float, Between(0, 1)]`."""

from ragsweep.core.constraints import Between, Text

__all__ = ["Between", "Text"]
