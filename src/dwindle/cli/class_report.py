"""The figures of several classes as text."""

import shutil
from collections.abc import Iterator
from typing import Any

from dwindle._base.text import counted
from dwindle.cli.terminal import weighed

WIDE = 80  # columns of a screen that is not known
PAIRS_SHOWN = 10  # pairs of classes that are confused most


def of_several(found: dict[str, Any]) -> Iterator[str]:
    """Format the figures of all classes, those of each, and which are taken for which."""
    from dwindle.data.formats.block import spelled_label

    yield f"examples      {found['examples']:,} of {len(found['classes'])} classes"
    name = found["loss_name"].lower()
    yield f"loss          {found['loss']:.6f} {name}, each class against the rest, added up"
    yield f"constant      {found['best_constant_loss']:.6f} is the best constants' loss"
    yield from weighed(found)
    if "log_loss" in found:
        yield f"log loss      {found['log_loss']:.6f}"
    yield (
        f"accuracy      {found['accuracy']:.6f}, the commonest class has "
        f"{found['majority_accuracy']:.6f}"
    )
    yield f"macro F1      {found['macro_f1']:.6f}"
    yield f"kept          {counted(found['kept'], 'weight')}"
    if found["skipped"]:
        yield f"skipped       {counted(found['skipped'], 'bad line')}"
    yield ""
    names = [spelled_label(each["class"]) for each in found["classes"]]
    wide = max(len("class"), *map(len, names))
    yield f"{'class':<{wide}} {'precision':>10} {'recall':>10} {'F1':>10} {'support':>12}"
    for name, each in zip(names, found["classes"], strict=True):
        yield (
            f"{name:<{wide}} {each['precision']:10.4f} {each['recall']:10.4f} {each['f1']:10.4f} "
            f"{each['support']:12,.6g}"
        )
    yield ""
    yield from _confusion(names, found["confusion"])


def _confusion(names: list[str], confusion: list[list[float]]) -> Iterator[str]:
    """Format the confusion matrix or, if it is too wide, the pairs that are confused most.

    The names of its columns are cut, if they are still told apart.
    """
    cells = [[f"{count:,.6g}" for count in row] for row in confusion]
    head = max(len("true"), *map(len, names))
    room = (shutil.get_terminal_size((WIDE, 0)).columns - head) // len(names) - 1
    wide = min(room, max(len(text) for row in (names, *cells) for text in row))
    cut = [name[: max(wide, 0)] for name in names]
    if wide >= max(len(text) for row in cells for text in row) and len({*cut}) == len(names):
        yield f"{'true':<{head}}   predicted"
        yield " " * head + "".join(f" {name:>{wide}}" for name in cut)
        for name, row in zip(names, cells, strict=True):
            yield f"{name:<{head}}" + "".join(f" {count:>{wide}}" for count in row)
        return
    wrong = sorted(
        (
            (count, names[true], names[told])
            for true, row in enumerate(confusion)
            for told, count in enumerate(row)
            if told != true and count > 0
        ),
        reverse=True,
    )
    yield (
        "confused most (--json has the whole matrix)" if wrong else "no class is taken for another"
    )
    for count, true, told in wrong[:PAIRS_SHOWN]:
        yield f"{count:12,.6g} {true} taken for {told}"
