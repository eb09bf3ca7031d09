"""A room holds no object of another that neither it nor a room above reads."""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import get_origin, get_type_hints

import pytest

ROOT = Path(__file__).parent.parent.parent
TRACKER = ROOT / "tracker"
FILES = [*TRACKER.rglob("*.py"), *(ROOT / "scripts").rglob("*.py")]
CODE = {path: path.read_text(encoding="utf-8") for path in FILES}


def taken() -> Iterator[tuple[str, str]]:
    """Yield each room with the names of the objects that other rooms have lent to it."""
    for path in sorted(TRACKER.glob("*/services.py")):
        room = path.parent.name
        module = import_module(f"tracker.{room}.services")
        for services in OWN.findall(CODE[path]):
            for name, kind in get_type_hints(getattr(module, services)).items():
                if not (get_origin(kind) or kind).__module__.startswith(f"tracker.{room}."):
                    yield room, name


OWN = re.compile(r"^class (\w+Services)\(NamedTuple\)", re.MULTILINE)


@pytest.mark.parametrize(("room", "name"), [*taken()])
def test_what_a_room_takes_is_read(room: str, name: str) -> None:
    inside = re.compile(rf"\b(self|services|web)\.{name}\b")
    above = re.compile(rf"\b{room}\.{name}\b")
    assert any(
        (inside if path.is_relative_to(TRACKER / room) else above).search(text)
        for path, text in CODE.items()
    )
