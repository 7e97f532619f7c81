"""What this machine computes with, found without importing torch, so that a warm run stays a quick one."""

from __future__ import annotations

import ctypes
import os
import platform
from functools import cache
from pathlib import Path

from ragsweep.core.digest import version


@cache
def fastest_device() -> str:
    """`cuda`, `mps` or `cpu`: what an encoder uses where the configuration does not say."""
    if version("torch").endswith("+cpu"):
        return "cpu"
    if "+rocm" in version("torch"):  # torch calls AMD's GPUs cuda, too
        return "cuda" if Path("/dev/kfd").exists() else "cpu"
    if _nvidia_gpus():
        return "cuda"
    return "mps" if (platform.system(), platform.machine()) == ("Darwin", "arm64") else "cpu"


def _nvidia_gpus() -> int:
    """How many the driver shows to this process; 0 where there is no driver."""
    try:
        driver = ctypes.CDLL("nvcuda.dll" if platform.system() == "Windows" else "libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return 0
    return count.value


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def cpu_has_bf16() -> bool:
    """Whether the CPU multiplies bfloat16 itself; one that emulates it is slower than with float32."""
    try:
        flags = set(Path("/proc/cpuinfo").read_text(encoding="utf-8").split())
    except OSError:  # not Linux
        return False
    return bool(flags & {"avx512_bf16", "amx_bf16", "bf16"})  # the last is Arm's
