"""Keep pytest from importing what only the site's build can: see ``make docs``."""

collect_ignore = ["site_docstrings.py"]
