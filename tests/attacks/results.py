"""What the attacks found, in docs/reliability.json, from which the page is written."""

import json
import platform
from datetime import UTC, datetime
from pathlib import Path

from dwindle import __version__

DOCS = Path(__file__).parents[2] / "docs"


def about():
    """When and with what an attack was run."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "version": __version__,
        "python": platform.python_version(),
    }


def store(path, kind, found):
    """Write the results of one kind of attack, by name, and keep all others."""
    known = json.loads(path.read_text()) if path.exists() else {}
    known[kind] = known.get(kind, {}) | found
    path.write_text(json.dumps(known, indent=1) + "\n")
