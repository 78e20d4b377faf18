"""A forked process whose system calls another one sees first: it may let one fail, or kill.

Linux tells a supervisor of the chosen calls (seccomp's user notification), whoever makes them:
Python, Arrow or compiled code. No compiler, no debugger and no rights are needed.
"""

import contextlib
import ctypes
import faulthandler
import fcntl
import os
import platform
import select
import signal
import struct
import sys
import time
from typing import NamedTuple

NUMBERS = {
    "read": 0, "write": 1, "mmap": 9, "brk": 12, "pread64": 17, "pwrite64": 18, "writev": 20,
    "mremap": 25, "fsync": 74, "fdatasync": 75, "ftruncate": 77, "rename": 82, "link": 86,
    "unlink": 87, "openat": 257, "unlinkat": 263, "renameat": 264, "linkat": 265,
    "fallocate": 285, "renameat2": 316,
}  # fmt: skip
NAMES = {number: name for name, number in NUMBERS.items()}
PATHS = {  # which argument is a path that the call is about
    "rename": 1, "renameat": 3, "renameat2": 3, "link": 1, "linkat": 3, "unlink": 0,
    "unlinkat": 1, "openat": 1,
}  # fmt: skip
WITHOUT_FILE = {"brk", "mremap"}
FD_OF = {"mmap": 4}  # which argument is a descriptor, if not the first
SUPPORTED = sys.platform == "linux" and platform.machine() == "x86_64"

_SECCOMP, _PIDFD_GETFD = 317, 438
_SET_FILTER, _NEW_LISTENER, _NO_NEW_PRIVS = 1, 8, 38
_ALLOW, _NOTIFY = 0x7FFF0000, 0x7FC00000
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_CONTINUE = 1
_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class Event(NamedTuple):
    """A system call that is about to happen."""

    name: str
    path: str  # of the file it is about; "" for memory
    args: tuple[int, ...]


class End(NamedTuple):
    """How the process ended: its exit code, or minus the signal; and what it said."""

    code: int
    said: str
    events: list[Event]


class _Filter(ctypes.Structure):
    _fields_ = [("n", ctypes.c_ushort), ("code", ctypes.c_void_p)]


def _install(names):
    """Have the supervisor told of these calls."""
    rows = [struct.pack("HBBI", 0x20, 0, 0, 0)]  # load the number
    wanted = [NUMBERS[name] for name in names]
    for i, number in enumerate(wanted):
        rows.append(struct.pack("HBBI", 0x15, len(wanted) - i, 0, number))
    rows += [struct.pack("HBBI", 0x06, 0, 0, _ALLOW), struct.pack("HBBI", 0x06, 0, 0, _NOTIFY)]
    code = ctypes.create_string_buffer(b"".join(rows))
    program = _Filter(len(rows), ctypes.cast(code, ctypes.c_void_p))
    _libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    if _libc.syscall(_SECCOMP, _SET_FILTER, _NEW_LISTENER, ctypes.byref(program)) < 0:
        os._exit(71)


def supervised(work, names, decide, *, seconds=120):
    """Run ``work`` in a forked process; return its `End`.

    ``decide(event)`` is called before each of the calls named: None lets it happen, a number is the
    errno it fails with, and `signal.SIGKILL` kills the process before it. After so many seconds the
    process says where it waits, and is killed.
    """
    said, said_end = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(said)
        _child(work, names, said_end)
    os.close(said_end)
    listener = _listener_of(pid)
    events = []
    text = _watched(pid, listener, said, decide, events, time.monotonic() + seconds)
    _, status = os.waitpid(pid, 0)
    for each in (listener, said):
        if each is not None:
            os.close(each)
    return End(os.waitstatus_to_exitcode(status), text.decode(errors="replace"), events)


def _child(work, names, said):
    code = 70  # of a traceback
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        os.dup2(said, 2)
        faulthandler.register(signal.SIGUSR1, file=2, all_threads=False)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w", 1)
        _install(names)
        work()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException:  # noqa: BLE001  (it is told, and the process ends)
        import traceback  # noqa: PLC0415  (only if a test fails)

        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
        with contextlib.suppress(BaseException):
            sys.stderr.flush()
        os._exit(code)


def _listener_of(pid):
    """Take a copy of the descriptor that the child got with its filter."""
    process = os.pidfd_open(pid)
    try:
        while True:
            with contextlib.suppress(OSError):
                for name in os.listdir(f"/proc/{pid}/fd"):
                    if "seccomp" in os.readlink(f"/proc/{pid}/fd/{name}"):
                        found = _libc.syscall(_PIDFD_GETFD, process, int(name), 0)
                        if found >= 0:
                            return found
            if select.select([process], [], [], 0.0005)[0]:
                return None  # it has ended
    finally:
        os.close(process)


def _watched(pid, listener, said, decide, events, until):
    """Answer until the process has ended; return what it said."""
    text, asked = b"", False
    poll = select.poll()
    for each in (listener, said):
        if each is not None:
            poll.register(each, select.POLLIN)
    is_open = {each for each in (listener, said) if each is not None}
    while is_open:
        if time.monotonic() > until:  # first let it say where it waits
            os.kill(pid, signal.SIGUSR1 if not asked else signal.SIGKILL)
            asked, until = True, time.monotonic() + 0.5
        for each, what in poll.poll(200):
            if each == said:
                more = os.read(said, 2**16)
                text += more
                if more:
                    continue
            elif what & select.POLLIN:
                _answer(pid, listener, decide, events)
                continue
            poll.unregister(each)
            is_open.discard(each)
    return text


def _answer(pid, listener, decide, events):
    notice = bytearray(80)
    try:
        fcntl.ioctl(listener, _RECEIVE, notice)
    except OSError:  # it was killed meanwhile
        return
    who, thread, _, number, _, _, *args = struct.unpack("=QIIiIQ6Q", notice)
    event = _event(thread, NAMES[number], tuple(args))
    events.append(event)
    answer = decide(event)
    if answer == signal.SIGKILL:
        os.kill(pid, signal.SIGKILL)
        return
    value, error, flags = (0, 0, _CONTINUE) if answer is None else (0, -int(answer), 0)
    if event.name == "brk" and answer is not None:  # it fails by changing nothing
        value, error = _heap_end(thread), 0
    with contextlib.suppress(OSError):
        fcntl.ioctl(listener, _SEND, bytearray(struct.pack("=QqiI", who, value, error, flags)))


def _heap_end(thread):
    with open(f"/proc/{thread}/maps") as maps:
        heaps = [line.split()[0] for line in maps if line.endswith("[heap]\n")]
    return max(int(heap.split("-")[1], 16) for heap in heaps)


def _event(thread, name, args):
    path = ""
    if name in PATHS:
        path = _text(thread, args[PATHS[name]])
    elif name not in WITHOUT_FILE:
        fd = ctypes.c_int(args[FD_OF.get(name, 0)] & 0xFFFFFFFF).value
        if fd >= 0:
            with contextlib.suppress(OSError):
                path = os.readlink(f"/proc/{thread}/fd/{fd}")
    return Event(name, path, args)


def _text(thread, address):
    """Read a path in the memory of the process."""
    try:
        with open(f"/proc/{thread}/mem", "rb", 0) as memory:
            memory.seek(address)
            return os.fsdecode(memory.read(4096).partition(b"\0")[0])
    except OSError:
        return ""
