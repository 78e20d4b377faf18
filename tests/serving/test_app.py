"""What the endpoints answer."""

import asyncio
import errno
import math

import numpy as np
import orjson
import pyarrow as pa
import pytest

pytest.importorskip("starlette", reason="needs dwindle[serve]")

from starlette.applications import Starlette
from starlette.routing import Mount

import dwindle
from dwindle import Batch, Learner, Logistic, Truncation
from dwindle.data.formats.block import Block
from dwindle.data.formats.vw.parser import parse
from dwindle.model.checkpoint import load_checkpoint
from dwindle.runs.settings import TrainSettings
from dwindle.serving import app
from dwindle.serving.online import Limits
from helpers.serving import ask, asked, closing, post

HOW = {"loss": "logistic", "gravity": 1e-4, "update": "adaptive"}
EXAMPLES = [
    {"label": 1, "features": {"price": 3.5, "color": "red"}},
    {"label": -1, "features": {"price": 9.0, "color": "blue", "user": {"age": 30}}},
    {"label": 1, "features": {"color": "green", "tags": ["new", "big"]}},
] * 5
VW = b"1 |a price:3.5 red\n-1 |a price:9 blue\n1 |b green\n" * 5


def learning(folder, **options):
    return app(learn=str(folder), settings=TrainSettings(**HOW), **options)


@pytest.fixture
def server(tmp_path):
    with closing(learning(tmp_path / "state", durability="os")) as found:
        yield found


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.parquet"
    learner = Learner(Logistic(), Truncation(1e-4))
    learner.learn(parse(Block(np.frombuffer(VW, np.uint8), "vw")).batch)
    learner.learn(Batch.from_dicts([{"price": 3.5, "color": "red"}, {"price": 1}], [1, -1]))
    dwindle.Model.of(learner, {"labels": {"1": 1.0, "-1": -1.0}}).save(path)
    return str(path)


def same_learner():
    return Learner(Logistic(), Truncation(1e-4))


# Predicting


def test_predictions_are_those_of_the_model_to_the_bit(model):
    batch = parse(Block(np.frombuffer(VW, np.uint8), "vw")).batch
    expected = dwindle.Model.load(model).predict(batch).tolist()
    with closing(app(model)) as served:
        assert post(served, "/predict", VW, "vw").json["score"] == expected


def test_a_plain_dict_and_the_reader_agree(model):
    plain = [{"features": {"price": 3.5, "color": "red"}}, {"price": 2, "color": "no"}]
    odd = [{"features": {**plain[0]["features"], "x": None}}, {**plain[1], "y": ""}]
    expected = [dwindle.Model.load(model).predict(x)[0] for x in (plain[0]["features"], plain[1])]
    with closing(app(model)) as served:
        assert post(served, "/predict", plain).json["score"] == expected
        assert post(served, "/predict", odd).json["score"] == expected
        lines = b'{"features": {"price": 3.5, "color": "red"}}\n\n{"price": 2, "color": "no"}\n'
        assert post(served, "/predict", lines, "lines").json["score"] == expected
        one = post(served, "/predict", plain[0]).json
    assert one["score"] == expected[0]
    assert one["probability"] == pytest.approx(1 / (1 + math.exp(-expected[0])))
    assert one["label"] == (1 if expected[0] > 0 else -1)


def test_arrow_streams_are_read(model):
    table = pa.table({"price": [3.5, 2.0], "color": ["red", "no"]})
    rows = table.to_pylist()
    lists = dwindle.Model.load(model)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    body = sink.getvalue().to_pybytes()
    with closing(app(model)) as served:
        found = post(served, "/predict", body, "application/vnd.apache.arrow.stream")
    assert found.json["score"] == [lists.predict(row)[0] for row in rows]


