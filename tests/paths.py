"""The folders and the files of the project."""

from pathlib import Path

ROOT = Path(__file__).parent.parent

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
