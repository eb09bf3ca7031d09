"""Modules and public classes say what they are, and public functions which errors they raise.

A function whose name and signature say it all needs no text.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent

HOOKS: Final = frozenset(
    {
        # tornado.web.RequestHandler
        *("get", "head", "post", "put", "patch", "delete", "options"),
        *("prepare", "initialize", "on_finish", "on_connection_close", "data_received"),
        *("set_default_headers", "write_error", "log_exception", "compute_etag"),
        # tornado.httputil
        *("start_request", "on_close", "headers_received", "finish", "find_handler"),
        *("write_headers", "write", "set_close_callback"),
        # asyncio.Protocol
        *("connection_made", "connection_lost", "eof_received", "pause_writing", "resume_writing"),
        # logging.Handler, prometheus_client.Collector
        *("emit", "collect"),
    }
)
"""Methods that a framework defines and calls, and whose errors it handles."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = ast.Module | ast.ClassDef | Function
Parts = Iterator[tuple[str, Documented]]

FILES: Final = [
    path for folder in ("config", "tracker") for path in sorted((ROOT / folder).rglob("*.py"))
]


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


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


def is_hook(node: Documented, parents: set[str]) -> bool:
    return isinstance(node, Function) and (node.name in HOOKS and node.name in parents)


@cache
def overrides(tree: ast.Module) -> set[str]:
    """Return the names of the methods of all classes that have a base."""
    return {
        child.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.bases
        for child in node.body
        if isinstance(child, Function)
    }


def is_empty(node: Documented) -> bool:
    """Return whether `node` is a package's empty `__init__.py`."""
    return isinstance(node, ast.Module) and not node.body


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
    return {name for name in raised_by(function) if not re.search(rf"\b{name}\b", documented)}


def test_every_module_and_public_class_has_a_docstring() -> None:
    missing = [
        name
        for path in FILES
        for name, node in public_parts(module_of(path), tree_of(path))
        if not (isinstance(node, Function) or ast.get_docstring(node) or is_empty(node))
    ]
    assert missing == []


def test_every_public_function_names_the_errors_that_it_raises() -> None:
    unnamed = {
        name: errors
        for path in FILES
        for name, node in public_parts(module_of(path), tree_of(path))
        if isinstance(node, Function) and not is_hook(node, overrides(tree_of(path)))
        if (errors := unnamed_errors(node))
    }
    assert unnamed == {}
