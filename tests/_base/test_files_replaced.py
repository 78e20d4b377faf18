"""A file that is written again stays what it was in all but its content."""

import os
import signal
import stat

import pytest

from dwindle._base.files import check_writable, replacing

pytestmark = pytest.mark.skipif(os.name == "nt", reason="permissions and links are Unix's")


def write(path, content):
    with replacing(path) as file:
        file.write(content)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o664])
def test_permissions_are_kept(mode, tmp_path):
    path = tmp_path / "m"
    path.write_bytes(b"old")
    path.chmod(mode)
    write(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives away")
def test_the_owner_is_kept(tmp_path):
    path = tmp_path / "m"
    path.write_bytes(b"old")
    os.chown(path, 12, 34)
    write(path, b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (12, 34)


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    usual = tmp_path / "usual"
    usual.touch()
    write(tmp_path / "m", b"new")
    assert (tmp_path / "m").stat().st_mode == usual.stat().st_mode


@pytest.mark.parametrize("there", [True, False])
def test_a_symbolic_link_stays_and_what_it_leads_to_is_written(there, tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    if there:
        (folder / "m").write_bytes(b"old")
    (tmp_path / "first").symlink_to("second")
    (tmp_path / "second").symlink_to("elsewhere/m")
    check_writable(tmp_path / "first")
    write(tmp_path / "first", b"new")
    assert (tmp_path / "first").is_symlink()
    assert (tmp_path / "second").is_symlink()
    assert not (folder / "m").is_symlink()
    assert (folder / "m").read_bytes() == b"new"
    assert [each.name for each in folder.iterdir()] == ["m"]


def test_what_a_killed_process_left_behind_is_removed_by_the_next(tmp_path):
    path = tmp_path / "m"
    child = os.fork()
    if not child:
        with replacing(path) as file:
            file.write(b"a part")
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    [left] = tmp_path.iterdir()
    assert left.read_bytes() == b"a part"
    check_writable(tmp_path / "another")
    assert left.exists()
    check_writable(path)
    assert not left.exists()


def test_a_file_that_another_process_still_writes_is_left_alone(tmp_path):
    path = tmp_path / "m"
    (tmp_path / ".m.hidden").write_bytes(b"a user's own")
    with replacing(path) as file:
        file.write(b"first")
        child = os.fork()
        if not child:
            try:
                write(path, b"second")
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first"
    assert {each.name for each in tmp_path.iterdir()} == {"m", ".m.hidden"}


def test_the_folder_is_synced_after_the_file_has_its_name(tmp_path, monkeypatch):
    path, seen, fsync = tmp_path / "m", [], os.fsync

    def watched(file):
        is_folder = stat.S_ISDIR(os.fstat(file).st_mode)
        seen.append((is_folder, path.exists()))
        fsync(file)

    monkeypatch.setattr(os, "fsync", watched)
    write(path, b"new")
    assert seen == [(False, False), (True, True)]
