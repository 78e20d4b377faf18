"""The page about the architecture names what is there, and all of it."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "dwindle"
PAGE = (ROOT / "docs" / "architecture.md").read_text()
ROOMS = sorted(p.name for p in PACKAGE.iterdir() if p.is_dir() and (p / "__init__.py").exists())


def test_every_path_on_the_page_exists():
    named = set(re.findall(r"`([\w./-]+/[\w./-]*)`", PAGE))
    assert len(named) > 20
    missing = [path for path in named if not any((at / path).exists() for at in (ROOT, PACKAGE))]
    assert missing == []


def test_every_room_has_its_entry_and_its_place_in_the_diagram():
    diagram = PAGE.split("```")[1]
    for room in ROOMS:
        assert f"\n| `{room}/` |" in PAGE, room
        assert re.search(rf"^ (.* )?{room}\b", diagram, re.MULTILINE), room


def test_the_diagram_has_the_layers_of_the_import_contract():
    contract = (ROOT / "pyproject.toml").read_text().split("layers = [")[1].split("]")[0]
    layers = [layer.split(" | ") for layer in re.findall(r'"(.*)"', contract)]
    drawn = re.findall(r"^ (\w+)", PAGE.split("```")[1], re.MULTILINE)
    assert drawn == [layer[0] for layer in layers]
    assert sorted(room for layer in layers for room in layer) == ROOMS
