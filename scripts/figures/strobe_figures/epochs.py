"""Quantities of an epoch where epochs hold different work: per unit of work, as the sentences of `compare` have them
(results/answer/work.cpp)."""

from strobe_figures import rows as r

UNITS = ("events", "cells", "edges")
COUNTS = UNITS + ("updates",)
QUANTITIES = ("epoch_seconds", "epoch_seconds_band90", "phase_seconds", "sent_bytes", "loaded_bytes", "transfer_bytes")
NOT_SUMS = ("n",)  # keys within those that are no quantity of an epoch


def count(row, unit):
    """How many of `unit` an epoch of the row holds; 0 where it is not known."""
    return (row.get("epoch_work") or {}).get(unit) or 0


def equal(a, b):
    """Counts are equal up to rounding: some are a rate times a time."""
    return abs(a - b) <= 1e-6 * max(a, b)


def unit_of(rows):
    """"epoch" where all epochs hold the same work, otherwise the unit that all of them count. Raises Refused where none is."""
    if all(equal(count(row, unit), count(rows[0], unit)) for row in rows for unit in COUNTS):
        return "epoch"
    for unit in UNITS:
        if all(count(row, unit) > 0 for row in rows):
            return unit[:-1]
    raise r.Refused(f"epochs of {rows[0]['case_id']} and others hold different work, and count no unit that all of them have; "
                    "draw them apart")


def divided(value, by):
    """`value` with every number in it, at any depth, divided."""
    if isinstance(value, dict):
        return {key: entry if key in NOT_SUMS else divided(entry, by) for key, entry in value.items()}
    if isinstance(value, list):
        return [divided(entry, by) for entry in value]
    return value / by if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def is_quantity(path):
    """Whether `path`, such as "sent_bytes.total", names a quantity of an epoch."""
    return path.split(".")[0] in QUANTITIES


def alike(rows):
    """(rows, unit) of one panel: rows whose quantities of an epoch are those of one unit of work."""
    unit = unit_of(rows)
    return ([per_unit(row, unit) for row in rows] if unit != "epoch" else rows), unit


def per_unit(row, unit):
    """A copy of the row, and of the rows of each seed that it is the mean of."""
    by = count(row, unit + "s")
    row = {key: divided(value, by) if key in QUANTITIES else value for key, value in row.items()}
    if row.get("pooled"):
        row["pooled"] = [per_unit(one, unit) for one in row["pooled"]]
    return row


def time_per(unit):
    """The name of an axis of times."""
    return "epoch time" if unit == "epoch" else f"time per {unit}"


def within(unit):
    """The end of a name of an axis of sums."""
    return "in an epoch" if unit == "epoch" else f"per {unit}"