def test_a_compressed_arrow_stream_is_refused(model):
    table = pa.table({"price": np.zeros(1000)})
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    body = sink.getvalue().to_pybytes()
    with closing(app(model)) as served:
        found = post(served, "/predict", body, "application/vnd.apache.arrow.stream")
    assert (found.status, "compressed" in found.json["error"]) == (422, True)


@pytest.mark.slow
def test_a_model_of_a_table_reads_flat_objects_by_its_columns(tmp_path):
    rows = ["label,zip,text,n"]
    rows += [f"{i % 2},0{i % 7},some words {i % 3},{i % 50}" for i in range(200)]
    data, path = tmp_path / "data.csv", tmp_path / "m.parquet"
    data.write_text("\n".join(rows) + "\n")
    how = dwindle.ReadOptions(columns={"text": "text", "zip": "category"})
    dwindle.train([str(data)], path, TrainSettings(gravity=0.0, reading=how))
    test = tmp_path / "test.csv"
    test.write_text("zip,text,n\n03,some words 2,5\n04,other,7\n")
    expected = [p for part in dwindle.predict(path, [str(test)]) for p in part.prediction.tolist()]
    objects = [
        {"zip": "03", "text": "some words 2", "n": 5},
        {"zip": "04", "text": "other", "n": 7},
    ]
    with closing(app(str(path))) as served:
        assert post(served, "/predict", objects).json["score"] == expected
        one = post(served, "/predict", {"features": objects[0]}).json
    assert one["score"] == expected[0]


def test_bad_examples_are_answered_by_their_place(model):
    lines = b'{"features": {"price": 1}}\nnonsense\n{"features": 3}\n'
    with closing(app(model)) as served:
        found = post(served, "/predict", lines, "lines").json
        assert [each["place"] for each in found["errors"]] == [2, 3]
        assert found["score"][1:] == [None, None]
        assert "nonsense" in found["errors"][0]["reason"]
        assert post(served, "/predict", b"nonsense\n", "lines").status == 422


def test_only_a_server_that_learns_has_learn(model):
    with closing(app(model)) as served:
        assert post(served, "/learn", EXAMPLES).status == 404
        assert "/learn" not in ask(served, "GET", "/openapi.json").json["paths"]


# Learning


def test_what_is_learned_is_what_a_learner_learns_to_the_bit(server):
    learner, batch = same_learner(), parse(Block(np.frombuffer(VW, np.uint8), "vw")).batch
    expected = learner.learn(batch).tolist()
    first, rest = VW.split(b"\n", 1)
    scores = post(server, "/learn", first, "vw").json["score"]
    scores += post(server, "/learn", rest, "vw").json["score"]
    assert scores == expected
    found = ask(server, "GET", "/model").json
    assert found["intercept"] == learner.intercept
    assert found["weights"] == learner.weights()
    assert post(server, "/predict", VW, "vw").json["score"] == learner.predict(batch).tolist()


def test_the_answer_says_where_in_the_stream_it_was_learned(server):
    assert post(server, "/learn", EXAMPLES).json["first"] == 0
    assert post(server, "/learn", EXAMPLES[0]).json["first"] == len(EXAMPLES)


def test_nothing_is_predicted_before_anything_is_learned(server):
    assert post(server, "/predict", EXAMPLES).status == 409


def test_a_bad_example_leaves_the_others_to_be_learned_or_none(server):
    bad = [*EXAMPLES[:3], {"label": 7, "features": {"a": 1}}, {"features": {"a": 1}}, 3]
    post(server, "/learn", EXAMPLES[:3])
    found = post(server, "/learn", bad).json
    assert found["learned"] == 3
    assert [each["place"] for each in found["errors"]] == [4, 5, 6]
    assert found["score"][3:] == [None] * 3
    reply = post(server, "/learn?atomic=true", bad)
    assert (reply.status, reply.json["learned"]) == (422, 0)
    assert len(reply.json["errors"]) >= 1
    assert ask(server, "GET", "/healthz").json["examples"] == 6
    reply = post(server, "/learn?atomic=true", bad[:4])  # of which only the label is bad
    assert (reply.status, reply.json["learned"]) == (422, 0)
    assert ask(server, "GET", "/healthz").json["examples"] == 6


