"""The hardware of this machine, detected without importing torch, which is slow."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from functools import cache
from pathlib import Path

from ragsweep.core.digest import version

CPU_FIELDS = ("vendor_id", "cpu family", "model", "CPU implementer", "CPU part")  # the last two are Arm's
ARITHMETIC = ("amx", "asimd", "avx", "bf16", "f16c", "fma", "i8mm", "smef", "sse", "ssse", "sve")  # flags begin so
LIMITS = (  # in the environment: what the libraries may use of the CPU
    "ATEN_CPU_CAPABILITY",
    "DNNL_DEFAULT_FPMATH_MODE",
    "DNNL_MAX_CPU_ISA",
    "MKL_CBWR",
    "MKL_ENABLE_INSTRUCTIONS",
    "NPY_DISABLE_CPU_FEATURES",
    "ONEDNN_DEFAULT_FPMATH_MODE",
    "ONEDNN_MAX_CPU_ISA",
    "OPENBLAS_CORETYPE",
)


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


@cache
def cpu_abilities() -> list[object]:
    """Everything about the CPU that changes the last bits of a computation: its model, and limits set for libraries.

    Libraries choose their kernels by the CPU's instructions, by its maker and its model (MKL), and by the sizes of its
    caches (oneDNN), which go with the model.
    """
    cpu = _cpu()
    made = [cpu.get(field, "") for field in CPU_FIELDS] if cpu else [platform.machine(), platform.processor()]
    instructions = sorted(flag for flag in _flags() if flag.startswith(ARITHMETIC))
    limits = {name: os.environ[name] for name in LIMITS if name in os.environ}
    return [made, instructions, limits]


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine() -> str:
    """The hardware of this process in words: processor, usable cores, and the GPU if one is in use."""
    cpu = _cpu().get("model name") or platform.processor() or platform.machine()
    torch = sys.modules.get("torch")  # not imported for this
    gpu = [torch.cuda.get_device_name()] if torch is not None and torch.cuda.is_initialized() else []
    return ", ".join([cpu, f"{cores()} {'core' if cores() == 1 else 'cores'}", *gpu])


def cpu_has_bf16() -> bool:
    """Whether the CPU multiplies bfloat16 itself; one that emulates it is slower than with float32."""
    return bool(_flags() & {"avx512_bf16", "amx_bf16", "bf16"})  # the last is Arm's


def _flags() -> set[str]:
    """The CPU's abilities as Linux names them; on Arm, `Features`."""
    return set(f"{_cpu().get('flags', '')} {_cpu().get('Features', '')}".split())


@cache
def _cpu() -> dict[str, str]:
    """The fields of the first CPU in /proc/cpuinfo; empty on other systems than Linux."""
    try:
        first, _, _ = Path("/proc/cpuinfo").read_text(encoding="utf-8").partition("\n\n")
    except OSError:
        return {}
    fields = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in fields}
