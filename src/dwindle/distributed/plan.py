"""The plan of a run on many machines: what each shard reads, and all that is decided once.

It is a file in the folder of the run. A task knows nothing but this folder and its own numbers.
"""

import json
import os
from bisect import bisect_left
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from dwindle._base import remote
from dwindle._base.checks import NONSENSE
from dwindle._base.errors import DataError, SettingError
from dwindle._base.files import Place, place_of, replacing
from dwindle._base.remote import is_remote, local, shown
from dwindle._base.text import counted
from dwindle.data.compression import COMPRESSIONS, first_bytes, split_extension
from dwindle.data.labels import Labels
from dwindle.data.options import ReadOptions, as_before, kept_reading
from dwindle.data.rows import Rows
from dwindle.data.sources import Slice, Sources, format_by_name, once_only, opened, with_format

FORMAT = 2
LINES = ("vw", "svmlight", "jsonl")  # formats whose files may be cut at any line
SMALLEST = 2**24  # bytes of a shard, if its number is not given
PER_SLOT = 4  # shards for each that can run at once, if there are enough files
TEXT = 2**16  # bytes in which the end of a line is looked for at a time
READ = ("format", "delimiter", "header", "id_column")  # options beside those that a model keeps


class Piece(NamedTuple):
    """A file, or whole lines of it; its size and version are those of the whole file."""

    path: str
    begin: int
    end: int
    size: int
    version: str  # its time, or what its storage says


class Plan(NamedTuple):
    """What all tasks of a run have to know."""

    shards: list[list[Piece]]
    asked: int  # the number of shards that was asked for
    passes: int
    reading: dict[str, Any]
    run: dict[str, Any]  # settings of the run, as they are in JSON
    labels: dict[str, Any]  # as a model's metadata has them
    class_weight: dict[str, float]
    loss: str  # as it is shown
    settings: dict[str, Any]  # of the learner
    compared_after: int  # the pass after which lanes are compared; 0 if they are not

    def paths(self, k: int) -> Sources:
        """Return the data of a shard."""
        found = Sources(
            Slice.of(each.path, each.begin, each.end)
            if each.end < each.size or each.begin
            else each.path
            for each in self.shards[k]
        )
        found.given = tuple(found)
        return found

    @property
    def options(self) -> ReadOptions:
        """How the data is read, in one thread beside the reader's."""
        rest = {name: self.reading[name] for name in READ}
        rest["header"] = tuple(rest["header"])
        return as_before(self.reading, ReadOptions(threads=1, **rest))

    def known_labels(self) -> Labels:
        """Return what labels mean."""
        found = Labels(Labels.in_metadata(self.labels).target, self.class_weight)
        found.of_model = False
        return found

    def to_json(self) -> dict[str, Any]:
        """Return what the plan's file says."""
        said: dict[str, Any] = json.loads(json.dumps({"format": FORMAT} | self._asdict()))
        return said


def reading_of(options: ReadOptions) -> dict[str, Any]:
    """Return the options of reading, fit for JSON."""
    return kept_reading(options) | {name: getattr(options, name) for name in READ}


def plan_file(run: str) -> Place:
    """Return where the plan of a run is."""
    return place_of(f"{run}/plan.json")


def version_of(place: Place) -> str:
    """Return what tells a file from a later one of the same name."""
    if isinstance(place, Path):
        found = place.stat()
        return f"{found.st_mtime_ns} {found.st_size} {found.st_ino}"
    return remote.version(os.fspath(place))


def load_plan(run: str) -> Plan:
    """Read the plan of a run, which a worker does once."""
    return _load_plan(run, version_of(plan_file(run)))


@lru_cache(maxsize=4)
def _load_plan(run: str, _version: str) -> Plan:
    with local(plan_file(run)) as here:
        text = Path(here).read_text(encoding="utf-8")
    try:
        said = json.loads(text)
        is_of_today = said.pop("format") == FORMAT
        shards = [[Piece(*piece) for piece in shard] for shard in said.pop("shards")]
        plan = Plan(shards, **said) if is_of_today else None
    except NONSENSE as error:
        raise DataError(f"{plan_file(run)}: no plan, or damaged: {error}") from None
    if plan is None:
        raise DataError(f"{plan_file(run)}: of another version of dwindle: name another --run")
    return plan


def save_plan(run: str, plan: Plan) -> None:
    """Write the plan of a run, whole or not at all."""
    with replacing(plan_file(run)) as file:
        file.write(json.dumps(plan.to_json(), indent=1).encode())


