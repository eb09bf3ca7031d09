"""What one has to keep in sight at once is bounded: lines of a file, lines of a function."""

import ast
from collections.abc import Iterator

from tests.paths import ROOT

MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 40


def too_long() -> Iterator[str]:
    for path in sorted((ROOT / "tracker").rglob("*.py")):
        name, text = str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
        if text.count("\n") > MAX_FILE_LINES:
            yield name
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno is not None
                if node.end_lineno - node.lineno >= MAX_FUNCTION_LINES:
                    yield f"{name}:{node.name}"


def test_files_and_functions_are_short() -> None:
    assert list(too_long()) == []
