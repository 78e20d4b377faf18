"""The specification: the paper's algorithms, eager, on dicts. Slow, plain, and nothing cleverer.

``learn`` is Algorithm 1, step by step, with the paper's own cases for the shrinkages. What goes
past the paper is marked: importance, the intercept, prediction scaling, the adaptive update, and
what regression does beside them: centred features and labels in standard units.
"""

import math

import numpy as np

TINY = 1e-36  # the least unit
BEYOND = 1e36  # the square of a value, in units, with which a feature begins anew
MOST = 2**22  # values that a unit is the mean of
INTERCEPT = None  # the intercept's name among the weights: a feature always 1 and never shrunk


def single(number):
    """The number as a cell keeps it in single precision."""
    return float(np.float32(number))


def t1(v, alpha, theta=math.inf):
    """The truncated gradient's T1, section 3.3."""
    if 0 <= v <= theta:
        return max(0.0, v - alpha)
    if -theta <= v <= 0:
        return min(0.0, v + alpha)
    return v


class ElasticNet:
    """Beyond the paper: what is left of v after alpha of the flow dv/dt = -g sgn(v) - l2 v."""

    def __init__(self, gravity, l2):
        self.gravity, self.l2 = gravity, l2

    def __call__(self, v, alpha):
        kept = math.exp(-self.l2 * alpha)
        return math.copysign(max(0.0, abs(v) * kept - self.gravity / self.l2 * (1 - kept)), v)


def t0(v, _alpha, theta):
    """Coefficient rounding's T0, section 3.1."""
    return 0.0 if abs(v) <= theta else v


def subgradient(v, alpha):
    """One step along the sub-gradient of the L1 norm, equation 5 in section 3.2."""
    return v - alpha * ((v > 0) - (v < 0))


class Plain:
    """The paper's update remembers nothing."""

    def arrive(self, weights, name, x):
        """Make ready for a value x of the feature."""

    def squared(self, name, x):
        """What the feature adds to the squared length of its example, by which the rate is divided."""
        return 0.0

    def pull(self, name):
        """How far a pull of 1 moves w."""
        return 1.0

    def scale(self, name):
        """The unit in which an L2 penalty sees w."""
        return 1.0

    def stride(self, name, slope, x):
        """How far a rate of 1 moves w."""
        return slope * x

    def note(self, name, x, importance, one, n):
        """Make a note of a value x of the feature, for its mean, after n examples."""

    def mean(self, name):
        """The feature's mean, if steps are taken along x minus it."""
        return 0.0

    def forget(self, name):
        """A sweep drops what was remembered of the feature."""

    def clock(self, pulled):
        """The total of all pulls, as a cell remembers it."""
        return pulled


class Units:
    """Beyond the paper: the unit of a feature, the root mean square of its values other than 0.

    One over it is kept, in single precision; it stands still once it is of `MOST` values.
    """

    def __init__(self):
        self.inverse, self.seen = {}, {}

    def of(self, name):
        return 1 / self.inverse.get(name, 1.0)

    def count(self, name, x):
        """Count a value; return the old unit by the new one. The first value is no change."""
        n = self.seen.get(name, 0)
        if x == 0 or n == MOST:
            return 1.0
        self.seen[name] = n + 1
        if n == 0:
            self.inverse[name] = single(1 / max(abs(x), TINY))
            return 1.0
        ratio = math.sqrt((n + 1) / (n + (x / self.of(name)) ** 2))
        self.inverse[name] = single(min(self.inverse[name] * ratio, 1 / TINY))
        return ratio

    def forget(self, name):
        self.inverse.pop(name, None)
        self.seen.pop(name, None)


class Adaptive(Plain):
    """Beyond the paper: AdaGrad on v = w u, u being the unit, the root mean square of its values.

    The rate is divided by the length of the example in these units, that of a constant 1 included.
    All but the weights is in single precision, each operation: sqrt(G), 1 / u, the clock. With a
    value of more than 10^18 units a feature begins anew.
    """

    def __init__(self, beta):
        self.beta = np.float32(beta)
        self.norm, self.inverse, self.seen = {}, {}, {}

    def in_units(self, name, x):
        return np.float32(x) * self.inverse.get(name, np.float32(0))

    def scale(self, name):
        return 1 / float(self.inverse.get(name, 1))

    def arrive(self, weights, name, x):
        weights.setdefault(name, 0.0)
        self.norm.setdefault(name, np.float32(0))
        n, one = np.float32(self.seen.get(name, 0)), np.float32(1)
        with np.errstate(over="ignore"):
            square = self.in_units(name, x) * self.in_units(name, x)
        if x == 0:
            return
        if name not in self.inverse or square >= np.float32(BEYOND):
            weights[name] *= name not in self.inverse
            self.norm[name] = np.float32(0)
            self.inverse[name] = np.float32(1 / max(abs(x), TINY))
            self.seen[name] = 1
        elif n < MOST:
            ratio = np.sqrt((n + one) / (n + square))
            self.inverse[name] = min(self.inverse[name] * ratio, np.float32(1 / TINY))
            self.norm[name] *= ratio
            weights[name] *= float(ratio)
            self.seen[name] += 1

    def squared(self, name, x):
        part = self.in_units(name, x)
        return float(part * part)  # NumPy's ** rounds another way

    def pull(self, name):
        return float(self.inverse.get(name, np.float32(1)) / (self.beta + self.norm[name]))

    def stride(self, name, slope, x):
        s = np.float32(slope) * self.in_units(name, x)
        self.norm[name] = np.sqrt(self.norm[name] * self.norm[name] + s * s)
        return float(s / (self.beta + self.norm[name]) * self.inverse.get(name, np.float32(0)))

    def forget(self, name):
        for known in (self.norm, self.inverse, self.seen):
            known.pop(name, None)

    def clock(self, pulled):
        return single(pulled)


