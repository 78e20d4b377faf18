"""Files behind a URL: real servers on this machine, one of which cuts connections."""

import io
import os
import re
import socket
import subprocess
import sys
import threading
from base64 import b64encode
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dwindle
from dwindle import DataError, SettingError, TrainSettings
from dwindle._base import remote
from dwindle._base.files import check_apart, place_of, unwritable
from dwindle.data.sources import sources
from helpers.buckets import bucket
from helpers.commands import dwindle as command
from helpers.compression import COMPRESSED

TEXT = "".join(f"{i % 2} |a x{i % 7} |b y:{i % 5}\n" for i in range(4000))
BASIC = "Basic " + b64encode(b"me:pass@word").decode()


class Quiet(SimpleHTTPRequestHandler):
    """Python's own server, which knows no ranges."""

    asked: list[str]

    def log_message(self, *_):
        pass


class Ranged(Quiet):
    """A server that knows ranges, and ends each answer after so many bytes."""

    most = 20_000
    failures = 0

    def do_GET(self):
        cls = type(self)
        path = self.translate_path(self.path)
        if not Path(path).is_file():
            self.send_error(403 if "secret" in path else 404)
            return
        if cls.failures:
            cls.failures -= 1
            self.send_error(503)
            return
        content = Path(path).read_bytes()
        wanted = re.match(r"bytes=(\d+)-", self.headers.get("Range", ""))
        first = int(wanted[1]) if wanted else 0
        cls.asked.append(first)
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(content) - first))
        if wanted:
            self.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
        self.send_header("ETag", cls.tag(content))
        self.end_headers()
        self.wfile.write(content[first : first + cls.most])  # and closes, whatever is left

    @staticmethod
    def tag(content):
        return f'"{hash(content)}"'


class Forgetful(Quiet):
    """A server that knows no ranges, and cuts the first answers, each a little later."""

    def do_GET(self):
        type(self).asked.append(self.headers.get("Range"))
        content = Path(self.translate_path(self.path)).read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: 20_000 * len(type(self).asked)])


class Wrong(Forgetful):
    """A server that answers the first questions for a range with another one, or without saying."""

    said: tuple[str, ...] = ("bytes 0-9/99", "")

    def do_GET(self):
        if "Range" not in self.headers:
            super().do_GET()
            return
        said = self.said[len(self.asked) % len(self.said)]
        self.send_response(206)
        self.send_header("Content-Length", "10")
        if said:
            self.send_header("Content-Range", said)
        self.end_headers()
        self.wfile.write(b"not these!")


class Guarded(Quiet):
    """A server that wants a user and a password, and refers to another place."""

    def do_GET(self):
        type(self).asked.append(self.headers.get("Authorization"))
        if self.path.startswith("/moved/"):
            self.send_response(302)
            self.send_header("Location", self.path.replace("/moved", ""))
            self.end_headers()
        elif self.headers.get("Authorization") != BASIC:
            self.send_error(401)
        else:
            super().do_GET()

    def do_HEAD(self):
        self.do_GET()


@pytest.fixture
def served(tmp_path):
    """Start a server of a folder; returns its address and class."""
    running = []

    def start(kind):
        handler = type("Handler", (kind,), {"asked": [], "directory": None})
        server = ThreadingHTTPServer(
            ("127.0.0.1", 0), lambda *given: handler(*given, directory=str(tmp_path))
        )
        threading.Thread(target=server.serve_forever, daemon=True).start()
        running.append(server)
        return f"http://127.0.0.1:{server.server_port}", handler

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(remote, "PAUSE", 0.001)


def weights(path):
    return dwindle.Model.load(path).weights()


@pytest.mark.parametrize("kind", [Quiet, Ranged])
@pytest.mark.parametrize("extension", ["", ".gz", ".zst"])
def test_data_over_http_is_learned_as_the_file_is(tmp_path, served, kind, extension):
    (tmp_path / "d.vw").write_text(TEXT)
    if extension:
        (tmp_path / f"d.vw{extension}").write_bytes(COMPRESSED[extension](TEXT.encode()))
    address, handler = served(kind)
    command("train", tmp_path / "d.vw", "--dense", "-q", "-m", tmp_path / "here.parquet")
    url = f"{address}/d.vw{extension}?signature=secret"
    done = command("train", url, "--dense", "-m", tmp_path / "there.parquet", text=True)
    assert weights(tmp_path / "here.parquet") == weights(tmp_path / "there.parquet")
    assert "secret" not in done.stderr
    if kind is Ranged and not extension:
        assert handler.asked[:3] == [0, 20_000, 40_000]


