"""The log and its folder: whatever was appended is read back, whatever was cut short is cut off."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwindle import Batch, DataError
from dwindle.serving.log import FSYNC, SYSTEM, Log, Records
from dwindle.serving.records import named, packed, unpacked
from dwindle.serving.store import Store
from helpers.effort import few_examples

RECORDS = [b"one", b"", b"three" * 100]
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=5)
EXAMPLES = st.lists(
    st.dictionaries(NAMES, st.floats(0.25, 4, width=32), max_size=4), min_size=1, max_size=5
)


def written(folder, records=RECORDS, durability=SYSTEM, number=3):
    log = Log(folder / "log", number, durability)
    for record in records:
        log.append(record)
    log.close()
    return folder / "log"


@few_examples(30)
@given(EXAMPLES, st.booleans())
def test_a_record_gives_back_its_examples_to_the_bit(examples, has_base):
    n = len(examples)
    label = np.resize([1, -1], n)
    base = np.arange(n) / 3 if has_base else None
    batch = Batch.from_dicts(examples, label, np.arange(1, n + 1) / 7, base)
    found, about = unpacked(packed(named(batch), {"loss": "x"}))
    assert about == {"loss": "x"}
    for before, after in zip(batch[:-1], found[:-1], strict=True):
        assert (before is None and after is None) or np.array_equal(before, after)
    assert list(found.names) == list(batch.names)


def test_records_come_back_in_order(tmp_path):
    records = Records(written(tmp_path), 3)
    assert list(records) == RECORDS
    assert records.torn is None


@pytest.mark.parametrize("lost", [1, 5, 499, 501, 530])
def test_a_record_that_was_cut_short_is_told_from_those_before_it(tmp_path, lost):
    path = written(tmp_path)
    os.truncate(path, path.stat().st_size - lost)
    records = Records(path, 3)
    assert list(records) == RECORDS[: 2 if lost < 524 else 1]
    assert records.torn is not None
    assert not records.torn.goes_on


def test_a_damaged_record_before_whole_ones_is_seen_as_such(tmp_path):
    path = written(tmp_path)
    text = bytearray(path.read_bytes())
    text[text.index(b"one")] ^= 1
    path.write_bytes(text)
    records = Records(path, 3)
    assert list(records) == []
    assert records.torn.goes_on


@few_examples(60)
@given(st.data())
def test_no_byte_can_be_changed_unseen(tmp_path_factory, data):
    path = written(tmp_path_factory.mktemp("log"))
    text = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(text) - 1))
    text[at] ^= data.draw(st.integers(1, 255))
    path.write_bytes(text)
    records = Records(path, 3)
    try:
        found = list(records)
    except DataError:
        return
    assert found == RECORDS[: len(found)]
    assert records.torn is not None


def test_a_record_of_another_segment_is_not_taken(tmp_path):
    path = written(tmp_path, number=4)
    with pytest.raises(DataError, match="it was renamed"):
        list(Records(path, 3))


def opened(folder, notes=None, durability=FSYNC):
    return Store(folder, durability, (notes if notes is not None else []).append)


def replayed(store):
    return list(store.replay())


def begun(folder, records=RECORDS):
    store = opened(folder)
    store.begin({})
    assert replayed(store) == []
    for record in records:
        store.append(record)
    return store


def test_a_folder_goes_on_where_it_ended(tmp_path):
    begun(tmp_path).close()
    store = opened(tmp_path)
    assert replayed(store) == RECORDS
    store.append(b"four")
    store.close()
    store = opened(tmp_path)
    assert replayed(store) == [*RECORDS, b"four"]
    store.close()


def test_two_servers_cannot_have_one_folder(tmp_path):
    store = begun(tmp_path)
    with pytest.raises(DataError, match="another server has it"):
        opened(tmp_path)
    store.close()
    opened(tmp_path).close()


def test_a_torn_tail_is_put_aside_and_the_log_goes_on(tmp_path):
    begun(tmp_path).close()
    [path] = tmp_path.glob("log-*.wal")
    with path.open("ab") as file:
        file.write(b"\xd1rec, and then the power was gone")
    notes = []
    store = opened(tmp_path, notes)
    assert replayed(store) == RECORDS
    assert "was cut short" in notes[0]
    assert path.with_suffix(".torn").read_bytes().startswith(b"\xd1rec")
    store.append(b"four")
    store.close()
    store = opened(tmp_path)
    assert replayed(store) == [*RECORDS, b"four"]
    store.close()


def test_damage_before_whole_records_is_refused_unless_durability_was_given_up(tmp_path):
    begun(tmp_path).close()
    [path] = tmp_path.glob("log-*.wal")
    text = bytearray(path.read_bytes())
    text[text.index(b"one")] ^= 1
    path.write_bytes(text)
    store = opened(tmp_path)
    with pytest.raises(DataError, match="whole records follow"):
        replayed(store)
    store.close()
    store = opened(tmp_path, durability=SYSTEM)
    assert replayed(store) == []
    store.close()


@pytest.mark.parametrize("lost", [1, 10**6])
def test_without_fsync_what_follows_a_torn_segment_is_put_aside(tmp_path, lost):
    store = begun(tmp_path)
    for text in (b"second", b"third"):
        store.rotate()
        store.append(text)
    store.close()
    _, second, third = sorted(tmp_path.glob("log-*.wal"))
    os.truncate(second, max(0, second.stat().st_size - lost))
    whole = third.read_bytes()
    store = opened(tmp_path)
    with pytest.raises(DataError, match="--durability os"):
        replayed(store)
    store.close()
    notes = []
    store = opened(tmp_path, notes, SYSTEM)
    assert replayed(store) == RECORDS
    assert "1 later segment" in notes[0]
    assert third.with_suffix(".torn").read_bytes() == whole
    store.append(b"four")
    store.rotate()
    store.append(b"five")
    store.close()
    store = opened(tmp_path)
    assert replayed(store) == [*RECORDS, b"four", b"five"]
    store.close()


def test_snapshots_bound_the_log_and_the_last_but_one_is_kept(tmp_path):
    store = begun(tmp_path)
    for k in range(4):
        number = store.rotate()
        store.keep(number, lambda path, k=k: path.write_bytes(b"snapshot %d" % k))
        store.append(b"after %d" % k)
    names = sorted(path.name for path in tmp_path.iterdir() if path.name[0] in "sl")
    store.close()
    assert [name for name in names if "-" in name] == [
        "log-000000000003.wal",
        "log-000000000004.wal",
        "snapshot-000000000003.parquet",
        "snapshot-000000000004.parquet",
    ]


def load(path):
    text = path.read_bytes()
    if text == b"damaged":
        raise DataError("damaged")
    return text


def test_a_damaged_snapshot_costs_nothing(tmp_path):
    store = begun(tmp_path)
    for k in range(2):
        number = store.rotate()
        store.keep(number, lambda path, k=k: path.write_bytes(b"snapshot %d" % k))
        store.append(b"after %d" % k)
    store.close()
    store = opened(tmp_path)
    assert store.snapshot(load) == b"snapshot 1"
    assert replayed(store) == [b"after 1"]
    store.close()
    (tmp_path / "snapshot-000000000002.parquet").write_bytes(b"damaged")
    notes = []
    store = opened(tmp_path, notes)
    assert store.snapshot(load) == b"snapshot 0"
    assert replayed(store) == [b"after 0", b"after 1"]
    assert notes == ["damaged: going on from the snapshot before it"]
    store.close()


def test_a_folder_of_other_things_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(DataError, match=r"thesis\.tex"):
        opened(tmp_path)


def test_a_lost_segment_is_told(tmp_path):
    store = begun(tmp_path)
    store.rotate()
    store.append(b"later")
    store.close()
    (tmp_path / "log-000000000000.wal").unlink()
    store = opened(tmp_path)
    with pytest.raises(DataError, match="is gone"):
        replayed(store)
    store.close()
