"""Text like a log of clicks, of names most of which are seen once, next to Vowpal Wabbit.

Time and memory, against a table of 2^24 weights and against --sparse_weights, which holds whatever
was seen.
"""

from pathlib import Path

from benchmarks import data
from benchmarks.bars import FASTER_THAN_VW, LESS_THAN_SPARSE, LESS_THAN_TABLE
from benchmarks.files import megabytes, with_tens
from benchmarks.results import Figure, Found, row, speed
from benchmarks.side_by_side import Run, ratio
from benchmarks.tools import DWINDLE, VW, Settings, models, spoken, train
from dwindle.model import Model

FULL, SMALL = 1_300_000, 5_000  # rows
BOTH = ["--loss_function", "logistic", "--l1", "1e-6"]
TABLE, SPARSE = f"{VW} -b 24", f"{VW} --sparse_weights"
SETTINGS = Settings(ours=["--loss", "logistic", "--gravity", "1e-5"], theirs=[*BOTH, "-b", "24"])
FACTS = {"seen": "seen", "peak_live": "alive_at_the_peak"}


def measure(size: int, rounds: int, folder: Path) -> Found:
    """Three contestants on one file."""
    text = folder / "ads.vw"
    data.ads(text, size)
    whole, tens = contestants(text), contestants(data.ten_lines(text))
    runs, starts = with_tens(whole, tens, rounds)
    model = Model.load(models(text)[0])
    facts = {"kept": len(model)} | {FACTS[k]: v for k, v in model.facts.items() if k in FACTS}
    rows = [
        row("text", name, runs[name], starts[name], **(facts if name == DWINDLE else {}))._replace(
            command=spoken(command, folder)
        )
        for name, command in whole.items()
    ]
    figures = [
        speed("text", FASTER_THAN_VW, runs[TABLE], runs[DWINDLE], (starts[TABLE], starts[DWINDLE])),
        Figure("text", LESS_THAN_SPARSE, ratio(_peaks(runs[SPARSE]), _peaks(runs[DWINDLE]))),
        Figure("text", LESS_THAN_TABLE, ratio(_peaks(runs[TABLE]), _peaks(runs[DWINDLE]))),
    ]
    return Found(f"like ads: {size:,} rows, {megabytes([text]):,.0f} MB of text", rows, figures)


def contestants(text: Path) -> dict[str, list[str]]:
    """The commands; a sparse table has room for 2^30 weights, so that few share one."""
    sparse = SETTINGS._replace(theirs=[*BOTH, "-b", "30", "--sparse_weights"])
    dense = train(text, SETTINGS)
    return {DWINDLE: dense[DWINDLE], TABLE: dense[VW], SPARSE: train(text, sparse, "sparse")[VW]}


def _peaks(runs: list[Run]) -> list[float]:
    return [run.peak_bytes or 1 for run in runs]
