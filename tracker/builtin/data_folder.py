"""The data folder of the built-in stores: who runs on it, and at which addresses.

For `builtin/stores`. It has two files: `lock`, under an flock as long as the service or any of its
stores lives (they inherit the descriptor), and `stores.json`, the addresses.

Guarantee: two services never run on the same data. Only the flock decides. The pid in `lock` is for
messages, and to tell a running service from the stores of a killed one, so it may be stale.
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
    """The addresses of the stores of service `pid`; empty for a store that is not built in."""

    pid: int
    redis_url: str
    mongodb_uri: str


def check_writable(path: Path) -> None:
    """Check that files can be written to the folder, which is made if needed: the spool is there.

    Raises StoresError if they cannot.
    """
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
    """The data folder and its lock. Whoever succeeds with `try_take` calls `release` in the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = path / "lock"
        self._addresses = path / "stores.json"
        self._descriptor = -1

    @property
    def descriptor(self) -> int:
        """The descriptor of the lock, for child processes to inherit; -1 unless taken."""
        return self._descriptor

    def try_take(self) -> bool:
        """Take the folder, which is made if needed; return False if another process holds it.

        Raises StoresError if it cannot be made or written to.
        """
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
        # The addresses of a killed service go before this pid appears: nobody may join the two.
        self.withdraw()
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Give the folder up.

        Closes and does not unlock: that would free the folder under a child that still lives.
        """
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)
        self._descriptor = -1

    def service(self) -> int | None:
        """Return the pid of the service that took the folder, if alive. Ask while it is taken."""
        try:
            pid = int(self._lock.read_text("ascii"))
        except (FileNotFoundError, ValueError):
            return None
        return pid if pid > 0 and _is_alive(pid) else None

    def addresses(self) -> Addresses | None:
        """Return the addresses of the service that runs here, None until it is ready.

        Ask while the folder is taken.
        """
        try:
            addresses = msgspec.json.decode(self._addresses.read_bytes(), type=Addresses)
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        return addresses if addresses.pid == self.service() else None

    def publish(self, addresses: Addresses) -> None:
        """Write where the stores are for others to read; atomically, so that nobody reads half."""
        draft = self._addresses.with_suffix(".draft")
        draft.touch(mode=0o600)
        draft.write_bytes(msgspec.json.encode(addresses))
        draft.replace(self._addresses)

    def withdraw(self) -> None:
        """Remove the published addresses."""
        self._addresses.unlink(missing_ok=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
