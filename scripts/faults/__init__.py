"""The kinds of faults that scripts/fault_campaign makes. Each is a generator that yields "" for a right answer, or the
fault and how to repeat it."""
