"""From X to a batch: a matrix or a data frame, whose columns are the features; or a `Batch`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix, issparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.validation import validate_data

from dwindle._base.notes import warn
from dwindle.data.frames import frame_of, is_frame, is_pandas, only_numbers, read_frame, table_of
from dwindle.data.options import ReadOptions, as_before, kept_reading
from dwindle.data.schema import ColumnKinds, Schema
from dwindle.features.batch import Batch
from dwindle.features.keys import key_of
from dwindle.features.names import NamesView, Text
from dwindle.model.model import Model

FLOATS = (np.float32, np.float64)


class HasColumns(BaseEstimator, ABC):
    """An estimator that turns X into batches, with the columns it was fitted with.

    Columns with names are features by these names; others are numbers, from 0 on. A `Batch` has
    features with names of its own, and so has a data frame with a column that is no number: what
    kind each column is stays as it was in the first one.
    """

    columns: Any  # what the user says of the kinds of columns
    ngrams: int  # see `ReadOptions`
    counts: bool
    _schema: Schema | None = None  # the kinds of columns, if there are other ones than numbers
    _keys: NDArray[np.uint64] | None = None  # of the columns, if they have names
    _feature_names: NDArray[Any] | None = None  # of columns that had none, by `name_features`
    _said: Mapping[str, Any] = {}  # metadata of the file that the model comes from
    _target_rules: ClassVar[Mapping[str, Any]]  # what scikit-learn is to check of y

    @abstractmethod
    def _weights(self) -> list[tuple[NDArray[np.uint64], NDArray[np.float64]]]:
        """Return the keys and weights of each class, or the only ones."""

    def _present(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool
    ) -> tuple[Batch, NDArray[Any], NDArray[Any] | None, NDArray[np.int64]]:
        """Return examples, labels, weights and row numbers of the rows whose weight is not 0."""
        batch, y = self._rows_of(X, y, reset=reset)
        number = np.arange(len(y))
        if sample_weight is None:
            return batch, y, None, number
        weight = np.asarray(sample_weight, np.float64)
        weight = np.full(len(y), weight) if weight.ndim == 0 else weight
        if weight.shape != (len(y),):
            raise ValueError(f"sample_weight must have shape {(len(y),)}, got {weight.shape}")
        there = weight != 0
        if there.all():
            return batch, y, weight, number
        return batch.only(there), y[there], weight[there], number[there]

    def _rows_of(self, X: Any, y: Any, *, reset: bool) -> tuple[Batch, NDArray[Any]]:
        """Turn X and y into a batch and labels; the first X fixes the columns."""
        if reset:
            self._schema = None
        batch = self._with_names(X)
        if batch is not None:
            if reset:
                self._forget_columns()
            return batch, column_or_1d(y)
        table = _pandas_or_arrow(X)
        if not reset and self._plain(table) and isinstance(y, np.ndarray) and y.ndim == 1:
            return Batch.from_csr(table), y
        if not reset and not hasattr(self, "n_features_in_"):  # it was learned from a file
            return self._examples(table), column_or_1d(y)
        x, y = validate_data(self, table, y, reset=reset, **_rules(table), **self._target_rules)
        names = self._column_names
        if reset:
            self._keys = None if names is None else _keys_of(names)
        return _named(_batch_of(_filled(x, table)), self._keys, names), y

    def _examples(self, X: Any) -> Batch:
        """Turn X into a batch to predict, with the columns it was fitted with."""
        batch = self._with_names(X)
        if batch is not None:
            return batch
        table = _pandas_or_arrow(X)
        if self._plain(table):
            return Batch.from_csr(table)
        if hasattr(self, "n_features_in_"):
            x = validate_data(self, table, reset=False, **_rules(table))
            return _named(_batch_of(_filled(x, table)), self._keys, self._column_names)
        x = _filled(check_array(table, estimator=self, **_rules(table)), table)
        names = _names_of(table)
        if names is not None:
            return _named(_batch_of(x), _keys_of(names), names)
        smallest = [key.min() for key, _ in self._weights() if len(key)]
        if smallest and min(smallest) >= x.shape[1]:
            raise ValueError(
                "the model's features have names, which the columns of X have not: "
                "give a data frame, or a Batch"
            )
        return _batch_of(x)

    def _with_names(self, X: Any) -> Batch | None:
        """Return the batch of an X that has names of its own, as the first such frame was read."""
        if isinstance(X, Batch):
            return X
        if type(X[0] if isinstance(X, list) and X else X) is dict:  # not its heir, SciPy's DOK
            raise TypeError(
                "X: expected a matrix or a data frame, got dicts: use pd.DataFrame(rows)"
            )
        if not is_frame(X) or (not self._schema and not self.columns and only_numbers(X)):
            return None
        kinds = ColumnKinds(self.columns, self._schema, warn)
        batch = read_frame(X, self._reading, kinds).batch
        self._schema = self._schema or kinds.schema()
        return batch._replace(label=None, importance=None)

    def _one(self, x: Mapping[str, Any]) -> Batch:
        """Return a batch of one row, a dict; what it lacks is missing."""
        if self._schema is None:
            return Batch.from_dicts([x])
        kinds = ColumnKinds(None, self._schema)
        return read_frame(frame_of(x), self._reading, kinds).batch

    @property
    def _reading(self) -> ReadOptions:
        """How data frames are read."""
        return ReadOptions(
            label_column=None,
            columns=self.columns or {},
            schema=self._schema,
            ngrams=self.ngrams,
            counts=self.counts,
        )

    def _plain(self, X: Any) -> bool:
        """Tell whether `Batch` alone checks X well enough: scikit-learn's checks take longer."""
        return (
            isinstance(X, csr_array | csr_matrix)
            and X.dtype in FLOATS
            and self._keys is None
            and X.shape[0] > 0
            and X.shape[1] == getattr(self, "n_features_in_", None)
        )

    @property
    def _column_names(self) -> NDArray[Any] | None:
        found: NDArray[Any] | None = self.__dict__.get("feature_names_in_")
        return self._feature_names if found is None and self._keys is not None else found

    @staticmethod
    def _check_names(names: Any, n: int) -> None:
        """Refuse names that are not one for each of n columns."""
        if len(names) != n or len(set(names)) != n:
            raise ValueError(
                f"expected {n} different feature names, one for each column of X, "
                f"got {len(names)}, of which {len(set(names))} are different"
            )

    def _renamed(self, model: Model) -> Model:
        """Name the features of a model that are numbers of columns, if names were given."""
        if self._feature_names is None or self._keys is not None:
            return model
        names = self._feature_names

        def named(key: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], Text]:
            own = names[key.astype(np.int64)]
            return _keys_of(own), Text.of(list(own))

        state = model.state
        if state is not None:
            ids, texts = named(state["cells"]["id"])
            state = state | {"cells": state["cells"] | {"id": ids}, "names": texts}
        key, text = named(model.key)
        return replace(model, key=key, names=text, state=state)

    def _renamed_batch(self, batch: Batch) -> Batch:
        """Name the features of a batch that are numbers of columns, if names were given."""
        names = self._feature_names
        if names is None or self._keys is not None or batch.names is not None:
            return batch
        return _named(batch, _keys_of(names), names)

    def _forget_columns(self) -> None:
        """Forget the columns: what is learned has names of its own."""
        self._feature_names = None
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        self._keys = None

    def _by_column(self, key: NDArray[np.uint64], weight: NDArray[np.float64]) -> tuple[Any, Any]:
        """Return the columns that have a weight, in order, and their weights."""
        order = np.argsort(key)
        key, weight = key[order], weight[order]
        if self._keys is None:
            n = np.searchsorted(key, np.uint64(self.n_features_in_))
            return key[:n].astype(np.int64), weight[:n]
        place = np.minimum(np.searchsorted(key, self._keys), max(len(key) - 1, 0))
        column = np.flatnonzero(key[place] == self._keys) if len(key) else np.empty(0, np.int64)
        return column, weight[place[column]]

    def _column_metadata(self) -> dict[str, Any]:
        """Return what a model file says of the columns."""
        if self._feature_names is not None:
            return {"feature_names": list(self._feature_names)}
        if self._schema is not None:
            return {"reading": self._said.get("reading", kept_reading(self._reading))}
        if self._keys is not None:
            return {"columns": list(self.feature_names_in_)}
        if hasattr(self, "n_features_in_"):
            return {"n_features": self.n_features_in_}
        return {}

    def _restore_columns(self, metadata: Mapping[str, Any]) -> None:
        """Restore the columns from what a model file says."""
        if "reading" in metadata:
            how = as_before(metadata["reading"], ReadOptions())
            self._schema, self.ngrams, self.counts = how.schema, how.ngrams, how.counts
        if "feature_names" in metadata:
            self._feature_names = np.array(metadata["feature_names"], object)
            self._keys = _keys_of(self._feature_names)
            self.n_features_in_ = len(self._feature_names)
        elif "columns" in metadata:
            self.feature_names_in_ = np.array(metadata["columns"], object)
            self._keys = _keys_of(self.feature_names_in_)
            self.n_features_in_ = len(self.feature_names_in_)
        elif "n_features" in metadata:
            self.n_features_in_ = metadata["n_features"]


