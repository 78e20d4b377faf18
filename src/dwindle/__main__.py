"""``python -m dwindle`` is ``dwindle``."""

from dwindle.cli import main

main(prog_name="dwindle")
