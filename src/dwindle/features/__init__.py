"""Examples as sparse rows: batches, feature names and their 64-bit keys."""
