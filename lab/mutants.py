"""Break the code on purpose, one place at a time: which changes do no test notice?

`python -m lab.mutants --seed 1` draws 60 places over `tracker/`, changes each in a copy of the
project, and runs tests there: those of its file, of its room, and then the whole suite, until one
fails. If none does, the change has survived: a test is missing, or the code is not needed. It
prints each place with its change, and ends with 1 if one survived.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

_ROOT: Final = Path(__file__).parents[1]
_COPIED: Final = ("tracker", "config", "scripts", "lab", "tests", "docs", "ops")
_PATIENCE_SECONDS: Final = 1_800
_WHOLE: Final = ("tests", "--ignore=tests/lab", "--ignore=tests/system/test_chaos.py")

_COMPARISONS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATORS: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
}


class Mutant(NamedTuple):
    """A change of one place. `start` and `end` are offsets in the bytes of the file."""

    path: Path
    line: int
    start: int
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        before, after = (" ".join(one.split())[:70] for one in (self.before, self.after))
        return f"{self.path.relative_to(_ROOT)}:{self.line}  {before}  ->  {after}"

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.after.encode() + source[self.end :]


def mutants(path: Path) -> Iterator[Mutant]:
    """Yield every change that is made to a file. Its docstrings, types and imports stay."""
    source = path.read_bytes()
    starts = [0]
    for row in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(row))
    tree = ast.parse(source)
    kept = set(_kept(tree))
    for node in ast.walk(tree):
        if id(node) in kept or (changed := _changed(node)) is None:
            continue
        assert isinstance(node, ast.expr | ast.stmt)
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        yield Mutant(path, node.lineno, start, end, source[start:end].decode(), changed)


def _kept(tree: ast.AST) -> Iterator[int]:
    """Yield the ids of nodes that are not changed, with all that they have."""
    for node in ast.walk(tree):
        apart: list[ast.AST | None] = []
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Assert() | ast.JoinedStr():
                apart = [node]
            case ast.Expr(value=ast.Constant()):
                apart = [node, node.value]
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                apart = [node.returns, *node.decorator_list, *ast.walk(node.args)]
            case ast.ClassDef():
                apart = [*node.bases, *node.decorator_list, *node.keywords]
            case ast.AnnAssign():
                apart = [node.annotation]
            case ast.If(test=ast.Name("TYPE_CHECKING")):
                apart = [node]
            # What is logged is no promise.
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name("log")))):
                apart = [node]
        for one in apart:
            if one is not None:
                yield from map(id, ast.walk(one))


def _changed(node: ast.AST) -> str | None:
    """Return the text of a changed node; None if it is left alone."""
    match node:
        case ast.Compare(left, [op], [right]) if type(op) in _COMPARISONS:
            return ast.unparse(ast.Compare(left, [_COMPARISONS[type(op)]()], [right]))
        case ast.BinOp(left, op, right) if type(op) in _OPERATORS:
            return f"({ast.unparse(ast.BinOp(left, _OPERATORS[type(op)](), right))})"
        case ast.BoolOp(op, values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            return f"({ast.unparse(ast.BoolOp(other, values))})"
        case ast.UnaryOp(ast.Not(), operand):
            return f"({ast.unparse(operand)})"
        case ast.Constant(bool(value)):
            return str(not value)
        case ast.Constant(int(value)):
            return str(value + 1)
        case ast.IfExp(test, body, orelse):
            return f"({ast.unparse(ast.IfExp(test, orelse, body))})"
        # A call for its effect, which then is missing.
        case ast.Expr(value=ast.Call() | ast.Await()):
            return "pass"
    return None


def drawn(seed: int, count: int) -> list[Mutant]:
    """Return changes of `count` places, each place as likely as any other."""
    files = sorted((_ROOT / "tracker").rglob("*.py"))
    every = [one for path in files for one in mutants(path)]
    return random.Random(seed).sample(every, min(count, len(every)))  # noqa: S311


def copy_of_project(folder: Path) -> Path:
    copy = folder / "tracker"
    for name in _COPIED:
        shutil.copytree(_ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in _ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, copy)
    (copy / ".github").symlink_to(_ROOT / ".github")
    (copy / ".venv").symlink_to(_ROOT / ".venv")
    return copy


def passes(copy: Path, *tests: str) -> bool:
    """Return whether tests pass in a copy of the project. Tests that hang do not."""
    command = [sys.executable, "-m", "pytest", "-x", "-n2", "--dist=worksteal", *tests]
    variables = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(
        command, cwd=copy, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as running:
        try:
            return running.wait(_PATIENCE_SECONDS) == 0
        except subprocess.TimeoutExpired:
            running.terminate()
            return False


def nearest_tests(path: Path, root: Path = _ROOT) -> list[list[str]]:
    """Return the tests of a file of the service: those named after it, and those of its room."""
    first = path.parts[1]
    room = root / "tests" / (f"test_{first}" if first == path.name else first)
    named = sorted(room.rglob(f"test_{path.name}"))
    found = [named, [room] if room.exists() else []]
    return [[str(one.relative_to(root)) for one in tests] for tests in found if tests]


class Project:
    """A copy of the project, in which places are changed one after the other."""

    def __init__(self, folder: Path, *, rooms_only: bool) -> None:
        self._copy = copy_of_project(folder)
        self._rooms_only = rooms_only

    def survives(self, mutant: Mutant) -> bool:
        """Return whether all tests pass with a change.

        Raises SystemExit if those of its room fail without one, because then they show nothing.
        """
        path = mutant.path.relative_to(_ROOT)
        for tests in nearest_tests(path, self._copy):
            if not self._passes_with(mutant, tests):
                if not passes(self._copy, *tests):
                    sys.exit(f"{' '.join(tests)}: fails without a change")
                return False
        return self._rooms_only or self._passes_with(mutant, _WHOLE)

    def _passes_with(self, mutant: Mutant, tests: Sequence[str]) -> bool:
        file = self._copy / mutant.path.relative_to(_ROOT)
        source = file.read_bytes()
        file.write_bytes(mutant.applied(source))
        try:
            return passes(self._copy, *tests)
        finally:
            file.write_bytes(source)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000), help="of the draw")  # noqa: S311
    parser.add_argument("--places", type=int, default=60, help="how many to change [60]")
    parser.add_argument("--first", type=int, default=0, help="leave out the first of them [0]")
    parser.add_argument("--rooms-only", action="store_true", help="run only the tests of the room")
    arguments = parser.parse_args()
    places = drawn(arguments.seed, arguments.places)[arguments.first :]
    print(f"seed {arguments.seed}, {len(places)} places", flush=True)
    survivors = 0
    with tempfile.TemporaryDirectory(prefix="tracker-mutants-") as folder:
        project = Project(Path(folder), rooms_only=arguments.rooms_only)
        for number, mutant in enumerate(places, arguments.first + 1):
            survived = project.survives(mutant)
            survivors += survived
            print(f"{number:3} {'SURVIVED' if survived else 'noticed '} {mutant}", flush=True)
    print(f"{survivors} of {len(places)} survived")
    return min(survivors, 1)


if __name__ == "__main__":
    sys.exit(main())
