"""``dwindle`` as a program; ``python -m dwindle`` is the same."""

import atexit
import gc
import os
import sys


def run() -> None:
    """Run a command, and leave at once when it has ended well.

    All is written then. To take Python apart, object by object, would take another 0.02 s.
    """
    gc.set_threshold(100_000)  # imports make many objects and no garbage: 0.06 s of looking for it
    atexit.register(gc.freeze)  # and at the end 0.15 s, for memory that is given back anyway
    from dwindle.cli import main  # noqa: PLC0415  (this, too, imports a lot)

    try:
        main(prog_name="dwindle")
    except SystemExit as end:
        if end.code:
            raise
        atexit._run_exitfuncs()  # noqa: SLF001  (there is no public way)
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError):
            raise end from None  # Python says what it says of a pipe that was closed
        os._exit(0)


if __name__ == "__main__":
    run()
