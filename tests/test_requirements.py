"""The lock files (`requirements*.txt`) pin every package that their sources (`requirements*.in`)
require."""

import importlib.metadata
import re
from collections.abc import Iterator

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.paths import ROOT

NAMES = ("requirements", "requirements-trial", "requirements-dev")
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def wanted(name: str) -> Iterator[Requirement]:
    """Yield the requirements in a source and in the sources that it includes."""
    for line in (ROOT / f"{name}.in").read_text(encoding="utf-8").splitlines():
        if line.startswith("-r "):
            yield from wanted(line[3:].removesuffix(".in"))
        elif line and not line.startswith("#"):
            yield Requirement(line)


def locked(name: str) -> dict[str, tuple[Requirement, list[str]]]:
    """Return the requirements of a lock file with their hashes, by name."""
    text = (ROOT / f"{name}.txt").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    requirements = [(Requirement(HASH.sub("", line).strip()), HASH.findall(line)) for line in lines]
    return {canonicalize_name(one.name): (one, hashes) for one, hashes in requirements}


def requirements_of(name: str) -> list[str] | None:
    """Return the requirements of a package, None if it is not installed or has none."""
    try:
        return importlib.metadata.requires(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def is_installed(name: str) -> bool:
    return any(True for _ in importlib.metadata.Distribution.discover(name=name))


def needed(requirements: Iterator[Requirement]) -> set[str]:
    """Return the names of `requirements` and of all that these require in this environment."""
    found: set[tuple[str, str]] = set()
    waiting = [(one, extra) for one in requirements for extra in ("", *one.extras)]
    while waiting:
        one, extra = waiting.pop()
        name = canonicalize_name(one.name)
        if (name, extra) in found or (one.marker and not one.marker.evaluate({"extra": ""})):
            continue
        found.add((name, extra))
        for text in requirements_of(name) or ():
            inner = Requirement(text)
            if inner.marker is None or inner.marker.evaluate({"extra": extra}):
                inner.marker = None
                waiting += [(inner, of_inner) for of_inner in ("", *inner.extras)]
    return {name for name, _ in found}


@pytest.mark.parametrize("name", NAMES)
def test_every_package_is_pinned_with_its_hashes(name: str) -> None:
    for one, hashes in locked(name).values():
        assert [specifier.operator for specifier in one.specifier] == ["=="], one
        assert hashes, one


@pytest.mark.parametrize("name", NAMES)
def test_a_lock_file_has_exactly_the_requirements_of_its_source_and_their_own(name: str) -> None:
    lock = locked(name)
    for one in wanted(name):
        pinned, _ = lock[canonicalize_name(one.name)]
        [specifier] = pinned.specifier
        assert one.specifier.contains(specifier.version), f"{one}: run `make lock`"
    here = {name for name, (one, _) in lock.items() if one.marker is None or one.marker.evaluate()}
    found = needed(wanted(name))
    assert found <= here, "run `make lock`"
    assert not list(filter(is_installed, here - found)), "run `make lock`"


def test_lock_files_agree() -> None:
    production, trial, development = map(locked, NAMES)
    assert production.items() <= trial.items()
    assert trial.items() <= development.items()
