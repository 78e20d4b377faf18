"""The folder of a server that learns: its settings, its two newest snapshots and the log since.

| file | holds |
|---|---|
| ``settings.json`` | how to learn and how to read requests, from the first start on |
| ``snapshot-N.parquet`` | the learner, before the first record of segment N |
| ``log-N.wal`` | segment N of the log |
| ``lock`` | is locked while a server runs |

A snapshot begins a new segment. Once it is durable, what came before the snapshot before it is
deleted. So a restart reads the newest snapshot and replays a segment or two, and should that
snapshot be damaged, the one before it and the log give the same weights.
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from dwindle._base.errors import DataError
from dwindle._base.files import PARTIAL, replacing
from dwindle._base.system import lock_handle, sync_folder
from dwindle.serving.log import FSYNC, NONE, Log, Records

SETTINGS = "settings.json"
Loaded = TypeVar("Loaded")
_NUMBERED = re.compile(r"(snapshot|log)-(\d{12})\.(parquet|wal)")


class Store:
    """The files of a server that learns; only one server has them at a time."""

    def __init__(
        self, folder: str | os.PathLike[str], durability: str, note: Callable[[str], None]
    ) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise DataError(f"{folder}: a file: --learn names a folder, which holds everything")
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = _locked(self.folder)
        self._durability, self._note = durability, note
        try:
            self._check_own()
        except DataError:
            self.close()
            raise
        self.log: Log | None = None
        self.replayed = 0  # records, when it was opened
        self._first = 0  # segment after the snapshot

    def _check_own(self) -> None:
        """Refuse a folder of other things; remove what a killed server was writing."""
        for path in self.folder.glob(f".*{PARTIAL}"):
            path.unlink(missing_ok=True)
        there = [path.name for path in self.folder.iterdir() if not path.name.startswith(".")]
        if SETTINGS not in there and (strange := sorted({*there} - {"lock"})):
            raise DataError(
                f"{self.folder}: has other files, as {strange[0]}: name a new or an empty folder"
            )

    @property
    def settings(self) -> dict[str, Any] | None:
        """What was said at the first start; None before it."""
        path = self.folder / SETTINGS
        if not path.exists():
            return None
        try:
            found = json.loads(path.read_bytes())
        except ValueError as error:
            raise DataError(f"{path}: damaged: {error}") from None
        if not isinstance(found, dict):
            raise DataError(f"{path}: damaged: expected an object")
        return found

    def begin(self, settings: dict[str, Any]) -> None:
        """Write the settings of the first start."""
        with replacing(self.folder / SETTINGS) as file:
            file.write(json.dumps(settings, indent=1).encode())

    def _numbered(self, kind: str) -> dict[int, Path]:
        found = {}
        for path in self.folder.iterdir():
            match = _NUMBERED.fullmatch(path.name)
            if match and match[1] == kind:
                found[int(match[2])] = path
        return dict(sorted(found.items()))

    @property
    def has_snapshot(self) -> bool:
        """Whether anything was kept."""
        return bool(self._numbered("snapshot"))

    def snapshot(self, load: Callable[[Path], Loaded]) -> Loaded | None:
        """Load the newest snapshot that is whole; None if there is none."""
        found = self._numbered("snapshot")
        for number in reversed(found):
            try:
                loaded = load(found[number])
            except DataError as error:
                if number == min(found):
                    raise
                self._note(f"{error}: going on from the snapshot before it")
            else:
                self._first = number
                return loaded
        return None

    def replay(self) -> Iterator[bytes]:
        """Yield the records since the snapshot, in order; afterwards the log can be appended to."""
        first, segments = self._first, self._numbered("log")
        wanted = [number for number in segments if number >= first]
        if wanted and wanted != list(range(first, first + len(wanted))):
            raise DataError(
                f"{self.folder}: segment {first} of the log, or one after it, is gone: put it back"
            )
        found = None
        for number in wanted:
            found = Records(segments[number], number)
            for record in found:
                self.replayed += 1
                yield record
            if found.torn is not None:
                self._mend(found, [segments[n] for n in wanted if n > number])
                break
        if found is None or not found.good or self._durability == NONE:
            self.log = self._segment(first if found is None else found.number + bool(found.good))
        else:
            self.log = Log.going_on(found.path, found.number, found, self._durability)

    def _mend(self, found: Records, later: list[Path]) -> None:
        """Put aside what was being written when the server ended, and refuse any other damage.

        Without ``fsync`` any part of the log may be lost with the power: then all that follows is
        put aside, the ``later`` segments as well.
        """
        torn = found.torn
        assert torn is not None
        where = f"{found.path}: damaged at byte {torn.at}: {torn.why}"
        goes_on = torn.goes_on or bool(later)
        if goes_on and self._durability == FSYNC:
            raise DataError(
                f"{where}, and whole records follow: put back a copy of the folder, or start with "
                "--durability os to go on without what follows"
            )
        for path in reversed(later):  # so that, should this be ended, none is missing in between
            path.replace(path.with_suffix(".torn"))
        aside = found.path.with_suffix(".torn")
        text = found.path.read_bytes()
        aside.write_bytes(text[torn.at :])
        if torn.at:
            os.truncate(found.path, torn.at)
        else:
            found.path.unlink()
        sync_folder(self.folder)
        what = "a write that nobody was answered was cut short"
        if goes_on:
            more = f", {len(later)} later segment{'s' * (len(later) > 1)} too" if later else ""
            what = f"going on without what follows{more}"
        files = ", ".join(str(path.with_suffix(".torn")) for path in (found.path, *later))
        self._note(f"{where}: {what}; its {len(text) - torn.at:,} bytes are in {files}")

    def _segment(self, number: int) -> Log:
        return Log(self.folder / f"log-{number:012}.wal", number, self._durability)

    def append(self, record: bytes) -> None:
        """Append a record to the log and make it durable."""
        assert self.log is not None
        self.log.append(record)

    def rotate(self) -> int:
        """Begin a new segment; return its number, which is that of the snapshot to write now."""
        assert self.log is not None
        number = self.log.number + 1
        after = self._segment(number)  # should there be no room, the log is as it was
        self.log.close()
        self.log = after
        return number

    def keep(self, number: int, write: Callable[[Path], object]) -> None:
        """Write the snapshot before segment ``number``, then delete what came before it."""
        write(self.folder / f"snapshot-{number:012}.parquet")
        self._clear()

    def _clear(self) -> None:
        """Delete what came before the last snapshot but one."""
        before = [0, *self._numbered("snapshot")]
        first = before[-2] if len(before) > 1 else 0
        for kind in ("log", "snapshot"):
            for number, path in self._numbered(kind).items():
                if number < first:
                    path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the log, and let another server have the folder."""
        log = getattr(self, "log", None)
        if log is not None:
            log.close()
        os.close(self._lock)


def _locked(folder: Path) -> int:
    """Lock a folder for this process; the system unlocks it when the process ends."""
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        lock_handle(handle)
    except OSError:
        os.close(handle)
        raise DataError(f"{folder}: another server has it: stop that one first") from None
    return handle
