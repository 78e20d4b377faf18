"""From bytes to `Batch`: one module per format."""
