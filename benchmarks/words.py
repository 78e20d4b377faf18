"""Results as cells of tables, on the screen and on the page."""

from typing import Any

from benchmarks.bars import Held
from benchmarks.tools import PAIRS

ROWS = ("case", "program", "wall s", "start-up s", "CPU s", "peak MB", "more")
FIGURES = ("case", "figure", "smallest to largest", "excluding start-up")
BARRED = ("workload", "figure", "excluding start-up", "goal", "", "what limits it")
QUIET = 0.1  # processors that other programs may use


def cells_of_row(row: dict[str, Any]) -> list[str]:
    """Return the time and memory of one program, in the columns `ROWS`."""
    return [
        row["case"],
        row["contestant"],
        number(row["seconds"]["median"]),
        number(row["start"]),
        number(row["processor"]),
        "" if row["peak_mb"] is None else f"{row['peak_mb']:,.0f}",
        ", ".join(f"{key.replace('_', ' ')} {_plain(v)}" for key, v in row["more"].items()),
    ]


def cells_of_figure(figure: dict[str, Any]) -> list[str]:
    """Return a figure, in the columns `FIGURES`."""
    value = figure["value"]
    return [
        figure["case"],
        f"{number(value['median'])} {figure['what']}",
        f"{number(value['least'])} to {number(value['most'])}",
        number(figure["work"]),
    ]


def cells_of_bar(held: Held, results: dict[str, Any]) -> list[str]:
    """Return a goal and the worst of its figures, in the columns `BARRED`."""
    case, value, extremes, work = cells_of_figure(held.figure)
    worst = f"{case}: " if held.n == 1 else f"worst of {held.n}, {case}: "
    goal = f"{held.bar.sense} {number(held.bar.limit)}"
    limits = ""
    if not held.bar.holds(held.figure["value"]["median"]):
        limits = f"{held.bar.see}{_split(held.figure, results)}"
    return [held.bar.workload, f"{worst}{value} ({extremes})", work, goal, held.verdict, limits]


def _split(figure: dict[str, Any], results: dict[str, Any]) -> str:
    """Say which share of its time our program took for what, if that was measured."""
    ours = PAIRS.get(figure["what"], ("", ""))[1]
    for row in _rows(results):
        if (row["case"], row["contestant"]) == (figure["case"], ours) and row.get("split"):
            return ": " + ", ".join(f"{phase} {share:.0%}" for phase, share in row["split"].items())
    return ""


def number(value: float | None) -> str:
    """Format with three significant digits; nothing for None."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def machine(about: dict[str, Any]) -> str:
    """Describe the machine."""
    it = about["machine"]
    return f"{it['processor']}, {it['cores']} cores, {it['memory_gb']} GB, {it['system']}"


def versions(about: dict[str, Any]) -> str:
    """List the versions of Python and the packages."""
    return ", ".join(f"{name} {version}" for name, version in about["versions"].items())


def busyness(results: dict[str, Any]) -> str:
    """Say what else ran on the machine."""
    before, most = results["about"]["load"], max(row["load"] for row in _rows(results))
    busiest = max(_rows(results), key=lambda row: row["others"])
    said = "**The machine was busy: do not trust these times.** " if is_busy(results) else ""
    return (
        f"{said}The load average was {number(before)} before the run and at most {number(most)} "
        f"between rounds, the programs measured included. Meanwhile other programs used "
        f"{others(results):.2f} processors on average, and most for {busiest['case']}, "
        f"{busiest['contestant']}: {busiest['others']:.2f}."
    )


def is_busy(results: dict[str, Any]) -> bool:
    """Whether other programs used so much that times are not to be trusted."""
    return others(results) > QUIET


def others(results: dict[str, Any]) -> float:
    """Processors that other programs used while ours were measured, the mean over that time."""
    times = [(row["seconds"]["median"], row["others"]) for row in _rows(results)]
    return float(sum(s * each for s, each in times) / sum(s for s, _ in times))


def _rows(results: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for workload in results["workloads"] for row in workload["rows"]]


def _plain(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
