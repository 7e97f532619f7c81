"""What this machine computes with, found without importing torch, so that a warm run stays a quick one."""

from __future__ import annotations

import os
import platform
from functools import cache
from pathlib import Path

from ragsweep.digest import version


@cache
def fastest_device() -> str:
    """`cuda`, `mps` or `cpu`: what an encoder uses where the configuration does not say."""
    if version("torch").endswith("+cpu"):
        return "cpu"
    if os.environ.get("CUDA_VISIBLE_DEVICES") not in ("", "-1") and any(
        place for pattern in ("nvidia[0-9]*", "dxg", "kfd") for place in Path("/dev").glob(pattern)
    ):
        return "cuda"
    return "mps" if (platform.system(), platform.machine()) == ("Darwin", "arm64") else "cpu"


@cache
def cpu_has_bf16() -> bool:
    """Whether the CPU multiplies bfloat16 itself; one that emulates it is slower than with float32."""
    try:
        flags = set(Path("/proc/cpuinfo").read_text(encoding="utf-8").split())
    except OSError:  # not Linux
        return False
    return bool(flags & {"avx512_bf16", "amx_bf16", "bf16"})  # the last is Arm's
