"""The report of a model: one HTML file, and what notebooks show."""
