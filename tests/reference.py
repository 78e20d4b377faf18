"""The specification: the paper's algorithms, eager, on dicts. Slow, plain, and nothing cleverer.

``learn`` is Algorithm 1, step by step, with the paper's own cases for the shrinkages. What goes
past the paper is marked: importance, the intercept, prediction scaling and the adaptive update.
"""

import math

import numpy as np

TINY = 1e-38  # the least N: a smaller |x| may be 0 in single precision
INTERCEPT = None  # the intercept's name among the weights: a feature always 1 and never shrunk


def t1(v, alpha, theta=math.inf):
    """The truncated gradient's T1, section 3.3."""
    if 0 <= v <= theta:
        return max(0.0, v - alpha)
    if -theta <= v <= 0:
        return min(0.0, v + alpha)
    return v


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

    def stride(self, name, gradient):
        """How far a rate of 1 moves w."""
        return gradient

    def forget(self, name):
        """A sweep drops what was remembered of the feature."""


class Adaptive:
    """Beyond the paper: AdaGrad on v = w N with N the largest |x|; G and N in single precision.

    The rate is divided by the length of the example in these units, that of a constant 1 included.
    """

    def __init__(self, beta):
        self.beta = beta
        self.energy, self.scale = {}, {}

    def arrive(self, weights, name, x):
        old, new = self.scale.get(name, 0.0), float(np.float32(max(abs(x), TINY)))
        if new > old:
            weights[name] = weights.get(name, 0.0) * (old / new)
            self.energy[name] = float(np.float32(self.energy.get(name, 0.0) * (old / new) ** 2))
            self.scale[name] = new

    def squared(self, name, x):
        return (x / self.scale[name]) ** 2

    def pull(self, name):
        return 1.0 / ((self.beta + math.sqrt(self.energy[name])) * self.scale[name])

    def stride(self, name, gradient):
        g = gradient / self.scale[name]
        self.energy[name] = float(np.float32(self.energy[name] + g * g))
        return g / ((self.beta + math.sqrt(self.energy[name])) * self.scale[name])

    def forget(self, name):
        del self.energy[name], self.scale[name]


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
    """
    weights = {}
    step = 0

    def pull_all():
        if pulls[step] is not None:
            for name in weights.keys() - {INTERCEPT}:
                weights[name] = shrink(weights[name], pulls[step] * update.pull(name))

    for features, label, importance in examples:
        entries = [*features, (INTERCEPT, 1.0)] if intercept else list(features)
        if normalize and entries:
            entries = [(name, x / math.sqrt(len(entries))) for name, x in entries]
        if importance == 0:  # predicted, and that is all
            yield sum(weights.get(name, 0.0) * x for name, x in entries), dict(weights)
            continue
        if step in swept_before:
            for name in [n for n, w in weights.items() if w == 0 and n is not INTERCEPT]:
                del weights[name]
                update.forget(name)
        for name in (dropped_before or {}).get(step, ()):
            del weights[name]
            update.forget(name)
        if shrink is not subgradient:
            pull_all()  # step 2: every weight, seen or not
        p, squared = 0.0, 1.0
        for name, x in entries:  # step 3; a name that comes twice counts twice
            update.arrive(weights, name, x)
            p += weights.get(name, 0.0) * x
            if name is not INTERCEPT:
                squared += update.squared(name, x)
        s = importance * slope(p, label)  # step 4
        if shrink is subgradient:
            pull_all()
        rate = rates[step] / math.sqrt(squared)
        for name, x in entries:  # step 5
            weights[name] = weights.get(name, 0.0) - rate * update.stride(name, s * x)
        step += 1
        yield p, dict(weights)


def averaged(examples, rates, slope, gravity, beta, *, proximal):
    """Beyond the paper: yield (prediction, weights) of FTRL-Proximal, or of dual averaging.

    Weights come from what the gradients add up to, z, and from their squares, n. ``gravity`` is the
    L1 penalty, of the whole for FTRL-Proximal, of each step for dual averaging. As in the cells, n
    is kept in single precision, and so is FTRL's weight.
    """
    z, n = {}, {}
    pulled = 0.0

    def weight(name, rate):
        v = t1(z[name], rate * gravity if proximal else pulled)
        w = v / (beta + math.sqrt(n[name]))
        return float(np.float32(w)) if proximal else w

    for rate, (features, label) in zip(rates, examples, strict=True):
        pulled += rate * gravity
        for name, _ in features:
            z.setdefault(name, 0.0)
            n.setdefault(name, 0.0)
        w = {name: weight(name, rate) for name, _ in features}
        p = sum(w[name] * x for name, x in features)
        s = slope(p, label)
        for name, x in features:
            g = s * x
            before = math.sqrt(n[name])
            n[name] = float(np.float32(n[name] + g * g))
            z[name] -= rate * g
            if proximal:
                z[name] += (math.sqrt(n[name]) - before) * w[name]
        yield p, {name: weight(name, rate) for name in z}
