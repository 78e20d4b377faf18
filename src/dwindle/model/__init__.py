"""Models and their files."""
