"""From bytes to batches: files, formats, labels and caches."""
