"""How much of a table is read at once."""

import pyarrow as pa

from dwindle.features.arrow import is_text

MOST_ROWS = 1 << 16  # in a batch, to bound the memory it takes
MOST_TEXT = 1 << 22  # bytes of strings in a batch; their words take some ten times as much


def rows_at_once(table: pa.RecordBatch) -> int:
    """Return how many rows of a table make a batch."""
    size = sum(column.nbytes for column in table.columns if is_text(column.type))
    return max(1, min(MOST_ROWS, MOST_TEXT * table.num_rows // max(size, 1)))
