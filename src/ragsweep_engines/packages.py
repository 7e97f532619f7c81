"""Whether the package of an engine is installed."""

from __future__ import annotations

from importlib.util import find_spec

from ragsweep.core.errors import ConfigError


def expect_package(module: str, setting: str, extra: str) -> None:
    """Raise `ConfigError` if a package is not installed, whose module has its name."""
    if find_spec(module) is None:
        raise ConfigError(f"{setting}: needs {module}, not installed here; run pip install 'ragsweep[{extra}]'")
