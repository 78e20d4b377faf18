"""Take the pictures of docs/serving.md: a server learns for a while, and a browser shows its page.

Needs chromium, chromedriver and selenium; run it from the root of the repository.
"""

import math
import random
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "tests"))

from helpers.browser import browser, shoot  # noqa: E402  (found once the path is set)
from helpers.serving import running  # noqa: E402  (found once the path is set)

SECONDS = 45


def lines(chance: random.Random, worth: dict[str, float], n: int) -> bytes:
    """Make impressions of ads, some of which are clicked more often."""
    found = []
    for _ in range(n):
        ads, price = chance.sample(sorted(worth), 2), chance.random()
        score = sum(worth[ad] for ad in ads) + 1.5 * (price - 0.5)
        label = 1 if chance.random() < 1 / (1 + math.exp(-score)) else -1
        site = chance.randrange(3000)
        found.append(f"{label} |ad {' '.join(ads)} |site s{site} |item price:{price:.3f}")
    return ("\n".join(found) + "\n").encode()


def small(path: Path) -> None:
    """Write a picture again with few colours."""
    Image.open(path).convert("RGB").quantize(64).save(path, optimize=True)


def main() -> None:
    """Take them."""
    chance = random.Random(0)  # noqa: S311  (nothing is secret)
    worth = {f"a{i}": chance.gauss(0, 1.2) for i in range(40)}
    with (
        TemporaryDirectory() as folder,
        running("--learn", f"{folder}/ads", "--loss", "logistic") as server,
    ):
        with browser(1280, 900) as driver:
            driver.get(server.address + "/")
            end = time.monotonic() + SECONDS
            while time.monotonic() < end:
                server.ask("/learn", lines(chance, worth, 400), "vw")
                server.ask("/predict", lines(chance, worth, 50), "vw")
                time.sleep(0.05)
            time.sleep(1.5)
            small(shoot(driver, DOCS / "serving-live.png"))
        with browser(390, 844, dark=True) as driver:
            driver.get(server.address + "/")
            time.sleep(2.5)
            small(shoot(driver, DOCS / "serving-phone.png"))


if __name__ == "__main__":
    main()
