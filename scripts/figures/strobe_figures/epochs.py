"""Quantities of an epoch where epochs hold different work: per unit of work, as the sentences of `compare` have them
(results/answer/work.cpp)."""

UNITS = ("events", "cells", "edges")
COUNTS = UNITS + ("updates",)
QUANTITIES = ("epoch_seconds", "epoch_seconds_band90", "phase_seconds", "hidden_communicate_seconds", "operation_seconds",
              "operation_flops", "operation_bytes", "messages", "sent_bytes", "sent_bytes_by_epoch", "loaded_bytes",
              "transfer_bytes", "dollars_per_epoch", "program_processor_seconds", "program_network_bytes")
UNLIKE = "unlike"  # the unit of epochs that hold different work and count nothing that all of them have
NOT_SUMS = ("n",)  # keys within those that are no quantity of an epoch


def count(row, unit):
    """How many of `unit` an epoch of the row holds; 0 where it is not known. Rows before version 1.11 have no
    `epoch_work`; theirs follows from the throughput of the median epoch."""
    row = (row.get("pooled") or [row])[0]
    if row.get("epoch_work"):
        return row["epoch_work"].get(unit) or 0
    if unit == "updates":
        return row.get("iterations") or 0
    rate = (row.get("throughput") or {}).get(unit + "_per_second") or 0
    return rate * ((row.get("epoch_seconds") or {}).get("median") or 0)


def equal(a, b):
    """Counts are equal up to rounding: some are a rate times a time."""
    return abs(a - b) <= 1e-6 * max(a, b)


def unit_of(rows):
    """"epoch" where all epochs hold the same known work, otherwise the unit that all of them count, or UNLIKE."""
    if len(rows) < 2:
        return "epoch"
    known = any(count(rows[0], unit) > 0 for unit in UNITS)
    if known and all(equal(count(row, unit), count(rows[0], unit)) for row in rows for unit in COUNTS):
        return "epoch"
    for unit in UNITS:
        if all(count(row, unit) > 0 for row in rows):
            return unit[:-1]
    return UNLIKE


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
    """(rows, unit) of one panel: rows whose quantities of an epoch are those of one unit of work, where there is one."""
    unit = unit_of(rows)
    return (rows if unit in ("epoch", UNLIKE) else [per_unit(row, unit) for row in rows]), unit


def per_unit(row, unit):
    """A copy of the row, and of the rows of each seed that it is the mean of."""
    by = count(row, unit + "s")
    row = {key: divided(value, by) if key in QUANTITIES else value for key, value in row.items()}
    if row.get("pooled"):
        row["pooled"] = [per_unit(one, unit) for one in row["pooled"]]
    return row


def remark(unit):
    """The end of an axis's name where epochs hold different work."""
    return ", epochs of different work" if unit == UNLIKE else ""


def time_per(unit):
    """The name of an axis of times."""
    return "epoch time" + remark(unit) if unit in ("epoch", UNLIKE) else f"time per {unit}"


def within(unit):
    """The end of a name of an axis of sums."""
    return "in an epoch" + remark(unit) if unit in ("epoch", UNLIKE) else f"per {unit}"
