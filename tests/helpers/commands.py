"""`dwindle` commands: run in this process, in one of their own, or in one that ends at a chosen point."""

import gc
import io
import os
import signal
import subprocess
import sys
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from unittest.mock import patch

from dwindle.cli import main

COMPILING = "dwindle: compiling for this machine, once: this may take up to a minute"


def dwindle(*args, check=True, text=False, cwd=None, stdin=None, apart=False, **how):
    """Run a command and return what `subprocess.run` would: exit code, output and errors.

    It runs in this process, since to start Python and load Numba takes a second. It has a process
    of its own if it is to be ``apart``, reads a pipe, or is given what only `subprocess.run` takes.
    """
    if stdin is None and not apart and not how:
        done = _in_this_process([str(arg) for arg in args], cwd)
    else:
        given = {"stdin": stdin} if hasattr(stdin, "fileno") else {"input": stdin}
        done = subprocess.run(
            command(*args), capture_output=True, check=False, cwd=cwd, **given, **how
        )
    done.stderr = done.stderr.replace(f"{COMPILING}\n".encode(), b"")  # which a first run says
    if check:
        assert done.returncode == 0, done.stderr.decode()
    if text:
        done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
    return done


def told(done):
    """The notes and errors of a command, run as ``text``."""
    return [line[9:] for line in done.stderr.splitlines() if line.startswith("dwindle: ")]


def command(*args):
    """The words that start a command in a process of its own."""
    return [sys.executable, "-m", "dwindle", *map(str, args)]


def _in_this_process(args, cwd):
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    answers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    threshold = gc.get_threshold()
    code = 0
    with ExitStack() as stack:
        for number, answer in answers.items():
            stack.callback(signal.signal, number, answer)
        stack.callback(gc.set_threshold, *threshold)
        stack.enter_context(patch.dict(os.environ, {"COLUMNS": "80"}))
        if cwd is not None:
            stack.enter_context(chdir(cwd))
        stack.enter_context(redirect_stdout(out))
        stack.enter_context(redirect_stderr(err))
        try:
            main(args, prog_name="dwindle")
        except SystemExit as end:
            code = end.code or 0
    return subprocess.CompletedProcess(args, code, out.buffer.getvalue(), err.buffer.getvalue())


_SIGNALLED = """
import importlib, os, signal, sys
from dwindle.cli import main

where, n, number, *args = sys.argv[1:]
module, _, path = where.partition(":")
holder = importlib.import_module(module)
*outer, name = path.split(".")
for each in outer:
    holder = getattr(holder, each)
function, calls = getattr(holder, name), 0

def signalled(*given, **named):
    global calls
    calls += 1
    if calls == int(n):
        os.kill(os.getpid(), int(number))
    return function(*given, **named)

setattr(holder, name, signalled)
main(args, prog_name="dwindle")
"""


def signalled(number, where, n, *args):
    """The words that start a command which sends itself a signal before the n-th call of a function.

    ``where`` is ``module:function`` or ``module:class.method``.
    """
    words = (where, n, int(number), *args)
    return [sys.executable, "-c", _SIGNALLED, *map(str, words)]