def test_classes_that_are_text_are_learned_and_told(tmp_path):
    settings = TrainSettings(loss="logistic", gravity=0.0, classes=["ham", "spam", "eggs"])
    rows = [{"label": c, "features": {c: 1}} for c in ("ham", "spam", "eggs")] * 10
    with closing(app(learn=str(tmp_path), settings=settings, durability="none")) as served:
        assert post(served, "/learn", rows).json["learned"] == 30
        found = post(served, "/predict", [{"spam": 1}, {"ham": 1}]).json
        assert found["label"] == ["spam", "ham"]
        assert found["classes"] == ["eggs", "ham", "spam"]
        assert abs(sum(found["probability"][0]) - 1) < 1e-9
        parts = ask(served, "GET", '/explain?json={"spam":1}').json["classes"]
        assert parts["spam"]["contributions"]["spam"] > 0
        assert post(served, "/learn", {"label": "bacon", "features": {}}).status == 422
        assert set(ask(served, "GET", "/model").json["classes"]) == {"ham", "spam", "eggs"}


@pytest.mark.slow
def test_several_gravities_at_once_predict_as_they_explain(tmp_path):
    with closing(app(learn=str(tmp_path), durability="none")) as served:
        post(served, "/learn", VW * 20, "vw")
        found = ask(served, "GET", "/explain?vw=%7Ca%20price:3.5%20red").json
        score = post(served, "/predict", b"|a price:3.5 red", "vw").json["score"][0]
    assert found["prediction"] == score
    assert abs(found["intercept"] + sum(found["contributions"].values()) - score) < 1e-5


def test_the_model_file_is_that_of_the_weights(server, tmp_path):
    post(server, "/learn", EXAMPLES)
    reply = ask(server, "GET", "/model", headers=[("accept", "application/vnd.apache.parquet")])
    path = tmp_path / "m.parquet"
    path.write_bytes(reply.body)
    found = dwindle.Model.load(path)
    assert found.weights() == ask(server, "GET", "/model").json["weights"]
    assert list(ask(server, "GET", "/model?top=2").json["weights"]) == list(found.weights())[:2]
    with closing(app(str(path))) as served:  # and it can be served
        rows = [each["features"] for each in EXAMPLES[:2]]
        expected = post(server, "/predict", rows).json
        assert post(served, "/predict", rows).json == expected


# Going on


def test_a_folder_goes_on_exactly(tmp_path):
    whole = same_learner()
    with closing(learning(tmp_path)) as served:
        post(served, "/learn", VW, "vw")
    with closing(app(learn=str(tmp_path))) as served:  # its settings are known
        post(served, "/learn", VW, "vw")
        found = ask(served, "GET", "/model").json
    batch = parse(Block(np.frombuffer(VW, np.uint8), "vw")).batch
    whole.learn(batch)
    whole.learn(batch)
    assert found["weights"] == whole.weights()


def test_other_settings_than_the_folders_are_refused(tmp_path):
    learning(tmp_path).state.service.close()
    with pytest.raises(dwindle.SettingError, match=r"begun with gravity 0\.0001"):
        app(learn=str(tmp_path), settings=TrainSettings(gravity=0.5))
    settings = TrainSettings(reading=dwindle.ReadOptions(columns={"a": "text"}))
    with pytest.raises(dwindle.SettingError, match="read as they were"):
        app(learn=str(tmp_path), settings=settings)


def test_a_new_folder_begins_from_a_model(tmp_path, model):
    with closing(app(model, learn=str(tmp_path), durability="none")) as served:
        found = ask(served, "GET", "/model").json["weights"]
        assert found == pytest.approx(dwindle.Model.load(model).weights())
        post(served, "/learn", VW, "vw")
    with closing(app(learn=str(tmp_path))) as served:
        assert ask(served, "GET", "/healthz").json["examples"] == 15