@pytest.mark.parametrize("kind", [Quiet, Ranged])
def test_tables_and_models_over_http_are_those_of_the_file(tmp_path, served, kind):
    rows = pa.table({"label": [0, 1] * 500, "x": [float(i % 13) for i in range(1000)]})
    pq.write_table(rows, tmp_path / "d.parquet")
    command("train", tmp_path / "d.parquet", "--dense", "-q", "-m", tmp_path / "m.parquet")
    address, handler = served(kind)
    handler.most = 1000
    command("train", f"{address}/d.parquet", "--dense", "-q", "-m", tmp_path / "n.parquet")
    assert weights(tmp_path / "m.parquet") == weights(tmp_path / "n.parquet")
    here = command("predict", tmp_path / "m.parquet", tmp_path / "d.parquet")
    there = command("predict", f"{address}/m.parquet", f"{address}/d.parquet")
    assert here.stdout == there.stdout


def test_an_error_names_the_url_and_the_line(tmp_path, served):
    (tmp_path / "d.vw").write_text("1 |a x\n1 |a x:what:now\n")
    (tmp_path / "d.csv").write_text("label,x\n1,2\n0,3,4\n")
    (tmp_path / "d.parquet").write_bytes(b"PAR1 but no more")
    address, _ = served(Ranged)
    for name, told in (("d.vw", ":2: "), ("d.csv", ":3: "), ("d.parquet", ": cannot be read")):
        done = command("train", f"{address}/{name}", "-m", tmp_path / "m", check=False, text=True)
        assert done.returncode == 1
        assert f"{address}/{name}{told}" in done.stderr.splitlines()[-1]


def test_what_is_not_there_or_forbidden_is_said_in_one_line(tmp_path, served):
    address, _ = served(Ranged)
    for name, told in (("no.vw", "no such file"), ("secret.vw", "access is denied")):
        done = command("train", f"{address}/{name}", "-m", tmp_path / "m", check=False, text=True)
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1] == f"dwindle: {address}/{name}: {told}" + (
            ": 403 Forbidden" if "secret" in name else ""
        )
    done = command("inspect", f"{address}/no.parquet", check=False, text=True)
    assert (done.returncode, done.stderr) == (1, f"dwindle: {address}/no.parquet: no such file\n")


def test_a_server_that_is_busy_is_asked_again_and_one_that_stays_so_is_given_up(tmp_path, served):
    (tmp_path / "d.vw").write_text(TEXT)
    address, handler = served(Ranged)
    handler.failures, handler.most = 0, 10**9
    with remote.opened(f"{address}/d.vw") as file:
        assert len(file.read()) == len(TEXT)
    handler.most = 1000
    with remote.opened(f"{address}/d.vw") as file:
        assert file.read(500) == TEXT[:500].encode()
        handler.failures = 3
        assert len(file.read()) == len(TEXT) - 500
    with remote.opened(f"{address}/d.vw") as file:
        file.read(500)
        handler.failures = 10**6
        with pytest.raises(OSError, match="the connection was cut 5 times: 503"):
            file.read()


def test_a_server_without_ranges_is_read_again_up_to_where_it_was_cut(tmp_path, served):
    (tmp_path / "d.vw").write_text(TEXT)
    address, handler = served(Forgetful)
    with remote.opened(f"{address}/d.vw") as file:
        assert file.read() == TEXT.encode()
    assert handler.asked[:3] == [None, "bytes=20000-", "bytes=40000-"]


def test_a_part_that_was_not_asked_for_is_not_taken_for_the_one_that_was(tmp_path, served):
    (tmp_path / "d.vw").write_text(TEXT)
    address, handler = served(Wrong)
    with remote.opened(f"{address}/d.vw") as file:
        assert file.read() == TEXT.encode()
    assert len(handler.asked) > 2


def test_user_and_password_are_sent_to_their_server_alone_and_shown_to_nobody(tmp_path, served):
    (tmp_path / "d.vw").write_text(TEXT)
    address, handler = served(Guarded)
    with_user = address.replace("//", "//me:pass%40word@")
    with remote.opened(f"{with_user}/d.vw") as file:
        assert file.read() == TEXT.encode()
    assert remote.size(f"{with_user}/d.vw") == len(TEXT)
    assert set(handler.asked) == {BASIC}
    with pytest.raises(DataError, match="access is denied: 401") as denied:
        remote.opened(f"{with_user}/moved/d.vw")
    assert handler.asked[-2:] == [BASIC, None]
    assert str(denied.value).startswith(f"{address}/moved/d.vw: ")


