"""The page docs/many-machines.md, written from the results of ``python -m experiments.many``."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import mean
from typing import Any

from dwindle.distributed.places import widths
from experiments.many.quality import CAPPED

CLOSE = {2: 0.001, 8: 0.001, 32: 0.002}  # of AUC, that so many shards may cost
NAMES = {
    "adaptive": "adaptive",
    "plain": "plain (the paper's)",
    "ftrl": "FTRL",
    "rda": "RDA",
    "auto": "automatic",
}
SETS = {
    "rcv1": "rcv1, 23,149 documents",
    "a9a": "a9a, 32,561 people",
    "ads": "ads, 40,000 examples",
}
COSTS = {"adaptive": "`--update adaptive --gravity 1e-5`", "default": "no options"}
BAR = 0.25  # more time on the clock than one process
WORSE = 1.1  # times the log loss of one machine
TOLD, LOST = 50_000, 0.05  # on paper: features that a shard tells of, machines lost in an hour
SPLITS = {"time": "by time", "site": "by site"}

ON_ADS = """On ads AUC still rises from pass to pass, and shards are behind one machine in each. Whether more passes would make up for it, and whether that is why the other updates miss bars there, was not tested. AUC after each pass; before gravities are compared, it is of the one that predicts best so far:

{table}"""
CAPS = """{shards} shards, with the K in their learning rates capped at {tried}: AUC, log loss and features after as many passes, of one deal.

{table}

A larger cap costs plain log loss on both sets, and RDA some AUC on *words*, which is the ad log without its pairs of words; a smaller one costs RDA log loss. Adaptive hardly changes.

"""

PAGE = """# Many machines

<!-- written by python -m experiments.many -->

How to train on a cluster, how good the model is, what it costs, and which failures it survives.
Everything below was measured on one machine with two cores, where shards are learned one after another or by separate processes: quality with up to 64 shards and recovery are measured, a speed-up by many machines is not.
{short}{gain}

```
dwindle train 'logs/*.vw' --model ads.parquet --on local:8 --passes 3
dwindle train 's3://bucket/logs/*.vw.zst' --model ads.parquet --on dask://scheduler:8786 \\
    --shards 64 --passes 3 --run s3://bucket/run1
```

- `--on` says where: `local:8` is eight processes of this machine, `dask` a Dask cluster on it, `dask://HOST:PORT` that of a scheduler (`pip install "dwindle[dask]"`, on its workers too, in the same versions). `ray` and `ray://HOST:PORT` are the same on Ray (`pip install "dwindle[ray]"`).
- `--shards` is how many parts the data is dealt to, in the order of file names. Lines of large files that are not compressed are dealt too. Each shard is learned on its own, and all are mixed after each pass. Their number is part of the model's definition and stands in its metadata: another number, another model. The number of machines is not: one or a hundred, the model is the same to the bit.
- `--run` is a folder, or a URL, that all machines see: what shards have done is kept there. **The same command goes on** with a run that ended early, whatever ended it. Another command in the same folder is refused.

Without `--shards` there is a shard for each file, but at least as many as can run at once and at most four times as many, unless a shard would then have less than 16 MB; then fewer. More shards want more passes. The rest means what it means on one machine: formats, losses, updates, interactions, `--max-live`, `--start-from`, the gravities that are tried by default. `--holdout` takes a file. What cannot be done is refused by name before any work.

## In Python, and on Kubernetes, SLURM or YARN

`on` is a Dask client, any `concurrent.futures.Executor`, or a text as above. In a script, what starts processes belongs below `if __name__ == "__main__":`.

```python
# Or dask_jobqueue.SLURMCluster, dask_yarn.YarnCluster.
from dask_kubernetes.operator import KubeCluster
from distributed import Client
from dwindle import TrainSettings, train

cluster = KubeCluster(name="dwindle", image="registry/with-dwindle", n_workers=16)
with Client(cluster) as client:
    logs, settings = ["s3://bucket/logs/*.vw.zst"], TrainSettings(passes=3)
    train(logs, "ads.parquet", settings, on=client, shards=64, run="s3://bucket/run1")
```

With SLURM, `SLURMCluster(cores=4, processes=4, memory="16GB", job_extra_directives=["--requeue"])` and `cluster.scale(16)`. Machines may come and go; a run that has none left says so, and waits. dwindle asks of an engine that it runs functions, nothing else, so that any executor will do: that of MPI, say.

