"""Text like a log of clicks, of names most of which are seen once, next to Vowpal Wabbit.

Time and memory, against a table of 2^24 weights and against --sparse_weights, which holds whatever
was seen. The gravity of each was picked out of a few on data 150 times as small; the AUC shown is
that on other rows. *Budget* is what is advised where memory is short, FTRL-Proximal with never more
than so many live features, at a gravity of 1: some 50,000 fit in the memory that is aimed at.
"""

from pathlib import Path
from typing import Any

from benchmarks import data
from benchmarks.bars import (
    FASTER_THAN_SPARSE,
    FASTER_THAN_VW,
    LESS_THAN_SPARSE,
    LESS_THAN_TABLE,
)
from benchmarks.files import auc_of, megabytes, with_tens
from benchmarks.results import Figure, Found, row, speed
from benchmarks.side_by_side import Run, once, ratio
from benchmarks.tools import (
    DWINDLE,
    VW,
    Settings,
    models,
    our_predictions,
    spoken,
    their_predictions,
    train,
)
from dwindle.model.model import Model

FULL, SMALL = 1_500_000, 5_000  # rows
BOTH = ["--loss_function", "logistic", "--l1", "1e-7"]
TABLE, SPARSE = f"{VW} -b 24", f"{VW} --sparse_weights"
SETTINGS = Settings(ours=["--loss", "logistic", "--gravity", "2e-6"], theirs=[*BOTH, "-b", "24"])
WITHIN = f"{DWINDLE} --max-live"
IN_BUDGET = SETTINGS._replace(
    ours=["--loss", "logistic", "--update", "ftrl", "--gravity", "1", "--max-live", "50000"]
)
IN_SPARSE = SETTINGS._replace(  # with room for 2^30 weights, so that few share one
    theirs=[*BOTH, "-b", "30", "--sparse_weights"]
)
CASES = {"text": DWINDLE, "budget": WITHIN}
METADATA = {"seen": "seen", "peak_live": "alive_at_the_peak"}


def measure(size: int, rounds: int, folder: Path) -> Found:
    """Four contestants on one file."""
    text = folder / "ads.vw"
    data.ads(text, size)
    whole, tens = contestants(text), contestants(data.ten_lines(text))
    runs, starts = with_tens(whole, tens, rounds)
    more = predicted(text, size // 10)
    rows = [
        row(case, name, runs[name], starts[name], **more[name])._replace(
            command=spoken(whole[name], folder)
        )
        for case, name in (*CASES.items(), ("text", TABLE), ("text", SPARSE))
    ]
    figures = [
        figure
        for case, ours in CASES.items()
        for figure in (
            *(
                speed(case, what, runs[peer], runs[ours], (starts[peer], starts[ours]))
                for what, peer in ((FASTER_THAN_VW, TABLE), (FASTER_THAN_SPARSE, SPARSE))
            ),
            *(
                Figure(case, what, ratio(_peaks(runs[peer]), _peaks(runs[ours])), unit="x memory")
                for what, peer in ((LESS_THAN_SPARSE, SPARSE), (LESS_THAN_TABLE, TABLE))
            ),
        )
    ]
    return Found(f"like ads: {size:,} rows, {megabytes([text]):,.0f} MB of text", rows, figures)


def contestants(text: Path) -> dict[str, list[str]]:
    """The commands."""
    dense, sparse = train(text, SETTINGS), train(text, IN_SPARSE, "sparse")
    within = train(text, IN_BUDGET, "budget")
    return {DWINDLE: dense[DWINDLE], WITHIN: within[DWINDLE], TABLE: dense[VW], SPARSE: sparse[VW]}


def predicted(text: Path, n: int) -> dict[str, dict[str, Any]]:
    """The AUC of each model on other rows, and what ours say of themselves."""
    test = text.with_name("ads-test.vw")
    labels = data.ads(test, n, seed=1)
    (free, dense), (within, _), (_, sparse) = (
        models(text, name) for name in ("text", "budget", "sparse")
    )
    once([our_predictions(free, test), their_predictions(dense, test, SETTINGS)])
    once([our_predictions(within, test), their_predictions(sparse, test, IN_SPARSE)])
    written = {DWINDLE: free, WITHIN: within, TABLE: dense, SPARSE: sparse}
    found: dict[str, dict[str, Any]] = {
        name: {"auc": auc_of(model, labels)} for name, model in written.items()
    }
    for name in CASES.values():
        model = Model.load(written[name])
        metadata = {
            METADATA[key]: value for key, value in model.metadata.items() if key in METADATA
        }
        found[name] |= {"kept": len(model)} | metadata
    return found


def _peaks(runs: list[Run]) -> list[float]:
    return [run.peak_bytes or 1 for run in runs]
