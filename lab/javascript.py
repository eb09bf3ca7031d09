"""Check what is written in JavaScript, with the linters that `package-lock.json` pins."""

import subprocess
import sys
from typing import Final

from lab import npm

_CHECKS: Final = (
    ("eslint/bin/eslint.js", "."),
    ("prettier/bin/prettier.cjs", "--check", "--log-level=warn", "**/*.{js,mjs}"),
)


def main() -> int:
    npm.install(npm.LINTERS)
    return max(_exit_code(*check) for check in _CHECKS)


def _exit_code(program: str, *options: str) -> int:
    command = [str(npm.NODE), str(npm.LINTERS.modules / program), *options]
    return subprocess.run(command, cwd=npm.LINTERS.folder, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
