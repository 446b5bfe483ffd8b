"""The architecture page says what tests/test_package.py holds the imports to."""

from __future__ import annotations

import runpy
from pathlib import Path

from test_package import ALLOWED, ROOMS, THEORIES, room, sources

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "architecture.md"
TEXT = PAGE.read_text()
DRAW = runpy.run_path(str(PAGE.with_suffix(".py")))


def test_the_table_is_the_list_of_rooms_in_its_order():
    assert list(DRAW["rooms"](TEXT)) == ["rsbounds_ext", *ROOMS]
    assert (ROOT / "rsbounds_ext").is_dir()


def test_every_folder_and_module_is_a_room_of_the_table():
    assert {room(path) for path in sources()} <= set(DRAW["rooms"](TEXT))


def test_what_a_room_may_import_is_what_the_tests_allow():
    assert DRAW["theories"](TEXT) == list(THEORIES)
    allowed = DRAW["allowed"](TEXT)
    assert allowed.pop("rsbounds_ext") == []
    assert {name: set(may) for name, may in allowed.items()} == ALLOWED


def test_every_room_says_what_it_holds():
    assert all(len(holds) > 10 for holds, _ in DRAW["rooms"](TEXT).values())


def test_the_picture_is_drawn_from_the_table():
    assert PAGE.with_suffix(".svg").read_text() == DRAW["drawing"](TEXT)
    level = {name: i for i, layer in enumerate(DRAW["layers"](TEXT)) for name in layer}
    assert set(level) == {"rsbounds_ext", *ROOMS} - DRAW["UNDRAWN"]
    for name in level:
        below = set(DRAW["allowed"](TEXT)[name])
        assert all(level[other] < level[name] for other in below)
