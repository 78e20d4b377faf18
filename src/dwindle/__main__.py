"""``python -m dwindle`` is ``dwindle``."""

from dwindle.cli import run

run()