@pytest.mark.parametrize(
    "url",
    [
        "http://me:sesame@127.0.0.1:port/d.vw",
        "http://me:sesame@127.0.0.1:1/d.vw",
        "http://me:sesame@127.0.0.1:1/d.parquet?key=sesame",
        "http://me:sesame@127.0.0.1:1/a b?key=sesame",
        "http://me:sesame@[/d.vw",
        "ftp://me:sesame@127.0.0.1:1/d.vw",
        "gopher://me:sesame@127.0.0.1/d.vw",
    ],
)
def test_what_cannot_be_reached_is_said_in_one_line_without_the_password(tmp_path, url):
    (tmp_path / "d.vw").write_text(TEXT)
    for words in (
        ("train", url, "-m", tmp_path / "m"),
        ("train", tmp_path / "d.vw", "-m", url),
        ("inspect", url),
    ):
        done = command(*words, check=False, text=True)
        assert done.returncode in {1, 2}
        assert f": {remote.shown(url)}: " in done.stderr.splitlines()[-1], done.stderr
        assert "sesame" not in done.stderr
        assert "Traceback" not in done.stderr


def test_an_answer_that_is_not_http_is_said_in_one_line():
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            there, _ = server.accept()
            with there:
                there.recv(2**16)
                there.sendall(b"what?\r\n\r\n")

        threading.Thread(target=answer, daemon=True).start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/d.vw"
        with pytest.raises(DataError, match=f"^{re.escape(url)}: cannot be read: what"):
            remote.opened(url)


def test_messages_about_files_name_urls_without_the_password():
    url = "ftp://me:sesame@host/a/b?.vw"
    assert remote.shown(url) == "ftp://host/a/b?.vw"
    assert str(unwritable(url, OSError("full"))) == "ftp://host/a/b?.vw: cannot be written: full"
    assert (str(place_of(url)), os.fspath(place_of(url))) == (remote.shown(url), url)
    with pytest.raises(DataError, match=r"^ftp://host/") as same:
        check_apart(url, [url])
    assert "sesame" not in str(same.value)


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, served):
    (tmp_path / "d.vw").write_text(TEXT)
    address, handler = served(Ranged)
    with remote.opened(f"{address}/d.vw") as file:
        file.read(100)
        (tmp_path / "d.vw").write_text(TEXT[::-1])
        with pytest.raises(DataError, match="changed while it was read"):
            file.read()
    assert handler.asked[1] == handler.most


def test_nothing_is_written_over_http(served, tmp_path):
    address, _ = served(Quiet)
    (tmp_path / "d.vw").write_text(TEXT)
    done = command("train", tmp_path / "d.vw", "-m", f"{address}/m", check=False, text=True)
    assert done.returncode == 2
    assert "files are read over HTTP, not written" in done.stderr


# S3


@pytest.fixture(scope="module")
def s3():
    """A bucket on a server of moto."""
    with bucket() as files:
        yield files


