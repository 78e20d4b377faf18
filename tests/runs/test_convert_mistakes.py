"""What a format has no words for, and what cannot be read or written, is told in one line."""

import json

import pytest

from dwindle import DataError
from dwindle.runs.convert import convert
from helpers.conversion import dwindle, examples


@pytest.mark.parametrize(
    ("text", "out", "message"),
    [
        ("1 | 3\n1 | a\n", "a.svm", "in.vw:2: svmlight has integers as names of features, got 'a': convert to vw or to arrow"),
        ("1 |f 3\n", "a.svm", "in.vw:1: svmlight has integers as names of features, got 'f^3': convert to vw or to arrow"),
        ("1 | 03\n", "a.svm", "in.vw:1: svmlight has integers as names of features, got '03': convert to vw or to arrow"),
        ("1 2 | 3\n", "a.svm", "in.vw:1: svmlight has no importance but 1, and this example has 2: convert to vw or to arrow"),
        ("1 0 | 3\n", "a.svm", "in.vw:1: svmlight has no importance but 1, and this example has 0: convert to vw or to arrow"),
        ("1 | 3\n1 1 0.5 | 3\n", "a.svm", "in.vw:2: svmlight has no base, and this example has 0.5: convert to vw or to arrow"),
        ("1 | 3\n| 3\n", "a.svm", "in.vw:2: svmlight has no examples without a label, and this is one: convert to vw or to arrow"),
        ("1 | 3\n1 | a b\udce9\n", "a.arrow", "in.vw:2: Arrow holds UTF-8, which 'b\\udce9' is not: write it as UTF-8, or convert to vw"),
        ("1 'b\udce9 | 3\n", "a.arrow", "in.vw:1: Arrow holds UTF-8, which 'b\\udce9' is not: write it as UTF-8, or convert to vw"),
        ("1 | a\n1 | a:b:c\n", "a.arrow", "in.vw:2: second ':' in 'a:b:c': write name:value"),
    ],
)  # fmt: skip
def test_what_cannot_be_said_is_told_and_the_earlier_file_stays(
    text, out, message, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.vw").write_bytes(text.encode("utf-8", "surrogateescape"))
    (tmp_path / out).write_text("earlier")
    with pytest.raises(DataError) as caught:
        convert(["in.vw"], out)
    assert str(caught.value) == message
    assert (tmp_path / out).read_text() == "earlier"
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["in.vw", out])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"features": {"a b": 1}}, "VW text has no names that are empty or hold spaces, tabs, ':' or '|', got 'a b': rename it, or convert to arrow"),
        ({"features": {"time": "12:30"}}, "VW text has no names that are empty or hold spaces, tabs, ':' or '|', got 'time=12:30': rename it, or convert to arrow"),
        ({"features": {"": 1}}, "VW text has no names that are empty or hold spaces, tabs, ':' or '|', got '': rename it, or convert to arrow"),
        ({"features": {"a|b": {"c": 1}}}, "VW text has no names that are empty or hold spaces, tabs, ':' or '|', got 'a|b^c': rename it, or convert to arrow"),
        ({"tag": "a b", "features": {}}, "VW text has no tags with spaces, tabs or '|', got 'a b': write it without, or convert to arrow"),
    ],
)  # fmt: skip
def test_names_and_tags_that_vw_text_would_tear_are_told(line, message, tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text('{"features": {"fine": 1}}\n' + json.dumps(line))
    with pytest.raises(DataError) as caught:
        convert([str(path)], str(tmp_path / "a.vw"))
    assert str(caught.value) == f"{path}:2: {message}"
    convert([str(path)], str(tmp_path / "a.arrow"))
    assert examples([tmp_path / "a.arrow"]) == examples([path])


def test_a_comment_of_two_lines_is_told(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps({"label": 1, "tag": "a\nb", "features": {"3": 1}}))
    with pytest.raises(DataError, match=r"svmlight has no comments of several lines, got 'a\\nb'"):
        convert([str(path)], str(tmp_path / "a.svm"))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["out.csv"], "cannot tell the format to write to 'out.csv': say it with --to, one of arrow, svmlight, vw"),
        (["out.feather"], "cannot tell the format to write to 'out.feather': say it with --to, one of arrow, svmlight, vw"),
        (["-"], "cannot tell the format to write to standard output: say it with --to, one of arrow, svmlight, vw"),
        (["out.arrow.gz"], "out.arrow.gz: Arrow files are read in place, so they cannot be compressed as a whole: leave out .gz"),
    ],
)  # fmt: skip
def test_a_format_that_is_not_written_is_bad_usage(rich, args, message):
    done = dwindle(rich, *args)
    assert (done.returncode, done.stderr.decode()) == (2, f"dwindle: {message}\n")


def test_data_that_is_not_there_and_folders_are_told(rich, tmp_path):
    for args, message in (
        ((tmp_path / "none.vw", tmp_path / "a.vw"), f"{tmp_path}/none.vw: no such file or folder"),
        ((rich, tmp_path / "no" / "a.vw"), f"{tmp_path}/no/a.vw: there is no folder {tmp_path}/no to write to"),
        ((rich, tmp_path, "--to", "vw"), f"{tmp_path}: is a folder: write to a file in it"),
    ):  # fmt: skip
        done = dwindle(*args)
        assert (done.returncode, done.stderr.decode()) == (1, f"dwindle: {message}\n")
