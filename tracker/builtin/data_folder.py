"""The folder of the built-in stores: who runs on it, and at which addresses. For `builtin/stores`.

Two files: `lock`, under an flock for as long as the service or any of its stores lives (they
inherit the descriptor), and `stores.json`, the addresses. Only the flock decides who may run. The
pid in `lock` only words the message and tells a service that runs from stores outliving a killed
one, so a stale or half-written pid never lets two run on the same data.
"""

import fcntl
import os
import tempfile
from pathlib import Path

import msgspec

from tracker.builtin.binaries import StoresError


class DataInUse(StoresError):
    """Another service runs on this data folder."""


class Addresses(msgspec.Struct, frozen=True, kw_only=True):
    """Where the stores of the service `pid` are; empty for one that is not built in."""

    pid: int
    redis_url: str
    mongodb_uri: str


def check_writable(path: Path) -> None:
    """Make the folder if needed, and a file in it that is gone at once: what waits for Redis is
    kept there. Raises StoresError if that fails."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path) as file:
            file.write(b"x")
    except OSError as error:
        raise _unusable(path, error) from None


def _unusable(path: Path, error: OSError) -> StoresError:
    return StoresError(
        f"DATA_DIR={path}: must be a folder that can be written to: {error.strerror}"
    )


class DataFolder:
    """Call `try_take` first; the one that succeeded calls `release` in the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = path / "lock"
        self._addresses = path / "stores.json"
        self._descriptor = -1

    @property
    def descriptor(self) -> int:
        """Of the lock, to hand to child processes. -1 unless taken."""
        return self._descriptor

    def try_take(self) -> bool:
        """Whether the folder is now ours. Makes it if needed. Raises StoresError if it cannot."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise _unusable(self.path, error) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._sign(descriptor)
        except BlockingIOError:
            os.close(descriptor)
            return False
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        return True

    def _sign(self, descriptor: int) -> None:
        # The addresses of a killed service go before our pid appears: nobody may join the two.
        self.withdraw()
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Close, not unlock: unlocking would free the folder under a child that still lives."""
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)
        self._descriptor = -1

    def service(self) -> int | None:
        """The pid of the service that took the folder, if it is alive. Ask while it is taken."""
        try:
            pid = int(self._lock.read_text("ascii"))
        except (FileNotFoundError, ValueError):
            return None
        return pid if pid > 0 and _is_alive(pid) else None

    def addresses(self) -> Addresses | None:
        """Those of the service that runs here, once it is ready. Ask while the folder is taken."""
        try:
            addresses = msgspec.json.decode(self._addresses.read_bytes(), type=Addresses)
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        return addresses if addresses.pid == self.service() else None

    def publish(self, addresses: Addresses) -> None:
        """Tell others where the stores are; in one step, so that nobody reads half of it."""
        draft = self._addresses.with_suffix(".draft")
        draft.touch(mode=0o600)
        draft.write_bytes(msgspec.json.encode(addresses))
        draft.replace(self._addresses)

    def withdraw(self) -> None:
        self._addresses.unlink(missing_ok=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
