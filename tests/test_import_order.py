"""A room imports only rooms below it, a folder of a room no folder that imports it, and
ARCHITECTURE.md has the same order and rooms."""

import ast
import re
from collections import Counter
from functools import cache
from graphlib import TopologicalSorter
from itertools import chain
from pathlib import Path

from tests.paths import FILES, ROOT, module_of

# Rooms on one line do not import each other.
ORDER = (
    (
        "config",
        "tracker.calendar",
        "tracker.clock",
        "tracker.errors",
        "tracker.multiprocess_metrics",
        "tracker.public_url",
        "tracker.visitor_dimensions",
    ),
    ("tracker.dns", "tracker.ids", "tracker.limits", "tracker.metrics", "tracker.syntax"),
    ("tracker.loops",),
    ("tracker.http", "tracker.stores"),
    ("tracker.access", "tracker.jobs", "tracker.journal"),
    ("tracker.web",),
    ("tracker.links",),
    ("tracker.clicks",),
    ("tracker.conversions",),
    ("tracker.accounts",),
    ("tracker.reports", "tracker.webhooks"),
    ("tracker.costs", "tracker.feeds", "tracker.sharing"),
    ("tracker.alerts", "tracker.ingest", "tracker.live"),
    ("tracker.imports", "tracker.uploads"),
    ("tracker.console", "tracker.mcp"),
    ("tracker.service",),
    ("run", "scripts"),
    ("lab",),
)
RANKS = {room: rank for rank, rooms in enumerate(ORDER) for room in rooms}
TORNADO_WEB_IN = ("tracker.web", "tracker.console", "tracker.mcp", "tracker.service", "lab")
MONGODB_DRIVERS = ("motor", "pymongo.AsyncMongoClient", "pymongo.asynchronous")
MONGODB_DRIVERS_IN = "tracker.stores.mongodb.drivers"

ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
FOLDERS = ("config", "scripts", "lab")


def room_of(module: str) -> str | None:
    return next((r for r in RANKS if module == r or module.startswith(r + ".")), None)


@cache
def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_a_room_imports_only_rooms_of_the_lines_above_it() -> None:
    for path in FILES:
        room = room_of(module_of(path))
        assert room is not None, f"{path} is in no room: add it to ORDER"
        for name in imports_of(path):
            other = room_of(name)
            if other is not None and other != room:
                assert RANKS[other] < RANKS[room], f"{path} imports {name}"


MAX_FILES = 17

MODULES = {module_of(path) for path in FILES}


def folder_of(module: str) -> str:
    """Return the folder of a module. What a room lends, and its endpoints, are apart from it."""
    return module if module.endswith((".services", ".api")) else module.rpartition(".")[0]


def imported_module(name: str) -> str | None:
    """Return the module of this project that an imported name is, or is in."""
    parent = name.rpartition(".")[0]
    return name if name in MODULES else parent if parent in MODULES else None


def test_no_folder_imports_one_that_imports_it() -> None:
    graph: dict[str, set[str]] = {}
    for path in FILES:
        folder = folder_of(module_of(path))
        others = {folder_of(found) for n in imports_of(path) if (found := imported_module(n))}
        graph.setdefault(folder, set()).update(others - {folder})
    TopologicalSorter(graph).prepare()  # CycleError names the circle.


def test_test_modules_are_imported_by_nothing() -> None:
    found = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for name in imports_of(path)
        if name.startswith("tests.") and ".test_" in name.rpartition(".")[0]
    ]
    assert found == []


def test_a_folder_has_at_most_seventeen_files() -> None:
    files = (path for path in (ROOT / "tracker").rglob("*.py") if path.name != "__init__.py")
    counts = Counter(str(path.parent.relative_to(ROOT)) for path in files)
    assert {name: n for name, n in counts.items() if n > MAX_FILES} == {}


def importers_of(*names: str) -> list[str]:
    return [
        module_of(path)
        for path in FILES
        if any(imported.startswith(names) for imported in imports_of(path))
    ]


def test_only_the_web_rooms_know_tornado_web() -> None:
    knowing = importers_of("tornado.web")
    assert [one for one in knowing if not one.startswith(TORNADO_WEB_IN)] == []


def test_only_the_builder_of_clients_knows_the_drivers_of_mongodb() -> None:
    assert importers_of(*MONGODB_DRIVERS) == [MONGODB_DRIVERS_IN]


def section(title: str) -> str:
    """Return the text below a heading of ARCHITECTURE.md, up to the next of its level."""
    return ARCHITECTURE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def first_cells(text: str) -> list[str]:
    """Return the names in the first column of the tables in `text`."""
    cells = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


def short(room: str) -> str:
    return "run.py" if room == "run" else room.removeprefix("tracker.")


def rooms() -> list[str]:
    """Return the folders of the rooms as ARCHITECTURE.md writes them."""
    packages = sorted(path.parent.name for path in (ROOT / "tracker").glob("*/__init__.py"))
    return [*(f"{folder}/" for folder in FOLDERS), *(f"tracker/{name}/" for name in packages)]


def test_the_import_order_is_documented() -> None:
    written = section("Import order").split("```")[1].replace("\n", " ").split("<")
    documented = [{room.strip() for room in rank.split(",")} for rank in written]
    assert documented == [{short(room) for room in rank} for rank in ORDER]


def test_every_room_has_a_row_and_a_rank() -> None:
    assert sorted(first_cells(section("Rooms"))) == sorted(rooms())
    ranked = {room.replace(".", "/") + "/" for room in chain(*ORDER)}
    assert set(rooms()) <= ranked


def private_parts_of_others(tree: ast.Module, own: set[str]) -> set[str]:
    """Return the private names that a module uses and that are not `own`."""
    imported = {
        part
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for part in (*node.module.split("."), *(alias.name for alias in node.names))
    }
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return {name for name in imported | used if re.match("_[a-z]|_[A-Z]+[a-z]", name)} - own


@cache
def private_names(room: str | None) -> set[str]:
    """Return the private names that a room defines, and those that Python documents."""
    nodes = chain.from_iterable(
        ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for path in FILES
        if room_of(module_of(path)) == room
    )
    found = {"_asdict", "_replace", "_fields", "_make", "_exit"}
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def test_private_parts_of_libraries_are_commented_with_their_test() -> None:
    listed = re.findall(r"\]\(([^)]+)\)", section("Private parts of libraries"))
    for path in FILES:
        source, own = path.read_text(encoding="utf-8"), private_names(room_of(module_of(path)))
        used, name = private_parts_of_others(ast.parse(source), own), str(path.relative_to(ROOT))
        assert not used or name in listed, name
        if name in listed:
            comments = "\n".join(re.findall(r"^ *# (.*)$", source, re.MULTILINE))
            assert {part for part in used if part not in comments} == set(), name
            tests = re.findall(r"Guarded by (\S+\.py)", comments)
            assert tests, name
            assert all((ROOT / test).is_file() for test in tests), name
