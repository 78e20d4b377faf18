"""The specification of several gravities at once: eager, on dicts, as in `reference`."""

import math

from reference import INTERCEPT, distance, t1


class LaneFTRL:
    """Beyond the paper: FTRL-Proximal for several gravities; ``v`` of a lane is z."""

    averages, proximal, lengthens, centres, hurries = True, True, True, False, True

    def __init__(self, beta=0.2, theta=math.inf):
        self.beta, self.theta = beta, theta

    def divisor(self, unit, n):
        """What is between z and w, and between a gradient and a step."""
        return unit * (self.beta * unit + math.sqrt(n))

    def pull(self, unit, n):
        """How far a gravity of 1 moves w, or z, for each unit of the clock."""
        return unit


class LaneRDA(LaneFTRL):
    """Beyond the paper: dual averaging for several gravities; ``v`` of a lane is z."""

    proximal = False


class LaneCentredFTRL(LaneFTRL):
    """Beyond the paper: `LaneFTRL` with x - m for x, m being the mean of a feature never absent."""

    centres, hurries = True, False


class LaneCentredRDA(LaneRDA):
    """Beyond the paper: `LaneRDA` likewise."""

    centres = True


class LaneAdaptive(LaneFTRL):
    """Beyond the paper: truncated gradient with AdaGrad's rates for several gravities; ``v`` is w."""

    averages, proximal = False, False

    def pull(self, unit, n):
        return unit / self.divisor(unit, n)


class LanePlain(LaneAdaptive):
    """The paper's update for several gravities; ``v`` of a lane is w."""

    lengthens = False

    def divisor(self, unit, n):
        return 1.0

    def pull(self, unit, n):
        return 1.0


class _Shared:
    """What all lanes know of a feature: n, the root mean square of its values, and their mean.

    The mean is None if the feature is not centred.
    """

    def __init__(self, n_lanes):
        self.n, self.squares, self.seen = 0.0, 0.0, 0
        self.mean = None
        self.v = [0.0] * n_lanes

    def note_mean(self, x, part, is_first):
        if is_first or self.mean is not None:
            self.mean = x if is_first else self.mean + part * (x - self.mean)

    def apart(self, x):
        return x if self.mean is None else distance(x, self.mean)

    def uncentre(self):
        """Take x as it is from now on: in its own unit, to which z and n are brought."""
        before, mean, self.mean = self.unit, self.mean, None
        self.squares += self.seen * mean**2
        self.n *= (self.unit / before) ** 2
        self.v = [z * (self.unit / before) for z in self.v]

    @property
    def unit(self):
        return math.sqrt(self.squares / self.seen) if self.seen else 1.0


