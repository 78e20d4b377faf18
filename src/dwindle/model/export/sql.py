"""SQL: a score as an expression over the columns of a table, or as a join with a table of weights.

Both are standard SQL that DuckDB and SQLite run as it is. The expression needs no table of its own;
the join takes features by name, of any model, and stays fast with very many of them.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from dwindle.algorithm.losses import has_probabilities
from dwindle.data.formats.block import spelled_label
from dwindle.model.export.linear import (
    CLIP,
    EXP,
    LARGEST_EXPONENT,
    LOGISTIC,
    Linear,
    by_column,
)

ROWS = 500  # in one INSERT
_NEXT, _UNION = ",\n  ", "\nUNION ALL\n"


def expression(linear: Linear, table: str) -> Iterator[str]:
    """Yield a SELECT that adds scores, and probabilities or means, to the columns of a table."""
    columns = by_column(linear, "sql")
    scores = []
    for k, name in enumerate(_score_names(linear)):
        groups: dict[tuple[str, ...], list[Any]] = defaultdict(list)
        for term, weight in zip(linear.terms, linear.weight[:, k].tolist(), strict=True):
            if weight != 0.0:
                factors = [columns[j] for j in term]
                groups[tuple(c for c, _ in factors)].append((factors, weight))
        parts = [number(float(linear.intercept[k]))]
        parts += [_group(list(names), members) for names, members in groups.items()]
        scores.append(f"{_added(parts)} AS {identifier(name)}")
    inner = f"SELECT *,\n  {_NEXT.join(scores)}\nFROM {identifier(table)}"
    means = _means(linear)
    yield inner if not means else f"SELECT *, {means}\nFROM (\n{inner}\n) AS scored"
    yield "\n"


def join(linear: Linear, table: str) -> Iterator[str]:
    """Yield a table of weights, and a view of the scores of what a table of features holds.

    That table has the columns ``example``, ``feature`` and ``value``; names are dwindle's.
    """
    names = linear.names()
    features, weights = identifier(table), identifier(f"{table}_weights")
    yield f"CREATE TABLE {weights} (class TEXT, a TEXT, b TEXT, c TEXT, weight DOUBLE);\n"
    classes = [text(spelled_label(each)) for each in linear.classes or []] or ["NULL"]
    rows = [f"({each}, NULL, NULL, NULL, {number(constant)})" for each, constant in
            zip(classes, linear.intercept.tolist(), strict=True)]  # fmt: skip
    for term, several in zip(linear.terms, linear.weight.tolist(), strict=True):
        factors = [text(names[j]) for j in term]
        factors += ["NULL"] * (3 - len(factors))
        rows += [
            f"({each}, {', '.join(factors)}, {number(weight)})"
            for each, weight in zip(classes, several, strict=True)
            if weight != 0.0
        ]
    for i in range(0, len(rows), ROWS):
        yield f"INSERT INTO {weights} VALUES\n{_NEXT.join(rows[i : i + ROWS])};\n"
    examples = f"(SELECT DISTINCT example FROM {features}) AS x"
    constant = f"SELECT x.example, w.class, w.weight AS part FROM {examples} CROSS JOIN"
    parts = [f"{constant} {weights} AS w WHERE w.a IS NULL"]
    parts += [_products(n, features, weights) for n in range(1, linear.degree + 1)]
    mean = None if linear.classes else _mean(linear)
    yield (
        f"CREATE VIEW {identifier(f'{table}_scores')} AS\n"
        f"SELECT *{'' if mean is None else f', {mean}'} FROM (\n"
        f"SELECT example, class, sum(part) AS score FROM (\n{_UNION.join(parts)}\n"
        ") AS parts\nGROUP BY example, class\n) AS scored;\n"
    )


def _products(n: int, features: str, weights: str) -> str:
    """Select the terms of n factors of each example."""
    alias = "xyz"[:n]
    joined = "".join(
        f" JOIN {features} AS {each} ON {each}.example = x.example AND {each}.feature = w.{column}"
        for each, column in zip(alias[1:], "bc", strict=False)
    )
    none = f" WHERE w.{'abc'[n]} IS NULL" if n < 3 else ""
    product = " * ".join(["w.weight", *(f"{each}.value" for each in alias)])
    return (
        f"SELECT x.example, w.class, {product} FROM {features} AS x "
        f"JOIN {weights} AS w ON w.a = x.feature{joined}{none}"
    )


MEANS = {
    LOGISTIC: "1e0 / (1e0 + exp(-score))",
    EXP: f"exp(CASE WHEN score > {LARGEST_EXPONENT} THEN {LARGEST_EXPONENT} ELSE score END)",
    CLIP: "CASE WHEN score < 0e0 THEN 0e0 WHEN score > 1e0 THEN 1e0 ELSE score END",
}


def _mean(linear: Linear) -> str | None:
    """Say what the score of a model of two classes, or of numbers, means; None if it says it."""
    mean = MEANS.get(linear.link)
    name = "probability" if has_probabilities(linear.loss) else "prediction"
    return None if mean is None else f"{mean} AS {name}"


def _score_names(linear: Linear) -> list[str]:
    return [f"score_{spelled_label(each)}" for each in linear.classes or []] or ["score"]


def _means(linear: Linear) -> str | None:
    """Say what a score means; of several classes, probabilities that sum to 1."""
    if linear.classes is None or linear.link != LOGISTIC:
        return None if linear.classes else _mean(linear)
    own = [f"1e0 / (1e0 + exp(-{identifier(name)}))" for name in _score_names(linear)]
    names = [f"probability_{spelled_label(each)}" for each in linear.classes]
    total = _added(own)
    return _NEXT.join(
        f"{each} / {total} AS {identifier(name)}" for each, name in zip(own, names, strict=True)
    )


def _group(names: list[str], members: list[Any]) -> str:
    """Write the terms of the same columns: one CASE in another, times the numbers."""
    if not names:
        return number(sum(weight for _, weight in members))
    column = identifier(names[0])
    rest = [([*factors[1:]], weight) for factors, weight in members]
    if members[0][0][0][1] is None:
        return f"coalesce(CAST({column} AS DOUBLE), 0e0) * {_group(names[1:], rest)}"
    by_cell: dict[str, list[Any]] = defaultdict(list)
    for (factors, _), left in zip(members, rest, strict=True):
        by_cell[factors[0][1]].append(left)
    cases = " ".join(
        f"WHEN {text(cell)} THEN {_group(names[1:], few)}" for cell, few in by_cell.items()
    )
    return f"CASE CAST({column} AS TEXT) {cases} ELSE 0e0 END"


def _added(parts: list[str]) -> str:
    """Add parts as a balanced tree: SQLite takes no more than 1,000 in a row."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return f"({_added(parts[:half])} + {_added(parts[half:])})"


def number(value: float) -> str:
    """Write a number that reads back to the bit, and as a DOUBLE: 0.5 is a DECIMAL in DuckDB.

    >>> number(0.5), number(1e-07)
    ('0.5e0', '1e-07')
    """
    return repr(value) if "e" in repr(value) else f"{value!r}e0"


def text(value: str) -> str:
    """Quote a text.

    >>> print(text("it's"))
    'it''s'
    """
    return "'" + value.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Quote the name of a table or column."""
    return '"' + name.replace('"', '""') + '"'
