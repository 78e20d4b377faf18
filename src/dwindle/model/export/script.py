"""JSON, and a JavaScript function for browsers and Node, from the same description of a model.

A weight may be one number or a list, with one for each class.
"""

import json
from collections.abc import Iterator
from typing import Any

from dwindle.data.schema import Kind
from dwindle.model.export.linear import Linear

FORMAT = 1


def as_json(linear: Linear, _table: str) -> Iterator[str]:
    """Yield JSON, a line for each term: factors by namespace and name, and the weight."""
    about = {
        "format": "dwindle linear model",
        "version": FORMAT,
        "link": linear.link,
        "classes": linear.classes,
        "labels": linear.labels or None,
        "columns": None if linear.schema is None else linear.schema.to_json(),
        "intercept": _numbers(linear, linear.intercept),
    }
    yield "{\n" + "".join(f"  {_dumped(key)}: {_dumped(each)},\n" for key, each in about.items())
    yield '  "terms": ['
    for i, (term, weight) in enumerate(zip(linear.terms, linear.weight, strict=True)):
        factors = [list(linear.features[j]) for j in term]
        one = {"factors": factors, "weight": _numbers(linear, weight)}
        yield f"{',' if i else ''}\n    {_dumped(one)}"
    yield "\n  ]\n}\n"


def javascript(linear: Linear, _table: str) -> Iterator[str]:
    """Yield a script that defines ``dwindle.score`` and ``dwindle.predict``."""
    names = linear.names()
    alone = {names[j]: _numbers(linear, weight) for (j,), weight in linear.of_degree(1)}
    products: dict[str, list[Any]] = {}
    for n in (2, 3):
        for term, weight in linear.of_degree(n):
            first, *others = (names[j] for j in term)
            products.setdefault(first, []).append([others, _numbers(linear, weight)])
    is_category = [
        each.name for each in linear.schema or () if each.kind in {Kind.CATEGORY, Kind.TEXT}
    ]
    said = {
        "LINK": linear.link,
        "CLASSES": linear.classes,
        "LABELS": linear.labels or None,
        "CATEGORIES": is_category,
        "INTERCEPT": _numbers(linear, linear.intercept),
    }
    yield _HEAD
    yield "".join(f"  const {name} = {_in_script(value)};\n" for name, value in said.items())
    for name, each in (("WEIGHTS", alone), ("PRODUCTS", products)):
        yield f"  const {name} = new Map(["
        for key, value in each.items():
            yield f"\n    {_in_script([key, value])},"
        yield "\n  ]);\n"
    yield _BODY


def _numbers(linear: Linear, values: Any) -> Any:
    return values.tolist() if linear.classes is not None else float(values[0])


def _dumped(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def _in_script(value: Any) -> str:
    """Write JSON that may also stand within a page, where ``</script>`` would end it."""
    return _dumped(value).replace("<", "\\u003c")


_HEAD = """\
// A linear model, exported by dwindle. In a page: <script src="model.js"></script>, then
// dwindle.score({ad: "shoes", hour: 9}); in Node: const dwindle = require("./model.js").
const dwindle = (() => {
  "use strict";
"""

_BODY = """
  // A number is the value of its feature; a text is the feature name=text of value 1.
  function features(example) {
    const found = new Map();
    for (const [name, value] of Object.entries(example)) {
      if (value === null || value === undefined || value === "") continue;
      if (typeof value === "string" || CATEGORIES.includes(name)) {
        found.set(`${name}=${value}`, 1);
      } else {
        found.set(name, Number(value));
      }
    }
    return found;
  }

  // The score before any link: a number, or one for each class.
  function score(example) {
    const x = features(example);
    const several = Array.isArray(INTERCEPT);
    const total = several ? INTERCEPT.slice() : [INTERCEPT];
    const add = (weight, value) => {
      if (several) weight.forEach((w, k) => { total[k] += w * value; });
      else total[0] += weight * value;
    };
    for (const [name, value] of x) {
      const weight = WEIGHTS.get(name);
      if (weight !== undefined) add(weight, value);
      for (const [others, w] of PRODUCTS.get(name) || []) {
        if (others.every((other) => x.has(other))) {
          add(w, others.reduce((product, other) => product * x.get(other), value));
        }
      }
    }
    return several ? total : total[0];
  }

  // A probability, or one for each class; a mean; the score itself, if the model has no link.
  function predict(example) {
    const p = score(example);
    const logistic = (each) => 1 / (1 + Math.exp(-each));
    if (Array.isArray(p)) {
      if (LINK !== "logistic") return p;
      const own = p.map(logistic);
      const total = own.reduce((a, b) => a + b, 0);
      return own.map((each) => each / total);
    }
    if (LINK === "logistic") return logistic(p);
    if (LINK === "clip") return Math.min(Math.max(p, 0), 1);
    return LINK === "exp" ? Math.exp(Math.min(p, 300)) : p;
  }

  return { score, predict, classes: CLASSES, labels: LABELS };
})();
if (typeof module === "object") module.exports = dwindle;
"""
