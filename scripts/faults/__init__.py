"""The kinds of faults that scripts/fault_campaign makes; each is a generator that yields "" for a right answer, or what
was wrong and how to repeat it."""
