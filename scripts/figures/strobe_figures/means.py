"""Means over seeds, with the 95 % interval of Student's t."""

import math
import statistics


def probability_within(t, freedom):
    """The probability that Student's t lies between -t and t (Abramowitz and Stegun, Handbook of Mathematical Functions, 1964,
    26.7.3 and 26.7.4)."""
    angle = math.atan2(t, math.sqrt(freedom))
    odd = freedom % 2
    total, term = 0.0, math.cos(angle) if odd else 1.0
    for power in range(odd, freedom - 1, 2):
        total += term
        term *= (power + 1) / (power + 2) * math.cos(angle) ** 2
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if odd else total


def student(freedom):
    """The 97.5 % quantile of Student's t with `freedom` degrees of freedom, 1 or more."""
    low, high = 0.0, 13.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if probability_within(middle, freedom) < 0.95 else (low, middle)
    return (low + high) / 2


def interval(values):
    """(mean, half of its 95 % interval); NaN for the half of a single value."""
    if len(values) < 2:
        return values[0], math.nan
    return statistics.fmean(values), student(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))


def with_half(mean, half, form):
    """Both as text, such as 0.71 ± 0.02; a single value has no interval."""
    return f"{mean:{form}}" if math.isnan(half) else f"{mean:{form}} ± {half:{form.lstrip('+')}}"
