"""ONNX: a graph that scores the columns of a table, or features by name.

Each feature of an example has a place among the model's (the place after the last stands for all
others) and a value. Of columns, the graph finds the places; with features as input, names of an
example stand in a row of ``feature``, filled up with "". Products look up the place of a pair,
i * n + j, in a table of those that have a weight.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dwindle._base.errors import SettingError
from dwindle.model.export.linear import (
    CLIP,
    EXP,
    LARGEST_EXPONENT,
    LOGISTIC,
    Linear,
    by_column,
)

OPSET, ML_OPSET, IR = 17, 3, 8  # what runtimes of 2022 and later read


def of_columns(linear: Linear, _table: str) -> Iterator[bytes]:
    """Yield a graph with an input for each column: numbers or texts, a row for each example."""
    columns = by_column(linear, "onnx")
    graph = _Graph(linear)
    cells: dict[str, dict[str | None, int]] = {}
    for j, (column, cell) in enumerate(columns):
        cells.setdefault(column, {})[cell] = j
    places, values = [], []
    for column, known in cells.items():
        if None in known:
            x = graph.node(
                "Cast", [graph.input(column, "FLOAT", [None, 1])], to=graph.type("DOUBLE")
            )
            zero = graph.node("Mul", [x, graph.constant(np.float64(0))])
            there = graph.node("Cast", [zero], to=graph.type("INT64"))
            places.append(graph.node("Add", [there, graph.constant(np.int64(known[None]))]))
            values.append(x)
        else:
            text = graph.input(column, "STRING", [None, 1])
            found = graph.looked_up(text, list(known.items()), len(linear.features))
            places.append(found)
            like = graph.node("Cast", [found], to=graph.type("DOUBLE"))
            zero = graph.node("Mul", [like, graph.constant(np.float64(0))])
            values.append(graph.node("Add", [zero, graph.constant(np.float64(1))]))
    if not places:
        raise SettingError("onnx: the model keeps no feature, so that there is no column to read")
    yield graph.finished(graph.node("Concat", places, axis=1), graph.node("Concat", values, axis=1))


def of_features(linear: Linear, _table: str) -> Iterator[bytes]:
    """Yield a graph with two inputs, the names of features and their values."""
    graph = _Graph(linear)
    names = graph.input("feature", "STRING", [None, None])
    value = graph.input("value", "FLOAT", [None, None])
    places = [(name, j) for j, name in enumerate(linear.names())]
    yield graph.finished(
        graph.looked_up(names, places, len(places)),
        graph.node("Cast", [value], to=graph.type("DOUBLE")),
    )


class _Graph:
    """Nodes and constants of a graph in the making."""

    def __init__(self, linear: Linear) -> None:
        try:
            import onnx  # noqa: PLC0415  (an extra)
        except ModuleNotFoundError:
            raise SettingError('ONNX needs a package: pip install "dwindle[onnx]"') from None
        self._onnx, self._linear = onnx, linear
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []

    def type(self, name: str) -> int:
        """Return the number of a type of elements."""
        return int(getattr(self._onnx.TensorProto, name))

    def input(self, name: str, kind: str, shape: Sequence[int | None]) -> str:
        """Declare an input."""
        made = self._onnx.helper.make_tensor_value_info(name, self.type(kind), shape)
        self._inputs.append(made)
        return name

    def constant(self, value: Any) -> str:
        """Keep an array and return its name."""
        name = f"constant {len(self._constants)}"
        self._constants.append(self._onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, kind: str, inputs: list[str], domain: str = "", **about: Any) -> str:
        """Add a node and return the name of its output."""
        name = f"node {len(self._nodes)}"
        make = self._onnx.helper.make_node
        self._nodes.append(make(kind, inputs, [name], name=name, domain=domain, **about))
        return name

    def looked_up(self, keys: str, known: Sequence[tuple[Any, int]], otherwise: int) -> str:
        """Find the place of each key, a text or a whole number."""
        found = list(known) or [("", otherwise)]
        kind = "strings" if isinstance(found[0][0], str) else "int64s"
        about = {f"keys_{kind}": [key for key, _ in found], "values_int64s": [j for _, j in found]}
        return self.node("LabelEncoder", [keys], "ai.onnx.ml", default_int64=otherwise, **about)

    def finished(self, place: str, value: str) -> bytes:
        """Add up the terms of features at these places, with these values, and write the graph."""
        linear, n = self._linear, len(self._linear.features)
        alone = np.zeros((n + 1, len(linear.intercept)))
        for (j,), weight in linear.of_degree(1):
            alone[j] = weight
        score = self._summed(self.node("Gather", [self.constant(alone), place], axis=0), value, [1])
        score = self.node("Add", [score, self.constant(linear.intercept)])
        for degree in range(2, linear.degree + 1):
            if (n + 1) ** degree >= 2**63:
                raise SettingError(f"onnx: {n:,} features are too many for products of {degree}")
            score = self.node("Add", [score, self._products(degree, place, value)])
        outputs = {"score": score} | ({"prediction": mean} if (mean := self._mean(score)) else {})
        made = []
        shape = [None, len(linear.intercept)]
        for name, own in outputs.items():
            self._nodes.append(self._onnx.helper.make_node("Identity", [own], [name]))
            made.append(self._onnx.helper.make_tensor_value_info(name, self.type("DOUBLE"), shape))
        graph = self._onnx.helper.make_graph(
            self._nodes, "dwindle", self._inputs, made, self._constants
        )
        versions = [
            self._onnx.helper.make_opsetid("", OPSET),
            self._onnx.helper.make_opsetid("ai.onnx.ml", ML_OPSET),
        ]
        whole = self._onnx.helper.make_model(
            graph, opset_imports=versions, ir_version=IR, producer_name="dwindle"
        )
        self._onnx.checker.check_model(whole)
        return bytes(whole.SerializeToString())

    def _products(self, degree: int, place: str, value: str) -> str:
        """Add up the products of so many factors."""
        n = len(self._linear.features) + 1
        found = list(self._linear.of_degree(degree))
        weights = np.zeros((len(found) + 1, len(self._linear.intercept)))
        known = []
        for i, (term, weight) in enumerate(found):
            weights[i] = weight
            known.append((_combined(term, n), i))
        each, values = self._axes(place, 0, degree), self._axes(value, 0, degree)
        for factor in range(1, degree):
            scaled = self.node("Mul", [each, self.constant(np.int64(n))])
            each = self.node("Add", [scaled, self._axes(place, factor, degree)])
            values = self.node("Mul", [values, self._axes(value, factor, degree)])
        row = self.looked_up(each, known, len(found))
        gathered = self.node("Gather", [self.constant(weights), row], axis=0)
        return self._summed(gathered, values, list(range(1, degree + 1)))

    def _axes(self, name: str, factor: int, degree: int) -> str:
        """Give a factor an axis of its own among those of the others, after that of examples."""
        axes = [1 + i for i in range(degree) if i != factor]
        return self.node("Unsqueeze", [name, self.constant(np.array(axes, np.int64))])

    def _summed(self, weights: str, values: str, axes: list[int]) -> str:
        last = self.constant(np.array([-1], np.int64))
        parts = self.node("Mul", [weights, self.node("Unsqueeze", [values, last])])
        over = self.constant(np.array(axes, np.int64))
        return self.node("ReduceSum", [parts, over], keepdims=0)

    def _mean(self, score: str) -> str | None:
        """Turn scores into probabilities or means, if they are not means already."""
        if self._linear.link == LOGISTIC:
            own = self.node("Sigmoid", [score])
            if self._linear.classes is None:
                return own
            last = self.constant(np.array([-1], np.int64))
            return self.node("Div", [own, self.node("ReduceSum", [own, last], keepdims=1)])
        if self._linear.link == EXP:
            bounded = self.node("Min", [score, self.constant(np.float64(LARGEST_EXPONENT))])
            return self.node("Exp", [bounded])
        if self._linear.link == CLIP:
            ends = self.constant(np.float64(0.0)), self.constant(np.float64(1.0))
            return self.node("Clip", [score, *ends])
        return None


def _combined(term: tuple[int, ...], n: int) -> int:
    found = 0
    for j in term:
        found = found * n + j
    return found
