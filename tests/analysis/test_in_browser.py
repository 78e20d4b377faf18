"""The report in a real browser: it loads without a complaint, and can be searched and sorted."""

import random

import pytest

from dwindle import TrainSettings, train
from dwindle.analysis.report import report
from dwindle.model.loading import load_model
from helpers.browser import browser, complaints, needs_browser
from helpers.html import HOSTILE

pytestmark = [needs_browser, pytest.mark.slow]
ROWS = """return [...document.querySelectorAll('#weights ~ .searched tbody tr')]
    .filter(row => row.offsetParent !== null)
    .map(row => [...row.cells].map(cell => cell.dataset.v ?? cell.textContent))"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page about a model of many features, and its model."""
    folder, chance = tmp_path_factory.mktemp("page"), random.Random(0)
    lines = []
    for _ in range(500):
        city, hour = chance.randrange(40), chance.randrange(24)
        label = 1 if city % 3 + chance.gauss(0, 1) > 1 else -1
        lines.append(f"{label} |city c{city} |hour h{hour} {HOSTILE}\n")
    data = folder / "data.vw"
    data.write_text("".join(lines))
    train([str(data)], folder / "m.parquet", TrainSettings(gravity=0.0))
    report(folder / "m.parquet", [str(data)]).save(folder / "m.html")
    return folder / "m.html", load_model(folder / "m.parquet")


@pytest.fixture(scope="module")
def tab(page):
    with browser() as driver:
        still = [{"name": "prefers-reduced-motion", "value": "reduce"}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": still})
        driver.get(page[0].as_uri())
        yield driver


def test_the_page_loads_without_a_complaint_and_runs_nothing_of_strangers(tab):
    assert complaints(tab) == []
    assert len(tab.find_elements("css selector", "script")) == 1


def test_the_weights_shown_are_the_model_s(tab, page):
    rows = tab.execute_script(ROWS)
    shown = {f"{space}^{name}": float(weight) for space, name, weight, _ in rows}
    assert shown == page[1].weights()


def test_search_shows_the_rows_that_have_every_word_and_counts_them(tab, page):
    field = tab.find_element("css selector", ".searched input")
    field.send_keys("CITY c1")
    rows = tab.execute_script(ROWS)
    expected = [name for name in page[1].weights() if name.startswith("city^c1")]
    assert sorted(f"{row[0]}^{row[1]}" for row in rows) == sorted(expected)
    told = tab.find_element("css selector", ".searched .count").text
    assert told == f"{len(expected)} of {len(page[1])} shown"
    field.send_keys("\ue009a\ue000\ue003")  # all of it, removed
    assert len(tab.execute_script(ROWS)) == len(page[1])


def test_the_menu_shows_one_namespace(tab, page):
    from selenium.webdriver.support.ui import Select  # noqa: PLC0415  (may be missing)

    menu = Select(tab.find_element("css selector", ".searched select"))
    menu.select_by_visible_text("city")
    rows = tab.execute_script(ROWS)
    assert {row[0] for row in rows} == {"city"}
    menu.select_by_visible_text("all")
    assert len(tab.execute_script(ROWS)) == len(page[1])


def test_headings_sort_by_mouse_and_by_keyboard(tab):
    feature, weight = tab.find_elements("css selector", ".searched th .sort")[1:3]
    tab.execute_script("arguments[0].scrollIntoView({block: 'center'})", weight)
    weight.click()
    weights = [float(row[2]) for row in tab.execute_script(ROWS)]
    assert weights == sorted(weights, reverse=True)
    weight.send_keys("\ue007")  # Enter
    assert [float(row[2]) for row in tab.execute_script(ROWS)] == sorted(weights)
    feature.send_keys(" ")
    names = [row[1] for row in tab.execute_script(ROWS)]
    cities = [int(name[1:]) for name in names if name[0] == "c"]
    assert cities == sorted(cities)  # numbers within names in their order
    sorts = tab.execute_script(
        "return [...document.querySelectorAll('.searched th')].map(h => h.ariaSort)"
    )
    assert sorts.count("ascending") == 1


def test_a_chart_tells_its_numbers_to_the_arrow_keys(tab):
    figure = tab.find_element("css selector", "figure")
    figure.find_element("css selector", "svg").send_keys("\ue014\ue014")  # right, twice
    tip = figure.find_element("css selector", ".tip")
    cells = tab.execute_script(
        "return [...arguments[0].querySelectorAll('details tbody tr')[1].cells]"
        ".map(cell => cell.textContent)",
        figure,
    )
    assert tip.is_displayed()
    assert all(cell in tip.text for cell in cells)


@pytest.mark.parametrize("dark", [False, True])
def test_on_a_phone_nothing_is_wider_than_the_screen_and_colours_follow_the_system(page, dark):
    with browser(390, 800, dark=dark) as phone:
        phone.get(page[0].as_uri())
        assert phone.execute_script("return document.documentElement.scrollWidth") <= 390
        paper = phone.execute_script("return getComputedStyle(document.body).backgroundColor")
        brightness = sum(map(int, paper[4:-1].split(",")))
        assert brightness < 150 if dark else brightness > 700
        assert complaints(phone) == []
