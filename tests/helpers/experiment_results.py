"""Results of the paper's experiments, with numbers like real ones or with those of a few curves."""

import numpy as np

from experiments.paper_says import TABLE_1, UCI

CURVES = [
    *((method, every, None) for method in ("truncation", "rounding") for every in (1, 10, 20)),
    *(("truncation", 10, theta) for theta in ("g", 0.01, 0.1, 1.0)),
    ("subgradient", 10, None),
    ("adaptive", 10, None),
    ("rested", 10, None),
    *((method, None, None) for method in ("lasso", "l1-logistic", "ftrl", "vw")),
]
PANELS = ("ad", "crx", "krvskp", "magic04", "mushroom", "spambase", "wbc", "wdbc")


def synthetic(sets=UCI, seeds=5, lines_of=tuple(CURVES)):
    """Results of the shape of results.json, with numbers like real ones."""
    rng = np.random.default_rng(0)
    rows = [row for row in TABLE_1 if row.set in {*sets, "rcv1"}]
    setting = {
        "learning_rate": 0.1,
        "pass_decay": 0.9,
        "passes": 10,
        "gravity": 0.0,
        "truncate_every": 1,
        "cooldown": 0,
    }
    versions = {"dwindle": "0.1.0", "numpy": "2.4.6", "python": "3.11.9"}

    def pair(row, total, share):
        regression = row.task == "regression"
        score = 20 + 3 * rng.random() if regression else rng.uniform(0.85, 0.97)
        found = {}
        for name, kept, worse in (
            ("dense", 0.97, 0.0),
            ("sparse", share, 0.01),
            ("unrested", 3 * share, 0.01),
        ):
            shown = score * (1 + worse if regression else 1 - worse * rng.random())
            found[name] = {
                "setting": setting | {"gravity": 0.0 if name == "dense" else 0.003},
                "cv": shown,
                "kept_cv": kept * total,
                "test": shown * rng.uniform(0.99, 1.01),
                "test_auc": None if regression else rng.uniform(0.95, 0.97),
                "kept": max(1, round(kept * total)),
            }
        metric = "squared loss" if regression else "accuracy"
        return {"metric": metric, "features": total, **found}

    def points(name, k):
        top = 0.8 + 0.19 * len(name) / 8 + 0.005 * rng.normal()
        kept = np.unique((1000 ** rng.random(15) * rng.uniform(1, 1.5)).astype(int))
        rise = 1 - np.exp(-np.sqrt(kept) / (1 + 0.2 * k))
        fall = 0.01 * (k % 5) * np.log10(kept)
        auc = 0.5 + (top - 0.5) * rise - fall + 0.004 * rng.normal(size=len(kept))
        return [
            {"strength": float(1 / n), "kept": int(n), "auc": float(min(a, 1))}
            for n, a in zip(kept, auc, strict=True)
        ]

    return {
        "about": {
            "quick": seeds == 1,
            "seeds": list(range(seeds)),
            "seconds": 9000.0,
            "wall_seconds": 5000.0,
            "folds": 10,
            "curve_folds": 3,
            "most": 65_000,
            "grid": {"learning_rate": [0.01, 0.1], "pass_decay": [0.5, 0.9], "passes": [1, 10], "gravity": [0.0, 0.001]},
            "loss": "squared",
            "versions": versions,
        },
        "sets": [
            row._asdict() | {"positive": None, "source": "folder"} for row in rows
        ],
        "sparsified": [
            {"set": row.set, "random": random, "seed": seed, "tolerance": tolerance}
            | pair(row, row.features + random, rng.uniform(0.01, 0.09) if random else rng.uniform(0.2, 0.9))
            for row in rows
            if row.set != "rcv1"
            for random in (0, 1000)
            for seed in range(seeds)
            for tolerance in ((0.01, 0.013) if row.set == "ad" else (0.01,))
        ],
        "curves": [
            {"set": name, "seed": seed, "method": method, "truncate_every": every, "threshold": threshold, "points": points(name, k)}
            for name in PANELS
            if name in sets
            for seed in range(seeds)
            for k, (method, every, threshold) in enumerate(lines_of)
        ],
        "rcv1": [
            {"seed": seed, "update": update, "passes": passes, "tolerance": 0.01}
            | pair(TABLE_1[11], 83_399, 0.2)
            for seed in range(seeds)
            for update in ("plain", "adaptive")
            for passes in ("one", "several")
        ],
    }  # fmt: skip


FULL = synthetic()
QUICK = synthetic(("ad", "wbc", "zoo"), seeds=1, lines_of=CURVES[:2])


def line_of(line, aucs, name="ad", seed=0):
    """A curve with these AUCs by features kept."""
    points = [{"strength": 0.0, "kept": kept, "auc": auc} for kept, auc in aucs.items()]
    return {"set": name, "seed": seed, **line._asdict(), "points": points}


def only(*curves, sparsified=(), rcv1=()):
    return {"curves": list(curves), "sparsified": list(sparsified), "rcv1": list(rcv1)}