def test_columns_that_were_decided_are_remembered(tmp_path):
    reading = dwindle.ReadOptions(columns={"words": "text"})
    settings = TrainSettings(**HOW, reading=reading)
    row = {"label": 1, "words": "to be or not", "zip": "01234", "n": 3}
    with closing(app(learn=str(tmp_path), settings=settings)) as served:
        assert post(served, "/learn", [row, {**row, "label": -1}]).json["learned"] == 2
        served.state.service.writer.store.keep = None  # as if it were killed: only the log is left
        names = sorted(ask(served, "GET", "/model").json["weights"])
        served.state.service.writer._kept = True
    assert "zip=01234" in names or "zip" in names
    with closing(app(learn=str(tmp_path), settings=settings)) as served:
        post(served, "/learn", [{**row, "zip": "1"}])
        more = sorted(ask(served, "GET", "/model").json["weights"])
    assert ("zip=1" in more) == ("zip=01234" in names)


def test_without_durability_only_snapshots_are_kept(tmp_path):
    with closing(learning(tmp_path, durability="none")) as served:
        post(served, "/learn", VW, "vw")
        assert not list(tmp_path.glob("log-*"))
    learner, metadata = load_checkpoint(next(tmp_path.glob("snapshot-*")))
    assert metadata["progress"]["examples"] == 15
    assert learner.n_steps == 15


def test_a_log_that_cannot_be_written_ends_learning_and_not_predicting(tmp_path, monkeypatch):
    with closing(learning(tmp_path)) as served:
        post(served, "/learn", VW, "vw")

        def full(_record):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(served.state.service.writer.store.log, "append", full)
        before = ask(served, "GET", "/model").json["weights"]
        reply = post(served, "/learn", VW, "vw")
        assert (reply.status, "No space left" in reply.json["error"]) == (503, True)
        assert post(served, "/learn", VW, "vw").status == 503
        assert ask(served, "GET", "/healthz").status == 503
        assert post(served, "/predict", VW, "vw").status == 200
        assert ask(served, "GET", "/model").json["weights"] == before


def test_weights_that_diverge_end_learning_and_the_folder_says_so_again(tmp_path):
    settings = TrainSettings(loss="squared", update="plain", gravity=0.0, learning_rate=1e9)
    settings.standardize = False
    lines = b"1000 | a:1000\n" * 30
    with closing(app(learn=str(tmp_path), settings=settings)) as served:
        assert "lower the rate" in post(served, "/learn", lines, "vw").json["error"]
    with closing(app(learn=str(tmp_path), settings=settings)) as served:
        assert ask(served, "GET", "/healthz").json["status"] == "failed"


def test_whatever_goes_wrong_with_learning_is_told_and_not_waited_for(tmp_path, monkeypatch):
    with closing(learning(tmp_path)) as served:
        online = served.state.service.online
        monkeypatch.setattr(online, "learn", lambda _batch: 1 / 0)
        reply = post(served, "/learn", VW, "vw")
        assert (reply.status, "ZeroDivisionError" in reply.json["error"]) == (503, True)
        assert ask(served, "GET", "/healthz").status == 503
    with closing(learning(tmp_path)) as served:  # it was logged before
        assert ask(served, "GET", "/healthz").json["examples"] == 15


def test_a_segment_that_cannot_be_begun_ends_learning_and_loses_nothing(tmp_path, monkeypatch):
    with closing(learning(tmp_path, snapshot_bytes=1)) as served:

        def full(_number):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(served.state.service.writer.store, "_segment", full)
        assert post(served, "/learn", VW, "vw").json["learned"] == 15
        assert "No space left" in post(served, "/learn", VW, "vw").json["error"]
        assert ask(served, "GET", "/healthz").status == 503
        assert post(served, "/predict", VW, "vw").status == 200
    with closing(learning(tmp_path)) as served:
        assert ask(served, "GET", "/healthz").json["examples"] == 15