def lanes(
    examples,
    rates,
    gravities,
    slope,
    update,
    *,
    evidence=(),
    by_noise=True,
    every=1,
    intercept=False,
    normalize=False,
    folds=(),
):
    """Beyond the paper: yield (prediction, predictions, weights) of several gravities at once.

    ``predictions`` and each of the ``weights`` have a number for each lane; ``prediction`` is that
    of the lane which was best before. The best lane's slope is the one that all lanes take for n
    and for the noise. The clock is that of the noise, or the paper's: the sum of the rates, K times
    the rate at every K-th step.

    A feature has no weight in a lane that asks for more evidence than its own: z is less than that
    many deviations of its noise from 0. By noise, the intercept's steps are not divided by the
    length.

    If the update centres, the features of the first example have means until they are not once in
    one; the intercept makes up for them: in predictions by x - m, and in the weights.

    With ``folds``, that of each example, the lanes of its fold do not step: lane a is of fold a
    modulo their number. What lanes share counts the part of the examples that each learns from.
    """
    known = {}
    noted = 0.0
    error = [0.0] * len(gravities)
    best, step, clock, waiting, noise = 0, 0, 0.0, 0.0, 0.0
    evidence = evidence or [0.0] * len(gravities)
    deviation, squares = 0.0, 0.0  # of the summed gradient, over sqrt(n); and of the slopes

    def pull_of(name, gravity):
        feature = known[name]
        return 0.0 if name is INTERCEPT else gravity * update.pull(feature.unit, feature.n)

    def advance(by):  # step 2: every weight, seen or not
        for name, feature in known.items() if not update.averages else ():
            feature.v = [
                t1(v, by * pull_of(name, c), update.theta)
                for v, c in zip(feature.v, gravities, strict=True)
            ]
        return clock + by

    def weights(name, divisor=None):
        feature = known[name]
        if not update.averages:
            return list(feature.v)
        divisor = divisor or update.divisor(feature.unit, feature.n)
        own = 0.0 if name is INTERCEPT else deviation * math.sqrt(feature.n)
        return [
            t1(z, clock * pull_of(name, c)) / divisor if abs(z) >= k * own else 0.0
            for z, c, k in zip(feature.v, gravities, evidence, strict=True)
        ]

    def model():
        found = {name: weights(name) for name in known}
        for name, feature in known.items():
            if feature.mean is not None:
                add(found[INTERCEPT], found[name], -feature.mean)
        return found

    def add(total, row, x):
        total[:] = [t + w * x for t, w in zip(total, row, strict=True)]

    def sums(entries):
        found, total = model(), [0.0] * len(gravities)
        for name, x in entries:
            if name in found:
                add(total, found[name], x)
        return total

    def uncentre(entries):
        for name in [name for name, feature in known.items() if feature.mean is not None]:
            if sum(name == each for each, _ in entries) != 1:
                mean, bias = known[name].mean, known[INTERCEPT]
                known[name].uncentre()
                add(bias.v, weights(name), -mean * update.divisor(bias.unit, bias.n))

    for i, (features, label, importance) in enumerate(examples):
        entries = [*features, (INTERCEPT, 1.0)] if intercept else list(features)
        if normalize and entries:
            entries = [(name, x / math.sqrt(len(entries))) for name, x in entries]
        if importance == 0:  # predicted, and that is all
            predictions = sums(entries)
            yield predictions[best], predictions, model()
            continue
        rate = rates[step]
        step += 1
        noted += importance
        if not by_noise and step % every == 0:
            clock = advance(every * rate)
        predictions, squared, divisors = [0.0] * len(gravities), 1.0, []
        for name, value in entries:  # step 3; a name that comes twice counts twice
            feature = known.setdefault(name, _Shared(len(gravities)))
            if update.centres and name is not INTERCEPT:
                feature.note_mean(value, importance / noted, step == 1)
            x = feature.apart(value)
            if name is not INTERCEPT:
                before = feature.unit
                feature.squares += x * x
                feature.seen += x != 0 or feature.mean is None
                if update.lengthens and not update.averages and feature.seen > 1:
                    feature.v = [w * (before / feature.unit) for w in feature.v]
                squared += (x / feature.unit) ** 2 if update.lengthens else 0.0
            divisors.append(update.divisor(feature.unit, feature.n))
            add(predictions, weights(name, divisors[-1]), x)
        if update.centres:
            uncentre(entries)
            divisors = [update.divisor(known[name].unit, known[name].n) for name, _ in entries]
        prediction = predictions[best]
        slopes = [importance * slope(p, label) for p in predictions]  # step 4
        error = [0.999 * e + s * s for e, s in zip(error, slopes, strict=True)]
        best = error.index(min(error))
        of_best = slopes[best]
        if folds:
            n_folds = max(folds) + 1
            of_best *= math.sqrt(1 - 1 / n_folds)
            slopes = [0.0 if a % n_folds == folds[i] else s for a, s in enumerate(slopes)]
        before, noise = noise, noise + of_best**2 / squared
        if update.lengthens:  # the best lane's n is not made for the errors of others
            most = math.sqrt(squared * noise)
            slopes = [min(max(s, -most), most) for s in slopes]
        pace = rate / math.sqrt(squared)
        for (name, value), divisor in zip(entries, divisors, strict=True):  # step 5
            feature, w = known[name], weights(name, divisor)
            x = feature.apart(value)
            root = math.sqrt(feature.n)
            feature.n += (of_best * x) ** 2
            more = (math.sqrt(feature.n) - root) * feature.unit if update.proximal else 0.0
            scale = 1.0 if update.averages else update.divisor(feature.unit, feature.n)
            steps = rate if name is INTERCEPT and by_noise and update.hurries else pace
            feature.v = [
                v - steps * s * x / scale + more * own
                for v, s, own in zip(feature.v, slopes, w, strict=True)
            ]
        waiting += rate * (math.sqrt(noise) - math.sqrt(before))
        if step % every == 0:
            if by_noise:
                clock = advance(waiting)
            waiting = 0.0
        squares += of_best**2
        deviation = clock / math.sqrt(squares) if by_noise and squares else 0.0
        yield prediction, predictions, model()