class Centred(Adaptive):
    """Beyond the paper: `Adaptive` along x - c, c being the mean of a feature never absent so far."""

    def __init__(self, beta):
        super().__init__(beta)
        self.total, self.noted = {}, {}

    def note(self, name, x, importance, one, n):
        if self.noted.get(name, 0.0) >= n:
            self.noted[name] = self.noted.get(name, 0.0) + importance * one
            self.total[name] = self.total.get(name, 0.0) + importance * x
        else:
            self.noted[name] = -1.0

    def mean(self, name):
        return self.total[name] / self.noted[name] if self.noted.get(name, 0.0) > 0 else 0.0

    def forget(self, name):
        super().forget(name)
        del self.total[name], self.noted[name]


def distance(x, mean):
    """x - mean, or 0 if that is less than x can tell in single precision."""
    return x - mean if abs(x - mean) > abs(x) * 2.0**-24 else 0.0


def standard_labels(labels, importances):
    """Beyond the paper: yield, for each label, z, and the mean and deviation of those before it.

    z is the label less the mean, in units of the deviation, of all labels up to it and with it; in
    single precision, as labels are. Labels that are all the same are 0.
    """

    def moments(y, h):
        if not sum(h):
            return 0.0, 0.0
        mean = math.fsum(a * b for a, b in zip(h, y, strict=True)) / math.fsum(h)
        squares = math.fsum(a * (b - mean) ** 2 for a, b in zip(h, y, strict=True))
        return mean, math.sqrt(squares / math.fsum(h))

    for i, y in enumerate(labels):
        mean, deviation = moments(labels[: i + 1], importances[: i + 1])
        z = (y - mean) / deviation if deviation else 0.0
        yield single(z), *moments(labels[:i], importances[:i])


def learn(
    examples,
    rates,
    pulls,
    slope,
    shrink,
    update,
    *,
    intercept=False,
    normalize=False,
    swept_before=(),
    dropped_before=None,
):
    """Yield (prediction, weights) for each (features, label, importance) in ``examples``.

    What a budget takes, ``dropped_before`` names by the step: it is then as if never seen.

    ``features`` is a list of (name, x); ``pulls[i]`` is eta_i g_i, or None where step i pulls nothing.
    The sub-gradient's pull belongs to the update; T1 and T0 come before the prediction.

    Beyond the paper: where an update has means, a change of a weight leaves the prediction there as
    it was. The intercept makes up for it: for pulls when the feature is next seen.
    """
    weights = {}
    known = {}  # the weights that the intercept has made up for
    n = 0.0  # what the intercept's x adds up to, by importance
    step = 0
    pulled = 0.0

    def pull_all():
        nonlocal pulled
        if pulls[step] is None:
            return
        pulled, before = pulled + pulls[step], pulled
        felt = pulls[step] if shrink is subgradient else update.clock(pulled) - update.clock(before)
        for name in weights.keys() - {INTERCEPT}:
            unit = update.scale(name) if isinstance(shrink, ElasticNet) else 1.0
            pull = felt * update.pull(name)
            weights[name] = shrink(weights[name] * unit, pull * unit) / unit

    for features, label, importance in examples:
        entries = [*features, (INTERCEPT, 1.0)] if intercept else list(features)
        if normalize and entries:
            entries = [(name, x / math.sqrt(len(entries))) for name, x in entries]
        if importance == 0:  # predicted, and that is all
            yield sum(weights.get(name, 0.0) * x for name, x in entries), dict(weights)
            continue
        if step in swept_before:
            for name in [k for k, w in weights.items() if w == 0 and k is not INTERCEPT]:
                del weights[name], known[name]
                update.forget(name)
        for name in (dropped_before or {}).get(step, ()):
            del weights[name], known[name]
            update.forget(name)
        if shrink is not subgradient:
            pull_all()  # step 2: every weight, seen or not
        one = dict(entries).get(INTERCEPT, 0.0)
        n_before, n = n, n + importance * one
        p, squared, level = 0.0, 1.0, 0.0
        for name, x in entries:  # step 3; a name that comes twice counts twice
            if name is INTERCEPT:
                update.arrive(weights, name, x)
            else:
                mean = update.mean(name)
                update.note(name, x, importance, one, n_before)
                apart = distance(x, update.mean(name) * one)
                update.arrive(weights, name, apart)
                level += (known.get(name, 0.0) - weights.get(name, 0.0)) * mean
                known[name] = weights.get(name, 0.0)
                squared += update.squared(name, apart)
            p += weights.get(name, 0.0) * x
        p += level * one
        s = importance * slope(p, label)  # step 4
        if shrink is subgradient:
            pull_all()
        rate = rates[step] / math.sqrt(squared)
        for name, x in entries:  # step 5
            mean = 0.0 if name is INTERCEPT else update.mean(name)
            move = -rate * update.stride(name, s, distance(x, mean * one))
            weights[name] = weights.get(name, 0.0) + move
            level -= move * mean
            known[name] = weights[name]
        if intercept:
            weights[INTERCEPT] += level
        step += 1
        yield p, dict(weights)


