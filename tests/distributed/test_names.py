"""Names travel beside parts, each once."""

import numpy as np

from dwindle.distributed.names import _among


def test_keys_are_found_among_others_also_where_they_are_large_and_few():
    keys = np.array([3, 2**63 + 5, 2**64 - 1], np.uint64)
    assert _among(keys, keys[1:2]).tolist() == [False, True, False]
    assert _among(keys[1:2], keys[1:2]).tolist() == [True]
    assert not _among(keys, keys[:0]).any()
