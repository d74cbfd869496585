"""Starts the calling script once more with the environment in which PyTorch is fastest on this machine.

A library reads these settings when it is loaded, so set them first. A variable that the user has set is kept.

- OPENBLAS_CORETYPE: OpenBLAS takes its slowest kernels (Prescott, 60 instead of 250 GFLOP/s on our machine) for a
  processor that is newer than itself; the instruction set tells which it could take.
- LD_PRELOAD of the OpenMP build of OpenBLAS for Debian's PyTorch, where it is installed (apt: libopenblas0-openmp):
  PyTorch's own threads then do the products. The pthread build has threads of its own, which compete with PyTorch's for
  the cores. pip's PyTorch brings MKL and its own OpenMP and is left as it is.
- LD_PRELOAD of an answer of our own to MKL's question whether the processor is Intel's: on others MKL takes kernels of
  half the width and less (113 instead of 421 GFLOP/s on an AMD EPYC with AVX-512). Needs a C compiler; without one the
  setting is missing in the printed line, and PyTorch is slower than it could be.
- MALLOC_*: memory of freed tensors stays in the process; without, every large tensor is new pages from the kernel.
"""

import atexit
import glob
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile

MARK = "STROBE_PEER_SETTINGS"
FULL_SIZE = "100000000000"
FOLDER = "strobe-peer-"


def _cpuinfo(field):
    """The words after the first `field` of /proc/cpuinfo."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            line = next((line for line in file if line.startswith(field)), "")
    except OSError:
        return []
    return line.partition(":")[2].split()


def _mkl_answer():
    """A library that answers yes for MKL, or None where it is not needed or cannot be built."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if _cpuinfo("vendor_id") == ["GenuineIntel"] or not _core_type() or compiler is None:
        return None
    folder = tempfile.mkdtemp(prefix=FOLDER)
    library = os.path.join(folder, "intel_cpu.so")
    source = "int mkl_serv_intel_cpu(void) { return 1; }\nint mkl_serv_intel_cpu_true(void) { return 1; }\n"
    done = subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=source, text=True,
                          capture_output=True, check=False)
    return library if done.returncode == 0 else None


def _core_type():
    flags = _cpuinfo("flags")
    if all(f"avx512{part}" in flags for part in ("f", "bw", "dq", "vl")):
        return "SKYLAKEX"
    return "HASWELL" if "avx2" in flags and "fma" in flags else None


def _settings():
    settings = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": FULL_SIZE, "OPENBLAS_CORETYPE": _core_type()}
    torch = importlib.util.find_spec("torch")
    if torch is not None and (torch.origin or "").startswith("/usr/lib/python3/"):
        settings["LD_PRELOAD"] = next(iter(glob.glob("/usr/lib/*/openblas-openmp/libopenblas.so.0")), None)
    elif torch is not None and "LD_PRELOAD" not in os.environ:
        settings["LD_PRELOAD"] = _mkl_answer()
    return {name: value for name, value in settings.items() if value and name not in os.environ}


def apply():
    """To be called before PyTorch or NumPy is imported; returns in the process that has the settings."""
    if MARK in os.environ:
        folder = os.path.dirname(os.environ.get("LD_PRELOAD", ""))
        if os.path.basename(folder).startswith(FOLDER):
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
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
