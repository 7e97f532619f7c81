"""Constraints for the settings of your own classes: `alpha: Annotated[float, Between(0, 1)]`.

Those of the package `annotated-types`, such as `Gt` and `MinLen`, work as well. The others say that no record of a run
may choose the value: `model: ModelName`.
"""

from ragsweep.core.limits import (
    Address,
    Between,
    Code,
    Header,
    HostedModel,
    KeyName,
    ModelName,
    OwnData,
    Text,
    TokenizerName,
)

__all__ = [
    "Address",
    "Between",
    "Code",
    "Header",
    "HostedModel",
    "KeyName",
    "ModelName",
    "OwnData",
    "Text",
    "TokenizerName",
]
