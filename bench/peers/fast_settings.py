"""Starts the calling script once more with the environment in which PyTorch is fastest on this machine.

A library reads these settings when it is loaded, so they must stand before. A variable that the user has set is kept.

- OPENBLAS_CORETYPE: OpenBLAS takes its slowest kernels (Prescott, 60 instead of 250 GFLOP/s on our machine) for a
  processor that is newer than itself; the instruction set tells which it could take.
- LD_PRELOAD of the OpenMP build of OpenBLAS for Debian's PyTorch, where it is installed (apt: libopenblas0-openmp):
  PyTorch's own threads then do the products. The pthread build has threads of its own, which compete with PyTorch's for
  the cores. pip's PyTorch brings MKL and its own OpenMP and is left as it is.
- MALLOC_*: memory of freed tensors stays in the process; without, every large tensor is new pages from the kernel.
"""

import glob
import importlib.util
import os
import sys

MARK = "STROBE_PEER_SETTINGS"
FULL_SIZE = "100000000000"


def _core_type():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            flags = next((line for line in file if line.startswith("flags")), "").split()
    except OSError:
        return None
    if all(f"avx512{part}" in flags for part in ("f", "bw", "dq", "vl")):
        return "SKYLAKEX"
    return "HASWELL" if "avx2" in flags and "fma" in flags else None


def _settings():
    settings = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": FULL_SIZE, "OPENBLAS_CORETYPE": _core_type()}
    torch = importlib.util.find_spec("torch")
    if torch is not None and (torch.origin or "").startswith("/usr/lib/python3/"):
        settings["LD_PRELOAD"] = next(iter(glob.glob("/usr/lib/*/openblas-openmp/libopenblas.so.0")), None)
    return {name: value for name, value in settings.items() if value and name not in os.environ}


def apply():
    """To be called before PyTorch or NumPy is imported; returns in the process that has the settings."""
    if MARK in os.environ:
        return
    settings = _settings()
    os.environ.update(settings)
    os.environ[MARK] = " ".join(settings)
    os.execv(sys.executable, [sys.executable, *sys.argv])


def environment_without():
    """The environment of the user, for the program that PyTorch is compared with."""
    ours = {MARK, *os.environ.get(MARK, "").split()}
    return {name: value for name, value in os.environ.items() if name not in ours}


def described():
    names = os.environ.get(MARK, "").split()
    with open("/proc/self/maps", encoding="utf-8") as file:
        loaded = sorted({line.split()[-1] for line in file if "blas" in line.rsplit("/", 1)[-1]})
    return {"settings": {name: os.environ[name] for name in names}, "loaded_blas": loaded}