```python
from mpi4py.futures import MPIPoolExecutor

with MPIPoolExecutor(16) as executor:
    train(logs, "ads.parquet", settings, on=executor, shards=64, run="/shared/run1")
```

## What is mixed

Each of K shards begins with the model, takes n/K steps that are K times as long as one machine's, and reports what it found, so that together the shards move the model as far as one machine would.

| update | a shard's learning rate | mixed |
|---|---|---|
| plain | times K | the mean weight over the m shards that saw a feature; then the pull that the others owe it, (P/m - P/K) / v |
| adaptive | times √K, with 1/K of the squared gradients | the same |
| FTRL, RDA | times √K, with 1/K of the squared gradients | sums of gradients and of their squares add up to one machine's |

P is the pull of all shards, v how often one of them saw the feature. K counts for at most 32 in rates. Sums of gradients are damped by 1 + (K - 1)/80: long steps go too far at first and come back, which leaves features that tell nothing. The gravities that are tried by default are mixed one by one; which is the model is decided on a quarter of each shard, or 65,536 of its examples, by the model of all *other* shards: in the last pass, or earlier if there are fewer than four shards for each pass, as the others have by then learned around the one that is left out. Gravities that the update `adaptive` tries are compared after the first pass. As on one machine, a large model forgets features that no gravity holds and that will not be seen again for a quarter of all examples so far. A shard tells only of features that are in the model, or would outlive the wait until they are seen again. A shard of fewer than 1,000 examples is noted.

## How good is it?

AUC and the number of features on test data, after {passes} passes, against one machine with the same passes and settings; the mean of {seeds} deals of the examples, one deal for ads and for the automatic choice. The bars: AUC within .001 with 2 and 8 shards and within .002 with 32, and no more features than one machine. A cell that misses one is *in italics*.

{quality}

{verdict}

{losses}

{why}

The exponents of the rates were derived after larger ones had failed on rcv1, and tried beside others on rcv1 and a9a; the damping was chosen on rcv1; after which pass gravities are compared was chosen on rcv1, a9a and another draw of the ad log. On ads itself it was found that after K/2 passes they are compared too late, and that what is rare must be forgotten; no number was chosen by it. With 32 shards rcv1 and a9a have fewer than or about 1,000 examples a shard, of which the command warns. Gravity is {gravity} for all sets and updates but FTRL's 1, and rates are the defaults.

{caps}Deals that are not at random, 8 shards, against one machine on the same examples (*by site*: a third of the features are private to a shard):

{splits}

By site, a feature that only one shard sees goes K times as far there as all others go in theirs, and what is common is learned around it: the more of a shard's features are its own, the more is lost. Deal such data at random.

## One model, whatever happens

The first digits of the model's SHA-256: {lines:,} documents of rcv1, {shards} shards, 2 passes, the default gravities.

{bits}

## What it costs

{cost}

## On paper: 1,000 shards of a million examples

{paper}

## Run it again

```
make many   # python -m experiments.many; DWINDLE_DATA names a folder with rcv1 and a9a
```

