"""Types of numbers, by which kernels convert; without a compiler they convert as it would."""

from collections.abc import Callable
from typing import Any

import numpy as np

from dwindle.jit.interpreted import JIT


def _wrapping(kind: Any) -> Callable[[Any], Any]:
    """Make a function that converts as compiled code does: uint64(-1) wraps around."""

    def convert(value: Any) -> Any:
        return np.asarray(value).astype(kind)[()]

    return convert


def _type(kind: Any) -> Any:
    return kind if JIT else _wrapping(kind)


uint8, int32, int64, uint64 = map(_type, (np.uint8, np.int32, np.int64, np.uint64))
float32, float64 = map(_type, (np.float32, np.float64))
