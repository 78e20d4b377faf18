"""Results of the paper's experiments, with numbers like real ones or with those of a few curves."""

import numpy as np

from experiments.paper_says import TABLE_1, UCI

CURVES = [
    *((method, every, None) for method in ("truncation", "rounding") for every in (1, 10, 20)),
    *(("truncation", 10, theta) for theta in ("g", 0.01, 0.1, 1.0)),
    ("subgradient", 10, None),
    ("adaptive", 10, None),
    ("adaptive-rested", 10, None),
    ("rested", 10, None),
    ("section5", 1, None),
    ("section5", 10, None),
    ("section5", 20, None),
    *((method, None, None) for method in ("soft", "lasso", "l1-logistic", "ftrl", "vw")),
]
MODELS = {"dense": 0.97, "alone": 3, "section5": 2, "cooldown": 1, "soft": 1.5, "hard": 1.2}
PANELS = ("ad", "crx", "krvskp", "magic04", "mushroom", "spambase", "wbc", "wdbc")


def synthetic(sets=UCI, seeds=5, lines_of=tuple(CURVES)):
    """Results of the shape of results.json, with numbers like real ones."""
    rng = np.random.default_rng(0)
    rows = [row for row in TABLE_1 if row.set in {*sets, "rcv1"}]
    versions = {"dwindle": "0.1.0", "numpy": "2.4.6", "python": "3.11.9"}

    def pair(row, total, share):
        regression = row.task == "regression"
        score = 20 + 3 * rng.random() if regression else rng.uniform(0.85, 0.97)
        found = {}
        for name, factor in MODELS.items():
            kept = factor if name == "dense" else min(share * factor, 0.95)
            worse = 0.0 if name == "dense" else 0.01
            shown = score * (1 + worse if regression else 1 - worse * rng.random())
            found[name] = {
                "setting": {
                    "learning_rate": 0.1,
                    "pass_decay": 0.5,
                    "passes": 10,
                    "gravity": 0.0 if name in {"dense", "soft", "hard"} else 0.003,
                },
                "tried": {"learning_rate": [0.01, 1.0]}
                | ({} if name in {"dense", "soft", "hard"} else {"gravity": [0.001, 0.01]}),
                "cv": shown,
                "kept_cv": kept * total,
                "test": shown * rng.uniform(0.99, 1.01),
                "test_auc": None if regression else rng.uniform(0.95, 0.97),
                "kept": max(1, round(kept * total)),
                "live": [int(total * rng.uniform(kept, 1)) for _ in range(20)],
            }
        metric = "squared loss" if regression else "accuracy"
        return {"metric": metric, "features": total, "models": found}

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
            "folds": [5, 4],
            "curve_folds": 2,
            "strengths": 8,
            "most": {"10": 65_000},
            "pass_decay": [0.5, 0.9],
            "passes": [1, 10],
            "versions": versions,
        },
        "sets": [
            row._asdict() | {"positive": None, "source": "folder"} for row in rows
        ],
        "sparsified": [
            {"set": row.set, "random": random, "seed": seed, "tolerance": tolerance, "family": family}
            | pair(row, row.features + random, rng.uniform(0.01, 0.09) if random else rng.uniform(0.2, 0.9))
            for row in rows
            for family in ("paper", "logistic")
            for random in ((0,) if row.set == "rcv1" else (0, 1000))
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
    }  # fmt: skip


FULL = synthetic()
QUICK = synthetic(("ad", "wbc", "zoo"), seeds=1, lines_of=CURVES[:2])


def line_of(line, aucs, name="ad", seed=0):
    """A curve with these AUCs by features kept."""
    points = [{"strength": 0.0, "kept": kept, "auc": auc} for kept, auc in aucs.items()]
    return {"set": name, "seed": seed, **line._asdict(), "points": points}


def only(*curves, sparsified=()):
    return {"curves": list(curves), "sparsified": list(sparsified)}
