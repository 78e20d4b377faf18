"""``python -m experiments.many``: measure, then write docs/many-machines.json and its page.

Stopped and started again, it goes on from what is measured; ``--only`` names parts to do.
"""

import argparse
import json
import signal
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from experiments.many import bits, cost, quality
from experiments.many.page import page
from experiments.storing import DOCS, data_is_here, save, versions

SIMULATED = 5  # runs on workers that are unreliable
PARTS = ("bits", "cost", "quality", "caps")
PACKAGES = ("dwindle", "numpy", "numba", "dask", "distributed")


def main() -> None:
    """Measure what is not measured yet, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m experiments.many", description=__doc__)
    parser.add_argument("--output", type=Path, default=DOCS, help="a folder [default: docs]")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas")
    parser.add_argument("--anew", action="store_true", help="measure again what is measured")
    given = parser.parse_args()
    stored = given.output / "many-machines.json"
    results: dict[str, Any] = json.loads(stored.read_text()) if stored.exists() else {}
    results["about"] = versions(PACKAGES)

    def keep() -> None:
        save(stored, json.dumps(results, indent=1) + "\n")

    with data_is_here():
        for name in given.only.split(","):
            if given.anew:
                results.pop(name, None)
            {"bits": _bits, "cost": _cost, "quality": _quality, "caps": _caps}[name](results, keep)
    keep()
    save(given.output / "many-machines.md", page(results))


def _quality(results: dict[str, Any], keep: Callable[[], None]) -> None:
    names = ("set", "kind", "shards", "split", "seed")
    _each(results.setdefault("quality", []), names, quality.cases(), quality.measured, keep)


def _caps(results: dict[str, Any], keep: Callable[[], None]) -> None:
    names = ("set", "kind", "cap")
    _each(results.setdefault("caps", []), names, quality.caps(), quality.measured_cap, keep)


def _each(
    done: list[dict[str, Any]],
    names: tuple[str, ...],
    cases: Iterable[tuple[Any, ...]],
    measure: Callable[..., dict[str, Any]],
    keep: Callable[[], None],
) -> None:
    """Measure the cases that are not among those done."""
    for case in cases:
        if not any(tuple(each[name] for name in names) == case for each in done):
            begin = time.process_time()
            found = measure(*case)
            done.append(found)
            took = f"{time.process_time() - begin:.0f} s"
            print(*case, f"{found['auc']:.4f}", f"{found['kept']:,}", took, flush=True)
            keep()


def _once(
    found: dict[str, Any], name: str, keep: Callable[[], None], do: Callable[[], Any]
) -> None:
    if name not in found:
        begin = time.monotonic()
        found[name] = do()
        print(name, found[name], f"{time.monotonic() - begin:.0f} s", flush=True)
        keep()


def _bits(results: dict[str, Any], keep: Callable[[], None]) -> None:
    found = results.setdefault("bits", {})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = bits.words(folder)

        def case(told: str, do: Callable[..., Any], *args: Any) -> None:
            _once(found, told, keep, partial(do, lines, folder / told.replace(" ", "-"), *args))

        case("serial", bits.digest, "serial")
        case("local:2", bits.digest, "local:2")
        for n in (1, 2, 4):
            case(f"dask, {n} workers", _on_dask, n)
        case("killed in each phase", bits.sabotaged, bits.PHASES, signal.SIGKILL)
        case("hung", bits.sabotaged, ("train-pass1-shard1",), signal.SIGSTOP)
        case("driver killed", bits.driver_killed)
        case("scheduler killed", bits.scheduler_killed)
        case("simulated", _simulated)
        case("killed at random", _at_random)


def _on_dask(lines: Path, folder: Path, n: int) -> str:
    with bits.cluster(n) as (_, client):
        return bits.digest(lines, folder, client)


def _at_random(lines: Path, folder: Path) -> dict[str, Any]:
    digests, kills, runs = bits.killed_at_random(lines, folder, bits.KILLS)
    return {"digests": sorted(digests), "kills": kills, "runs": runs}


def _simulated(lines: Path, folder: Path) -> dict[str, Any]:
    total: dict[str, Any] = {"runs": SIMULATED, "delay": 0.1, "tasks": 0, "deaths": 0, "twice": 0}
    digests = set()
    for seed in range(SIMULATED):
        with bits.Unreliable(4, delay=total["delay"], deaths=0.1, seed=seed) as workers:
            digests.add(bits.digest(lines, folder / f"run{seed}", workers))
            total |= {name: total[name] + n for name, n in workers.counts.items()}
    return total | {"digests": sorted(digests)}


def _cost(results: dict[str, Any], keep: Callable[[], None]) -> None:
    found = results.setdefault("cost", {})
    with tempfile.TemporaryDirectory() as name:
        _once(found, "thousand", keep, lambda: cost.thousand_shards(Path(name)))
        _once(found, "large", keep, lambda: cost.beside_one_process(Path(name)))


if __name__ == "__main__":
    main()
