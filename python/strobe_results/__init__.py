"""The former name of the functions of `strobe` that read run directories; it goes with the next release."""
import warnings

from strobe.results import (  # noqa: F401
    NoProgram,
    NotARun,
    NotComparable,
    answers,
    compare,
    curves,
    read,
    samples,
)

warnings.warn("strobe_results is now strobe: import strobe", DeprecationWarning, stacklevel=2)
