"""What is aimed at, as ratios of medians in one run on two cores."""

from typing import NamedTuple


class Bar(NamedTuple):
    """A limit; of bars with the same name in ``either`` one is enough."""

    sense: str
    limit: float
    either: str = ""

    def holds(self, value: float) -> bool:
        """Whether the value is on the right side of it."""
        return value >= self.limit if self.sense == AT_LEAST else value <= self.limit


AT_LEAST, AT_MOST = "at least", "at most"

FASTER_THAN_VW = "times as fast as Vowpal Wabbit"
FASTER_THAN_SPARSE = "times as fast as --sparse_weights"
LESS_THAN_SPARSE = "times less memory than --sparse_weights"
LESS_THAN_TABLE = "times less memory than -b 24"
ALONE = "times as long as the decompressor alone or plain text, the slower one"
MB_A_CORE = "MB a second of one core"
OF_WC = "times the speed of wc -l"
FASTER_THAN_SKLEARN = "times as fast as SGDClassifier(l1)"
FASTER_THAN_ORDERED = "times as fast as SGDClassifier(l1, shuffle=False)"
FASTER_THAN_RIVER = "times as fast as River"
SECONDS = "seconds"
OF_READING = "times as long as a random read"
OF_NAMELESS = "times as long as without names"
AS_LONG_AS_ONE = "times as long as one gravity"
MEMORY_OF_ONE = "times the memory of one gravity"

BARS: dict[tuple[str, str, str], Bar] = {  # by workload, case and figure
    ("eat", "text", FASTER_THAN_VW): Bar(AT_LEAST, 5),
    ("eat", "cached", FASTER_THAN_VW): Bar(AT_LEAST, 8),
    ("eat", "predict", FASTER_THAN_VW): Bar(AT_LEAST, 5),
    ("rcv1", "text", FASTER_THAN_VW): Bar(AT_LEAST, 4),
    ("rcv1", "cached", FASTER_THAN_VW): Bar(AT_LEAST, 5),
    ("rcv1", "predict", FASTER_THAN_VW): Bar(AT_LEAST, 4),
    ("rcv1", "gz", ALONE): Bar(AT_MOST, 1.2),
    ("rcv1", "zst", ALONE): Bar(AT_MOST, 1.2),
    ("rcv1", "parsing", MB_A_CORE): Bar(AT_LEAST, 800, "parsing"),
    ("rcv1", "parsing", OF_WC): Bar(AT_LEAST, 0.25, "parsing"),
    ("ads", "text", FASTER_THAN_VW): Bar(AT_LEAST, 4),
    ("ads", "text", LESS_THAN_SPARSE): Bar(AT_LEAST, 8),
    ("ads", "budget", FASTER_THAN_VW): Bar(AT_LEAST, 4),
    ("ads", "budget", LESS_THAN_SPARSE): Bar(AT_LEAST, 8),
    ("memory", "partial_fit, plain", FASTER_THAN_SKLEARN): Bar(AT_LEAST, 3),
    ("memory", "partial_fit, adaptive", FASTER_THAN_SKLEARN): Bar(AT_LEAST, 3),
    ("memory", "learn_one, plain", FASTER_THAN_RIVER): Bar(AT_LEAST, 20),
    ("memory", "learn_one, adaptive", FASTER_THAN_RIVER): Bar(AT_LEAST, 20),
    ("start", "--help", SECONDS): Bar(AT_MOST, 0.3),
    ("start", "ten lines", SECONDS): Bar(AT_MOST, 1.0),
    ("names", "truncated gradient", OF_NAMELESS): Bar(AT_MOST, 1.15),
    ("names", "FTRL-Proximal", OF_NAMELESS): Bar(AT_MOST, 1.15),
    ("lanes", "rcv1", AS_LONG_AS_ONE): Bar(AT_MOST, 1.5),
    ("lanes", "eat", AS_LONG_AS_ONE): Bar(AT_MOST, 1.5),
    ("lanes", "ads", AS_LONG_AS_ONE): Bar(AT_MOST, 1.5),
    ("growth", "10^6 live", OF_READING): Bar(AT_MOST, 2.5),
    ("growth", "10^7 live", OF_READING): Bar(AT_MOST, 2.5),
    ("growth", "10^8 live", OF_READING): Bar(AT_MOST, 2.5),
}