def check_same(run: str, plan: Plan) -> None:
    """Refuse a folder whose run was planned otherwise; say what is different."""
    here, there = plan.to_json(), load_plan(run).to_json()
    if there["shards"] != here["shards"]:
        n, now = len(there["shards"]), len(here["shards"])
        what = f"{n} shards, now {now}" if n != now else "data that is not the same any more"
        raise _other(run, what)
    for name in here:
        if here[name] != there[name]:
            which = (
                _first_difference(here[name], there[name]) if isinstance(here[name], dict) else ""
            )
            raise _other(run, f"other {(which or name).replace('_', ' ')}")


def _first_difference(here: dict[str, Any], there: dict[str, Any]) -> str:
    return next(name for name in here | there if here.get(name) != there.get(name))


def _other(run: str, what: str) -> DataError:
    return DataError(
        f"{shown(run)}: a run with {what} was begun here: repeat its command, or name another --run"
    )


def check_files(files: Sources) -> None:
    """Refuse data that not every machine could read, or not twice."""
    if any(isinstance(path, Rows) for path in files):
        raise SettingError("--on reads files: write what a query or a stream gives to files first")
    if once_only(files):
        raise SettingError("--on reads files that every machine can open, not a pipe")


def shards_of(
    files: Sources, options: ReadOptions, shards: int | None, slots: int
) -> list[list[Piece]]:
    """Deal the data to shards of about as many bytes each, in the order of its names.

    Files of lines that are not compressed are cut at lines; others are dealt as they are. Without a
    number there is a shard for each file, but neither fewer than can run at once nor `PER_SLOT`
    times as many, and none is very small.
    """
    whole = [_whole(path) for path in files]
    total = sum(each.size for each in whole)
    if not total:
        raise DataError(f"{' '.join(files.given)}: no examples to learn from")
    if shards is None:
        wanted = min(max(len(whole), slots), PER_SLOT * slots)
        shards = max(min(wanted, total // SMALLEST), 1)
    bounds = [round(k * total / shards) for k in range(1, shards)]
    dealt: list[list[Piece]] = [[] for _ in range(shards)]
    before = 0
    for each in whole:
        inside = [bound - before for bound in bounds if before < bound < before + each.size]
        if inside and _can_be_cut(each, options):
            cuts = sorted({0, each.size, *(_line_after(each.path, at, each.size) for at in inside)})
        else:
            cuts = [0, each.size]
        for begin, end in pairwise(cuts):
            middle = before + (begin + end) / 2
            dealt[bisect_left(bounds, middle)].append(each._replace(begin=begin, end=end))
        before += each.size
    return [pieces for pieces in dealt if pieces]


def _whole(path: str) -> Piece:
    if is_remote(path):
        size = remote.size(path)
        if size is None:
            raise DataError(f"{shown(path)}: nobody says how large it is, so it cannot be dealt")
        return Piece(path, 0, size, size, remote.version(path))
    found = os.stat(path)  # noqa: PTH116  (there may be many)
    when = f"{found.st_mtime:.6f}"
    return Piece(os.path.abspath(path), 0, found.st_size, found.st_size, when)  # noqa: PTH100  (links stay)


def _can_be_cut(piece: Piece, options: ReadOptions) -> bool:
    """Whether a file is lines as they are, of a format in which each is an example."""
    if remote.is_http(piece.path) or split_extension(piece.path)[1] is not None:
        return False
    name = options.format or format_by_name(piece.path)
    with opened(piece.path) as source:
        if name is None:
            name = with_format(source, options)[0].name
    with _raw(piece.path, 0) as file:
        head = first_bytes(file)
    return name in LINES and not any(head.startswith(each.magic) for each in COMPRESSIONS)


def _raw(path: str, at: int) -> Any:
    if is_remote(path):
        return remote.opened(path, at)
    file = Path(path).open("rb")  # noqa: SIM115  (the caller closes it)
    file.seek(at)
    return file


def _line_after(path: str, at: int, size: int) -> int:
    """Return where the first line begins at or after a byte."""
    with _raw(path, at - 1) as file:
        done = at - 1
        while some := file.read(TEXT):
            place = some.find(b"\n")
            if place >= 0:
                return int(min(done + place + 1, size))
            done += len(some)
    return size


def line_before(path: str, begin: int) -> int:
    """Count the lines of a file before a byte."""
    n = 0
    with _raw(path, 0) as file:
        while begin > 0 and (some := file.read(min(begin, 2**22))):
            n += some.count(b"\n")
            begin -= len(some)
    return n


def told_sizes(plan: Plan) -> str:
    """Say how the data is dealt.

    >>> one = Piece("a.vw", 0, 10, 10, "")
    >>> told_sizes(Plan([[one], [one]], 2, 1, {}, {}, {}, {}, "", {}, 0))
    '2 shards of 1 file'
    """
    files = {piece.path for shard in plan.shards for piece in shard}
    return f"{counted(len(plan.shards), 'shard')} of {counted(len(files), 'file')}"
