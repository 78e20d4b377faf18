"""Numbers as people read them, and the ticks of an axis."""

import math

NONE = "-"  # for a number that is not defined
UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def figure(value: float, digits: int = 4) -> str:
    """Write a number for a table: whole ones with commas, others with so many digits.

    >>> figure(1234567), figure(0.123456), figure(1234.5678), figure(1e-7), figure(float("nan"))
    ('1,234,567', '0.1235', '1,234.5678', '1.000e-07', '-')
    """
    if isinstance(value, int):
        return f"{value:,}"
    if math.isnan(value):
        return NONE
    if value and not 10.0**-digits <= abs(value) < 1e9:
        return f"{value:.{digits - 1}e}"
    return f"{value:,.{digits}f}"


def signed(value: float, digits: int = 4) -> str:
    """Write a weight, with its sign.

    >>> signed(0.5), signed(-1.25), signed(0.0)
    ('+0.5000', '\N{MINUS SIGN}1.2500', '0.0000')
    """
    sign = "+" if value > 0 else "\N{MINUS SIGN}" if value < 0 else ""
    return sign + figure(abs(float(value)), digits)


def compact(value: float) -> str:
    """Write a number in a few characters, for an axis.

    >>> [compact(each) for each in (0, 0.25, 1500, 20_000, 3e6, 1e-5)]
    ['0', '0.25', '1.5k', '20k', '3M', '1e-05']
    """
    for size, unit in UNITS:
        if abs(value) >= size:
            return f"{value / size:.4g}{unit}"
    return f"{value:.4g}"


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Return round numbers from low to high: about so many.

    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    span = high - low
    if not span > 0 or not math.isfinite(span):
        return [low]
    exponent = math.floor(math.log10(span / about))
    power = 10.0**exponent
    step = next(k * power for k in (1, 2, 5, 10) if span / (k * power) <= about)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(k * step, max(-exponent, 0)) for k in range(first, last + 1)]


def log_ticks(low: float, high: float, most: int = 7) -> list[float]:
    """Return powers of ten from low to high; with fewer than three, 2 and 5 times them too.

    >>> log_ticks(1, 1000), log_ticks(3, 40)
    ([1.0, 10.0, 100.0, 1000.0], [5.0, 10.0, 20.0])
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    between = (1, 2, 5) if last - first < 3 else (1,)
    every = [k * 10.0**p for p in range(first, last + 1) for k in between]
    found = [x for x in every if low * (1 - 1e-9) <= x <= high * (1 + 1e-9)]
    return found[:: max(1, math.ceil(len(found) / most))] or [low, high]