def test_labels_that_do_not_go_with_the_weights_of_classes_are_refused(tmp_path):
    settings = TrainSettings(**HOW, class_weight={"a": 2.0})
    strange, right = ([{"label": x, "features": {"f": 1}} for x in pair] for pair in ("xy", "ab"))
    with closing(app(learn=str(tmp_path), settings=settings)) as served:
        reply = post(served, "/learn", strange)
        assert (reply.status, "class_weight names 'a'" in reply.body.decode()) == (422, True)
        assert post(served, "/learn", right).json["learned"] == 2


def test_what_nobody_waits_for_any_more_is_not_learned(tmp_path):
    with closing(learning(tmp_path, limits=Limits(seconds=0.05), durability="none")) as served:
        writer = served.state.service.writer
        with writer._wake:  # the writer takes nothing meanwhile
            reply = post(served, "/learn", VW, "vw")
            assert (reply.status, reply.headers["retry-after"]) == (503, "1")
            assert writer.waiting == 15
        served.state.service.close()
        assert (writer.online.examples, writer.waiting) == (0, 0)


# Limits


def test_what_is_too_large_is_refused(tmp_path):
    limits = Limits(body=2000, examples=3, features=4, name=20)
    with closing(learning(tmp_path, limits=limits, durability="none")) as served:
        assert post(served, "/learn", b"x" * 2001, "vw").status == 413
        assert post(served, "/learn", b"1 | a\n" * 4, "vw").status == 413
        many = b"1 | a b c d e\n1 | a b c d\n"
        found = post(served, "/learn", many, "vw").json
        assert (found["learned"], found["errors"][0]["place"]) == (1, 1)
        long = b"1 | a\n1 | " + b"n" * 21 + b"\n-1 | b\n"
        found = post(served, "/learn", long, "vw").json
        assert (found["learned"], found["errors"][0]["place"]) == (2, 2)
        assert "longer than 20 bytes" in found["errors"][0]["reason"]
        assert post(served, "/learn", b"", "vw").status == 400
        assert post(served, "/learn", b"\n", "vw").status == 400
        assert post(served, "/learn", b"a,b\n", "text/csv").status == 415
        gzip = [("content-encoding", "gzip")]
        assert post(served, "/learn", VW[:100], "vw", gzip).status == 415
        assert ask(served, "GET", "/learn").status == 405
        assert ask(served, "GET", "/../settings.json").status == 404


@pytest.mark.parametrize("kind", ["vw", "lines"])
def test_too_many_products_are_told_to_come_in_several_requests(tmp_path, kind):
    names = [f"f{i}" for i in range(1600)]
    line = b"1 |f " + " ".join(names).encode()
    if kind == "lines":
        line = orjson.dumps({"label": 1, "features": {"f": dict.fromkeys(names, 1)}})
    reading = dwindle.ReadOptions(interactions=(("f", "f"),))
    settings = TrainSettings(**HOW, reading=reading)
    with closing(app(learn=str(tmp_path), settings=settings, durability="none")) as served:
        reply = post(served, "/learn", line + b"\n" + line, kind)
        assert (reply.status, "several requests" in reply.json["error"]) == (413, True)


def test_a_length_that_no_body_has_is_too_large(model):
    with closing(app(model)) as served:
        length = [("content-length", "9" * 5000)]
        assert post(served, "/predict", VW, "vw", length).status == 413


def test_a_list_without_examples_is_refused_however_it_is_read(model):
    reading = dwindle.ReadOptions(columns={"x": "drop"})  # which is for the reader to do
    told = []
    for how in (None, reading):
        with closing(app(model, reading=how)) as served:
            told.append(post(served, "/predict", b"[]"))
            headers = {b"host": b"localhost", b"content-type": b"application/json"}
            told.append(served.state.at_once(headers, b"[]"))
    assert {(each.status, each.body) for each in told} == {(400, told[0].body)}


