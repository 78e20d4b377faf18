"""``dwindle serve``: what it refuses before it listens."""

import pytest
from click.testing import CliRunner

pytest.importorskip("uvicorn", reason="needs dwindle[serve]")

from dwindle.cli import main
from dwindle.serving.security import check_address, read_token
from helpers.serving import running


def said(*words, env=None):
    result = CliRunner().invoke(main, ["serve", *map(str, words)], env=env)
    return result.exit_code, result.output


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "name a MODEL to serve"),
        (("m.parquet", "--gravity", "0.1"), "--gravity says how to learn"),
        (("--learn", "s", "--host", "0.0.0.0"), "give a token"),  # noqa: S104  (never bound)
        (("--learn", "s", "--certificate", "c.pem"), "both --certificate and --key"),
        (("--learn", "s", "--max-body", "much"), "expected a size like 500MB"),
        (("--learn", "s", "--class-weight", "balanced"), "requests have no end"),
        (("--learn", "s", "--keep", "3", "--loss", "squared", "--gravity", "-1"), "gravity"),
    ],
)
def test_bad_usage_is_one_line(tmp_path, monkeypatch, words, told):
    monkeypatch.chdir(tmp_path)
    code, output = said(*words)
    assert code == 2
    assert told in output
    assert not list(tmp_path.glob("s/log-*"))


def test_a_model_that_is_not_there_is_bad_data(tmp_path):
    code, output = said(tmp_path / "none.parquet")
    assert (code, "no such file" in output) == (1, True)


def test_a_token_comes_from_a_private_file_or_the_environment(tmp_path):
    file = tmp_path / "token"
    file.write_text("0123456789abcdef\n")
    file.chmod(0o600)
    assert read_token(str(file), {}) == "0123456789abcdef"
    assert read_token(None, {"DWINDLE_TOKEN": "fedcba9876543210"}) == "fedcba9876543210"
    assert read_token(None, {}) is None
    file.chmod(0o644)
    with pytest.raises(ValueError, match="chmod 600"):
        read_token(str(file), {})
    for bad in ("short", "with a space in it", "tönt nicht nach ASCII"):
        with pytest.raises(ValueError, match="printable"):
            read_token(None, {"DWINDLE_TOKEN": bad})


def test_another_address_is_said_out_loud_or_has_a_token():
    check_address("127.0.0.1", None, insecure=False)
    check_address("::1", None, insecure=False)
    check_address("0.0.0.0", "token", insecure=False)  # noqa: S104  (never bound)
    check_address("0.0.0.0", None, insecure=True)  # noqa: S104  (never bound)
    with pytest.raises(ValueError, match="--insecure"):
        check_address("10.0.0.1", None, insecure=False)


@pytest.mark.slow
def test_a_signal_ends_the_server_in_order_and_a_port_in_use_is_told(tmp_path):
    with running("--learn", tmp_path / "a", "--loss", "logistic", "--gravity", "0") as server:
        server.ask("/learn", b"1 | a\n-1 | b\n", "vw")
        port = server.address.rpartition(":")[2]
        code, output = said("--learn", tmp_path / "b", "--port", port)
        assert code == 1
        assert f"cannot listen on 127.0.0.1:{port}" in output
        server.stop()
        assert server.process.returncode == 0
        assert len(list((tmp_path / "a").glob("snapshot-*.parquet"))) == 1
