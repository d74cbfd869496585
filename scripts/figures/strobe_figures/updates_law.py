"""Updates of the weights until a metric: a law, its fit and its interval.

    log S = log S_min + log(1 + B_noise / B) + a log(size) + c log(copies) + noise

S is the number of updates, B the samples (events or cells) of one. S falls as 1/B while B is far below B_noise, and is S_min
at least: McCandlish et al., An Empirical Model of Large-Batch Training, 2018, section 2.3; Shallue et al., Measuring the
Effects of Data Parallelism on Neural Network Training, 2018, see the same three regimes. `size` counts the samples of an
epoch, `copies` those of node memory. Their exponents are ours: evidence decides which are kept (Akaike's criterion, corrected
for few runs). The noise is normal.

A run tells S between two numbers: the updates at the last evaluation below the target and at the first that reached it. A
run that never reached it tells that S is more. The fit is the maximum likelihood of that, by expectation and
maximisation: the M-step is least squares. Where every S is known, it is least squares on log S.
"""
import itertools
import math

import numpy as np

ROUNDS, SMALLEST = 300, 1e-6  # of expectation and maximisation: most, and the change of the log likelihood that ends them
NARROW = 1e-9  # a smaller distance of two bounds is none


def _each(function, values):
    return np.frompyfunc(function, 1, 1)(values).astype(float)


def _density(x):
    return np.where(np.isfinite(x), np.exp(-0.5 * np.square(np.where(np.isfinite(x), x, 0.0))) / math.sqrt(2 * math.pi), 0.0)


def _moments(low, high, mean, deviation):
    """By value: log of its likelihood, its mean and variance, if it is normal and lies between low and high."""
    a, b = (low - mean) / deviation, (high - mean) / deviation
    flip = a + b > 0  # the tail with the more digits
    a, b = np.where(flip, -b, a), np.where(flip, -a, b)
    between = 0.5 * (_each(math.erfc, -b / math.sqrt(2)) - _each(math.erfc, -a / math.sqrt(2)))
    known = high - low < NARROW
    far = ~known & (between < 1e-290)
    safe = np.where(known | far, 1.0, between)
    slope = (_density(a) - _density(b)) / safe
    edges = (np.where(np.isfinite(a), a, 0.0) * _density(a) - np.where(np.isfinite(b), b, 0.0) * _density(b)) / safe
    nearest = np.where(mean < low, low, high)
    value = np.where(known, low, np.where(far, nearest, np.clip(mean + deviation * np.where(flip, -slope, slope), low, high)))
    spread = np.where(known | far, 0.0, np.square(deviation) * np.maximum(0.0, 1 + edges - np.square(slope)))
    exact = -0.5 * np.square((value - mean) / deviation) - math.log(deviation * math.sqrt(2 * math.pi))
    return np.where(known | far, exact, np.log(safe)), value, spread


class Law:
    """A fitted law. `terms` are the names of its exponents, in the order of `slopes`; B_noise is None without a batch term."""

    def __init__(self, terms, with_batch, values, deviation, likelihood, count):
        self.terms, self.with_batch, self.values, self.deviation = terms, with_batch, values, deviation
        self.likelihood, self.count = likelihood, count

    @property
    def slopes(self):
        return dict(zip(self.terms, self.values[1:]))

    @property
    def noise_batch(self):
        return math.exp(self.values[-1]) if self.with_batch else None

    @property
    def criterion(self):
        """Akaike's criterion, corrected for few runs: smaller is better."""
        free = len(self.values) + 1
        return 2 * free - 2 * self.likelihood + 2 * free * (free + 1) / max(1, self.count - free - 1)

    def __call__(self, point):
        """log S at a point: a dictionary of logarithms, numbers or arrays."""
        found = self.values[0] + 0.0 * point["batch"] + sum(slope * point[name] for name, slope in self.slopes.items())
        return found + (np.logaddexp(0.0, self.values[-1] - point["batch"]) if self.with_batch else 0.0)

    def slopes_at(self, point):
        """The derivatives of log S by `values`, one column each."""
        columns = [np.ones_like(point["batch"])] + [point[name] for name in self.terms]
        if self.with_batch:
            columns.append(1.0 / (1.0 + np.exp(point["batch"] - self.values[-1])))
        return np.stack(columns, axis=1)


