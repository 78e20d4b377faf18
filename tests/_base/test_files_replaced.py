"""A file that is written again stays what it was in all but its content."""

import os
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
