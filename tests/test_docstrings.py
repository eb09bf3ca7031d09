"""Modules and public classes say what they are, and public functions which errors they raise.

A function whose name and signature say it all needs no text.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.paths import ROOT, module_of
from tracker import errors

Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = ast.Module | ast.ClassDef | Function
Parts = Iterator[tuple[str, Documented]]

FILES = [path for folder in ("config", "tracker") for path in sorted((ROOT / folder).rglob("*.py"))]


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def public_parts(name: str, node: ast.Module | ast.ClassDef) -> Parts:
    """Yield a module or class with every public class, function, method and property in it."""
    yield name, node
    for child in node.body:
        if isinstance(child, ast.ClassDef) and not child.name.startswith("_"):
            yield from public_parts(f"{name}.{child.name}", child)
        elif isinstance(child, Function) and not child.name.startswith("_"):
            yield f"{name}.{child.name}", child


def own_nodes(function: Function) -> Iterator[ast.AST]:
    """Yield the nodes of `function`, without functions and classes that it defines."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))


def raised_by(function: Function) -> set[str]:
    """Return the names of the exception classes in the `raise` statements of `function`."""
    found: set[str] = set()
    for node in own_nodes(function):
        if isinstance(node, ast.Raise) and node.exc is not None:
            raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            found.add(ast.unparse(raised).rpartition(".")[2])
    # A variable, or a function that makes the error, begins in lower case.
    return {name for name in found if name[:1].isupper()}


def unnamed_errors(function: Function) -> set[str]:
    """Return the errors that `function` raises but does not name after `Raises`."""
    words = " ".join((ast.get_docstring(function) or "").split())
    documented = words.partition("Raises ")[2]
    named = set(re.findall(r"\w+", documented))
    return {name for name in raised_by(function) if named.isdisjoint(kinds_of(name))}


def kinds_of(name: str) -> set[str]:
    """Return the names of an error and of those it is a kind of: who handles these handles it."""
    kind = getattr(errors, name, None)
    return {one.__name__ for one in kind.__mro__} if isinstance(kind, type) else {name}


def test_every_module_and_public_class_has_a_docstring() -> None:
    missing = [
        name
        for path in FILES
        for name, node in public_parts(module_of(path), tree_of(path))
        if not (isinstance(node, Function) or ast.get_docstring(node) or not node.body)
    ]
    assert missing == []


def test_every_public_function_names_the_errors_that_it_raises() -> None:
    unnamed = {
        name: left
        for path in FILES
        for name, node in public_parts(module_of(path), tree_of(path))
        if isinstance(node, Function)
        if (left := unnamed_errors(node))
    }
    assert unnamed == {}
