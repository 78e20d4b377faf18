"""The live page in a real browser: it shows the figures of the model, and follows it."""

import random
import subprocess
import sys

import pytest

pytest.importorskip("uvicorn", reason="needs dwindle[serve]")
pytest.importorskip("selenium", reason="needs selenium")

from helpers.browser import browser, complaints, needs_browser
from helpers.serving import running, until

pytestmark = [pytest.mark.slow, needs_browser]


def lines(n, seed=0):
    chance = random.Random(seed)
    found = []
    for _ in range(n):
        tells, noise = chance.choice([-1, 1]), chance.randrange(40)
        side = "good" if tells > 0 else "bad"
        found.append(f"{tells} |ad {side} n{noise} |user <b>x</b>:{chance.random():.2f}")
    return ("\n".join(found) + "\n").encode()


def text_of(driver, name):
    return driver.execute_script(f"return document.querySelector('[data-live={name}]').textContent")


@pytest.fixture(scope="module")
def driver():
    with browser() as found:
        yield found


def test_the_pages_show_what_the_server_learns_as_it_learns(tmp_path, driver):
    token = "0123456789abcdef0123"  # noqa: S105  (of a test)
    right = {"authorization": f"Bearer {token}"}
    options = ("--learn", tmp_path, "--loss", "logistic")
    with running(*options, env={"DWINDLE_TOKEN": token}) as server:
        server.ask("/learn", lines(300), "vw", right)
        driver.get(server.address + "/")
        until(lambda: "a token is needed" in text_of(driver, "state"))
        assert [each for each in complaints(driver) if "401" not in each] == []
        driver.find_element("css selector", "#token input").send_keys(token)
        driver.find_element("css selector", "#token button").click()
        until(lambda: "300" in text_of(driver, "tiles"))
        server.ask("/learn", lines(200, 1), "vw", right)
        until(lambda: "500" in text_of(driver, "tiles"))
        model = server.ask("/model", None, "json", right).json["weights"]
        rows = driver.execute_script(
            "return [...document.querySelectorAll('[data-live=weights] tbody tr')].map("
            "row => [row.cells[0].textContent, row.cells[1].textContent, row.cells[2].dataset.v])"
        )
        shown = {f"{space}^{name}": float(value) for space, name, value in rows}
        assert list(shown) == list(model)[: len(shown)]
        assert shown == {name: model[name] for name in shown}
        figures = server.ask("/metrics", None, "json", right).body.decode()
        loss = float(figures.partition("\ndwindle_loss ")[2].split()[0])
        assert f"{loss:.4f}" in text_of(driver, "tiles")
        charts = driver.execute_script("return document.querySelectorAll('svg[role=img]').length")
        assert charts >= 3
        # The page to try requests sends them.
        driver.get(server.address + "/docs")
        fields = "document.forms.try.elements"
        driver.execute_script(
            f"{fields}.path.value = 'POST /predict'; {fields}.token.value = '{token}'"
        )
        driver.find_element("css selector", "#try button").click()
        until(lambda: '"score": [' in driver.find_element("id", "answer").text)
        assert complaints(driver) == []


def test_a_training_can_be_watched(tmp_path, driver):
    model = tmp_path / "model.parquet"
    command = [sys.executable, "-m", "dwindle", "train", "-", "--format", "vw", "--live"]
    process = subprocess.Popen(
        [*command, "--model", str(model)], stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        told = b""
        while b"http://" not in told:
            told = process.stderr.readline()
        address = "http" + told.decode().rpartition("http")[2].strip()
        driver.get(address)
        process.stdin.write(lines(2000) * 150)  # several blocks: a run reads whole ones
        process.stdin.flush()
        until(lambda: "AUC" in text_of(driver, "tiles"))
        assert "learning" in text_of(driver, "state")
        assert complaints(driver) == []
        process.stdin.close()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.stderr.close()