def test_too_many_waiting_examples_are_told_to_come_again(tmp_path):
    with closing(learning(tmp_path, limits=Limits(waiting=20), durability="none")) as served:
        held = served.state.service.writer._wake

        async def crowd():
            with held:  # the writer takes nothing meanwhile
                asking = [
                    asyncio.create_task(
                        asked(served, "POST", "/learn", VW, [("content-type", "text/x-vw")])
                    )
                    for _ in range(3)
                ]
                for _ in range(10):
                    await asyncio.sleep(0)
            return await asyncio.gather(*asking)

        replies = asyncio.run(crowd())
    assert sorted(reply.status for reply in replies) == [200, 429, 429]
    assert int(next(r for r in replies if r.status == 429).headers["retry-after"]) >= 1


def test_a_body_that_does_not_come_is_not_waited_for(model):
    with closing(app(model, limits=Limits(seconds=0.05))) as served:

        async def slow():
            sent = []
            scope = {"type": "http", "method": "POST", "path": "/predict", "headers": []}
            scope |= {"query_string": b"", "root_path": ""}

            async def receive():
                await asyncio.sleep(60)

            async def send(message):
                sent.append(message)

            await served(scope, receive, send)
            return sent[0]["status"]

        assert asyncio.run(slow()) == 408


# Who may ask

TOKEN = "0123456789abcdef"  # noqa: S105  (of a test)


def test_a_token_is_asked_for(model):
    with closing(app(model, token=TOKEN)) as served:
        assert ask(served, "GET", "/model").status == 401
        wrong = [("authorization", f"Bearer {TOKEN}x")]
        assert ask(served, "GET", "/model", headers=wrong).status == 401
        right = [("authorization", f"Bearer {TOKEN}")]
        assert ask(served, "GET", "/model", headers=right).status == 200
        assert ask(served, "GET", "/metrics").status == 401
        assert ask(served, "GET", "/events").status == 401
        assert ask(served, "GET", "/healthz").status == 200
        page = ask(served, "GET", "/")
        assert page.status == 200
        assert b"price" not in page.body  # the page is empty: what it shows needs the token


def test_without_a_token_other_peoples_pages_may_not_ask(model):
    with closing(app(model, hosts={"localhost"})) as served:
        assert ask(served, "GET", "/model").status == 200
        rebound = [("host", "evil.example")]
        assert ask(served, "GET", "/model", headers=rebound).status == 403
        foreign = [("origin", "http://evil.example")]
        assert post(served, "/predict", EXAMPLES, headers=foreign).status == 403
        own = [("origin", "http://localhost")]
        assert post(served, "/predict", EXAMPLES, headers=own).status == 200


# What it says of itself


def test_metrics_are_lines_that_prometheus_reads(server):
    post(server, "/learn", EXAMPLES)
    lines = ask(server, "GET", "/metrics").body.decode().splitlines()
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert values["dwindle_learned_examples"] == str(len(EXAMPLES))
    assert values['dwindle_requests_total{path="/learn",status="200"}'] == "1"
    assert values['dwindle_request_seconds_bucket{path="/learn",le="+Inf"}'] == "1"
    assert all(float(value) >= 0 for value in values.values())


def test_the_description_names_every_endpoint(server):
    described = ask(server, "GET", "/openapi.json").json
    paths = {route.path for route in server.routes}
    assert set(described["paths"]) == paths
    assert described["openapi"].startswith("3.")


def test_the_application_can_be_mounted(model):
    with closing(app(model)) as served:
        outer = Starlette(routes=[Mount("/ads", served)])
        assert post(outer, "/ads/predict", {"price": 1}).status == 200