@pytest.mark.slow
def test_a_run_from_s3_to_s3_is_that_of_the_files_and_goes_on_from_there(tmp_path, s3):
    (tmp_path / "d.vw").write_text(TEXT)
    half = TEXT.index("\n", len(TEXT) // 2) + 1
    s3.pipe_file("bucket/days/1.vw", TEXT[:half].encode())
    s3.pipe_file("bucket/days/2.vw.gz", COMPRESSED[".gz"](TEXT[half:].encode()))
    s3.pipe_file("bucket/days/.hidden", b"no")
    words = ("--gravity", "1e-3", "--passes", "2", "-q", "--save-state")
    command("train", tmp_path / "d.vw", *words, "-m", tmp_path / "m.parquet")
    for source in ("s3://bucket/days", "s3://bucket/days/*.vw*"):
        command("train", source, *words, "-m", "s3://bucket/models/m.parquet")
        assert weights("s3://bucket/models/m.parquet") == weights(tmp_path / "m.parquet")
    more = ("--start-from", "s3://bucket/models/m.parquet", "-q", "-m")
    command("train", "s3://bucket/days/1.vw", *more, "s3://bucket/models/n.parquet")
    command(
        "train",
        "s3://bucket/days/1.vw",
        "--start-from",
        tmp_path / "m.parquet",
        "-q",
        "-m",
        tmp_path / "n.parquet",
    )
    assert weights("s3://bucket/models/n.parquet") == weights(tmp_path / "n.parquet")
    there = command(
        "predict",
        "s3://bucket/models/n.parquet",
        "s3://bucket/days/1.vw",
        "-o",
        "s3://bucket/p.txt",
    )
    here = command("predict", tmp_path / "n.parquet", "s3://bucket/days/1.vw")
    assert there.stdout == b""
    assert s3.cat_file("bucket/p.txt") == here.stdout
    assert sorted(s3.find("bucket/models")) == [
        "bucket/models/m.parquet",
        "bucket/models/n.parquet",
    ]


@pytest.mark.slow
def test_a_stopped_run_goes_on_from_its_checkpoint_in_s3(tmp_path, s3):
    s3.pipe_file("bucket/d.vw", TEXT.encode())

    class Impatient(dwindle.Observer):
        def should_stop(self):
            return True

    settings = TrainSettings(gravity=1e-3, passes=3)
    dwindle.train(["s3://bucket/d.vw"], tmp_path / "whole.parquet", settings)
    with pytest.raises(dwindle.Stopped) as stopped:
        dwindle.train(
            ["s3://bucket/d.vw"], "s3://bucket/stopped.parquet", settings, observer=Impatient()
        )
    assert str(stopped.value) == "s3://bucket/stopped.parquet.checkpoint"
    assert s3.exists("bucket/stopped.parquet.checkpoint")
    assert not s3.exists("bucket/stopped.parquet")
    dwindle.train(["s3://bucket/d.vw"], "s3://bucket/stopped.parquet", settings, resume=True)
    assert weights("s3://bucket/stopped.parquet") == weights(tmp_path / "whole.parquet")
    assert not s3.exists("bucket/stopped.parquet.checkpoint")


def test_what_is_wrong_in_s3_is_said_in_one_line(tmp_path, s3):
    (tmp_path / "d.vw").write_text(TEXT)
    s3.pipe_file("bucket/bad.vw", b"1 |a x\n1 |a x:what:now\n")
    for words, told in (
        (("train", "s3://bucket/none.vw", "-m", "m"), "s3://bucket/none.vw: no such file"),
        (
            ("train", "s3://bucket/none*.vw", "-m", "m"),
            "s3://bucket/none*.vw: no such file or folder",
        ),
        (("train", "s3://bucket/bad.vw", "-m", "m"), "s3://bucket/bad.vw:2: "),
        (("inspect", "s3://bucket/none.parquet"), "s3://bucket/none.parquet: no such file"),
        (("inspect", "s3://bucket/bad.vw"), "s3://bucket/bad.vw: not a model"),
        (
            ("train", tmp_path / "d.vw", "-m", "s3://nowhere/m"),
            "s3://nowhere/m: there is no bucket nowhere",
        ),
        (
            ("convert", "s3://bucket/bad.vw", "s3://bucket/bad.vw", "--to", "vw"),
            "is read here and would be written over",
        ),
    ):
        done = command(*words, cwd=tmp_path, check=False, text=True)
        assert done.returncode == 1, done.stderr
        assert told in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "words", ["train s3://b/d.vw -m m", "train d.vw -m s3://b/m", "inspect s3://b/m"]
)
def test_s3_without_credentials_is_said_in_one_line(tmp_path, words):
    pytest.importorskip("s3fs")
    (tmp_path / "d.vw").write_text(TEXT)
    none = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    none |= {"HOME": str(tmp_path), "AWS_EC2_METADATA_DISABLED": "true"}
    done = subprocess.run(
        [sys.executable, "-m", "dwindle", *words.split()],
        cwd=tmp_path, env=none, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert re.fullmatch(r"dwindle: s3://b/.*: Unable to locate credentials\n", done.stderr)


def test_a_model_that_fails_on_the_way_leaves_the_earlier_one_and_is_kept_here(
    tmp_path, s3, monkeypatch
):
    (tmp_path / "d.vw").write_text(TEXT)
    command("train", tmp_path / "d.vw", "--dense", "-q", "-m", "s3://bucket/kept.parquet")
    before = s3.cat_file("bucket/kept.parquet")

    def refuse(*_given, **_named):
        raise ConnectionResetError("gone")

    monkeypatch.setattr(remote.filesystem("s3://bucket/kept.parquet")[0], "put_file", refuse)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    done = command(
        "train",
        tmp_path / "d.vw",
        "--gravity",
        "1e-2",
        "-m",
        "s3://bucket/kept.parquet",
        check=False,
        text=True,
    )
    assert s3.cat_file("bucket/kept.parquet") == before
    assert "s3://bucket/kept.parquet: cannot be written: tried 5 times: gone" in done.stderr
    assert list(tmp_path.glob("dwindle-*/kept.parquet"))


def test_schemes_are_those_of_fsspec_and_another_is_refused(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("memory")
    files.pipe_file("/folder/d.vw", TEXT.encode())
    assert sources("memory://folder") == ("memory:///folder/d.vw",)
    command("train", "memory://folder/d.vw", "--dense", "-q", "-m", tmp_path / "m.parquet")
    with pytest.raises(SettingError, match="there are no files at gopher://"):
        sources("gopher://host/d.vw")
    for scheme in ("gs", "hf"):
        try:
            found = fsspec.get_filesystem_class(scheme)
        except ImportError:
            with pytest.raises(SettingError, match='pip install "dwindle\\[remote\\]"'):
                remote.filesystem(f"{scheme}://bucket/d.vw")
        else:
            assert scheme in (
                found.protocol if isinstance(found.protocol, tuple) else (found.protocol,)
            )


def test_a_stream_without_length_ends_where_it_ends():
    stream = remote.Resumed("x", lambda done: (io.BytesIO(b"abc"[done:]), None, None))
    assert stream.read() == b"abc"
