"""The ways in which each claim of the paper's is tested: as published first, then what helps."""

from typing import NamedTuple

from experiments.measures import CONTROL, RESTED, TRUNCATION, Line


class Variant(NamedTuple):
    """A model of figures 1 and 2 and a line of the others, under one title."""

    key: str
    title: str
    model: str
    line: Line | None = None  # of figure 6
    family: str = "paper"


ALONE = Variant("alone", "Algorithm 1 alone", "alone", TRUNCATION)
SECTION5 = Variant("section5", "section 5's order", "section5")
COOLDOWN = Variant("cooldown", "with cooldown", "cooldown", RESTED)
SOFT = Variant("soft", "control: soft threshold", "soft", CONTROL)
HARD = Variant("hard", "control: hard threshold", "hard")
LOGISTIC = Variant("logistic", "Algorithm 1 alone, logistic loss", "alone", family="logistic")
LATE_LOGISTIC = Variant(
    "logistic5", "section 5's order, logistic loss", "section5", family="logistic"
)
COOLED_LOGISTIC = Variant(
    "cooled-logistic", "with cooldown, logistic loss", "cooldown", family="logistic"
)
AUTO = Variant("auto", "automatic, no option given", "auto", family="logistic")

VARIANTS = (ALONE, SECTION5, COOLDOWN, SOFT, HARD)  # the columns of the summary
BESIDE = (LOGISTIC, LATE_LOGISTIC, COOLED_LOGISTIC)  # the other family, in the tables
WITHOUT_REST = (ALONE, SECTION5, LOGISTIC, LATE_LOGISTIC)
EVERY_MEANS = (COOLDOWN, COOLED_LOGISTIC, AUTO)
CONTROLS = (SOFT, HARD)
