"""Examples that say all a format has words for, the command, and what it wrote."""

import numpy as np

from dwindle.data.options import ReadOptions
from dwindle.data.stream import read
from helpers import commands

RICH = (
    "1 2.5 0.25 'first | a b:0.1 |user city:oslo age:1e-5 | c |user x\n"
    "-1 'second |user city:rome :3 :4\n"
    "1 |\n"
    "-0 0 |f a\n"
    "'unlabelled |f a\n"
    "| 12:3.4028235e38 007 18446744073709551614:-1e-45\n"
    "3 1 -7e-20 |ns:2 p=q:0.7 é:1\n"
)
PLAIN = "1 3:0.5 12:1\n-1\n0.25 0:-2 18446744073709551614:1e-45 7:7.0385307e-26\n"


def dwindle(*args, stdin=None):
    return commands.dwindle("convert", *args, stdin=stdin, check=False)


def examples(paths, **reading):
    """All that the data says: features by name, and what is said of each example, in bits."""
    found = []
    for parsed in read([str(path) for path in paths], ReadOptions(**reading)):
        batch = parsed.batch
        assert not parsed.bad
        names = list(map(str, batch.key)) if batch.names is None else list(batch.names)
        base = np.zeros(batch.n_examples, np.float32) if batch.base is None else batch.base
        tags = [""] * batch.n_examples if parsed.tags is None else list(parsed.tags)
        for i in range(batch.n_examples):
            here = slice(batch.start[i], batch.start[i + 1])
            said = [batch.label[i], batch.importance[i], base[i]]
            found.append(
                (
                    [s.tobytes() for s in said],
                    tags[i],
                    names[here],
                    batch.key[here].tolist(),
                    batch.x[here].tobytes(),
                )
            )
    return found
