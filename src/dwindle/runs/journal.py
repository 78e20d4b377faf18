"""What long work has finished, line by line in a file, so that it can be stopped and goes on."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dwindle._base.errors import DataError
from dwindle._base.files import unwritable

BEGIN = b'{"about": '


class Journal:
    """Results by name, each appended to the file as soon as it is known.

    The first line says what the work is ``about``. A file in which other work is finished is not
    gone on with: it is refused by name. A last line that was cut short is as if it had not been
    written. Until something is finished there is no file.
    """

    def __init__(self, path: str | os.PathLike[str], about: Any) -> None:
        self.path = Path(path)
        self._done: dict[str, Any] = {}
        said = json.loads(json.dumps(about))  # as it reads back
        text = self.path.read_bytes() if self.path.exists() else b""
        if not text.startswith(BEGIN[: len(text)]):
            raise self._foreign()
        if whole := text[: text.rfind(b"\n") + 1]:
            first, *lines = map(self._read, whole.splitlines())
            if lines and first != {"about": said}:
                raise DataError(
                    f"{self.path}: was written with other settings or other data: repeat the "
                    "command as it was, or remove the file to begin anew"
                )
            self._done = dict(lines)
        self._head = b"" if self._done else _line({"about": said})
        if text:
            os.truncate(self.path, len(whole) if self._done else 0)

    def __contains__(self, name: str) -> bool:
        return name in self._done

    def __getitem__(self, name: str) -> Any:
        return self._done[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._done)

    def __len__(self) -> int:
        return len(self._done)

    def add(self, name: str, result: Any) -> None:
        """Append the result of finished work."""
        line = _line([name, result])
        self._done[name] = json.loads(line)[1]
        try:
            with self.path.open("ab") as file:
                file.write(self._head + line)
        except OSError as error:
            raise unwritable(self.path, error) from None
        self._head = b""

    def _read(self, line: bytes) -> Any:
        try:
            return json.loads(line)
        except ValueError:
            raise self._foreign() from None

    def _foreign(self) -> DataError:
        return DataError(f"{self.path}: is not a journal of this program: remove it to begin anew")


def _line(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"
