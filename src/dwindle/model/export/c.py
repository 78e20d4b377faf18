r"""A C header with the weights of a model and a function that scores features given by name.

It needs no library but <math.h> and allocates nothing.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from dwindle.data.formats.block import spelled_label
from dwindle.model.export.linear import CLIP, EXP, LARGEST_EXPONENT, LOGISTIC, Linear


def header(linear: Linear, _table: str) -> Iterator[str]:
    """Yield the header: names in the order of their bytes, terms in that of their factors."""
    names = [name.encode() for name in linear.names()]
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = {j: i for i, j in enumerate(order)}
    n_classes = len(linear.intercept)
    yield _HEAD
    yield f"#define DWINDLE_CLASSES {n_classes}\n"
    yield f"#define DWINDLE_FEATURES {len(names)}\n"
    yield f"#define DWINDLE_DEGREE {linear.degree}\n"
    yield f"#define DWINDLE_TERMS {len(linear.terms)}\n\n"
    classes = [spelled_label(each) for each in linear.classes or linear.labels]
    yield _array(
        "const char *const dwindle_classes[]", map(_text, [each.encode() for each in classes])
    )
    yield _array("const char *const dwindle_names[]", (_text(names[j]) for j in order))
    ranked = [tuple(rank[j] for j in term) + (-1,) * (3 - len(term)) for term in linear.terms]
    by_rank = sorted(range(len(ranked)), key=ranked.__getitem__)
    yield _array(
        "const long dwindle_terms[][3]", (f"{{{', '.join(map(str, ranked[i]))}}}" for i in by_rank)
    )
    weight = linear.weight[by_rank] if by_rank else np.zeros((0, n_classes))
    yield _array("const double dwindle_weights[][DWINDLE_CLASSES]", map(_row, weight.tolist()))
    yield _array("const double dwindle_intercept[]", map(repr, linear.intercept.tolist()))
    yield _SCORE
    yield {
        (LOGISTIC, 1): _LOGISTIC,
        (LOGISTIC, 2): _NORMALIZED,
        (EXP, 1): _EXP,
        (CLIP, 1): _CLIP,
    }.get((linear.link, min(n_classes, 2)), _IDENTITY)
    yield "#endif\n"


def _array(declared: str, members: Iterable[str]) -> str:
    found = list(members) or ["{0}" if "][" in declared else "0"]  # C has no empty array
    return f"static {declared} = {{\n  " + ",\n  ".join(found) + "\n};\n"


def _row(weights: list[float]) -> str:
    return f"{{{', '.join(map(repr, weights))}}}"


def _text(raw: bytes) -> str:
    r"""Write a string; bytes that could mean something else are octal, with all three digits.

    >>> print(_text(b'a"b??/'))
    "a\042b\077\077/"
    """
    plain = set(
        b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-+=^.,:;!()[]<>|~@#$%&/"
    )
    body = "".join(chr(c) if c in plain else f"\\{c:03o}" for c in raw)
    return f'"{body}"'


_HEAD = """\
/* A linear model, exported by dwindle. Link with -lm.

   dwindle_feature x[] = {{"hour", 9}, {"ad=shoes", 1}};
   double score[DWINDLE_CLASSES];
   dwindle_score(x, 2, score);
   dwindle_predict(score);       (makes probabilities or means of the scores, in place)
*/
#ifndef DWINDLE_MODEL_H
#define DWINDLE_MODEL_H
#include <math.h>
#include <stddef.h>
#include <string.h>

typedef struct {
  const char *name;
  double value;
} dwindle_feature;

"""

_SCORE = """
static long dwindle_find(const char *name) {
  long low = 0, high = DWINDLE_FEATURES;
  while (low < high) {
    long middle = low + (high - low) / 2;
    int order = strcmp(dwindle_names[middle], name);
    if (order == 0) return middle;
    if (order < 0) low = middle + 1; else high = middle;
  }
  return -1;
}

static void dwindle_add(long a, long b, long c, double value, double *score) {
  long key[3] = {a, b, c}, low = 0, high = DWINDLE_TERMS;
  while (low < high) {
    long middle = low + (high - low) / 2;
    const long *term = dwindle_terms[middle];
    int i = 0;
    while (i < 3 && term[i] == key[i]) i++;
    if (i == 3) {
      for (i = 0; i < DWINDLE_CLASSES; i++) score[i] += dwindle_weights[middle][i] * value;
      return;
    }
    if (term[i] < key[i]) low = middle + 1; else high = middle;
  }
}

/* Add up the weights of n features, and of their products. */
static void dwindle_score(const dwindle_feature *x, size_t n, double *score) {
  size_t i;
  memcpy(score, dwindle_intercept, sizeof dwindle_intercept);
  for (i = 0; i < n; i++) {
    long a = dwindle_find(x[i].name);
    if (a < 0) continue;
    dwindle_add(a, -1, -1, x[i].value, score);
#if DWINDLE_DEGREE > 1
    for (size_t j = 0; j < n; j++) {
      long b = dwindle_find(x[j].name);
      if (b < 0) continue;
      dwindle_add(a, b, -1, x[i].value * x[j].value, score);
#if DWINDLE_DEGREE > 2
      for (size_t k = 0; k < n; k++) {
        long c = dwindle_find(x[k].name);
        if (c >= 0) dwindle_add(a, b, c, x[i].value * x[j].value * x[k].value, score);
      }
#endif
    }
#endif
  }
}

"""

_IDENTITY = "static void dwindle_predict(double *score) { (void)score; }\n"
_LOGISTIC = (
    "static void dwindle_predict(double *score) { score[0] = 1.0 / (1.0 + exp(-score[0])); }\n"
)
_EXP = (
    "static void dwindle_predict(double *score) { "
    f"score[0] = exp(score[0] < {LARGEST_EXPONENT} ? score[0] : {LARGEST_EXPONENT}); }}\n"
)
_CLIP = (
    "static void dwindle_predict(double *score) { "
    "score[0] = score[0] < 0.0 ? 0.0 : score[0] > 1.0 ? 1.0 : score[0]; }\n"
)
_NORMALIZED = """\
static void dwindle_predict(double *score) {
  double total = 0.0;
  int i;
  for (i = 0; i < DWINDLE_CLASSES; i++) total += score[i] = 1.0 / (1.0 + exp(-score[i]));
  for (i = 0; i < DWINDLE_CLASSES; i++) score[i] /= total;
}
"""
