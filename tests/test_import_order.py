"""The architecture is the import order: what stands left never imports what stands right."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# Rooms on one line do not import each other.
ORDER = (
    ("config", "tracker.clock", "tracker.errors", "tracker.multiprocess_metrics"),
    ("tracker.dns", "tracker.ids", "tracker.limits", "tracker.metrics", "tracker.syntax"),
    ("tracker.loops",),
    ("tracker.db",),
    ("tracker.access", "tracker.builtin", "tracker.http", "tracker.journal", "tracker.links"),
    ("tracker.clicks",),
    ("tracker.conversions", "tracker.webhooks"),
    ("tracker.reports",),
    ("tracker.ingest",),
    ("tracker.api",),
    ("tracker.service",),
    ("run", "scripts"),
    ("lab",),
)
RANKS = {room: rank for rank, rooms in enumerate(ORDER) for room in rooms}
TORNADO_WEB_IN = ("tracker.api", "tracker.service", "lab")

FILES = [
    *(
        path
        for folder in ("config", "tracker", "scripts", "lab")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path.name != "__init__.py"
    ),
    ROOT / "run.py",
]


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def room_of(module: str) -> str | None:
    return next((r for r in RANKS if module == r or module.startswith(r + ".")), None)


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_imports_only_point_left(path: Path) -> None:
    room = room_of(module_of(path))
    assert room is not None, f"{path} is in no room: add it to ORDER"
    for name in imports_of(path):
        other = room_of(name)
        if other is not None and other != room:
            assert RANKS[other] < RANKS[room], f"{room} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_only_the_web_rooms_know_tornado_web(path: Path) -> None:
    if not module_of(path).startswith(TORNADO_WEB_IN):
        assert not any(name.startswith("tornado.web") for name in imports_of(path))
