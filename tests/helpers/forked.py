"""`dwindle` commands in a process that is forked from this one, which has loaded everything."""

import os
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

from dwindle.cli import main

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Forked:
    """A command in a forked process: it starts in milliseconds, and a real signal ends it.

    ``first`` is called in the child before the command. ``stdin`` is the descriptor to read from.
    """

    def __init__(self, *args, first=None, stdin=None):
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  (until the process ends)  (closed with the process)
        self._code = None
        self.pid = os.fork()
        if not self.pid:
            self._run([str(arg) for arg in args], first, stdin)

    def _run(self, args, first, stdin):
        code = 70  # of a traceback
        try:
            for number in SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            if stdin is not None:
                os.dup2(stdin, 0)
                sys.stdin = os.fdopen(0)
            os.dup2(self._said.fileno(), 2)
            sys.stderr = os.fdopen(2, "w", 1)
            sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115  (until the process ends)
            if first is not None:
                first()
            main(args, prog_name="dwindle")
        except SystemExit as end:
            code = end.code or 0
        except BaseException:  # noqa: BLE001  (it is the test that fails)
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def send(self, number):
        """Send a signal."""
        os.kill(self.pid, number)

    def wait(self, seconds=60):
        """Wait for its end; return its exit code, or minus the signal that ended it."""
        until = time.monotonic() + seconds
        while self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._ended(status)
            elif time.monotonic() > until:
                self.send(signal.SIGKILL)
                self._ended(os.waitpid(self.pid, 0)[1])
                raise TimeoutError(f"still running after {seconds} s; it said: {self.said}")
            else:
                time.sleep(0.002)
        return self._code

    def _ended(self, status):
        self._code = os.waitstatus_to_exitcode(status)
        with self._said as file:
            file.seek(0)
            self.said = file.read().decode()  # to standard error