def _pandas_or_arrow(X: Any) -> Any:
    """Turn a data frame into one whose column names every version of scikit-learn finds."""
    return table_of(X) if is_frame(X) and not is_pandas(X) else X


def _rules(X: Any) -> dict[str, Any]:
    """Return what scikit-learn is to check of X; in a data frame, values may be missing."""
    finite: Any = "allow-nan" if is_frame(X) else True
    return {"accept_sparse": "csr", "dtype": FLOATS, "ensure_all_finite": finite}


def _filled(x: Any, X: Any) -> Any:
    """Replace the missing values of a data frame X by 0: a feature that is 0 is absent."""
    if not is_frame(X):
        return x
    is_sparse = issparse(x)
    missing = np.isnan(x.data if is_sparse else x)
    if missing.any():
        x = x.copy()  # it may be the frame's own memory
        (x.data if is_sparse else x)[missing] = 0
    return x


def _batch_of(x: Any) -> Batch:
    """Return the rows of a checked matrix; a feature's key is its column number."""
    return Batch.from_csr(x) if issparse(x) else Batch.from_dense(x)


def _names_of(table: Any) -> NDArray[Any] | None:
    """Return the column names, if X is a data frame."""
    names = getattr(table, "column_names" if isinstance(table, pa.Table) else "columns", None)
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return np.array(list(names), object)


def _keys_of(names: NDArray[Any]) -> NDArray[np.uint64]:
    """Compute the key of each name, as in files."""
    return np.fromiter(map(key_of, names), np.uint64, len(names))


def _named(batch: Batch, keys: NDArray[np.uint64] | None, names: Any) -> Batch:
    """Give the features of a batch the names of the columns."""
    if keys is None:
        return batch
    return batch._replace(key=keys[batch.key], names=NamesView(names, batch.key.astype(np.int64)))