def section_5(examples, rates, slope, every, gravity, theta, *, intercept=False, normalize=False):
    """Section 5's formulas for each feature of an example, literally: the pull comes after the step.

    Yield (prediction, weights) as `learn` does; what a weight owes is paid in what is yielded, by the
    same formula, and goes on being owed. Truncated gradient, or coefficient rounding if ``gravity``
    is None. The time stamp of a feature is the number of the example where it was first seen.
    """
    weights, stamp = {}, {}
    i = 0

    def paid(name):
        """The weight after what it owes, and the time stamp then."""
        w, tau = weights[name], stamp.get(name)
        if name is INTERCEPT:
            return w, None
        if gravity is None:
            return (0.0, i) if abs(w) <= theta and i >= tau + every else (w, tau)
        n = (i - tau) // every * every
        return t1(w, n * rates[i - 1] * gravity, theta), tau + n

    for features, label, importance in examples:
        entries = [*features, (INTERCEPT, 1.0)] if intercept else list(features)
        if normalize and entries:
            entries = [(name, x / math.sqrt(len(entries))) for name, x in entries]
        if importance == 0:
            settled = {name: paid(name)[0] for name in weights}
            yield sum(settled.get(name, 0.0) * x for name, x in entries), settled
            continue
        i += 1
        for name, _ in entries:
            stamp.setdefault(name, i)
        p = sum(weights.get(name, 0.0) * x for name, x in entries)
        s = importance * slope(p, label)
        for name, x in entries:
            weights[name] = weights.get(name, 0.0) - rates[i - 1] * s * x
        for name in dict(entries):
            weights[name], stamp[name] = paid(name)
        yield p, {name: paid(name)[0] for name in weights}


def averaged(examples, rates, slope, gravity, beta, *, proximal, l2=0.0):
    """Beyond the paper: yield (prediction, weights) of FTRL-Proximal, or of dual averaging.

    Weights come from what the gradients add up to, z, and from their squares, n. Both are of the
    features as they are; the unit u is that of the penalties and of beta, and the rate is divided
    by the length of the example, as in `Adaptive`. ``gravity`` is the L1 penalty, and ``l2`` the L2
    penalty, of the whole for FTRL-Proximal, of each step for dual averaging.
    """
    z, n, units = {}, {}, Units()
    pulled = clock = 0.0

    def weight(name, rate):
        u = units.of(name)
        v = t1(z[name], u * (rate * gravity if proximal else pulled))
        divisor = u * (beta * u + math.sqrt(n[name]))
        return v / (divisor + l2 * u**2 * (rate if proximal else clock))

    for rate, (features, label) in zip(rates, examples, strict=True):
        pulled += rate * gravity
        clock += rate
        for name, x in features:
            z.setdefault(name, 0.0)
            n.setdefault(name, 0.0)
            units.count(name, x)
        w = {name: weight(name, rate) for name, _ in features}
        p = sum(w[name] * x for name, x in features)
        s = slope(p, label)
        pace = rate / math.sqrt(1 + sum((x / units.of(name)) ** 2 for name, x in features))
        for name, x in features:
            g = s * x
            before = math.sqrt(n[name])
            n[name] += g * g
            z[name] -= pace * g
            if proximal:
                z[name] += (math.sqrt(n[name]) - before) * units.of(name) * w[name]
        yield p, {name: weight(name, rate) for name in z}