def fit(runs, terms, with_batch, start=None):
    """The law of maximum likelihood with these terms. `runs`: "low" and "high", the bounds of log S (-inf and inf where there is
    none), and the logarithms of batch and terms, arrays of one length."""
    low, high = runs["low"], runs["high"]
    middle = np.where(np.isfinite(low) & np.isfinite(high), (low + high) / 2, np.where(np.isfinite(high), high, low) + 0.0)
    first, last = runs["batch"].min() - math.log(100), runs["batch"].max() + math.log(100)
    if start is None:
        values = np.zeros(1 + len(terms) + with_batch)
        values[0] = middle.mean()
        if with_batch:
            values[-1] = np.median(runs["batch"])
            values[0] -= math.log(2)
        start = Law(terms, with_batch, values, max(0.1, float(middle.std())), -math.inf, len(low))
    law = Law(terms, with_batch, start.values.copy(), start.deviation, -math.inf, len(low))
    for _ in range(ROUNDS):
        chance, value, spread = _moments(low, high, law(runs), law.deviation)
        before, law.likelihood = law.likelihood, float(chance.sum())
        if abs(law.likelihood - before) < SMALLEST:
            break
        step = np.linalg.lstsq(law.slopes_at(runs), value - law(runs), rcond=1e-8)[0]
        squares, kept = np.square(value - law(runs)).sum(), law.values
        for share in (1.0, 0.5, 0.25, 0.125):
            law.values = kept + share * step
            if with_batch:
                law.values[-1] = min(max(law.values[-1], first), last)
            if (left := np.square(value - law(runs)).sum()) <= squares:
                break
        else:
            law.values, left = kept, squares
        law.deviation = max(1e-3, math.sqrt((left + spread.sum()) / len(low)))
    return law


def candidates(runs, names):
    """(terms, with_batch) of every law that these runs can tell apart: an exponent needs two values, a batch term two batches
    of one size."""
    varied = [name for name in names if np.ptp(runs[name]) > NARROW]
    pairs = {(round(size, 9), round(batch, 9)) for size, batch in zip(runs["size"], runs["batch"])}
    with_batch = len(pairs) > len({size for size, _ in pairs})
    return [(terms, with_batch) for count in range(len(varied) + 1) for terms in itertools.combinations(varied, count)]


def best_fit(runs, names, starts=None):
    """The law of the smallest criterion, and all that were tried: {(terms, with_batch): Law}."""
    tried = {key: fit(runs, *key, start=(starts or {}).get(key)) for key in candidates(runs, names)}
    return min(tried.values(), key=lambda law: law.criterion), tried


FEW = 4  # a size with fewer cells keeps all of them in every draw


def draw_of(runs, random):
    """Places of the runs of one draw. Cells are runs that differ in their seed alone, groups are runs of one size. It takes cells
    and seeds of every group with replacement, and the runs of these seeds in these cells (Owen, The pigeonhole bootstrap, 2007): a
    seed is one graph and one start for all cells of its size, so their runs rise and fall together. It takes one less than there
    are, so that the variance of a mean over seeds is not too small (Rao and Wu, Resampling Inference With Complex Survey Data,
    1988)."""
    places = []
    for group in np.unique(runs["group"]):
        own = runs["group"] == group
        cells, seeds = np.unique(runs["cell"][own]), np.unique(runs["seed"][own])
        cells = random.choice(cells, len(cells) - 1) if len(cells) >= FEW else cells
        seeds = random.choice(seeds, max(1, len(seeds) - 1))
        places += [np.flatnonzero(own & (runs["cell"] == cell) & (runs["seed"] == seed)) for cell in cells for seed in seeds]
    return np.concatenate(places)


def draws_of(runs, names, tried, count, random):
    """`count` laws of the bootstrap. Each chooses its own terms."""
    laws = []
    while len(laws) < count:
        some = draw_of(runs, random)
        laws.append(best_fit({name: values[some] for name, values in runs.items()}, names, tried)[0])
    return laws
