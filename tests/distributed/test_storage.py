"""Runs whose data, folder and model are in S3: the same model, though uploads fail."""

from hashlib import sha256

import pytest

from dwindle import DataError, Stopped, TrainSettings, train
from helpers.buckets import bucket
from helpers.shards import Quiet, model_of_run, write_words

pytestmark = pytest.mark.slow
HOW = TrainSettings(passes=2, update="ftrl", gravity=0.3)
DATA, RUN, MODEL = "s3://bucket/logs/*.vw", "s3://bucket/run1", "s3://bucket/models/m.parquet"


@pytest.fixture(scope="module")
def s3():
    with bucket() as files:
        yield files


@pytest.fixture(scope="module")
def whole(s3, tmp_path_factory):
    """The model of the same lines here, and the lines there."""
    folder = tmp_path_factory.mktemp("words")
    lines = write_words(folder / "all.vw", n=1500).read_bytes()
    half = lines.index(b"\n", len(lines) // 2) + 1
    (folder / "1.vw").write_bytes(lines[:half])
    (folder / "2.vw").write_bytes(lines[half:])
    for name in ("1.vw", "2.vw"):
        s3.pipe_file(f"bucket/logs/{name}", (folder / name).read_bytes())
    return model_of_run(folder / "[12].vw", folder / "m", HOW, on="serial")[0]


def on_s3(s3, observer=None):
    train([DATA], MODEL, HOW, on="serial", shards=4, run=RUN, observer=observer or Quiet())
    return sha256(s3.cat_file("bucket/models/m.parquet")).hexdigest()


def test_a_run_in_s3_makes_the_same_model_and_goes_on_there(s3, whole):
    with pytest.raises(Stopped):
        on_s3(s3, Quiet(stop_after=2))
    assert s3.glob("bucket/run1/part-1-0-*")
    assert on_s3(s3) == whole
    assert not s3.glob("bucket/run1/part-*")
    assert on_s3(s3) == whole
    s3.pipe_file("bucket/logs/2.vw", b"1 | other\n")
    with pytest.raises(DataError, match="was begun here"):
        on_s3(s3)
    s3.rm("bucket/run1", recursive=True)


def test_uploads_that_fail_half_way_are_made_again(s3, whole, tmp_path, monkeypatch):
    """What was sent of a file that is cut off is not there; a part is tried again, then a task."""
    lines = write_words(tmp_path / "all.vw", n=1500).read_bytes()
    half = lines.index(b"\n", len(lines) // 2) + 1
    s3.pipe_file("bucket/logs/2.vw", lines[half:])
    usual, failed = type(s3)._put_file, []

    async def cut(self, here, there, **options):
        if failed.count(there) < (6 if "part-1-0-00002" in there else 1):
            failed.append(there)
            raise ConnectionResetError("the connection was cut")
        return await usual(self, here, there, **options)

    monkeypatch.setattr(type(s3), "_put_file", cut)
    type(s3).clear_instance_cache()  # others have the usual method
    monkeypatch.setattr("dwindle._base.remote.PAUSE", 0.001)
    assert on_s3(s3) == whole
    assert max(map(failed.count, failed)) == 6
