"""What tests share: references, data makers and ways to run commands."""
