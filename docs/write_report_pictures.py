"""Write the pictures and the sizes of docs/report.md: pages about a planted shop, in a browser.

Needs chromium, chromedriver and ``pip install selenium nbconvert ipykernel plotly
vl-convert-python``.
"""

import argparse
import csv
import io
import os
import random
import re
import shutil
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import vl_convert
from nbconvert import HTMLExporter
from nbconvert.preprocessors import ExecutePreprocessor
from PIL import Image

from dwindle import TrainSettings, train
from dwindle._base.pages.document import asset
from dwindle.analysis.record import Recorder
from dwindle.analysis.report import report, run_report
from dwindle.data.options import ReadOptions

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from helpers.browser import browser  # noqa: E402  (found once the path is set)

BEGIN, END = (
    "<!-- sizes: written by docs/write_report_pictures.py -->\n",
    "<!-- end of sizes -->\n",
)
CELLS = ("import dwindle", 'dwindle.Model.load("shop.parquet")')
CITIES = ("Aachen", "Bergen", "Cork", "Dresden", "Eger", "Faro", "Ghent", "Halle", "Izmir", "Jena")
SOURCES = ("search", "mail", "friend", "advert", "direct", "partner")
DEVICES = ("phone", "laptop", "tablet")
WORDS = ("free", "delivery", "late", "gift", "winter", "sale", "size", "return", "new", "second")


def visits(path: Path, n: int, seed: int) -> str:
    """Write visits to a shop as CSV; whether something was bought follows from a few columns."""
    chance = random.Random(seed)  # noqa: S311  (nothing is secret)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["bought", "city", "source", "device", "hour", "pages", "visitor", "asked"])
        for _ in range(n):
            city, source = chance.choice(CITIES), chance.choice(SOURCES)
            device, pages = chance.choice(DEVICES), 1 + int(chance.expovariate(0.25))
            asked = " ".join(chance.sample(WORDS, chance.randrange(4)))
            score = -1.6 + 0.22 * min(pages, 12)
            score += {"mail": 0.9, "friend": 1.4, "advert": -0.8}.get(source, 0.0)
            score += {"Cork": 0.7, "Faro": -0.9}.get(city, 0.0) - 0.5 * (device == "phone")
            score += 0.8 * ("gift" in asked) - 1.1 * ("late" in asked)
            bought = int(chance.gauss(0, 1.2) < score)
            visitor = f"v{chance.randrange(4000)}"
            row = bought, city, source, device, chance.randrange(24), pages, visitor, asked
            rows.writerow(row)
    return str(path)


def notebook(folder: Path) -> Path:
    """Run a notebook that shows the model, and return it as a page."""
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    ExecutePreprocessor(kernel_name="python3").preprocess(made, {"metadata": {"path": folder}})
    page = folder / "notebook.html"
    page.write_text(HTMLExporter().from_notebook_node(made)[0])
    return page


def sizes(folder: Path) -> str:
    """Compare the size of the page with what libraries would add to it."""
    whole = (folder / "shop.html").read_text()
    charts = re.findall(r"<svg.*?</svg>", whole, re.DOTALL)
    plt.switch_backend("svg")
    figure, axes = plt.subplots(figsize=(4.6, 2.7))
    axes.plot([*range(150)], [k**0.5 for k in range(150)])
    drawn = io.BytesIO()
    figure.savefig(drawn, format="svg")
    plotly = Path(str(find_spec("plotly").origin)).parent / "package_data" / "plotly.min.js"
    kept = sum(map(len, (asset("page.css"), asset("page.js"))))
    rows = {
        f"the whole page above, with its {len(charts)} charts": len(whole.encode()),
        "its charts": sum(map(len, charts)),
        "its stylesheet and script": kept,
        f"{len(charts)} charts of 150 points by matplotlib": len(charts) * len(drawn.getvalue()),
        "vega-lite, bundled": len(vl_convert.javascript_bundle()),
        "plotly, bundled": plotly.stat().st_size,
    }
    lines = [f"| {name} | {size / 1000:,.0f} |" for name, size in rows.items()]
    return "\n".join(["| | kB |", "|---|---|", *lines, ""])


def _theme(*, dark: bool) -> list[dict[str, str]]:
    """Return what a browser is to imitate: the colours, and no movement."""
    return [
        {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]


def main() -> None:
    """Train, report, and take the pictures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--to", type=Path, default=HERE, help="folder of the pictures")
    to = options.parse_args().to
    with tempfile.TemporaryDirectory() as name:
        folder, to = Path(name), to.absolute()
        os.chdir(folder)
        data, test = visits(Path("visits.csv"), 20_000, 1), visits(Path("later.csv"), 5000, 2)
        settings = TrainSettings(reading=ReadOptions(label_column="bought"))
        recorder = Recorder()
        summary = train([data], folder / "shop.parquet", settings, observer=recorder)
        run_report(folder / "shop.parquet", summary, recorder).save(folder / "run.html")
        report(folder / "shop.parquet", [test]).save(folder / "shop.html")
        for dark, width, page, part in (
            (False, 1200, "shop", ""), (True, 1200, "shop", "#data"),
            (False, 390, "shop", "#weights"), (True, 390, "run", ""),
        ):  # fmt: skip
            with browser(width, 800, dark=dark) as tab:
                tab.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": _theme(dark=dark)})
                tab.get(f"{(folder / page).as_uri()}.html{part}")
                told = "desktop" if width > 500 else "phone"
                tab.save_screenshot(str(to / f"report-{told}-{'dark' if dark else 'light'}.png"))
        with browser(1000, 900) as tab:
            tab.get(notebook(folder).as_uri())
            tab.save_screenshot(str(to / "report-notebook.png"))
        for made in to.glob("report-*.png"):
            Image.open(made).quantize(96).save(made, optimize=True)  # a third of the size
        if to != HERE:
            for made in ("shop.html", "run.html", "notebook.html"):
                shutil.copy(folder / made, to)
        else:
            page = HERE / "report.md"
            text = page.read_text()
            before, _, after = text.partition(BEGIN)
            page.write_text(before + BEGIN + sizes(folder) + END + after.partition(END)[2])


if __name__ == "__main__":
    main()
