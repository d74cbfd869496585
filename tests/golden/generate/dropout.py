"""Which coefficients of an attention are dropped: Philox4x32-10 (Salmon et al., SC'11) on counters that name the
coefficient (cell that looks, whom it looks at, head). A word below rate * 2^32 drops; the rest is divided by 1 - rate."""

PURPOSE = {"edge": 33, "past": 34}
SEED, KEY = 1, 0  # of the golden runs: seed 1, epoch 0, layer 0


def philox(counter, key):
    """Four 32-bit words of a 4-word counter and a 2-word key."""
    (a, b, c, d), (k, l) = counter, key
    for _ in range(10):
        first, second = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = (second >> 32) ^ b ^ k, second & 0xFFFFFFFF, (first >> 32) ^ d ^ l, first & 0xFFFFFFFF
        k, l = (k + 0x9E3779B9) & 0xFFFFFFFF, (l + 0xBB67AE85) & 0xFFFFFFFF
    return a, b, c, d


def factor(kind, cell, what, group, word, rate):
    """0 or 1 / (1 - rate) for word `word` of the counter (cell, group, what, key)."""
    counter = (cell & 0xFFFFFFFF, (cell >> 32) ^ (group << 16), what, KEY)
    drawn = philox(counter, (SEED & 0xFFFFFFFF, (SEED >> 32) ^ (PURPOSE[kind] << 24)))[word]
    return 0.0 if drawn < int(rate * 2**32) else 1 / (1 - rate)


def edge_factor(cell, vertex, head, rate):
    return factor("edge", cell, vertex, head // 4, head % 4, rate)


def past_factor(cell, step, head, rate):
    return factor("past", cell, step // 4, head, step % 4, rate)