With {versions}.
"""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def of(results: Sequence[Mapping[str, Any]], **case: Any) -> list[Mapping[str, Any]]:
    """Return the results of a case."""
    return [each for each in results if all(each[name] == value for name, value in case.items())]


def misses(one: Mapping[str, Any], found: Sequence[Mapping[str, Any]], shards: int) -> bool:
    """Whether a case misses a bar."""
    worse = float(one["auc"]) - mean(float(each["auc"]) for each in found)
    return worse > CLOSE[shards] or mean(int(each["kept"]) for each in found) > int(one["kept"])


def _cell(one: Mapping[str, Any], found: Sequence[Mapping[str, Any]], shards: int) -> str:
    if not found:
        return "not measured"
    auc, kept = (mean(each[name] for each in found) for name in ("auc", "kept"))
    text = f"{auc:.4f}, {kept:,.0f}"
    return f"*{text}*" if misses(one, found, shards) else text


def quality(results: Sequence[Mapping[str, Any]]) -> str:
    """Write the table of each set."""
    shown = []
    for name, title in SETS.items():
        rows = []
        for kind, told in NAMES.items():
            ones = of(results, set=name, kind=kind, shards=1)
            if ones:
                cells = [
                    _cell(ones[0], of(results, set=name, kind=kind, shards=n, split="random"), n)
                    for n in CLOSE
                ]
                rows.append([told, f"{ones[0]['auc']:.4f}, {ones[0]['kept']:,}", *cells])
        if rows:
            head = [title, "one machine", *(f"{n} shards" for n in CLOSE)]
            shown.append(table(head, rows))
    return "\n\n".join(shown)


def verdict(results: Sequence[Mapping[str, Any]]) -> str:
    """Count the cases that meet both bars, and name the others."""
    measured = _measured(results)
    missed = []
    for name, kind, n in _missed(results):
        one, found = of(results, set=name, kind=kind, shards=1)[0], _found(results, name, kind, n)
        apart = mean(each["auc"] for each in found) - one["auc"]
        more = mean(each["kept"] for each in found) / max(one["kept"], 1) - 1
        missed.append(f"{name}, {NAMES[kind]}, {n} shards (AUC {apart:+.4f}, features {more:+.0%})")
    told = f"Both bars are met in {len(measured) - len(missed)} of {len(measured)} cases."
    return told + (f" Not met: {'; '.join(missed)}." if missed else "")


def _measured(results: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, int]]:
    """Return the cases that there are results of."""
    cases = [(name, kind, n) for name in SETS for kind in NAMES for n in CLOSE]
    return [case for case in cases if _found(results, *case)]


def short(results: Mapping[str, Any]) -> str:
    """Say what came of it: quality, and whether the model is always the same."""
    quality = results.get("quality", [])
    measured, missed = _measured(quality), _missed(quality)
    digests = _digests(results.get("bits", {}))
    told = ""
    if measured:
        told += f"AUC is close to one machine's, with no more features, in {len(measured) - len(missed)} of {len(measured)} cases with 2 to 32 shards"
        where = Counter(name for name, *_ in missed)
        told += (
            f" (missed: {_listed(f'{n} on {name}' for name, n in where.items())})."
            if where
            else "."
        )
    if digests:
        same = "the model was the same to the bit" if len(digests) == 1 else "models differed"
        told += f" Whatever process was killed or hung, {same}."
    return told


def _digests(found: Mapping[str, Any]) -> set[str]:
    """Return the digests of the models of all runs."""
    digests: set[str] = set()
    for value in found.values():
        if isinstance(value, Mapping):
            digests.update(value["digests"])
        else:
            digests.add(value if isinstance(value, str) else value[0])
    return digests


def _found(
    results: Sequence[Mapping[str, Any]], name: str, kind: str, n: int
) -> list[Mapping[str, Any]]:
    return of(results, set=name, kind=kind, shards=n, split="random")


def _missed(results: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, int]]:
    """Return the cases that miss a bar."""
    found = []
    for name in SETS:
        for kind in NAMES:
            ones = of(results, set=name, kind=kind, shards=1)
            for n in CLOSE:
                some = _found(results, name, kind, n)
                if ones and some and misses(ones[0], some, n):
                    found.append((name, kind, n))
    return found


def why(results: Sequence[Mapping[str, Any]]) -> str:
    """Show what is known of why bars are missed: how AUC on ads rises from pass to pass."""
    rows, passes = [], 0
    for kind, told in NAMES.items():
        for n in (1, *CLOSE):
            found = of(results, set="ads", kind=kind, shards=n, split="random")
            if found and "aucs" in found[0]:
                passes = len(found[0]["aucs"])
                where = "one machine" if n == 1 else f"{n} shards"
                rows.append([told, where, *(f"{auc:.4f}" for auc in found[0]["aucs"])])
    if not rows:
        return ""
    head = ["update", "", *(f"pass {p}" for p in range(1, passes + 1))]
    return ON_ADS.format(table=table(head, rows))


def caps(results: Sequence[Mapping[str, Any]]) -> str:
    """Write the table of how many shards count in rates."""
    if not results:
        return ""
    tried = sorted({each["cap"] for each in results} - {0})
    rows = []
    for name, kind in dict.fromkeys((each["set"], each["kind"]) for each in results):
        found = {each["cap"]: each for each in of(results, set=name, kind=kind)}
        if len(found) == len(tried) + 1:
            cells = [found[cap] for cap in (0, *tried)]
            told = [f"{each['auc']:.4f}, {each['loss']:.3f}, {each['kept']:,}" for each in cells]
            rows.append([name, NAMES[kind], *told])
    head = ["set", "update", "one machine", *(f"at most {cap}" for cap in tried)]
    return CAPS.format(shards=CAPPED, tried=_listed(map(str, tried), "or"), table=table(head, rows))


def losses(results: Sequence[Mapping[str, Any]]) -> str:
    """Name the cases whose log loss is much larger than that of one machine."""
    worse: dict[str, dict[str, dict[int, float]]] = {}  # by update, set and shards
    for name in SETS:
        for kind in NAMES:
            ones = of(results, set=name, kind=kind, shards=1)
            for n in CLOSE:
                found = _found(results, name, kind, n)
                if ones and found:
                    loss = mean(each["loss"] for each in found)
                    if loss > WORSE * ones[0]["loss"]:
                        worse.setdefault(kind, {}).setdefault(name, {})[n] = loss
    within = f"log loss is within {WORSE - 1:.0%} of one machine's".replace("%", " %")
    told = ["These bars are about ranking and size only."]
    for kind, sets in worse.items():
        cases = "; ".join(
            f"on {name} {_listed(f'{loss:.3f}' for loss in by_shards.values())} with {_listed(map(str, by_shards))} shards"
            f" (one machine {of(results, set=name, kind=kind, shards=1)[0]['loss']:.3f})"
            for name, by_shards in sets.items()
        )
        told.append(
            f"With the {kind} update shards rank well, but their probabilities are useless on {_listed(sets)}, as steps are too long: log loss is {cases}, where the constant 0.5 has {math.log(2):.3f}. "
            f"Do not use `--update {kind}` with shards if you need probabilities."
        )
    told.append(f"In all {'other ' if worse else ''}cases {within}.")
    return " ".join(told)


def _listed(words: Iterable[str], last: str = "and") -> str:
    each = list(words)
    return each[0] if len(each) == 1 else f"{', '.join(each[:-1])} {last} {each[-1]}"


def on_paper(found: Mapping[str, Any]) -> str:
    """Reckon what a thousand shards would take, by what was measured and by sizes of files."""
    n, *above = widths(1000)
    tasks, levels = sum(above), len(above)
    thousand = found.get("thousand")
    of_driver = thousand["driver"] / (thousand["shards"] + tasks + 1) if thousand else 0.0
    one, eight = (8 * (1 + numbers) * TOLD / 1e6 for numbers in (5, 13))
    rows = [
        ["tasks of a pass", f"{n:,} shards, {tasks} merges in {levels} levels, 1 mix: {of_driver * (n + tasks + 1):.0f} s of the driver"],
        [f"a part, {TOLD:,} features told", f"{one:.1f} MB with one gravity, {eight:.1f} MB with eight, before compression: 8 bytes for the feature and for each of 5 or 13 numbers"],
        ["all parts of a pass", f"{one * n / 1e3:.0f} to {eight * n / 1e3:.0f} GB; merges read each once and write at most as much on each of {levels} levels"],
        ["the root, if no feature is told twice", f"{one * n / 1e3:.0f} to {eight * n / 1e3:.0f} GB on one machine; the fewer, the more shards agree"],
        ["machines that are lost", f"with {LOST:.0%} of them in an hour and tasks of ten minutes, {LOST / 6 / 2:.1%} of the work is done again: a lost task, half done in the mean"],
        ["what breaks first", "quality: 64 shards were the most that was measured. Then the root of the tree, which would have to be split by ranges of keys"],
    ]  # fmt: skip
    return table(["", ""], rows)


def splits(results: Sequence[Mapping[str, Any]]) -> str:
    """Write the table of other deals."""
    rows = []
    for each in results:
        if each["split"] in SPLITS:
            ones = of(results, set=each["set"], kind=each["kind"], shards=1)
            one = each.get("one") or ones[0]
            rows.append([
                each["set"], NAMES[each["kind"]], SPLITS[each["split"]],
                f"{one['auc']:.4f}, {one['kept']:,}", f"{each['auc']:.4f}, {each['kept']:,}",
            ])  # fmt: skip
    return table(["set", "update", "deal", "one machine", "8 shards"], rows)


def bits(found: Mapping[str, Any]) -> str:
    """Write the table of digests."""
    random, simulated = found.get("killed at random"), found.get("simulated")
    rows = [[name, str(value)] for name, value in found.items() if isinstance(value, str)]
    if each := found.get("killed in each phase"):
        rows.append(
            [
                f"a worker killed in each phase: {each[1]} SIGKILLs in training, adding up, comparing and mixing",
                each[0],
            ]
        )
    if each := found.get("hung"):
        rows.append(["a worker hung (SIGSTOP)", each[0]])
    if each := found.get("scheduler killed"):
        rows.append(["the scheduler killed, another started, the command repeated", each[0]])
    if simulated:
        told = (
            f"simulated network, {simulated['runs']} runs: {simulated['delay']} s of delay in the mean, twice a task; of "
            f"{simulated['tasks']} tasks {simulated['deaths']} died, before or after they were done, and {simulated['twice']} "
            "ran twice at once"
        )
        rows.append([told, ", ".join(simulated["digests"])])
    if random:
        rows.append(
            [
                f"{random['kills']} SIGKILLs at random moments, in {random['runs']} runs",
                ", ".join(random["digests"]),
            ]
        )
    return table(["", "digest"], rows)


def cost(found: Mapping[str, Any]) -> str:
    """Write what it costs."""
    lines = []
    if large := found.get("large"):
        lines.append(
            f"- **Beside one process**: {large['bytes'] / 1e9:.2f} GB of the ad log, one pass, on two cores; "
            f"the least of {large['rounds']['adaptive']} runs by turns ({large['rounds']['default']} "
            f"with no options). The bar is at most {BAR:.0%} more time on the clock than one process; it is {_bar(large)}."
        )
        rows = []
        for name, told in COSTS.items():
            one, two = large[name]["one"], large[name]["local:2"]
            more = _more(large, name)
            rows.append([
                told, f"{one['seconds']:.1f} s, {one['processor']:.1f} s",
                f"{two['seconds']:.1f} s ({more['seconds']:+.0%}), {two['processor']:.1f} s ({more['processor']:+.0%})",
            ])  # fmt: skip
        lines.append(
            "\n"
            + table(["time on the clock, processor time", "one process", "`--on local:2`"], rows)
            + "\n"
        )
        lines.append(
            "- **By default** eight gravities are tried: shards tell of more features, with eight numbers each, and some "
            "of the data is read once more to compare them."
        )
    if thousand := found.get("thousand"):
        lines.append(
            f"- **A plan of {thousand['shards']:,} shards**, of 100 examples each, on `local:2`: the driver took "
            f"{thousand['driver']:.1f} s of processor time (the bar: 60) of {thousand['seconds']:.0f} s in all, and a worker "
            f"{thousand['memory'] / 1e6:,.0f} MB at its peak."
        )
    return "\n".join(lines)


def _more(large: Mapping[str, Any], name: str) -> dict[str, float]:
    """By how much two processes take longer than one."""
    one, two = large[name]["one"], large[name]["local:2"]
    return {what: two[what] / one[what] - 1 for what in one}


def _bar(large: Mapping[str, Any]) -> str:
    """Say whether two processes take too long, and what processor time they take."""
    more = {name: _more(large, name) for name in COSTS}
    met = all(each["seconds"] <= BAR for each in more.values())
    clock, processor = (
        _listed(f"{each[what]:+.0%} ({COSTS[name]})" for name, each in more.items())
        for what in ("seconds", "processor")
    )
    return f"{'met' if met else 'not met'}, with {clock}. There is no bar for processor time, which is {processor}"


def gain(found: Mapping[str, Any]) -> str:
    """Say for how much data it is worth while, as far as that is known."""
    if not (large := found.get("large")):
        return ""
    told = _listed(
        f"{abs(change):.0%} {'less' if change < 0 else 'more'} time with {COSTS[name]}"
        for name in COSTS
        for change in [_more(large, name)["seconds"]]
    )
    return f" For {large['bytes'] / 1e9:.2f} GB of text, two processes took {told} than one, so for less data one process will do."


def page(results: Mapping[str, Any]) -> str:
    """Write the page."""
    measured = results.get("quality", [])
    numbers = sorted(
        {len(of(measured, set=name, kind="rda", shards=8, split="random")) for name in SETS} - {0}
    )
    seeds = f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else str(*numbers)
    return PAGE.format(
        passes=4, seeds=seeds, gravity="1e-5", lines=8000, shards=8,
        short=short(results), quality=quality(measured), verdict=verdict(measured), splits=splits(measured), losses=losses(measured),
        why=why(measured), caps=caps(results.get("caps", [])),
        bits=bits(results.get("bits", {})), cost=cost(results.get("cost", {})), gain=gain(results.get("cost", {})), paper=on_paper(results.get("cost", {})),
        versions=", ".join(f"{name} {number}" for name, number in results["about"].items()),
    )  # fmt: skip
