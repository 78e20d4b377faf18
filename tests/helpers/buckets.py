"""A bucket of S3 on a server of moto, on loopback."""

import os
from contextlib import contextmanager

import pytest


@contextmanager
def bucket():
    """Serve a bucket of that name; yield s3fs's file system, which this process finds there."""
    s3fs = pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server").ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    given = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "who",
        "AWS_SECRET_ACCESS_KEY": "what",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    s3fs.S3FileSystem.clear_instance_cache()
    files = s3fs.S3FileSystem()
    if not files.exists("bucket"):  # servers of a process share what they have
        files.mkdir("bucket")
    yield files
    s3fs.S3FileSystem.clear_instance_cache()
    server.stop()
    for name, value in before.items():
        os.environ.pop(name)
        if value is not None:
            os.environ[name] = value
