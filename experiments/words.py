"""Numbers as the page writes them: the median, and from the least to the most where they differ."""

import math
from collections.abc import Callable

from experiments.measures import Line, Spread

NAMES = {
    "truncation": "truncated gradient",
    "rested": "truncated gradient, with cooldown",
    "section5": "truncated gradient, section 5's order",
    "rounding5": "rounding, section 5's order",
    "soft": "no gravity, soft threshold at the end",
    "rounding": "rounding",
    "subgradient": "sub-gradient",
    "lasso": "Lasso",
    "l1-logistic": "L1 logistic regression",
    "adaptive": "truncated gradient, adaptive",
    "adaptive-rested": "truncated gradient, adaptive, with cooldown",
    "ftrl": "FTRL-proximal (VW)",
    "vw": "VW's L1",
}


def percent(value: Spread | None) -> str:
    """Such as 97.3 % (96.1 to 98.0)."""
    return _written(value, lambda share: f"{100 * share:.1f}", " %")


def auc(value: Spread | None) -> str:
    """Such as 0.973 (0.961 to 0.980)."""
    return _written(value, lambda number: f"{number:.3f}")


def count(value: Spread | None) -> str:
    """Such as 1,050 (987 to 1,112)."""
    return _written(value, _whole)


def number(value: Spread | None) -> str:
    """Such as 21.3 (20.1 to 24.5)."""
    return _written(value, lambda each: f"{each:.4g}")


def signed(value: float) -> str:
    """Such as +0.012."""
    return f"{value:+.3f}"


def theta(line: Line) -> str:
    """The threshold of a line."""
    if line.threshold is None:
        return "θ = ∞"
    return f"θ = {line.threshold if line.threshold == 'g' else format(line.threshold, 'g')}"


def _whole(number: float) -> str:
    return "never" if math.isinf(number) else f"{number:,.0f}"


def _written(value: Spread | None, form: Callable[[float], str], unit: str = "") -> str:
    if value is None:
        return ""
    median, least, most = (form(each) for each in value)
    middle = median if median == "never" else f"{median}{unit}"
    return middle if least == most else f"{middle} ({least} to {most})"
