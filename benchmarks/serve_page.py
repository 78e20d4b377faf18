"""The measured parts of docs/serving.md, written from docs/serving.json."""

import re
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "serving.md"
MEGABYTE = 1e6


def write_page(results: Mapping[str, Any], page: Path = PAGE) -> None:
    """Put the tables into the page."""
    page.write_text(filled(page.read_text("utf-8"), results), "utf-8")


def _literal(text: str) -> str:
    """Return a text as `re.sub` takes one in which nothing is special."""
    return text.replace("\\", r"\\")


def filled(text: str, results: Mapping[str, Any]) -> str:
    """Return the page with its measured parts replaced."""
    parts = {"servers": _servers(results), "measured": _measured(results)}
    for name, part in parts.items():
        pattern = rf"(<!-- {name}: [^>]*-->\n).*?(<!-- /{name} -->)"
        text = re.sub(pattern, rf"\g<1>{_literal(part)}\g<2>", text, flags=re.DOTALL)
    return text


def _servers(results: Mapping[str, Any]) -> str:
    found = results.get("servers", {})
    rows = [f"| {name} | {cpu:.0f} |\n" for name, cpu in found.items()]
    return "| server and framework | us of processor time |\n|---|---|\n" + "".join(rows)


def _measured(results: Mapping[str, Any]) -> str:
    cases, machine = results.get("cases", {}), results.get("machine", {})
    if not cases:
        return ""
    rounds = machine["rounds"]
    said = (
        f"Examples of eight features, four of them text, on loopback; `wrk` sends them with 16 "
        f"connections from the same {machine['cores']} cores, {machine['seconds']} seconds at a "
        f"time, all cases in turn, {rounds} times. Rates and latencies are medians of the rounds, "
        "rates with their least and most; processor time, the least of the rounds, is what other "
        "programs on the machine disturb least. `vw --daemon` has no prediction without learning "
        "in this set-up and one connection, which is what one of its processes serves. River and "
        "Vowpal Wabbit learn in memory; dwindle writes what it learns to disk first. At half load, "
        "requests come at half the rate that was just measured.\n\n"
    )
    rows = [_row(name, loads) for name, loads in cases.items()]
    head = "| | examples/s | p50 ms | p99 ms | processor us/example |\n|---|---|---|---|---|\n"
    tail = (
        f"\n{machine['processor']}, {machine['cores']} cores, Python {machine['python']}; the load "
        f"of the machine was {machine['load_before']:.1f} before and {machine['load_after']:.1f} "
        "after. `make bench-serve` measures it again.\n"
    )
    return said + head + "".join(rows) + tail + _bars(cases) + _soak(results.get("soak"))


def _row(name: str, loads: Sequence[Mapping[str, float]]) -> str:
    rates = [load["examples_per_second"] for load in loads]
    p50, p99 = (statistics.median(load[key] for load in loads) for key in ("p50_ms", "p99_ms"))
    cpu = min(load["server_cpu_us_per_example"] for load in loads)
    rate = f"{statistics.median(rates):,.0f} ({min(rates):,.0f} to {max(rates):,.0f})"
    return f"| {name} | {rate} | {p50:.2f} | {p99:.2f} | {cpu:.1f} |\n"


def _bars(cases: Mapping[str, Any]) -> str:
    """Say how single predictions compare, by rate and by processor time."""
    ours, theirs = cases["predict 1, dwindle, JSON"], cases["predict 1, River + FastAPI, JSON"]

    def median(loads: Sequence[Mapping[str, float]], key: str) -> float:
        return statistics.median(load[key] for load in loads)

    def least(loads: Sequence[Mapping[str, float]]) -> float:
        return min(load["server_cpu_us_per_example"] for load in loads)

    rate = median(ours, "examples_per_second") / median(theirs, "examples_per_second")
    cpu = least(theirs) / least(ours)
    return (
        f"\nSingle predictions: {rate:.1f} times the rate of River + FastAPI, and "
        f"{cpu:.1f} times by processor time.\n"
    )


def _soak(soak: Mapping[str, Any] | None) -> str:
    if soak is None:
        return ""
    first, last = soak["first_third_bytes"] / MEGABYTE, soak["last_third_bytes"] / MEGABYTE
    return (
        f"\nAt half load for {soak['seconds'] / 60:.0f} minutes, learning and predicting in turn "
        f"({soak['learned_per_second']:,.0f} examples a second while learning), the server's "
        f"memory was {first:.0f} MB in the first third and {last:.0f} MB in the last (medians; "
        "`python -m benchmarks.serve --soak 600`).\n"
    )
